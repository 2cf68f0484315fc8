"""Tests of `interfaces`."""
