"""Putting pieces into agents' files and taking them out again."""
