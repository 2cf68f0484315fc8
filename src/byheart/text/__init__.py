"""Pure functions over text: fences, YAML spans, Unicode, likeness, slugs."""
