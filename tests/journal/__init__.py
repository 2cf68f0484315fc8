"""Tests of `journal`."""
