"""Tables for searching; derived from files, and rebuilt when they are gone."""
