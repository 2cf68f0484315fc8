"""From what sessions showed to one handbook."""
