"""The work of learning, in SQLite."""
