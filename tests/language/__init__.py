"""Tests of `language`."""
