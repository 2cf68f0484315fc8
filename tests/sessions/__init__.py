"""Tests of `sessions`."""
