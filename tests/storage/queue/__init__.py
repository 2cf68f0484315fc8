"""Tests of `storage/queue`."""
