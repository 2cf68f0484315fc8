"""Tests of `interfaces/hooks`."""
