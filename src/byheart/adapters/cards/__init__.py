"""Prepared briefs as files, for a hook that has a few milliseconds: nothing here imports more than it must."""
