"""Tests of `storage/index`."""
