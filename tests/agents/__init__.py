"""Real agents against a scripted model on loopback. Not part of `make test`: `make test-agents` installs the agents first."""
