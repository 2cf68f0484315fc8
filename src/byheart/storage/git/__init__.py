"""What git keeps, read as data; git itself is never run."""
