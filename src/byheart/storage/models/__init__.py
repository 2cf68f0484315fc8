"""Language models behind an address or a command."""
