"""Connecting agents to memory, reversibly: what of theirs was there stays, and comes back byte for byte."""
