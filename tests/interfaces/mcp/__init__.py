"""Tests of `interfaces/mcp`."""
