"""What sessions are told: cards made, kept and cut to size."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from byheart.agents import register
from byheart.app import trusted
from byheart.app.open import IN_CHECKOUT, JOURNAL_FILE, PROFILE_FILE, REPO_RULES, Surroundings, open_memory
from byheart.brief import fit
from byheart.domain.brief import Brief, ToldLine
from byheart.domain.errors import BadInput, ByheartError, NothingFound
from byheart.domain.learning import UNSURE
from byheart.domain.values import replace
from byheart.storage import cards
from byheart.storage import moments as moment_files
from byheart.text.deferred import module
from byheart.text.tokens import tokens as counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from byheart.app import connecting
    from byheart.app import moments as app_moments
    from byheart.app import sessions as app_sessions
    from byheart.app.open import OpenMemory
    from byheart.brief import build, collect
    from byheart.domain import documents
    from byheart.domain import sessions as domain_sessions
    from byheart.learning import handbook_files
    from byheart.learning.handbook_files import HandbookFiles
    from byheart.learning.learning import Learning
else:
    app_moments = module("byheart.app.moments")
    connecting = module("byheart.app.connecting")
    app_sessions = module("byheart.app.sessions")
    domain_sessions = module("byheart.domain.sessions")
    build = module("byheart.brief.build")
    collect = module("byheart.brief.collect")
    documents = module("byheart.domain.documents")
    handbook_files = module("byheart.learning.handbook_files")

_HINT, _FILES = 2_000, 8
# So many folders are made ready at once; others are when somebody works there again.
_AGAIN = 12


def prepared(opened: OpenMemory, around: Surroundings, *, keep: bool = True) -> dict[str, Any]:
    """The card of the folder that a memory was opened for: as it is kept where it still holds, else with what is stale made
    anew."""
    home, folder = opened.home, opened.project.folder
    old = cards.read(home, folder)
    stale: list[int] = []
    if old is not None and (not cards.holds(old, around.environment) or around.flags):
        old = None
    if old is not None:
        stale = cards.stale(old)
        if old["day"] != f"{around.clock().astimezone():%Y-%m-%d}":
            stale += [place for place, each in enumerate(old["sections"]) if each["name"] == "journal"]
        if not stale:
            return old
    card = build.card_of(_parts(opened, around), cards.VERSION, old, stale)
    card["private"] = bool(opened.memory.context.scanner.secrets(folder))
    # A path that holds a credential is kept nowhere; the card is made anew each time.
    if keep and not around.flags and not card["private"]:
        cards.write(home, card)
        cards.note_words(home, folder, build.words_of(card))
    return card


def _parts(opened: OpenMemory, around: Surroundings) -> build.CardParts:
    project, context = opened.project, opened.memory.context
    general = [os.path.join(opened.home, "config.toml"), os.path.join(project.folder, ".byheart.toml")]
    dot_git = os.path.join(project.folder, ".git")
    general += [dot_git] if os.path.isfile(dot_git) else []
    general += [os.path.join(project.common_folder, "config")] if project.common_folder else []
    if not context.trust.is_trusted:
        # One that appears is told of.
        names = (PROFILE_FILE, REPO_RULES, JOURNAL_FILE, *IN_CHECKOUT)
        general += [os.path.join(project.folder, name) for name in names]
    return build.CardParts(
        context=context,
        handbook=handbook_files.handbook_files_of(context, opened.home, project.id),
        settings=opened.config.brief,
        moments=opened.config.moments,
        summary_tokens=opened.config.learning.summary_tokens,
        learns=opened.config.flag("learning.enabled"),
        asks=opened.config.learning.asks,
        general=tuple(general),
        environment=tuple(cards.overrides(around.environment)),
        stamp=cards.stamp,
        unused=tuple(trusted.unused(opened)),
        is_ignored=bool(opened.ignored),
    )


def brief(
    opened: OpenMemory,
    around: Surroundings,
    *,
    hint: str = "",
    characters: int | None = None,
    tokens: int | None = None,
    delimiter: str | None = None,
) -> Brief | None:
    """What a session in this folder is told; None where there is nothing to tell. With a hint, what fits it is told, too."""
    return _cut(prepared(opened, around), opened, around, hint, characters, tokens, delimiter)


def brief_of(opened: OpenMemory, around: Surroundings, handbook: HandbookFiles) -> Brief | None:
    """What a session of another project is told, as far as that can be known without its folder."""
    folder = next(
        (folder for folder, project in cards.folders(opened.home) if project == handbook.project),
        str(handbook.folder),
    )
    project = documents.Project(id=handbook.project, name=handbook.name, folder=folder)
    parts = replace(_parts(opened, around), context=replace(handbook.context, project=project), handbook=handbook)
    return _cut(build.card_of(parts, cards.VERSION), opened, around, "", None, None, None)


def _cut(
    card: dict[str, Any],
    opened: OpenMemory,
    around: Surroundings,
    hint: str,
    characters: int | None,
    tokens: int | None,
    delimiter: str | None,
) -> Brief | None:
    """A card cut to size."""
    notes = [note for section in card["sections"] for note in section["notes"]]
    if card["off"]:
        line = fit.silence(card["off"])
        return Brief(text=line, tokens=counted(line), characters=len(line), notes=(card["off"],))
    sections = list(card["sections"])
    if hint.strip():
        related = _related(opened, around, hint[:_HINT], sections)
        place = next((n for n, each in enumerate(sections) if each["name"] in ("journal", "index")), len(sections))
        sections[place:place] = related
    most = tokens or card["settings"]["tokens"]
    _, asks = _asked(opened.home, card)
    cut = fit.cut(
        card,
        os.path.lexists,
        most=most,
        room=characters or (card["settings"]["characters"] if _is_narrow(opened.home) else most * 4),
        until=cards.said_until(opened.home, card["folder"]),
        asks=asks,
        sections=sections,
    )
    chosen, out = cut.chosen, cut.out
    told = [ToldLine(section=title, text=line[0], address=line[1], why=line[3], tokens=line[2]) for title, lines in chosen for line in lines]  # fmt: skip
    left = [ToldLine(section=title, text=line[0], address=line[1], why="there was no room", tokens=line[2]) for title, line in out]  # fmt: skip
    left += [
        ToldLine(section=each["title"], text=text, address=address, why=why)
        for each in cut.sections
        for text, address, why in each["left_out"]
    ]
    if not told and not asks:
        line = "".join(f"{each}\n" for each in cut.notes)
        return (
            Brief(text=line, tokens=counted(line), characters=len(line), left_out=tuple(left), notes=tuple(notes))
            if cut.notes
            else None
        )
    text = fit.rendered(cut.head[0], chosen, len(out), delimiter or os.urandom(6).hex(), cut.notes, asks)
    # Counted by what both this and the hook know, so that one brief has one figure whatever its random marks are.
    return Brief(text=text, tokens=fit.tokens_of(cut.head, chosen, (*cut.notes, asks)), characters=len(text), told=tuple(told), left_out=tuple(left), notes=tuple(notes))  # fmt: skip


def _is_narrow(home: str) -> bool:
    """Whether every agent that is connected here hands its model no more than the beginning of a long text."""
    connected = {name for name, _ in connecting.recorded(home)}
    return bool(connected) and all(register.is_narrow(name) for name in connected)


def _asked(home: str, card: dict[str, Any]) -> tuple[list[str], str]:
    """Which messages the next session is asked about, and how."""
    if not card["asks"] or cards.asked(home, card["folder"])[0] == time.strftime("%Y-%m-%d"):
        return [], ""
    return fit.asking(card["asks"])


def _related(opened: OpenMemory, around: Surroundings, hint: str, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What memory holds about this very work, less what is told anyway."""
    found = collect.related(opened.memory.context, hint)
    found.lines += collect.files_for(_led_to(opened, around, hint))
    section = build.served(_parts(opened, around), found)
    told = {line[0] for each in known for line in each["lines"]}
    section["lines"] = [line for line in section["lines"] if line[0] not in told]
    return [section] if section["lines"] or section["notes"] else []


def _led_to(opened: OpenMemory, around: Surroundings, hint: str) -> Sequence[tuple[str, str]]:
    """The files that sessions like this one went on to change; none where sessions cannot be read."""
    try:
        every = app_sessions.open_sessions(opened, around)
        return every.leads_to(hint, domain_sessions.Which(project=opened.project.id), _FILES)
    except ByheartError:
        # A brief without them is still a brief.
        return ()


def refresh(around: Surroundings, folders: Iterable[str] = ()) -> int:
    """Make the cards anew that no longer hold, and those of folders that have none yet; how many there are."""
    home = around.home
    wanted = dict.fromkeys([*(folder for folder, _ in cards.folders(home)), *folders])
    done = 0
    for folder in wanted:
        if not os.path.isdir(folder):
            continue
        try:
            there = replace(around, folder=folder, flags=())
            opened = open_memory(there)
            prepared(opened, there)
            done += 1
        except ByheartError:
            # One folder's trouble is not another's; whoever works there is told of it.
            continue
    return done


def after_write(opened: OpenMemory, around: Surroundings) -> None:
    """Have the card of this folder hold again, where there is one: somebody asks for it at every start of a session. What was taken away
    because something was forgotten is made anew."""
    dropped = cards.take_dropped(opened.home)
    if dropped:
        refresh(around, dropped[:_AGAIN])
        every = app_sessions.open_sessions(opened, around, even_off=True)
        app_moments.refresh(around, app_sessions.open_learning(opened, around, every, even_off=True), every)
    elif cards.read(opened.home, opened.project.folder) is not None:
        prepared(opened, around)


def judged(opened: OpenMemory, around: Surroundings, learning: Learning, verdicts: object) -> str:
    """Take an agent's verdicts on what its session was asked about, and say what became of them. Raises BadInput and Refused."""
    folder = cards.folder_of(around.folder)
    _, asked = cards.asked(opened.home, folder)
    outcome = learning.judge(verdicts, asked, "an agent's verdict")
    cards.note_answered(opened.home, folder)
    parts = [f"Kept {len(outcome.kept)}: {'; '.join(outcome.kept)}" if outcome.kept else "Kept none"]
    unsure = sum(row.verdict == UNSURE for row in outcome.rows)
    parts += [f"{unsure} in the inbox for the user"] if unsure else []
    parts += [f"not taken: {name} ({reason})" for name, reason in outcome.refused.items()]
    return ". ".join(parts) + "."


def why(home: str, session: str | None) -> dict[str, Any]:
    """What a session was told: the last one, or the one with this id prefix; nothing where none was told anything yet. Raises NothingFound
    where none is meant by an id."""
    every = cards.every_sent(home)
    briefed = {(each.get("client"), each.get("session")) for each in every}
    every += [
        {**each, "told": [], "left_out": []}
        for each in moment_files.every_session(home)
        if (each["client"], each["session"]) not in briefed
    ]
    every.sort(key=lambda each: str(each.get("at", "")), reverse=True)
    if not session:
        return every[0] if every else {}
    fitting = [each for each in every if str(each.get("session", "")).startswith(session)]
    if not fitting:
        raise NothingFound(f"no session with the id prefix {session!r} has received a brief")
    if len({each["session"] for each in fitting}) > 1:
        names = ", ".join(str(each["session"]) for each in fitting[:5])
        raise BadInput(f"{session!r} matches {len(fitting)} sessions; name one: {names}")
    return fitting[0]


def folder_of(cwd: str) -> str:
    """The folder whose brief a session in `cwd` is told."""
    return cards.folder_of(cwd)
