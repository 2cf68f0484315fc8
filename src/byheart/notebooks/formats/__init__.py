"""How profile and rules are spelled in their files."""
