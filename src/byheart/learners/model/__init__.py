"""Learning with a model: it words what was learnt, and code decides what of that is proved."""
