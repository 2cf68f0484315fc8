"""Tests of `handbook`."""
