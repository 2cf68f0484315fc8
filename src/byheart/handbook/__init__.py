"""The handbook's files: their format, rendering, parsing and checking."""
