"""Models that answer in words: a server, or a command of the user's."""
