"""The outside: files, tables, scanners, models, git, the machine's scheduler."""
