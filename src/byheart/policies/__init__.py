"""What changes mean: capture, merging, ranking, briefing. Values in, values out."""
