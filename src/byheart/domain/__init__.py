"""Frozen values, ports and errors: what everything else is about. Standard library only."""
