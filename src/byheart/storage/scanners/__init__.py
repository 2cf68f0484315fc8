"""Rules that find secrets, orders and hidden text."""
