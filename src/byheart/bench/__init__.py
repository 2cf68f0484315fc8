"""Measuring recall on labelled sets."""
