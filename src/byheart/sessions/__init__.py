"""Agents' sessions on this machine: read, kept in an index, searched, asked."""
