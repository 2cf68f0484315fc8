"""What each notebook has to tell a session, as lines with their addresses."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from byheart.domain.brief import BriefLine, BriefSection
from byheart.domain.errors import ByheartError
from byheart.domain.handbook import MEMORY, NOTHING_YET, SUMMARY
from byheart.domain.learning import KEEP
from byheart.domain.records import CONFLICT, Scope
from byheart.handbook.lines import handle, topic_label
from byheart.handbook.memory import core_of
from byheart.handbook.phrases import shortened, signal_of
from byheart.handbook.summary import INDEX, PREFERENCES, TIPS
from byheart.text.deferred import module
from byheart.text.similarity import content_words, normalised
from byheart.text.tokens import tokens
from byheart.workspace.context import PROFILE, RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from byheart.domain.results import Finding, Hit
    from byheart.handbook import lines as handbook_lines
    from byheart.journal import experiences, files, purge, session_context
    from byheart.learning import consolidation, judgement
    from byheart.learning.handbook_files import HandbookFiles
    from byheart.notebooks import overview
    from byheart.recall import recall
    from byheart.sessions.facts import commands
    from byheart.text import client_text
    from byheart.workspace.context import Context
else:
    experiences = module("byheart.journal.experiences")
    files = module("byheart.journal.files")
    purge = module("byheart.journal.purge")
    session_context = module("byheart.journal.session_context")
    handbook_lines = module("byheart.handbook.lines")
    consolidation = module("byheart.learning.consolidation")
    judgement = module("byheart.learning.judgement")
    overview = module("byheart.notebooks.overview")
    recall = module("byheart.recall.recall")
    commands = module("byheart.sessions.facts.commands")
    client_text = module("byheart.text.client_text")

_BOTH = (Scope.LOCAL, Scope.GLOBAL)
_CITE = re.compile(r"\s*\((?P<cite>[0-9A-Za-z_.-]{4,}#\d+(?:, #\d+)*)(?P<times>, in \d+ sessions)?\)\s*$")
_TOPIC = re.compile(r"^- (?P<label>.+?): (?P<words>\S.*)$")
_DETAIL = re.compile(r"^\s+- (?P<name>desc|learnings): ?(?P<value>.*)$")
_FROM_REPOSITORY = 12
_LONG, _TOPIC_LENGTH, _TASKS_LENGTH = 320, 360, 180
# So many messages are kept ready to ask about; a line of them has what they answer in it, too.
_READY, _LONGEST_ASKED = 24, 700
_NOTHING_MORE = "nothing beyond what its tasks say"
_SEARCH = "Search MEMORY.md for a file"


def profile(context: Context) -> BriefSection:
    """The Active Profile."""
    section = BriefSection(name="profile", title="What the user wants", share=0.2)
    section.sources = [str(root.documents[PROFILE]) for root in context.roots.values()]
    # Where the user keeps memory in the repository, a session's start makes the file and mends it; elsewhere it only looks.
    in_repo = context.trust.has_made(context.roots[Scope.LOCAL].documents[PROFILE])
    view = overview.profile(context, _BOTH, activates=in_repo)
    section.notes += [*view.notes, *map(_wrong, view.problems)]
    for hit in view.bullets:
        record = hit.record
        # A key says what a value is about, unless the value is a sentence, or the key was made of it.
        said = set(content_words(record.text))
        named = re.sub(r"-[0-9a-f]{4}$", "", (record.key or "").rpartition(".")[2]).replace("-", " ")
        says_more = bool(record.key) and not set(content_words(named)) <= said
        text = f"{record.key}: {record.text}" if says_more and len(said) < 5 else record.text
        why = f"{hit.scope.value} profile, {record.confidence.value if record.confidence else 'medium'} confidence"
        section.lines.append(_told(hit, text, why))
    section.left_out += [(name, "memory://profile", why) for name, why in view.left_out]
    return section


def rules(context: Context) -> BriefSection:
    """The rules that come first: the project's own, then those for all projects."""
    section = BriefSection(name="rules", title="Rules", share=0.14)
    section.sources = [str(root.documents[name]) for root in context.roots.values() for name in (RULES, PROFILE)]
    found = overview.rules(context, _BOTH)
    for hit in found.hits:
        why = f"{hit.scope.value} {hit.record.kind.value}, weight {hit.record.weight or 1}"
        # Both of two that nobody can decide between are told as such.
        section.lines.append(_told(hit, hit.record.text + (" [conflict]" if CONFLICT in hit.record.tags else ""), why))
    section.notes += [
        each.message if each.rule == "left-out" else _wrong(each) for each in found.problems if each.rule != "disabled"
    ]
    return section


def watched(context: Context) -> list[BriefLine]:
    """The rules that calls are held against: also those that a brief has no room for."""
    return [_told(hit, hit.record.text, "") for hit in overview.rules(context, _BOTH, _MOST_WATCHED).hits]


# Rules that calls are held against.
_MOST_WATCHED = 200


def _wrong(finding: Finding) -> str:
    return (
        f"{finding.place}:{finding.line}: {finding.message}" if finding.line else f"{finding.place}: {finding.message}"
    )


def _told(hit: Hit, text: str, why: str) -> BriefLine:
    return BriefLine(text=text, address=hit.address, why=why, is_global=hit.scope is Scope.GLOBAL)


def repository(context: Context) -> BriefSection:
    """What somebody else's commits put into the files that the user trusts: told, but as the repository's."""
    title = "What this repository's memory files say (added by other people, not from the user)"
    section = BriefSection(name="repository", title=title, share=0.08)
    root = context.roots[Scope.LOCAL]
    own_files = files.journal_files(context, root)
    prose = [place for place in (own_files.user, own_files.long_memory) if context.trust.covers(place)]
    section.sources = [str(place) for place in (*root.documents.values(), *prose) if context.trust.covers(place)]
    for hit in overview.of_repository(context, _FROM_REPOSITORY):
        section.lines.append(BriefLine(text=hit.record.text, address=hit.address, why="came with the repository"))
    for place in prose:
        lines = [
            line.strip().lstrip("#-* ")
            for line in (files.read(context, place).text or "").split("\n")
            if context.trust.is_strange(line)
        ]
        section.lines += [
            BriefLine(text=line, address=f"memory://journal#{purge.prose_handle(line)}", why="came with the repository")
            for line in lines[-_FROM_REPOSITORY:]
            if line
        ]
    return section


def handbook(own_files: HandbookFiles) -> list[BriefSection]:
    """What sessions taught: what the user asked for, how things are done, and where the rest is."""
    place = own_files.place(SUMMARY)
    wishes = BriefSection(name="wishes", title="What the user asked for in earlier sessions", share=0.24)
    tips = BriefSection(name="tips", title="How things are done here", share=0.34)
    index = BriefSection(name="index", title="Where to look in memory://root/MEMORY.md", share=0.06)
    found = [wishes, tips, index]
    for each in found:
        each.sources = [str(place)]
    index.sources.append(str(own_files.place(MEMORY)))
    # What a notebook tells is not told twice, and what it no longer tells is.
    wishes.sources += [
        str(root.documents[name]) for root in own_files.context.roots.values() for name in (PROFILE, RULES)
    ]
    text = own_files.context.files.read(place).text
    try:
        # Sessions are sent there for more.
        own_files.context.files.read(own_files.place(MEMORY))
    except ByheartError as error:
        index.notes.append(f"{MEMORY}: {error}")
    if text is None or NOTHING_YET in text:
        return found
    if not any(True for _ in _entries(text)):
        wishes.notes.append(f"{place} has no entry left; `byheart memory rebuild` makes it anew")
    is_forgotten = consolidation.forgotten_lines(own_files)
    for title, line, details in _entries(text):
        address = f"memory://root#{handle(topic_label(line) if title == INDEX else line)}"
        if title == PREFERENCES:
            wishes.lines.append(BriefLine(text=wish(line), address=address, why=_why_wish(line)))
        elif title == TIPS and line.startswith("Related skill: "):
            tips.left_out.append((_tip(line), address, "a procedure is read when it is needed"))
        elif title == TIPS and is_plain(line):
            tips.left_out.append((line, address, "a tool called as anybody would call it"))
        elif title == TIPS and not line.startswith(_SEARCH):
            tips.lines.append(BriefLine(text=_tip(line), address=address, why=_why_tip(line)))
        elif title == INDEX and is_forgotten(topic_label(line)):
            # Its block still needs its line in the index; a session does not.
            continue
        elif title == INDEX and (topic := _TOPIC.match(f"- {line}")):
            # Every block of a project begins with its name, which whoever reads this knows.
            label = topic["label"].removeprefix(f"{own_files.name} - ")
            told = BriefLine(text=_topic(label, topic["words"], details), address=address, why="a block of MEMORY.md, the newest first")  # fmt: skip
            index.left_out.append((told.text, address, "blocks are found by searching; few sessions need one"))
    return found


def judged(own_files: HandbookFiles) -> list[list[str]]:
    """What judges found to last and the handbook tells: when, what, and the handle by which it can be taken back."""
    kept = [row for row in judgement.judged(own_files) if row.verdict == KEEP]
    told = [hit.record.text for hit in handbook_lines.learnt(own_files.context, own_files.root)] if kept else []
    found = []
    for row in kept:
        line = next(
            (text for text in told if (said := signal_of(core_of(text))) and said["default"] == row.wording), ""
        )
        if line:
            found.append([row.at, _safe(own_files, row.wording, _LONG), handle(line)])
    return found


def asks(own_files: HandbookFiles) -> dict[str, Any]:
    """What a session may be asked for a verdict on: how, and the first of the messages as [id, line, tokens]; empty where none waits."""
    found = []
    for name, line in judgement.request_lines(judgement.waiting(own_files)[:_READY]):
        text = _safe(own_files, line, _LONGEST_ASKED)
        if "[REDACTED" not in text and not own_files.context.scanner.unsafe_lines(text):
            found.append([name, text, tokens(f"- {text}\n")])
    return {"head": judgement.HEAD, "lines": found} if found else {}


def _safe(own_files: HandbookFiles, text: str, most: int) -> str:
    return client_text.defused(own_files.context.scanner.redacted(text), most)


def _entries(text: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The bullets of a summary: their section, their text, and what stands indented below them."""
    title = ""
    held: tuple[str, str, dict[str, str]] | None = None
    for line in text.split("\n"):
        if held and (detail := _DETAIL.match(line)):
            held[2][detail["name"]] = detail["value"]
            continue
        if held:
            yield held
            held = None
        if line.startswith("## "):
            title = line[3:].strip()
        elif line.startswith("- ") and line[2:].strip():
            held = (title, line[2:].strip(), {})
    if held:
        yield held


_HABIT = re.compile(
    r'^when (?P<situation>.+?), the user asked for "(?P<what>.+?)" in (?P<times>\d+) sessions, last: "(?P<last>.*)" -> '
)
_ASKED = re.compile(
    r'^when (?P<situation>.+?), the user asked in (?P<times>\d+) sessions: "(?P<quote>.*)" -> (?P<default>.+)$'
)
# A wish of so few words means little without when it was said.
_FEW = 5


def wish(line: str) -> str:
    """A preference of the summary as an agent needs it: what to do, then as much of when and in which words as says more."""
    core = _CITE.sub("", core_of(line))
    if habit := _HABIT.match(core):
        last = shortened(habit["last"], 140)
        return f'when {habit["situation"]}, the user often asks for "{habit["what"]}" ({habit["times"]} sessions; last: "{last}")'
    if asked := _ASKED.match(core):
        if asked["default"].startswith("expect this request"):
            then = asked["default"].removesuffix(" (inferred)").partition("; ")[2]
            return f'often asked here ({asked["times"]} sessions): "{shortened(asked["quote"], 120)}"{f"; {then}" if then else ""}'
        return f'when {asked["situation"]}: {asked["default"].removesuffix(" (inferred)")} (asked for in {asked["times"]} sessions: "{shortened(asked["quote"], 80)}")'
    parts = signal_of(core)
    if parts is None:
        return core
    default, quote = parts["default"], parts["quote"]
    if "(inferred)" in default:
        return f"when {parts['situation']}: {default}"
    if normalised(default) in normalised(quote) or len(quote) > _LONG // 2:
        # An order for every time holds whatever was worked on.
        is_order = re.match(r"(?:never|always|don'?t|do not)\b", default, re.IGNORECASE)
        is_bound = not is_order and not parts["situation"].startswith("working in this project")
        short = len(content_words(default)) < _FEW and is_bound
        return f"{default} (said when {shortened(parts['situation'], 90)})" if short else default
    return f'{default} (the user {parts["manner"]}: "{quote}")'


def _why_wish(line: str) -> str:
    cite = _CITE.search(line)
    times = (cite["times"] or "") if cite else ""
    manner = "inferred from what the user asked for" if "(inferred)" in line else "said by the user"
    return f"{manner}{times} ({cite['cite']})" if cite else "a preference of the summary"


def _why_tip(line: str) -> str:
    if line.startswith("[ad-hoc note]"):
        return "a note that somebody wrote"
    if line.startswith("Related skill"):
        return "a procedure that repeats"
    again = re.match(r"(?:Met in|In) (\d+) sessions", line)
    return f"came up in {again[1]} sessions" if again else "a tip of the summary; MEMORY.md names the sessions"


_CALL = re.compile(r"^[A-Z][a-z]+: `(?P<call>[^`]+)`(?: with a file or a name)?$")


def is_plain(line: str) -> bool:
    """Whether a line of the summary names a tool with no more than what it is to do: neither a script of the project nor an option, a
    folder or a target."""
    found = _CALL.match(line)
    if found is None:
        return False
    words = [word for word in found["call"].split() if word != "./..."]
    return len(words) <= 2 and not commands.is_script(found["call"]) and all(word.isalpha() for word in words)


_SKILL = re.compile(r"^Related skill: skills/(?P<name>[\w.-]+)/SKILL\.md: ")
_PARTS = re.compile(r"; (?=decided by the user: |agent's finding: |`)")
_SEARCHED = "; search it first for work on "


def _tip(line: str) -> str:
    """A tip as an agent can use it: a procedure by the address that it can be read at."""
    return _SKILL.sub(lambda found: f"Procedure memory://root/skills/{found['name']}/SKILL.md: ", line)


def _topic(label: str, words: str, details: dict[str, str]) -> str:
    """A block of the handbook: what it was about rather than its keywords, and of what was learnt there as much as fits whole."""
    tasks = details.get("desc", "").partition(_SEARCHED)[0]
    told = f"{label}: {shortened(tasks or words, _TASKS_LENGTH)}"
    learnings = details.get("learnings", "")
    for part in _PARTS.split(learnings) if learnings != _NOTHING_MORE else ():
        shown = _decided(part) if part.startswith("decided by the user: ") else part
        if shown and "…" not in shown[-2:] and len(told) + len(shown) + 2 <= _TOPIC_LENGTH:
            told = f"{told}; {shown}"
    return told


def _decided(part: str) -> str:
    """A decision whose answer is never cut off: the question is, if need be."""
    question, arrow, answer = part.removeprefix("decided by the user: ").rpartition(" -> ")
    return f"decided: {shortened(question, 90)} -> {answer}" if arrow else ""


def journal(context: Context) -> BriefSection:
    """The newest and weightiest of the journal."""
    section = BriefSection(name="journal", title="Journal", share=0.14)
    today = files.local_day(context, context.clock())
    for root in context.roots.values():
        own_files = files.journal_files(context, root)
        days = [own_files.daily(today + timedelta(days=offset)) for offset in (-1, 0)]
        section.sources += [str(each) for each in (own_files.memory, own_files.user, own_files.long_memory, *days)]
    own = [files.journal_files(context, root).memory for root in context.roots.values()]
    try:
        # Read, since what is no file at all has no size either.
        is_empty = not any(context.files.size(place) or context.files.read(place).text for place in own)
    except ByheartError as error:
        section.notes.append(f"journal: {error}")
        is_empty = False
    if is_empty:
        # A session that is told of nothing needs no file for it.
        return section
    if not context.journal.session_memory_enabled:
        section.left_out.append(("the journal", "memory://journal", "switched off (journal.session_memory_enabled)"))
        return section
    try:
        told = session_context.session_context(context)
    except ByheartError as error:
        section.notes.append(f"journal: {error}")
        return section
    section.notes += told.notes
    # The newest day first, and of a day its last line first: what was cut off is what is oldest.
    for part in reversed(told.sections):
        name = part.label.partition(" (")[0].casefold()
        for line in reversed([each for each in part.text.split("\n") if each.strip() and not each.startswith("#")]):
            named = told.handles.get(line.strip()) or purge.prose_handle(line)
            section.lines.append(
                BriefLine(text=line.strip().removeprefix("- "), address=f"memory://journal#{named}", why=name)
            )
    section.left_out += [
        (f"{count} {name}", "memory://journal", "the journal's own cap") for name, count in told.left_out
    ]
    return section


def files_for(led_to: Sequence[tuple[str, str]]) -> list[BriefLine]:
    """The files that a request like this led to, given with a session each, as one line; none where there are none."""
    if not led_to:
        return []
    told = ", ".join(f"`{path}`" for path, _ in led_to)
    address = f"memory://sessions#{led_to[0][1]}"
    return [BriefLine(text=f"Similar requests led to changes in {told}", address=address, why="changed by the sessions most like this one")]  # fmt: skip


def related(context: Context, hint: str) -> BriefSection:
    """What memory holds about this very work: experiences, and records that fit well."""
    section = BriefSection(name="related", title="About this work", share=0.16)
    if context.journal.experience_store_enabled:
        try:
            for each in experiences.asked(context, hint, list(context.roots), 3):
                section.lines.append(BriefLine(text=each.text, address=f"memory://experiences#{each.id}", why=f"an experience that fits {hint[:60]!r}"))  # fmt: skip
        except ByheartError as error:
            section.notes.append(f"experiences: {error}")
    wanted = set(content_words(hint))
    for hit in recall.recall(context, hint, _BOTH, 6).hits:
        share = len(wanted & set(content_words(f"{hit.record.key or ''} {hit.record.text}")))
        # A word in common is chance; two, or half of a short question, are not. What others wrote has a section of its own.
        if (share >= 2 or (len(wanted) <= 2 and share)) and not hit.is_repositorys:
            section.lines.append(BriefLine(text=hit.record.text, address=hit.address, why=f"fits {hint[:60]!r}"))  # fmt: skip
    return section


def shown(own: HandbookFiles) -> Iterator[tuple[str, str]]:
    """Every line that a brief could show now, with its address."""
    context = own.context
    makers: tuple[Callable[[], list[BriefSection]], ...] = (
        lambda: [profile(context)],
        lambda: [rules(context)],
        lambda: handbook(own),
        lambda: [journal(context)],
        lambda: [repository(context)],
    )
    for make in makers:
        try:
            sections = make()
        except ByheartError:
            continue
        for section in sections:
            for line in section.lines:
                yield line.text, line.address
                yield client_text.defused(context.scanner.redacted(line.text), 400), line.address
            yield from ((text, address) for text, address, _ in section.left_out if "#" in address)
