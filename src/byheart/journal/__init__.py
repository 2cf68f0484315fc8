"""The journal: appended to, kept in bounds, compacted, checked, told."""
