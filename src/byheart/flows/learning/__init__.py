"""Learning: sessions become extracts, extracts a handbook; `library` is the door."""
