"""Files on a disk, written so that nothing is lost."""
