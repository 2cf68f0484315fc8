"""Puts the parts together: opens a memory for a folder, owns the doors, reads configuration and environment."""
