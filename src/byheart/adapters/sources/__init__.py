"""Agents' transcripts, a module for each agent: files in, sessions and turns out."""
