"""Prepared briefs, and the lease of whoever prepares them."""
