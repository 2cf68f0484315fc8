"""Translators in front of Memory: the command line now, others later."""
