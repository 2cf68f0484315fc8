"""The search index, in SQLite; derived, so it may be deleted."""
