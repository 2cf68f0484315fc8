"""A module for each form of transcript."""
