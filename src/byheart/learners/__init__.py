"""Learners: from a session to its extract, from extracts to a handbook. The offline ones need no model."""
