"""What may be said at moments of sessions, prepared for each project that is worked in; and what came of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from byheart.brief import moments as preparing
from byheart.domain.errors import ByheartError
from byheart.domain.sessions import Which
from byheart.handbook import lines as indexed
from byheart.sessions.facts.files import shown_path
from byheart.storage import cards, moments
from byheart.text.client_text import defused
from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from byheart.app.open import OpenMemory, Surroundings
    from byheart.learning.learning import Learning
    from byheart.sessions.sessions import Sessions

_PATHS = 20_000
_PROMPTS, _FILES = 300, 5


def prepare(opened: OpenMemory, learning: Learning, every: Sessions) -> bool:
    """Prepare what may be said in the project of a memory; whether that was done. Nothing is, where it was made from the same before."""
    home, project = opened.home, opened.project.id
    if opened.memory.context.scanner.secrets(opened.project.folder):
        return False
    outcomes = [each for each in moments.outcomes(home) if each.get("project") == project]
    mark = short_digest(learning.revision(project), str(len(outcomes)), str(moments.VERSION))
    old = moments.read(home, project)
    if old is not None:
        is_same = old.header.get("mark") == mark
        old.close()
        if is_same:
            return False
    own = learning.handbook(project)
    extracts = preparing.extracts_of(learning.written(project))
    clean = opened.memory.context.scanner.redacted
    paths = (shown_path(path, cwd) for path, cwd in every.paths(project, _PATHS))
    entries = preparing.entries(extracts, indexed.learnt(own.context, own.root), paths, outcomes, clean)
    unsafe = opened.memory.context.scanner.unsafe_lines
    safe = {key: entry for key, entry in entries.items() if "text" not in entry or not unsafe(str(entry["text"]))}
    known, common = preparing.prompts(_asked(every, project), clean)
    moments.write(home, project, {"mark": mark, "prompts": known, "common": common}, safe)
    cards.note_words(home, project, preparing.words_of(safe))
    return True


def _asked(every: Sessions, project: str) -> Iterator[preparing.Asked]:
    """What the newest sessions of a project were asked for, each with the files that it changed most."""
    for listed in every.list(Which(project=project), _PROMPTS):
        session = listed.session
        files = (shown_path(path, session.cwd or "") for path, _ in every.edited(session))
        day = f"{session.ended:%Y-%m-%d}" if session.ended else ""
        yield preparing.Asked(
            text=listed.first,
            cite=f"{session.agent}:{session.id}",
            day=day,
            files=tuple([path for path in files if path][:_FILES]),
        )


def refresh(around: Surroundings, learning: Learning, every: Sessions) -> None:
    """Prepare every project that has a card, with the words by which calls are let pass that nothing is known of."""
    from byheart.app.open import open_memory, redacted
    from byheart.domain.values import replace

    done: dict[str, bool] = {}
    for folder, project in cards.folders(around.home):
        if project in done or not os.path.isdir(folder):
            continue
        try:
            opened = open_memory(replace(around, folder=folder, flags=()))
            done[project] = prepare(opened, learning, every)
        except ByheartError:
            # One project's trouble is not another's.
            continue
    if any(done.values()):
        known = {project: preparing.extracts_of(learning.written(project)) for project in done}
        moments.write(around.home, moments.EVERYWHERE, {}, preparing.common_errors(known, redacted))


def told(home: str, client: str, session: str) -> list[dict[str, Any]]:
    """The remarks that a session was told, in order."""
    return [
        {**each, "text": defused(str(each.get("text", "")), 500)} for each in moments.every_said(home, client, session)
    ]


def helped(home: str) -> dict[str, int]:
    """How many remarks were followed by success, and how many by the same failure."""
    outcomes: Iterable[dict[str, Any]] = moments.outcomes(home)
    found = {"helped": 0, "failed again": 0}
    for each in outcomes:
        found["helped" if each.get("helped") else "failed again"] += 1
    return found
