"""Files as people write them, and records as byheart stores them; rendered here, independently of the dialects."""

from __future__ import annotations

import json
from datetime import date

from hypothesis import strategies as st

from byheart.domain.journal import Origin, Sensitivity
from byheart.domain.records import Confidence, Kind, Record, Value, spoken

# Characters that have caused trouble: quotes, YAML and Markdown syntax, line separators, other scripts, emoji.
_AWKWARD = "\"'`:#-[]{}|>&*!%@,?~\\/ éßЖ中日🙂\u2028\u00a0\u0085\t"
texts = st.text(
    alphabet=st.one_of(
        st.characters(codec="utf-8", exclude_categories=["Cs"], min_codepoint=32),
        st.sampled_from(_AWKWARD),
    ),
    min_size=1,
    max_size=60,
)
words = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=9)
keys = st.builds(lambda space, name: f"{space}.{name}", words, words)
days = st.dates(min_value=date(2020, 1, 1), max_value=date(2030, 12, 31))
scalars = st.one_of(
    texts,
    st.integers(-(10**14), 10**14),
    st.booleans(),
    st.floats(-1e9, 1e9, allow_nan=False).map(lambda n: round(n, 3)),
)
values: st.SearchStrategy[Value] = st.one_of(
    scalars,
    st.lists(scalars, min_size=1, max_size=4),
    st.dictionaries(words, scalars, min_size=1, max_size=3),
)


@st.composite
def profile_records(draw: st.DrawFn) -> Record:
    lesson = draw(st.booleans())
    key = draw(keys)
    value = draw(values)
    return Record(
        text=spoken(value),
        kind=Kind.LESSON if lesson else Kind.PREFERENCE,
        key=f"lessons.{key}" if lesson else key,
        value=value,
        confidence=draw(st.sampled_from(Confidence)),
        tags=tuple(draw(st.lists(texts.filter(bool), max_size=2))),
        source=draw(st.one_of(st.none(), texts)),
        added=draw(days),
    )


@st.composite
def rule_records(draw: st.DrawFn) -> Record:
    triple = (draw(texts), draw(words), draw(texts))
    return Record(
        text=draw(texts),
        kind=draw(st.sampled_from([Kind.RULE, Kind.CONSTRAINT, Kind.PREFERENCE])),
        triple=triple,
        weight=draw(st.integers(1, 50)),
        tags=tuple(draw(st.lists(words, max_size=2))),
    )


def _human(text: str) -> str:
    """A line of prose that is neither a fence nor blank-like."""
    return "".join(each for each in text if each.isprintable()).replace("`", "'").replace("~", "-").strip() or "prose"


prose = st.lists(texts.map(_human).map(lambda line: line if line[0].isalnum() else "x" + line), max_size=3)


@st.composite
def profile_files(draw: st.DrawFn) -> str:
    """A memories.md by hand: any newline, either fence, prose around it, comments, several quoting styles."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    fence = draw(st.sampled_from(["```", "~~~", "````"]))
    language = draw(st.sampled_from(["yaml", "yml", "YAML", "yaml title=x"]))
    names = draw(st.lists(keys, max_size=4, unique=True))
    dash = draw(st.sampled_from(["  ", "    "]))
    rows = [
        "saved_memory:",
        "  version: 1",
        draw(st.sampled_from(["  updated: 2024-01-01", '  updated: "2024-01-01"'])),
    ]
    rows += ["  settings:", "    enabled: true", "    announce_writes: true"]
    if draw(st.booleans()):
        rows.append("  # what I like")
    style = draw(st.sampled_from(["block", "flow-items", "flow-list"])) if names else "empty"
    if style == "empty":
        rows.append(draw(st.sampled_from(["  items: []", "  items: []  # none yet"])))
    elif style == "flow-list":
        inner = ", ".join("{key: %s, value: %s}" % (name, json.dumps(draw(words))) for name in names)  # noqa: UP031
        rows.append(f"  items: [{inner}]")
    else:
        rows.append("  items:")
        for name in names:
            if draw(st.booleans()):
                rows.append(f"{dash}# about {name}")
            rows += _item(draw, name, dash, flow=style == "flow-items")
    rows += draw(
        st.sampled_from(
            [["deletions: []"], ["deletions:", "  - {key: old.one, removed: 2023-01-01, reason: gone}"], []]
        )
    )
    if draw(st.booleans()):
        rows.append("# the end")
    before, after = draw(prose), draw(prose)
    lines = [*before, *([""] if before else []), fence + language, *rows, fence, *([""] if after else []), *after]
    bom = draw(st.sampled_from(["", "", "\ufeff"]))
    return bom + newline.join(lines) + draw(st.sampled_from([newline, "", newline * 2]))


def _item(draw: st.DrawFn, name: str, dash: str, *, flow: bool) -> list[str]:
    word = draw(words)
    spelled = draw(st.sampled_from([json.dumps(word), f"'{word}'", f"v{word}"]))
    if flow:
        return [f"{dash}- {{key: {name}, value: {spelled}, confidence: medium}}"]
    pad = dash + "  "
    rows = [f"{dash}- key: {name}"]
    match draw(st.sampled_from(["plain", "literal", "map", "comment", "folded"])):
        case "plain":
            rows.append(f"{pad}value: {spelled}")
        case "literal":
            rows += [f"{pad}value: |", f"{pad}  {word} one", f"{pad}  two: three"]
        case "folded":
            rows += [f"{pad}value: >-", f"{pad}  {word} one", f"{pad}  two"]
        case "map":
            rows += [f"{pad}value:", f"{pad}  issue: {word}", f"{pad}  fix: {spelled}"]
        case "comment":
            rows += [f"{pad}# why", f"{pad}value: {spelled}  # because"]
    extra = [
        f"{pad}added: 2024-05-06",
        f"{pad}source: 'by hand'",
        f"{pad}confidence: high",
        f"{pad}tags: [a, 'b c']",
        f"{pad}mood: fine",
    ]
    rows += draw(st.lists(st.sampled_from(extra), unique=True, max_size=4))
    return rows


@st.composite
def rule_files(draw: st.DrawFn) -> str:
    """A memories.ndjson by hand: entries with odd spacing and fields of their own, broken lines, blank lines."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    rows = []
    for record in draw(st.lists(rule_records(), max_size=5)):
        entry = {"k": record.kind.value, "t": list(record.triple or ()), "w": record.weight, "n": record.text}
        if draw(st.booleans()):
            entry["mine"] = draw(words)
        spaced = draw(st.booleans())
        separators = (", ", ": ") if spaced else (",", ":")
        rows.append(json.dumps(entry, ensure_ascii=draw(st.booleans()), separators=separators))
        if draw(st.integers(0, 3)) == 0:
            rows.append(
                draw(st.sampled_from(["", "not json", '{"k":"rule"', "[1,2]", '{"k":"odd","t":["a","b","c"],"n":"x"}']))
            )
    body = newline.join(rows)
    return draw(st.sampled_from(["", "", "\ufeff"])) + body + (draw(st.sampled_from([newline, ""])) if body else "")


@st.composite
def journal_records(draw: st.DrawFn) -> Record:
    certainty = draw(st.one_of(st.none(), st.sampled_from([0, 1, 0.8, 0.25])))
    channel = draw(words)
    day = draw(days)
    category = draw(st.sampled_from(["note", "turn-summary", "compaction", "heartbeat", "my-own"]))
    confidence = None
    if certainty is not None:
        confidence = Confidence.HIGH if certainty == 1 else Confidence.MEDIUM if certainty == 0.8 else Confidence.LOW
    return Record(
        text=draw(texts),
        kind=Kind.NOTE,
        confidence=confidence,
        source=channel,
        added=day,
        origin=Origin(
            id=draw(st.uuids(version=4)).__str__(),
            session=draw(texts),
            category=category,
            channel=channel,
            certainty=certainty,
            timestamp=f"{day.isoformat()}T10:00:00.000Z",
            sensitivity=draw(st.sampled_from(Sensitivity)),
        ),
    )


def journal_row(record: Record, *, spaced: bool = False, mine: str = "") -> str:
    """A record's line as another program writes it: built here, not by the dialect."""
    origin = record.origin
    assert origin is not None
    entry: dict[str, object] = {
        "id": origin.id,
        "sessionId": origin.session,
        "category": origin.category,
        "text": record.text,
        "provenance": {
            "sourceChannel": origin.channel,
            "confidence": origin.certainty,
            "timestamp": origin.timestamp,
            "sensitivity": origin.sensitivity.value,
        },
    }
    if mine:
        entry["mine"] = {"deep": [mine]}
    return "- " + json.dumps(entry, ensure_ascii=spaced, separators=(", ", ": ") if spaced else (",", ":"))


_NOT_RECORDS = [
    "", "Just prose.", "- 12", "- a list item", "  - nested", "- [1, 2]", '- {"broken": ', "- {placeholder}", "* starred",
    '- "quoted"', "- null", '- {"id":"x","sessionId":"main"}', "## My heading", "- [ ] a task", "-no blank", '- {"text": 12}',
]  # fmt: skip


@st.composite
def journal_files(draw: st.DrawFn) -> str:
    """A MEMORY.md by other hands: a header, records with odd spacing and own fields, prose and near misses between."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    rows = draw(st.sampled_from([[], ["# MEMORY", ""], ["# Long-term memory", "", "Some words about it.", ""]]))
    for record in draw(st.lists(journal_records(), max_size=5)):
        rows = [*rows, journal_row(record, spaced=draw(st.booleans()), mine=draw(st.sampled_from(["", "own"])))]
        if draw(st.integers(0, 2)) == 0:
            rows.append(draw(st.sampled_from(_NOT_RECORDS)))
    body = newline.join(rows)
    return draw(st.sampled_from(["", "", "\ufeff"])) + body + (draw(st.sampled_from([newline, ""])) if body else "")
