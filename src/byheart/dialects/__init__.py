"""File formats: each parses a text into records and plans changes as splices."""
