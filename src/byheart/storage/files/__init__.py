"""Files on disk: contained, locked, written whole or not at all."""
