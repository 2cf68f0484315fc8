"""Tests of `notebooks`."""
