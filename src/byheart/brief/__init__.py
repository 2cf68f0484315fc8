"""What a session is told at its start: collected, built into a card, fitted to its size."""
