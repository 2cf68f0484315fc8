"""What every notebook stands on: where its files lie, whose lines count, what changed, what was forgotten."""
