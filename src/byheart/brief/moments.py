"""Preparing what may be said at moments of sessions: errors with what gets over them, spellings that never worked, files with what is
known of them, and requests that came before. Made when memory changes; read by a hook without any database."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from byheart.brief import remarks
from byheart.brief.stale_lines import files_in
from byheart.domain.values import dataclass
from byheart.handbook.phrases import one_line, short_id
from byheart.handbook.raw import parsed_raw
from byheart.learning.earning import WayOver, in_order, ways_over
from byheart.sessions.facts.commands import acts_of, program_of
from byheart.text.client_text import defused
from byheart.text.similarity import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from byheart.domain.handbook import Extract, Written
    from byheart.domain.results import Hit

# A remark in characters; lines that are told of one file; prompts that are looked through; where a file of one name may be.
LONGEST = 400
_OF_A_FILE, _PLACES = 3, 2
# A word that so large a part of the requests holds tells none from another.
_COMMON, _FEW = 0.08, 20
# A request of more words than this is a document, and much is alike to it.
_MANY_WORDS = 60
# Lines of the handbook that say something of a file: decisions, corrections, and what went wrong there.
_ABOUT = re.compile(r"^(?:decided by the user: |the user corrected|when .{1,160}, the user )")
# Remarks that were followed by the same failure as often as this, and oftener than they helped, are made no more.
_MISSES = 2
# So many projects make an error everybody's.
_SEVERAL = 2


def entries(
    extracts: Sequence[tuple[Written, Extract]],
    lines: Iterable[Hit],
    paths: Iterable[str],
    outcomes: Iterable[Mapping[str, Any]],
    clean: Callable[[str], str],
) -> dict[str, dict[str, Any]]:
    """What is found by key. `lines` are those of the handbook, `paths` the project's files as sessions named them, seen from its folder;
    `clean` takes secrets out of a text."""
    found: dict[str, dict[str, Any]] = {}
    useless = _useless(outcomes)
    ordered = in_order(extracts)
    for way in ways_over(extracts):
        trouble = way.trouble
        place = trouble.met[-1]
        thread = ordered[place][0].thread
        turns = trouble.turns.get(place, ())
        times = f"{trouble.sessions} sessions" if trouble.sessions > 1 else "one session"
        cite = f"{short_id(thread.id)}#{turns[0]}" if turns else short_id(thread.id)
        text = (
            f"this error came up in {times} here, last on {thread.updated:%Y-%m-%d}; what helped: {way.advice} [{cite}]"
        )
        key = remarks.ERROR + trouble.signature
        if key not in useless:
            found[key] = {"text": defused(clean(text), LONGEST), "why": f"met in {times}, last in {cite}", "sessions": trouble.sessions}  # fmt: skip
        for change in way.wrong:
            _spelling(
                found,
                way.command,
                change.how,
                change.old,
                change.new,
                way.advice,
                trouble.sessions,
                cite,
                clean,
                useless,
            )
    for key, told in _of_files(lines, clean).items():
        found[key] = {"lines": told}
    for name, places in _places(paths).items():
        found[remarks.NAME + name] = {"paths": places}
    return found


def common_errors(every: Mapping[str, Sequence[tuple[Written, Extract]]], clean: Callable[[str], str]) -> dict[str, dict[str, Any]]:  # fmt: skip
    """What is found by error in whatever project: what got over one that several of them met, without anything of any of them."""
    known: dict[str, list[WayOver]] = {}
    for extracts in every.values():
        once = {way.trouble.signature: way for way in reversed(ways_over(extracts))}
        for signature, way in once.items():
            # A path is of its project.
            if "/" not in way.advice and "\\" not in way.advice:
                known.setdefault(signature, []).append(way)
    found: dict[str, dict[str, Any]] = {}
    for signature, ways in known.items():
        if len(ways) >= _SEVERAL:
            best = max(ways, key=lambda way: way.trouble.sessions)
            times = f"{len(ways)} of your projects"
            text = defused(clean(f"this error came up in {times}; what helped: {best.advice}"), LONGEST)
            sessions = sum(way.trouble.sessions for way in ways)
            found[remarks.ERROR + signature] = {"text": text, "why": f"met in {times}", "sessions": sessions}
    return found


def _spelling(found: dict[str, dict[str, Any]], command: str, how: str, old: str, new: str, advice: str, sessions: int, cite: str, clean: Callable[[str], str], useless: set[str]) -> None:  # fmt: skip
    """Note a spelling that never worked, by what is called."""
    key = remarks.CALL + acts_of(command)
    if f"{key}:{old or new}" in useless or not program_of(command):
        return
    times = f"{sessions} sessions" if sessions > 1 else "one session"
    wrong = f"with `{old}`" if old else f"without `{new}`"
    text = defused(
        clean(f"`{acts_of(command)}` {wrong} failed in {times} here and never worked; {advice} [{cite}]"), LONGEST
    )
    ways = found.setdefault(key, {"ways": []})["ways"]
    ways.append({"how": how, "old": old, "new": new, "text": text, "why": f"failed in {times}, last in {cite}"})


def _useless(outcomes: Iterable[Mapping[str, Any]]) -> set[str]:
    """Keys of remarks after which the same failed again and again."""
    misses, hits = Counter[str](), Counter[str]()
    for each in outcomes:
        (hits if each.get("helped") else misses)[str(each.get("key"))] += 1
    return {key for key, times in misses.items() if times >= _MISSES and times > hits[key]}


def _of_files(lines: Iterable[Hit], clean: Callable[[str], str]) -> dict[str, list[list[str]]]:
    """By file and by folder: what the user decided, corrected or wants there."""
    found: dict[str, list[list[str]]] = {}
    for hit in lines:
        text = hit.record.text
        if not _ABOUT.match(text):
            continue
        named = [*files_in(text), *re.findall(r"`((?:[\w.@-]+/)+)`", text)]
        for path in dict.fromkeys(named):
            told = found.setdefault(remarks.FILE + path, [])
            line = [defused(clean(text), LONGEST // 2), hit.address]
            if line not in told:
                told.append(line)
    return {key: told[:_OF_A_FILE] for key, told in found.items()}


def _places(paths: Iterable[str]) -> dict[str, list[str]]:
    """By a file's name: where it is, for names that say so."""
    found: dict[str, dict[str, None]] = {}
    for path in paths:
        if "/" in path and not os.path.isabs(path):
            found.setdefault(os.path.basename(path), {})[path] = None
    return {name: list(places) for name, places in found.items() if len(places) <= _PLACES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an earlier session was asked for, and the files that it went on to change."""

    text: str
    cite: str
    day: str
    files: tuple[str, ...]


def prompts(every: Iterable[Asked], clean: Callable[[str], str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Earlier requests as they are compared with a new one, and the words that tell none from another."""
    rows = [(each, remarks.telling(each.text[:4_000]) - STOP_WORDS) for each in every]
    used = Counter(word for _, words in rows for word in words)
    common = {word for word, times in used.items() if len(rows) >= _FEW and times > _COMMON * len(rows)} | set(
        STOP_WORDS
    )
    told = []
    for each, words in rows:
        own = words - common
        if remarks.FEWEST_WORDS <= len(own) <= _MANY_WORDS:
            title = defused(clean(one_line(each.text, 90)), 100)
            told.append(
                {"title": title, "files": list(each.files), "cite": each.cite, "at": each.day, "words": sorted(own)}
            )
    return told, sorted(common)


def words_of(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The words that a call or an edit has to hold for one of these to be said before it."""
    told: set[str] = set()
    for key, entry in found.items():
        if key.startswith(remarks.CALL):
            # What is wrong stands in the call; what is missing there does not.
            told |= {
                (each["old"].split() or [key.removeprefix(remarks.CALL).split()[0]])[0].lstrip("-")
                for each in entry["ways"]
            }
        elif key.startswith(remarks.FILE):
            told.add(os.path.basename(key.rstrip("/")))
    return sorted(word for word in told if word)


def extracts_of(every: Iterable[Written]) -> list[tuple[Written, Extract]]:
    """Extracts as they are counted, read back from their raw memory."""
    return [(each, parsed_raw(each.raw_memory)) for each in every if each.raw_memory]
