"""A journal made up by chance: thousands of records that agree with each other, and pairs that were planted not to.

Every fact has one truth in the background, said in many ways and often next to things that look much like it; planted pairs
are about subjects of their own, so that it is known which records oppose each other and that nothing else does.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from byheart.domain.journal import Origin
from byheart.domain.records import Placed, Record

SERVICES = [
    f"{first}-{second}"
    for first in (
        "billing", "search", "mail", "auth", "report", "ledger", "image", "geo", "audit", "price", "stock", "order", "cart",
        "session", "export", "import", "quota", "alert", "feed", "media", "token", "chat", "event", "label", "route",
    )
    for second in ("api", "worker", "gateway", "store", "proxy", "sync", "index", "portal", "agent", "bridge")
]  # fmt: skip
TOOLS = ["pnpm", "ruff", "pytest", "docker", "terraform", "eslint", "poetry", "vite", "black", "make", "helm", "bazel"]
ACTIONS = [
    "squash commits", "rebase feature branches", "mock the network", "commit generated files", "pin dependencies",
    "log request bodies", "retry failed uploads", "cache query results", "sign release tags", "deploy on Fridays",
    "force push to main", "skip flaky tests", "inline small helpers", "use global state", "store tokens in cookies",
    "run migrations before deploys", "merge without review", "write snapshot tests", "use feature flags",
    "batch database writes", "expose debug endpoints", "use optimistic locking", "vendor third-party code",
]  # fmt: skip
THINGS = [
    "rate limiting",
    "debug logging",
    "telemetry",
    "autoscaling",
    "compression",
    "tracing",
    "caching",
    "strict mode",
]
PLACES = ["eu-west-1", "us-east-2", "ap-south-1", "the Frankfurt cluster", "the Oregon cluster"]
PEOPLE = ["Alice", "Bob", "Carla", "Deniz", "Erik", "Farah", "Goran", "Hana"]
DAYS = ["Mondays", "Tuesdays", "Wednesdays", "Thursdays"]
DATABASES = ["Postgres", "MySQL", "SQLite", "DynamoDB"]


@dataclass(frozen=True)
class Generated:
    """The records, and the positions of the pairs that oppose each other."""

    placed: list[Placed]
    planted: set[tuple[int, int]]


def generated(seed: int, records: int = 5_000, pairs: int = 150) -> Generated:
    """A journal of that many records with that many planted pairs, the same for the same seed."""
    rng = random.Random(seed)
    services = SERVICES.copy()
    rng.shuffle(services)
    quiet, loud = services[: len(services) // 2], services[len(services) // 2 :]
    rows: list[tuple[str, str]] = [_background(rng, quiet) for _ in range(records - 2 * pairs)]
    slots = rng.sample(range(records), 2 * pairs)
    planted: list[tuple[int, int]] = []
    chosen: dict[int, tuple[str, str]] = {}
    for number in range(pairs):
        one, two = sorted(slots[2 * number : 2 * number + 2])
        first, second = _pair(rng, loud[number % len(loud)], number)
        chosen[one] = _wrapped(rng, first)
        chosen[two] = _wrapped(rng, second)
        planted.append((one, two))
    rest = iter(rows)
    everything = [chosen[at] if at in chosen else next(rest) for at in range(records)]
    placed = [
        Placed(record=Record(text=text, origin=Origin(id=str(at), category=category)), line=at + 1, start=at, end=at)
        for at, (category, text) in enumerate(everything)
    ]
    return Generated(placed=placed, planted=set(planted))


def _wrapped(rng: random.Random, sentence: str) -> tuple[str, str]:
    """A claim as it comes in a record: alone, after a word of introduction, or among other sentences."""
    category = rng.choice(["note", "learned", "decision", "user-preference"])
    text = rng.choice(
        [
            "{}", "{}.", "Decision: {}.", "Note: {}.", "From now on, {}.", "{}. Discussed in the weekly.",
            "Talked with the team about it. {}.", "{}, because it came up in review.", "Please remember: {}.", "{}!",
        ]
    )  # fmt: skip
    return category, text.format(
        sentence if text.startswith("{}") or ". {}" in text else sentence[0].lower() + sentence[1:]
    )


def _pair(rng: random.Random, service: str, number: int) -> tuple[str, str]:
    """Two sentences about one subject that cannot both hold, in either order and in different words."""
    kinds = [
        _norm,
        _taste,
        _switch,
        _port,
        _database,
        _purpose,
        _owner,
        _when,
        _region,
        _over,
        _required,
        _version,
        _limit,
    ]
    pair = kinds[number % len(kinds)](rng, service)
    return pair if rng.random() < 0.5 else (pair[1], pair[0])


def _norm(rng: random.Random, service: str) -> tuple[str, str]:
    action = rng.choice(ACTIONS)
    yes = rng.choice(["Always {} in {}", "We should {} in {}", "We {} in {}", "It is fine to {} in {}"])
    no = rng.choice(
        ["Never {} in {}", "Do not {} in {}", "We don't {} in {}", "We must not {} in {}", "Don't ever {} in {}"]
    )
    return yes.format(action, service), no.format(action, service)


def _taste(rng: random.Random, service: str) -> tuple[str, str]:
    what = rng.choice(["emojis", "long explanations", "code comments", "diagrams", "bullet lists", "tables"])
    yes = rng.choice(["The user likes {} in {} reports", "User prefers {} in {} reports", "Use {} in {} reports"])
    no = rng.choice(
        ["User dislikes {} in {} reports", "The user does not like {} in {} reports", "Avoid {} in {} reports"]
    )
    return yes.format(what, service), no.format(what, service)


def _switch(rng: random.Random, service: str) -> tuple[str, str]:
    thing = rng.choice(THINGS)
    yes = rng.choice(["{} is enabled in {}", "{} is turned on in {}", "We have {} enabled in {}", "{} is active in {}"])
    no = rng.choice(
        ["{} is disabled in {}", "{} has been switched off in {}", "{} is not enabled in {}", "{} is inactive in {}"]
    )
    return _cased(yes.format(thing, service)), _cased(no.format(thing, service))


def _two(rng: random.Random, values: list[str]) -> tuple[str, str]:
    first, second = rng.sample(values, 2)
    return first, second


def _port(rng: random.Random, service: str) -> tuple[str, str]:
    forms = ["The {} port is {}", "{} listens on port {}", "The port of {} is {}", "Our {} port is now {}"]
    form = rng.choice([[forms[0], forms[3]], [forms[1]], [forms[2]], [forms[0]]])
    one, two = _two(rng, ["8080", "9090", "3000", "5005"])
    return _cased(rng.choice(form).format(service, one)), _cased(rng.choice(form).format(service, two))


def _database(rng: random.Random, service: str) -> tuple[str, str]:
    one, two = _two(rng, DATABASES)
    forms = ["The {} database is {}", "Our {} database is {}", "The {} database is now {}"]
    return rng.choice(forms).format(service, one), rng.choice(forms).format(service, two)


def _purpose(rng: random.Random, service: str) -> tuple[str, str]:
    one, two = _two(rng, TOOLS)
    forms = [
        "Use {} for {} builds",
        "We use {} for {} builds",
        "We decided on {} for {} builds",
        "Go with {} for {} builds",
    ]
    return rng.choice(forms).format(one, service), rng.choice(forms).format(two, service)


def _owner(rng: random.Random, service: str) -> tuple[str, str]:
    one, two = _two(rng, PEOPLE)
    forms = [
        "{0} owns the {1}", "{0} is responsible for the {1}", "{0} maintains the {1}", "The {1} belongs to {0}",
        "The {1} is owned by {0}", "{0} looks after the {1}",
    ]  # fmt: skip
    return rng.choice(forms).format(one, service), rng.choice(forms).format(two, service)


def _when(rng: random.Random, service: str) -> tuple[str, str]:
    one, two = _two(rng, DAYS)
    forms = ["{} releases go out on {}", "{} releases happen on {}", "{} releases ship on {}"]
    return _cased(rng.choice(forms).format(service, one)), _cased(rng.choice(forms).format(service, two))


def _region(rng: random.Random, service: str) -> tuple[str, str]:
    one, two = _two(rng, PLACES)
    forms = [
        "The {} runs in {}",
        "The {} is hosted in {}",
        "The {} is deployed to {}",
        "The {} sits in {}",
        "The {} moved to {}",
    ]
    return rng.choice(forms).format(service, one), rng.choice(forms).format(service, two)


def _over(rng: random.Random, service: str) -> tuple[str, str]:
    one, two = _two(rng, TOOLS)
    forms = [
        "Prefer {0} over {1} for {2}", "Use {0} instead of {1} for {2}", "Use {0} rather than {1} for {2}",
        "We use {0}, not {1} for {2}", "We replaced {1} with {0} for {2}", "We switched from {1} to {0} for {2}",
    ]  # fmt: skip
    return rng.choice(forms).format(one, two, service), rng.choice(forms).format(two, one, service)


def _required(rng: random.Random, service: str) -> tuple[str, str]:
    what = rng.choice(["Two approvals", "A changelog entry", "Load tests", "A design note"])
    be = "are" if what[-1] == "s" else "is"
    yes = rng.choice(["{} {} required for {} changes", "{} {} mandatory for {} changes"])
    no = rng.choice(["{} {} optional for {} changes", "{} {} not required for {} changes"])
    return yes.format(what, be, service), no.format(what, be, service)


def _version(rng: random.Random, service: str) -> tuple[str, str]:
    one, two = _two(rng, ["3.10", "3.11", "3.12", "3.13"])
    forms = ["The {} uses Python {}", "The {} requires Python {}", "The {} targets Python {}"]
    return rng.choice(forms).format(service, one), rng.choice(forms).format(service, two)


def _limit(rng: random.Random, service: str) -> tuple[str, str]:
    what = rng.choice(["timeout", "retry limit", "cache TTL"])
    one, two = _two(rng, ["5 minutes", "30 seconds", "2 hours", "90 seconds"])
    forms = ["The {} {} is {}", "The {} {} should be {}", "The {} {} is set to {}"]
    return rng.choice(forms).format(service, what, one), rng.choice(forms).format(service, what, two)


def _cased(text: str) -> str:
    return text[0].upper() + text[1:]


def _background(rng: random.Random, services: list[str]) -> tuple[str, str]:
    """A record that opposes no other: each service's facts are fixed by its name, and reports are of a moment."""
    service = rng.choice(services)
    other = rng.choice(services)
    fixed = random.Random(service)
    action, tool, day = fixed.choice(ACTIONS), fixed.choice(TOOLS), fixed.choice(DAYS)
    port, person, base = 4000 + fixed.randrange(5000), fixed.choice(PEOPLE), fixed.choice(DATABASES)
    allowed = fixed.random() < 0.5
    number, many = rng.randrange(1, 400), rng.randrange(2, 90)
    lasting = [
        f"The {service} port is {port}", f"{_cased(service)} listens on port {port}", f"The {service} database is {base}",
        f"{'Always' if allowed else 'Never'} {action} in {service}", f"We {'should' if allowed else 'must not'} {action} in {service}",
        f"Use {tool} for {service} builds", f"We use {tool} for {service} builds", f"{person} owns the {service}",
        f"{_cased(service)} releases go out on {day}", f"User prefers short summaries of {service} work",
        f"The {service} talks to {other} over HTTP", f"The {service} reads from {other}", f"Docs for {service} are in docs/{service}.md",
        f"{_cased(service)} and {other} share a library", f"Run the {service} tests with a warm cache",
        f"Ask {person} before changing the schema of {service}", f"The {service} dashboard shows p{many} latency",
        f"{_cased(service)} must validate input before it calls {other}", f"Keep the {service} README short",
    ]  # fmt: skip
    reports = [
        f"Fixed a bug in {service}; {many} tests pass", f"The {service} build failed because {other} was down",
        f"Added {many} tests to {service}", f"Refactored part {number} of {service}", f"The build of {service} is green again",
        f"Did not find the cause of the {service} timeout yet", f"Found the cause of the {service} timeout: a missing index",
        f"Coverage of {service} is {many} percent", f"Reviewed pull request {number} for {service}. No issues found",
        f"The {service} deploy took {many} minutes", f"Updated {service} to talk to {other} instead of the old endpoint",
        f"Tests for {service} do not pass on CI", f"All tests for {service} pass on CI", f"User asked about {service} logs",
        f"The user did not want changes to {service} today", f"Changed the {service} timeout from {many} to {many + 5} seconds",
        f"Step {number}: no changes to {service}", f"Should we use {tool} for {other}?", f"{_cased(service)} was not reachable for {many} minutes",
        f"Rolled {service} back to build {number}", f"Rolled {service} forward to build {number}", f"Total size of {service} is {many} MB",
        f"The current version of {service} is 1.{many}.0", f"Never mind the {service} warning; it was a typo",
    ]  # fmt: skip
    if rng.random() < 0.45:
        return rng.choice(["note", "learned", "decision", "user-preference"]), rng.choice(lasting)
    first, second = rng.sample(reports, 2)
    return "turn-summary", rng.choice([f"{first}.", f"{first}. {second}.", f"{second}.\n- {first}"])
