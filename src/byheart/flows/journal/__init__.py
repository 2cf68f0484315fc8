"""The journal's stories: append, read, hand over, trim, compact, look through, keep up."""
