"""Tests of `storage/scanners`."""
