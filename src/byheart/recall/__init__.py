"""Finding records again: the index kept up to date, and the answer."""
