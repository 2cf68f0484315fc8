"""What opposes what: ordinary reports never do, planted opposites nearly always."""

from __future__ import annotations

import pytest

from byheart.domain.journal import Origin
from byheart.domain.records import Placed, Record
from byheart.journal.integrity import contradictions, troubles
from byheart.testing import Bench, Clock
from tests.language.generated import generated


def placed(*texts: str, category: str = "note") -> list[Placed]:
    return [
        Placed(record=Record(text=text, origin=Origin(id=str(at), category=category)), line=at + 1, start=at, end=at)
        for at, text in enumerate(texts)
    ]


TURNS = (
    "Implemented the login form and wired it to the session API. All 42 tests pass.",
    "Fixed the failing upload test: the mock returned 404. The test suite is green now.",
    "Refactored the parser into two modules. No behaviour changed.",
    "The build failed because the cache was stale; cleared it and re-ran. 3 tests still fail.",
    "Added retry logic to the HTTP client. It does not retry on 4xx responses.",
    "Looked into the memory leak. It is not in the worker; the gateway holds on to sockets.",
    "Updated the README with the new flags and removed the old ones.",
    "User asked to rename the branch. The branch is feature/login now, pushed and reviewed.",
    "Ran the migration on staging. It took 12 minutes and is not needed in production.",
    "Summarised the week: 14 commits, 2 reverts, coverage is 81 percent. Next: logout form.",
)


def test_ten_ordinary_turn_summaries_give_no_contradiction(bench: Bench) -> None:
    for text in TURNS:
        bench.memory.journal().append({"category": "turn-summary", "text": text})
    assert bench.memory.journal().integrity_scan() == []


@pytest.mark.parametrize("seed", range(3))
def test_planted_contradictions_among_thousands_are_found_and_hardly_anything_else(seed: int) -> None:
    made = generated(seed)
    found = {(each.other, each.at) for each in contradictions(made.placed)}
    right = len(found & made.planted)
    precision, recall = right / len(found), right / len(made.planted)
    assert precision >= 0.9
    assert recall >= 0.9


OPPOSITES = [
    ("User prefers tabs over spaces", "The user prefers spaces over tabs"),
    ("User prefers dark mode", "User prefers light mode"),
    ("Always use tabs for indentation", "Never use tabs for indentation"),
    ("The default branch is main", "Our default branch is trunk"),
    ("Timezone is Europe/Berlin", "The user's timezone is America/New_York"),
    ("Squash commits before merging", "Don't squash commits before merging"),
    ("Lint with ruff", "Do not lint with ruff"),
    ("Use spaces, not tabs", "Always use tabs"),
    ("Tests must hit the real database", "Tests must not hit the real database"),
    ("The service requires VPN access", "The service does not require VPN access"),
    ("Backups run nightly at 02:00", "Backups run weekly on Sunday"),
    ("The team standup is at 9:30", "The team standup is at 10:00"),
    ("Formatting is done with black", "Formatting is done with ruff"),
    ("API keys are stored in Vault", "API keys are stored in AWS Secrets Manager"),
    ("Node 18 is the minimum supported version", "Node 20 is the minimum supported version"),
    ("Indent Go files with tabs", "Indent Go files with spaces"),
    ("We write code comments in English", "We write code comments in German"),
    ("The on-call lead for payments is Tomas", "The on-call lead for payments is Ines"),
    ("Ask Dana before changing the schema", "No need to ask Dana before changing the schema"),
    ("We ship every two weeks", "We ship every week"),
    ("Retro is on Friday at 15:00", "Retro is on Monday at 15:00"),
    ("Always rebase before merging", "Merge without rebasing"),
    ("Use pnpm to install packages", "Use yarn to install packages"),
    ("Package manager: pnpm", "Package manager: npm"),
    ("Session tokens expire after 15 minutes", "Session tokens expire after 24 hours"),
    ("PRs need two approvals", "PRs need one approval"),
    ("Call me Alex", "Call me Alexandra"),
    ("GraphQL is the public API", "REST is the public API"),
    ("The staging cluster is called heron.", "The staging cluster is called pelican."),
    ("Audit logs are stored as JSON.", "Audit logs are stored as CSV."),
    ("We decided to keep the monorepo.", "We decided not to keep the monorepo."),
    ("Image thumbnails are generated with ImageMagick.", "Image thumbnails are generated with libvips."),
    ("Redis is used as the job queue.", "RabbitMQ is used as the job queue."),
    ("Dates in the export use the DD/MM/YYYY format.", "Dates in the export use the ISO 8601 format."),
]


@pytest.mark.parametrize(("first", "second"), OPPOSITES)
def test_opposing_statements_are_a_contradiction_in_either_order(first: str, second: str) -> None:
    assert [(each.other, each.at) for each in contradictions(placed(first, second))] == [(0, 1)]
    assert [(each.other, each.at) for each in contradictions(placed(second, first))] == [(0, 1)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The API port is 8080", "The worker port is 9090"),
        ("Use pytest for unit tests", "Use playwright for browser tests"),
        ("Never deploy on Fridays", "Deploy on Tuesdays"),
        ("User prefers short answers", "User prefers pnpm"),
        ("Always run the linter", "Always run the tests"),
        ("We support Python 3.11", "We support Python 3.12"),
        ("The bug is in the parser", "The bug is in the lexer"),
        ("Node 18 is the minimum supported version", "Python 3.11 is the minimum supported version"),
        ("Should we use tabs?", "Never use tabs"),
        ("The parser reads JSON", "The parser writes YAML"),
        ("Never use eval because it is unsafe", "Use exec with care because it is unsafe"),
        ("Chose Postgres over SQLite for the queue", "Chose Postgres over MySQL for the ledger"),
        ("Redis runs on port 6380 in dev", "Redis runs on port 6379 in production"),
        ("Do not retry POST requests", "Retry GET requests"),
        ("Theme is dark in the editor", "Theme is light in the docs site"),
        ("Backups run at night", "Backups run on the replica"),
        ("The queue runs on RabbitMQ", "The queue runs in its own namespace"),
        ("Assets are served from the CDN", "Assets are served with long cache headers"),
        ("Images are stored in S3", "Images are stored at three sizes"),
        ("Indent Go files with tabs", "Indent YAML files with spaces"),
        ("The suite has 1319 tests", "The suite has 1351 tests"),
        ("The API is versioned", "REST is the API"),
    ],
)
def test_mere_difference_is_no_contradiction(first: str, second: str) -> None:
    assert contradictions(placed(first, second)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The branch is fix/login-redirect, pushed.", "The branch is feat/search, ready for review."),
        ("The default is now 20.", "The default is false in this version."),
        ("You should restart the dev server.", "You should not restart the dev server while the watcher runs."),
        ("The linter is happy.", "The linter is complaining about unused imports."),
        ("The database is empty.", "The database is seeded."),
        ("Using the staging key is fine.", "Using the staging key is not allowed in CI."),
        ("The url is http://localhost:3000/health.", "The url is http://localhost:3000/metrics."),
    ],
)
def test_what_a_report_says_of_its_moment_is_no_claim(first: str, second: str) -> None:
    assert contradictions(placed(first, second, category="turn-summary")) == []


def test_changing_ones_mind_is_reported_once_for_each_turn() -> None:
    rows = placed("Use tabs", "Use tabs", "Never use tabs", "Never use tabs", "Use tabs")
    assert [(each.other, each.at) for each in contradictions(rows)] == [(1, 2), (3, 4)]


def test_same_difference_in_reports_of_a_moment_is_no_contradiction() -> None:
    rows = placed("The cache TTL is 5 minutes", "The cache TTL is 10 minutes", category="turn-summary")
    assert contradictions(rows) == []


def test_preference_in_a_report_counts_since_it_was_meant_to_last() -> None:
    rows = placed(
        "Done. User prefers tabs over spaces.", "Done. User prefers spaces over tabs.", category="turn-summary"
    )
    assert len(contradictions(rows)) == 1


def test_duplicates_are_repeated_texts_of_one_category() -> None:
    rows = [*placed("Same thing.", "same  thing"), *placed("Same thing.", category="decision")]
    found = [(each.rule, each.at, each.other) for each in troubles(rows, Clock().now, 120)]
    assert found == [("duplicate", 1, 0)]


def test_records_older_than_120_days_are_stale_and_no_sooner(bench: Bench) -> None:
    bench.memory.journal().append({"text": "Old"})
    bench.clock.move(days=120)
    assert bench.memory.journal().integrity_scan() == []
    bench.clock.move(seconds=1)
    assert [(each.rule, each.line) for each in bench.memory.journal().integrity_scan()] == [("stale", 5)]


def test_broken_lines_are_findings_with_their_line_and_a_number_in_a_list_is_not(bench: Bench) -> None:
    bench.memory.journal().append({"text": "Fine"})
    path = bench.path("journal")
    with open(path, "a", encoding="utf-8") as stream:
        stream.write('- 12\n- {"id":"x",\n')
    before = open(path, encoding="utf-8").read()  # noqa: SIM115
    assert [(each.rule, each.line) for each in bench.memory.journal().integrity_scan()] == [("broken-line", 7)]
    assert open(path, encoding="utf-8").read() == before  # noqa: SIM115
