"""Tests of `agents/installing`."""
