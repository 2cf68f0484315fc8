"""The stories behind each door of Memory; they talk to ports only."""
