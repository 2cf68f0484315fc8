"""Tests of `storage/embedders`."""
