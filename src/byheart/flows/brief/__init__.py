"""The brief: what a session is told at its start, prepared when memory is written."""
