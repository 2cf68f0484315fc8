"""Making a card: every section's lines, safe, checked against the project, not said elsewhere, with what they cost."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from byheart import prompts
from byheart.brief import collect
from byheart.brief import triggers as rules_of
from byheart.brief.stale_lines import SaidAlready, files_in, folders_in, lost_command, targets_of
from byheart.domain.brief import BriefLine, BriefSection, BriefSettings, MomentSettings
from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError
from byheart.domain.handbook import MEMORY, SUMMARY
from byheart.domain.values import asdict, dataclass, replace
from byheart.handbook.phrases import one_line, signal_of
from byheart.language.opposition import exclude
from byheart.text.client_text import defused
from byheart.text.deferred import module
from byheart.text.similarity import normalised
from byheart.text.tokens import tokens
from byheart.workspace.context import PROFILE, RULES, is_enabled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from byheart.domain import records
    from byheart.learning import capture, judgement
    from byheart.learning.consolidate import wishes
    from byheart.learning.handbook_files import HandbookFiles
    from byheart.workspace.context import Context
else:
    records = module("byheart.domain.records")
    capture = module("byheart.learning.capture")
    judgement = module("byheart.learning.judgement")
    wishes = module("byheart.learning.consolidate.wishes")

# What agents read in a project by themselves.
INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", ".github/copilot-instructions.md")
_DEFINITIONS = ("Makefile", "package.json", "justfile")
_LONGEST, _LARGEST_FILE = 400, 400_000
_MOST_LINES, _MOST_LEFT_OUT, _ROUNDS = 200, 60, 6
_ORDER = ("profile", "rules", "wishes", "tips", "related", "journal", "repository", "index")
# So much that was saved is announced, and so much of an error tells it from others.
_ANNOUNCED, _ERROR = 8, 60
_FILES_OF = {PROFILE: "memories.md", RULES: "memories.ndjson"}
# When, and in which words, something was said: behind what it says.
_CONTEXT = re.compile(r" \((?:said when|the user) .*\)$")
# A record's key, as it is told before what it says.
_KEY = re.compile(r"^[\w-]+(?:\.[\w-]+)+: ")
_NOTEBOOKS = ("profile", "rules")
_USERS = frozenset(("profile", "rules", "wishes", "journal"))


_BAD_SETTINGS = "(byheart: this repository's .byheart.toml cannot be used and is ignored; `byheart settings` says why)"
OFF = "memory is off here; `byheart settings` shows where, `byheart settings enabled on` turns it on"
_UNTRUSTED = "(byheart: this repository brings memory files that the user has not accepted, so they are ignored: {names}. The user can run `byheart trust`.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardParts:
    """What cards are made with. `general` are files that all of a card depends on; `stamp` tells whether a file changed."""

    context: Context
    handbook: HandbookFiles
    settings: BriefSettings
    moments: MomentSettings
    summary_tokens: int
    learns: bool
    # Whether sessions are asked what of earlier messages is to last.
    asks: bool
    general: tuple[str, ...]
    environment: tuple[str, ...]
    stamp: Callable[[str], str]
    # Memory files that came with the checkout and that nobody trusts.
    unused: tuple[str, ...] = ()
    # The checkout's own settings cannot be used.
    is_ignored: bool = False


def card_of(
    parts: CardParts, version: int, old: dict[str, Any] | None = None, stale: Sequence[int] | None = None
) -> dict[str, Any]:
    """A folder's card. With an old one, only the sections that are stale are made anew."""
    context = parts.context
    head = prompts.filled("read_path", memory_summary="").strip()
    card: dict[str, Any] = {
        "version": version,
        "folder": context.project.folder,
        "project": context.project.id,
        "name": context.project.name,
        "day": f"{context.clock().astimezone():%Y-%m-%d}",
        "head": [head, tokens(head)],
        "settings": {
            "characters": parts.settings.characters,
            "tokens": parts.settings.tokens,
            "moments": asdict(parts.moments),
            "learns": parts.learns,
            "seconds": parts.settings.seconds,
        },
        "environment": list(parts.environment),
        "general": [[path, parts.stamp(path)] for path in _general(parts)],
        "off": "",
        "notices": [],
        "saved": [],
        # What a session is asked for a verdict on: how, and the messages as [id, line, tokens].
        "asks": {},
        # Rules of the user that a command may go against: the words of such a call, the rule, its address.
        "triggers": [],
        # What the user said of files: the paths, what they said, its address.
        "files": [],
        "sections": [],
    }
    silence = silence_of(context)
    if silence:
        card["off"] = silence
        # Switching it on again is a change of one of these.
        card["general"] += [
            [path, parts.stamp(path)] for root in context.roots.values() if (path := str(root.documents[PROFILE]))
        ]
        return card
    if parts.is_ignored:
        card["notices"].append(_BAD_SETTINGS)
    if parts.unused:
        card["notices"].append(_UNTRUSTED.format(names=", ".join(parts.unused)))
    saved = _standing(parts)
    card["saved"] = _announced(parts, saved)
    card["asks"] = collect.asks(parts.handbook) if parts.asks else {}
    kept = (
        {each["name"]: each for place, each in enumerate(old["sections"]) if place not in (stale or ())} if old else {}
    )
    sections = [each for each in _sections(parts, kept) if each.name not in kept]
    told = _Said(parts, kept, saved)
    made = {section.name: told.served(section) for section in sections}
    card["sections"] = [{**kept, **made}[name] for name in _ORDER if name in {**kept, **made}]
    wanted = _wanted(context, card["sections"])
    card["triggers"] = rules_of.triggers(wanted)
    folder = context.project.folder
    card["files"] = rules_of.files_named(wanted, lambda path: os.path.lexists(os.path.join(folder, path)))
    return card


words_of = rules_of.words_of


def _wanted(context: Context, sections: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """What the user wants as [text, address, ...]: what is told, then the rules that a brief has no room for."""
    told = [line for each in sections if each["name"] in ("profile", "rules", "wishes") for line in each["lines"]]
    try:
        known = {line[1] for line in told}
        return told + [[each.text, each.address] for each in collect.watched(context) if each.address not in known]
    except ByheartError:
        # A broken notebook is told of as such.
        return told


def _standing(parts: CardParts) -> list[capture.Captured]:
    """What sessions taught and a notebook tells by now."""
    try:
        return capture.standing(parts.context, parts.handbook)
    except ByheartError:
        return []


def _announced(parts: CardParts, saved: Sequence[capture.Captured]) -> list[list[str]]:
    """What was saved unasked, the newest first: when, what, and the handle by which it can be taken back."""
    clean = parts.context.scanner.redacted
    found = [[row.at, defused(clean(_named_shortly(row)), _LONGEST), row.handle] for row in saved if row.announce]
    for row in collect.judged(parts.handbook) if parts.asks else ():
        if not any(wishes.same(row[1], each.text) for each in saved):
            found.append(row)
    return sorted(found, reverse=True)[:_ANNOUNCED]


def _general(parts: CardParts) -> list[str]:
    folder = parts.context.project.folder
    waits = [str(parts.handbook.root.own(name)) for name in (judgement.WAITING, judgement.JUDGED)] if parts.asks else []
    return [*parts.general, *waits, *(os.path.join(folder, name) for name in (*INSTRUCTIONS, *_DEFINITIONS))]


def silence_of(context: Context) -> str:
    """Why a session is told nothing; empty where it is told."""
    try:
        return "" if is_enabled(context, context.roots[records.Scope.LOCAL]) else OFF
    except ByheartError:
        # A broken notebook is told of as such; the others still have something to say.
        return ""


def _sections(parts: CardParts, kept: dict[str, Any]) -> list[BriefSection]:
    """The sections that are not kept, each with what went wrong in it rather than none."""
    found: list[BriefSection] = []
    makers: list[tuple[tuple[str, ...], Callable[[], list[BriefSection]]]] = [
        (("profile",), lambda: [collect.profile(parts.context)]),
        (("rules",), lambda: [collect.rules(parts.context)]),
        (("wishes", "tips", "index"), lambda: collect.handbook(parts.handbook)),
        (("journal",), lambda: [collect.journal(parts.context)]),
        (("repository",), lambda: [collect.repository(parts.context)]),
    ]
    for names, make in makers:
        if all(name in kept for name in names):
            continue
        try:
            found += make()
        except ByheartError as error:
            broken = BriefSection(name=names[0], title=names[0], share=0.0)
            broken.notes.append(f"{names[0]}: {error}")
            # Whatever mends it is a change of one of these.
            broken.sources = _every_source(parts)
            found.append(broken)
    return found


def _every_source(parts: CardParts) -> list[str]:
    roots = parts.context.roots.values()
    notebooks = [str(place) for root in roots for _, place in root.every()]
    return [
        *notebooks,
        os.path.join(str(parts.handbook.folder), SUMMARY),
        os.path.join(str(parts.handbook.folder), MEMORY),
    ]


def _named_shortly(row: capture.Captured) -> str:
    """What was saved, in as many words as somebody needs to know it by: of a lesson, what it is about."""
    command, is_lesson, _ = row.text.partition(capture.FAILS)
    return f"what helps when `{one_line(command, 60)}` fails" if is_lesson else row.stored


def _lessons_of_summary(parts: CardParts, saved: Sequence[capture.Captured]) -> list[str]:
    """The lessons of a notebook that the summary tells better, as what to do."""
    lessons = [(row, row.text.partition(capture.FAILS)[2]) for row in saved if capture.FAILS in row.text]
    if not lessons:
        return []
    try:
        summary = parts.context.files.read(parts.handbook.place(SUMMARY)).text or ""
    except ByheartError:
        return []
    return [normalised(row.stored) for row, error in lessons if error[:_ERROR] in summary]


class _Said:
    """What has been taken into a card so far, and what stands in the way of a line."""

    def __init__(
        self, parts: CardParts, kept: Mapping[str, dict[str, Any]], saved: Sequence[capture.Captured] = ()
    ) -> None:
        self._parts = parts
        self._saved = saved
        self._folder = parts.context.project.folder
        texts = {name: text for name in INSTRUCTIONS if (text := self._text(name)) is not None}
        self._elsewhere = SaidAlready(texts)
        self._targets = targets_of(self._text("Makefile"), _package(self._text("package.json")), self._text("justfile"))
        self._known: set[str] = set()
        # What notebooks tell, by section and whether it holds for all projects.
        self._noted: dict[tuple[str, bool], list[str]] = {
            (name, False): [_KEY.sub("", line[0]) for line in kept[name]["lines"]]
            for name in _NOTEBOOKS
            if name in kept
        }
        self._lessons = _lessons_of_summary(parts, saved)
        # What of the summary may be told, all of its sections together.
        self._left = parts.summary_tokens

    def _text(self, name: str) -> str | None:
        """A file of the project's, if it is a plain one of a sane size."""
        place = Place(self._folder, name)
        try:
            size = self._parts.context.files.size(place)
            return self._parts.context.files.read(place).text if size is not None and size <= _LARGEST_FILE else None
        except ByheartError:
            return None

    def served(self, section: BriefSection) -> dict[str, Any]:
        """A section as the card keeps it."""
        lines: list[BriefLine] = []
        for each in section.lines:
            line, reason = self._judged(each, section.name)
            if reason:
                section.left_out.append((line.text, line.address, reason))
            else:
                lines.append(line)
        for line in lines[_MOST_LINES:]:
            section.left_out.append((line.text, line.address, "there are too many"))
        lines = _harmless(self._parts.context, section, lines[:_MOST_LINES])
        if section.name in ("wishes", "tips", "index"):
            lines = self._within(lines, section)
        stamp = self._parts.stamp
        return {
            "name": section.name,
            "title": section.title,
            "share": section.share,
            "sources": [[path, stamp(path)] for path in dict.fromkeys(section.sources)],
            "lines": [[each.text, each.address, tokens(f"- {each.text} [{each.address}]\n"), each.why, list(each.files)] for each in lines],
            "left_out": [list(each) for each in section.left_out[:_MOST_LEFT_OUT]],
            "notes": [defused(self._parts.context.scanner.redacted(each), _LONGEST) for each in section.notes],
        }  # fmt: skip

    def _within(self, lines: list[BriefLine], section: BriefSection) -> list[BriefLine]:
        """As many lines as the summary's own limit allows, from the first on."""
        kept = []
        for line in lines:
            cost = tokens(f"- {line.text} [{line.address}]\n")
            if cost > self._left:
                why = f"only {self._parts.summary_tokens} tokens of the summary are told"
                section.left_out.append((line.text, line.address, why))
            else:
                self._left -= cost
                kept.append(line)
        return kept

    def _of_notebooks(self) -> list[str]:
        return [text for (section, _), texts in self._noted.items() if section in _NOTEBOOKS for text in texts]

    def _judged(self, each: BriefLine, section: str) -> tuple[BriefLine, str]:
        """A line as it may be told, and why it is not."""
        text = defused(self._parts.context.scanner.redacted(each.text[:20_000]), _LONGEST)
        line = replace(each, text=text)
        key = normalised(text)
        if not key:
            return line, "it says nothing"
        if key in self._known:
            return line, "it is told already"
        said = _KEY.sub("", text)
        # Within one notebook its own dates decide. Between notebooks what is nearer does: this project's before what holds for all, and
        # what was remembered before what was said in passing.
        rivals = (
            self._noted.get((section, False), ())
            if each.is_global
            else self._of_notebooks()
            if section == "wishes"
            else self._noted.get(("profile", False), ())
            if section == "rules"
            else ()
        )
        if any(exclude(other, said) for other in rivals):
            return line, "it excludes one that is told"
        if section == "wishes" and (notebook := self._in_notebook(each.text)):
            return line, notebook
        if section in _NOTEBOOKS and any(normalised(said).endswith(lesson) for lesson in self._lessons):
            return line, "it is told as what was learnt, with what helped"
        self._known.add(key)
        self._noted.setdefault((section, each.is_global), []).append(said)
        parts = signal_of(each.text)
        where = self._elsewhere.where([text, *([parts["default"]] if parts else [])])
        # What a checkout says counts once its user trusts it; till then a line is told twice at worst. What the user said is told
        # whatever a file says.
        if where and section not in _USERS and not each.is_global and self._parts.context.trust.is_trusted:
            return line, f"{where} says it already"
        lost = lost_command(text, self._targets)
        if lost:
            return replace(line, text=f"{text} (unverified: {lost})", why=f"{line.why}; unverified"), ""
        return replace(line, files=self._files(text)), ""

    def _in_notebook(self, text: str) -> str:
        """Which notebook tells what a line of the handbook says; empty where none does."""
        told = {normalised(each)[:_ERROR] for each in self._of_notebooks()} if self._saved else set()
        for row in self._saved:
            if normalised(row.stored)[:_ERROR] not in told:
                # It stands there, and a session is not told of it.
                continue
            if capture.FAILS not in row.text and wishes.same(row.text, _CONTEXT.sub("", text)):
                return f"{_FILES_OF[row.dialect]} tells it"
        return ""

    def _files(self, text: str) -> tuple[str, ...]:
        """The files that a line speaks of, where they are looked for."""
        folders = ("", *folders_in(text))
        found = []
        for path in files_in(text):
            if "." not in os.path.basename(path) and not os.path.lexists(
                os.path.join(self._folder, path.split("/")[0])
            ):
                # Branches and repositories are named like folders.
                continue
            there = [f"{folder}/{path}".lstrip("/") for folder in folders]
            found.append(next((each for each in there if os.path.lexists(os.path.join(self._folder, each))), path))
        return tuple(found)


def _package(text: str | None) -> dict[str, object] | None:
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _harmless(context: Context, section: BriefSection, lines: list[BriefLine]) -> list[BriefLine]:
    """The lines without those that hold a credential or order their reader about, alone or with their neighbours."""
    kept = list(lines)
    for _ in range(_ROUNDS):
        unsafe = context.scanner.unsafe_lines("\n".join(line.text for line in kept))
        if not unsafe:
            return kept
        for number in sorted(unsafe, reverse=True):
            gone = kept.pop(number - 1)
            section.left_out.append(
                ("(withheld)", gone.address, "it holds a secret, or gives orders to whoever reads it")
            )
    section.left_out += [("(withheld)", line.address, "its neighbours make it unsafe") for line in kept]
    return []


def served(parts: CardParts, section: BriefSection) -> dict[str, Any]:
    """One section as a card would keep it, where there is no card for it."""
    return _Said(parts, {}).served(section)
