"""byheart bench learning: what extracts hold of reference summaries."""

from __future__ import annotations

from byheart.bench.learning import references_of

ID = "03a2fe8d-6e7a-4f40-a3dc-0edf362f5aa8"


def test_every_summary_of_a_session_counts_also_where_its_id_has_a_date_in_front() -> None:
    rows = [
        {"session_id": ID, "summary": {"friction": ["one"]}},
        {"session_id": ID, "summary": {"friction": ["two"]}},
        {"session_id": f"2026-02-17-{ID}", "summary": {"friction": ["three"]}},
    ]
    assert references_of(rows) == [(ID, {"friction": [each]}) for each in ("one", "two", "three")]


def test_id_that_only_looks_like_a_date_stays() -> None:
    assert references_of([{"session_id": "2026-02-17-notes", "summary": {}}]) == [("2026-02-17-notes", {})]
