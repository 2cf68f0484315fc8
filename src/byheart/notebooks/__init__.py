"""Profile and rules: remember, merge, forget, undo, exchange, check."""
