"""Finding what must not be stored: secrets, hidden characters, instruction-like text."""
