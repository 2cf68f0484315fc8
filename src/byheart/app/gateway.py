"""What a page, a program or another agent may ask of memory over HTTP: one door, in plain values. It belongs to one thread."""

from __future__ import annotations

import difflib
import os
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from byheart.app import briefs, config_file, connecting, doctor, gain, sessions, trusted
from byheart.app import config as settings
from byheart.app.gateway_rows import Plain, WorkedOut, cited_turns, facts_of, handle_in, learnt_from, listed_of, row_of
from byheart.app.open import Surroundings, open_memory
from byheart.app.setting_rules import KEYS, named
from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError, Conflict, NothingFound
from byheart.domain.records import Request, Scope
from byheart.domain.sessions import Which
from byheart.domain.values import asdict, replace
from byheart.handbook import lines as handbook_lines
from byheart.handbook.memory import core_of
from byheart.learning import handbook_files
from byheart.notebooks import editing
from byheart.storage import cards, moments
from byheart.workspace.context import JOURNAL, PROFILE, RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from byheart.app.open import OpenMemory
    from byheart.domain.documents import Root
    from byheart.domain.results import Finding
    from byheart.learning.learning import Learning
    from byheart.sessions.sessions import Sessions

_PAGE = 50
_LONGEST_TURN = 20_000
_WEEKS = 8
# How long what agents wrote is taken for read.
_FRESH = timedelta(seconds=10)
_NAMES = {PROFILE: "memories.md", RULES: "memories.ndjson", JOURNAL: "MEMORY.md"}
# Files beside a journal that a person writes.
_BESIDE = ("USER.md", "LONGMEMORY.md")


class Gateway:
    """Memory as seen from one folder; `at` gives another project's."""

    def __init__(self, folder: str, environment: Mapping[str, str], flags: tuple[str, ...] = ()) -> None:
        self._around = Surroundings(folder=folder, environment=environment, flags=flags)
        self._others: dict[str, Gateway] = {}
        self._opened: OpenMemory | None = None
        self._stamp: object = None
        self._sessions: Sessions | None = None
        self._known = WorkedOut()
        self._looked: datetime | None = None

    # Opening

    @property
    def opened(self) -> OpenMemory:
        """The memory, opened again when settings changed or something was forgotten."""
        stamp = cards.lasting_stamps(self._around.home, self._around.folder)
        if self._opened is None or stamp != self._stamp:
            self._opened, self._stamp, self._sessions = open_memory(self._around), stamp, None
        return self._opened

    @property
    def every(self) -> Sessions:
        """Sessions, as far as they are indexed."""
        opened = self.opened
        if self._sessions is None:
            self._sessions = sessions.open_sessions(opened, self._around)
        return self._sessions

    @property
    def learning(self) -> Learning:
        """Learning of this project."""
        return sessions.open_learning(self.opened, self._around, self.every)

    @property
    def home(self) -> str:
        """byheart's folder."""
        return self._around.home

    def at(self, project: str | None) -> Gateway:
        """Memory as seen from another project that a session was prepared for. Raises NothingFound."""
        if not project or project == self.opened.project.id:
            return self
        if project not in self._others:
            folder = next((folder for folder, known in cards.folders(self.home) if known == project), None)
            if folder is None or not os.path.isdir(folder):
                raise NothingFound(f"no folder of project {project!r} is known; open byheart there")
            self._others[project] = Gateway(folder, self._around.environment, self._around.flags)
        return self._others[project]

    def _wrote(self) -> None:
        briefs.after_write(self.opened, self._around)

    # Looking

    def projects(self) -> list[Plain]:
        """The projects that can be looked at, this one first."""
        own = self.opened.project
        known = {own.id: own.folder} | {project: folder for folder, project in cards.folders(self.home) if os.path.isdir(folder)}  # fmt: skip
        return [{"id": name, "name": name.rsplit("-", 1)[0], "folder": folder, "current": name == own.id} for name, folder in known.items()]  # fmt: skip

    def today(self) -> Plain:
        """What happened lately: what was learnt and saved, what waits, what memory spared."""
        learning = self.learning
        found = gain.gain(learning, self.every, self.home, _WEEKS, self._around.clock())
        self._look()
        recent = self.every.list(Which(project=self.opened.project.id, subagents=False), 8)
        told = self._brief()
        handbook = self.opened.files.read(learning.handbook().place("MEMORY.md")).text or ""
        return {
            "project": self.opened.project.name,
            "enabled": not told["off"],
            "brief": {"lines": len(told["told"]), "tokens": told["tokens"]},
            "log": [asdict(each) for each in self.opened.memory.log(most=8)],
            "inbox": len(learning.inbox()),
            "unjudged": len(learning.judging.waiting()),
            "sessions": [{**listed_of(each), "learnt": learnt_from(handbook, each.session.id)} for each in recent],
            "gain": gain.sentence(found),
            "weeks": gain.by_week(found.again, _WEEKS, self._around.clock()),
            "untrusted": list(trusted.unused(self.opened)),
        }

    def brief(self, session: str | None = None) -> Plain:
        """What the next session here is told, or what an earlier one was told, line by line."""
        return self._brief() if session is None else self._told(session)

    def _brief(self) -> Plain:
        found = briefs.brief(self.opened, self._around, delimiter="shown")
        told = found.told if found else ()
        return {
            "session": None,
            "text": found.text if found else "",
            "tokens": found.tokens if found else 0,
            "off": bool(found and not told and self._is_off()),
            "told": [asdict(each) for each in told],
            "left_out": [asdict(each) for each in (found.left_out if found else ())],
            "notes": list(found.notes) if found else [],
        }

    def _is_off(self) -> bool:
        try:
            return not self.opened.memory.settings().enabled or not self.opened.config.flag("memory.enabled")
        except ByheartError:
            return False

    def _told(self, session: str) -> Plain:
        found = briefs.why(self.home, session)
        rows = [each for each in found.get("told", ()) if isinstance(each, list) and len(each) > 4]
        left = [each for each in found.get("left_out", ()) if isinstance(each, list) and len(each) > 3]
        told = [{"section": row[0], "text": row[1], "address": row[2], "tokens": row[3], "why": row[4]} for row in rows]
        said = moments.every_said(self.home, str(found.get("client", "")), str(found.get("session", "")))
        return {
            "session": found.get("session"),
            "client": found.get("client"),
            "at": found.get("at"),
            "text": "",
            "tokens": sum(int(row[3]) for row in rows),
            "off": False,
            "told": told,
            "left_out": [{"section": row[0], "text": row[1], "address": row[2], "why": row[3], "tokens": 0} for row in left],
            "notes": [],
            "remarks": said,
        }  # fmt: skip

    def briefed(self) -> list[Plain]:
        """The sessions that were told a brief, the newest first."""
        every = cards.every_sent(self.home)[:_PAGE]
        return [
            {name: each.get(name) for name in ("session", "client", "at", "project", "characters")} for each in every
        ]

    def records(self, query: str = "", book: str = "", start: int = 0, most: int = _PAGE) -> Plain:
        """Records of the profile, the rules, the journal and the handbook: all in order, or those that fit a query."""
        if query.strip():
            found = self.opened.memory.recall(query, most=100)
            rows, problems = [row_of(hit) for hit in found.hits], list(found.problems)
        else:
            rows, problems = self._every_row()
        counts = {name: sum(row["book"] == name for row in rows) for name in ("profile", "rules", "journal", "root")}
        rows = [row for row in rows if not book or row["book"] == book]
        return {"total": len(rows), "counts": counts, "start": start, "records": rows[start : start + most], "problems": [asdict(each) for each in problems]}  # fmt: skip

    def experiences(self, query: str) -> list[Plain]:
        """Experiences that fit a situation, or the newest; none where none are kept."""
        if not self.opened.config.flag("journal.experience_store_enabled"):
            return []
        journal = self.opened.memory.journal()
        return [asdict(each) for each in (journal.query_experiences(query) if query.strip() else journal.experiences())]

    def _every_row(self) -> tuple[list[Plain], list[Finding]]:
        """Every record as a row."""
        return self._known.once("rows", self.stamps(), self._made_rows)

    def _made_rows(self) -> tuple[list[Plain], list[Finding]]:
        memory = self.opened.memory
        listing = memory.list(notebooks=(PROFILE, RULES))
        own = self.learning.handbook()
        hits = [*listing.hits, *memory.journal().listing(), *handbook_lines.learnt(own.context, own.root)]
        once = {hit.address: row_of(hit) for hit in reversed(hits)}
        return list(reversed(once.values())), list(listing.problems)

    def findings(self) -> list[Plain]:
        """What is wrong with memory: contradictions, stale and broken lines."""
        found = self._known.once("findings", self._files(), self.opened.memory.check)
        return [asdict(each) for each in found]

    def sessions(self, query: str = "", agent: str = "", start: int = 0, everywhere: bool = False) -> Plain:
        """Sessions of this project, or of all, the newest first; or those that fit a query."""
        self._look()
        which = Which(project=None if everywhere else self.opened.project.id, agent=agent or None, subagents=False)
        if query.strip():
            hits = self.every.search(query, which, 20)
            return {"sessions": [{**facts_of(each.session), "hits": [{"turn": hit.turn.number, "speaker": hit.turn.speaker.value, "snippet": hit.snippet} for hit in each.turns[:3]]} for each in hits], "start": 0, "more": False}  # fmt: skip
        found = self.every.list(which, start + _PAGE + 1)
        return {"sessions": [listed_of(each) for each in found[start : start + _PAGE]], "start": start, "more": len(found) > start + _PAGE}  # fmt: skip

    def _look(self) -> None:
        """Read what agents wrote since it was last looked; where that cannot be done, what is indexed is shown."""
        now = self._around.clock()
        if self._looked is None or now - self._looked >= _FRESH:
            self._looked = now
            try:
                self.every.refresh()
            except ByheartError:
                return

    def session(self, name: str) -> Plain:
        """One session to read: its turns, with what was learnt from each and what it was told at its start."""
        listed = self.every.find(name)
        session = listed.session
        turns = [
            {"number": turn.number, "speaker": turn.speaker.value, "at": str(turn.at or ""), "text": turn.text[:_LONGEST_TURN], "synthetic": turn.synthetic,
             "tool": turn.tool, "command": turn.command, "output": (turn.output or "")[:_LONGEST_TURN], "failed": turn.failed, "exit": turn.exit}
            for turn in self.every.turns(session)
            if turn.is_evidence
        ]  # fmt: skip
        learnt: dict[int, list[str]] = {}
        own = self.learning.handbook()
        for name in handbook_files.MAIN:
            for line in (self.opened.files.read(own.place(name)).text or "").split("\n"):
                for number in cited_turns(line, session.id) if line.startswith("- ") else ():
                    text = core_of(line[2:])
                    learnt.setdefault(number, []).extend([text] if text not in learnt.get(number, ()) else [])
        try:
            told = self._told(session.id)
        except ByheartError:
            told = None
        return {**listed_of(listed), "turns": turns, "learnt": learnt, "told": told}

    def activity(self) -> list[tuple[str, str, int]]:
        """Turns by day and agent."""
        return list(self.every.days(Which()))

    def skills(self) -> list[Plain]:
        """This project's skills, whole."""
        own = self.learning.handbook()
        found = []
        for path in handbook_files.paths(self.opened.files, own.folder):
            if path.startswith("skills/") and path.endswith("/SKILL.md"):
                found.append({"name": path.split("/")[1], "text": self.opened.files.read(own.place(path)).text or ""})
        return found

    def inbox(self) -> list[Plain]:
        """What waits for a yes."""
        return [asdict(each) for each in self.learning.inbox()]

    def log(self, most: int = 100) -> list[Plain]:
        """What changed, here and for all projects, the newest first."""
        memory = self.opened.memory
        rows = [
            {**asdict(each), "scope": scope.value} for scope in Scope for each in memory.log(scope=scope, most=most)
        ]
        return sorted(rows, key=lambda row: str(row["at"]), reverse=True)[:most]

    def gained(self) -> Plain:
        """What memory would have spared and did."""
        found = gain.gain(self.learning, self.every, self.home, _WEEKS, self._around.clock())
        return {"sentence": gain.sentence(found), "weeks": gain.by_week(found.again, _WEEKS, self._around.clock()), "again": [asdict(each) for each in found.again], "briefed": found.briefed}  # fmt: skip

    def jobs(self) -> list[Plain]:
        """The work of learning, without what is done."""
        return [asdict(job) for job in self.learning.jobs() if job.state != "done"]

    def health(self, live: bool = False) -> Plain:
        """How the installation, the agents and the files stand; live, their hooks and servers are tried as they would call them."""
        opened = self.opened
        stamp = f"{self._files()}|{int(time.time()) // _FRESH.seconds}"
        checks = self._known.once("checks", stamp, lambda: opened.memory.doctor(doctor.checkups(opened, [])))
        agents = connecting.statuses(opened, self._around, live=live)
        return {"checks": [asdict(each) for each in checks], "agents": [asdict(each) for each in agents], "jobs": self.jobs(), "sizes": self._sizes()}  # fmt: skip

    def _sizes(self) -> list[Plain]:
        found = []
        for name in ("state/index.db", "state/state.db", "projects", "global"):
            path = os.path.join(self.home, name)
            size = os.path.getsize(path) if os.path.isfile(path) else sum(os.path.getsize(os.path.join(folder, each)) for folder, _, names in os.walk(path) for each in names)  # fmt: skip
            found.append({"name": name, "bytes": size})
        return found

    def settings(self) -> list[Plain]:
        """Every setting: its value, where it was set, what it may hold and what it is for."""
        config, meaning = self.opened.config, settings.meanings()
        return [
            {"key": key, "value": config.values[key], "origin": config.origins[key], "allowed": rule.allowed(), "kind": rule.kind.__name__, "choices": list(rule.choices), "meaning": meaning.get(key, "")}
            for key, rule in KEYS.items()
        ]  # fmt: skip

    # Writing

    def remember(self, text: str, everywhere: bool = False) -> Plain:
        """Store one memory that a person typed."""
        receipt = self.opened.memory.remember(Request(text=text, scope=Scope.GLOBAL if everywhere else None))
        self._wrote()
        return asdict(receipt)

    def reword(self, selector: str, text: str, was: str | None = None) -> Plain:
        """Put one record into other words; only if it still says what it said, where that is given. Raises Conflict."""
        receipt = editing.reword(self.opened.memory.context, handle_in(selector), text, was=was)
        self.opened.memory.caught_up()
        self._wrote()
        return asdict(receipt)

    def confirm(self, selector: str) -> Plain:
        """Say that one record is right."""
        receipt = self.opened.memory.confirm(handle_in(selector))
        self._wrote()
        return asdict(receipt)

    def would_forget(self, selector: str) -> Plain:
        """What would go if this were forgotten."""
        target = self.learning.target(selector)
        return {"text": target.text, "turn": target.turn is not None}

    def forget(self, selector: str) -> Plain:
        """Remove one thing for good."""
        learning = sessions.open_learning(self.opened, self._around, even_off=True)
        receipt = learning.forget(learning.target(selector))
        self.opened.memory.caught_up()
        self._wrote()
        return asdict(receipt)

    def decide(self, name: str, how: str, text: str | None = None) -> Plain:
        """Accept an item of the inbox, in other words where some are given, or reject it."""
        if how == "reject":
            return {"rejected": self.learning.reject(name).id}
        receipt = self.learning.accept(name, text)
        self._wrote()
        return asdict(receipt)

    def undo(self, receipt: str | None = None) -> Plain:
        """Take back one change."""
        done = self.opened.memory.undo(receipt)
        self.opened.memory.caught_up()
        self._wrote()
        return asdict(done)

    def set(self, key: str, value: str | None) -> Plain:
        """Set one setting in the user's file, or take it out there. Raises NothingFound for one that there is not."""
        key = named(key)
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            raise NothingFound(f"no setting is called {key!r}" + (f"; did you mean {near[0]}?" if near else ""))
        if value is None:
            config_file.unset(self.opened, key)
        else:
            config_file.put(self.opened, key, value)
        return next(each for each in self.settings() if each["key"] == key)

    def switch(self, on: bool) -> Plain:
        """Turn this project's memory on or off."""
        receipt = self.opened.memory.switch("enabled", on=on)
        self._wrote()
        return asdict(receipt)

    # Documents

    def shareable(self) -> list[Plain]:
        """The files of memory that may be handed over: without those of a journal that holds a record labelled secret."""
        found = []
        for each in self.documents():
            name = str(each["name"])
            is_journal = name.endswith("/MEMORY.md") or "/memory/" in name
            if each["bytes"] and (name.startswith("handbook/") or not is_journal or not self._has_secrets(name)):
                found.append(self.document(name))
        return found

    def _has_secrets(self, name: str) -> bool:
        """Whether a journal's file holds a record with a label that keeps it from travelling."""
        known = self.opened.memory.context.dialects[JOURNAL]
        try:
            return any(each.record.is_secret for each in known.parse(self.document(name)["text"]).placed)
        except ByheartError:
            return True

    def _documents(self) -> dict[str, tuple[Root, Place, str]]:
        roots = self.opened.memory.context.roots
        found: dict[str, tuple[Root, Place, str]] = {}
        for scope, root in roots.items():
            for dialect, name in _NAMES.items():
                found[f"{scope.value}/{name}"] = (root, root.documents[dialect], dialect)
            journal = root.documents[JOURNAL]
            folder = os.path.dirname(journal.path)
            for name in _BESIDE:
                found[f"{scope.value}/{name}"] = (root, Place(journal.base, os.path.join(folder, name)), "")
            for day in self._days(root):
                found[f"{scope.value}/memory/{day}"] = (root, Place(journal.base, os.path.join(folder, "memory", day)), "")  # fmt: skip
        own = self.learning.handbook()
        for path in handbook_files.paths(self.opened.files, own.folder):
            found[f"handbook/{path}"] = (own.root, own.place(path), "")
        return found

    def _days(self, root: Root) -> list[str]:
        journal = root.documents[JOURNAL]
        names = self.opened.files.names(Place(journal.base, os.path.join(os.path.dirname(journal.path), "memory")))
        return sorted((name for name in names if name.endswith(".md")), reverse=True)[:60]

    def documents(self) -> list[Plain]:
        """The files of memory, with their size; those that are not there yet have none."""
        files = self.opened.files
        return [{"name": name, "path": str(place), "bytes": files.size(place)} for name, (_, place, _) in self._documents().items()]  # fmt: skip

    def document(self, name: str) -> Plain:
        """One of them, with the digest that a write has to name."""
        _, place, _ = self._named(name)
        snapshot = self.opened.memory.context.files.read(place)
        return {"name": name, "path": str(place), "text": snapshot.text or "", "etag": snapshot.digest}

    def write_document(self, name: str, text: str, etag: str) -> Plain:
        """Put a whole file in its place, if it still is the one that was read."""
        root, place, dialect = self._named(name)
        held = self.opened.memory.context.files.read(place).text or ""
        if "\r\n" in held and "\n" not in held.replace("\r\n", "") and "\r" not in text:
            # A browser's field knows one kind of line end; the file keeps its own.
            text = text.replace("\n", "\r\n")
        receipt = editing.write_file(self.opened.memory.context, root, place, text, etag, dialect=dialect)
        self.opened.memory.caught_up()
        self._wrote()
        return {**asdict(receipt), "etag": self.opened.memory.context.files.read(place).digest}

    def _named(self, name: str) -> tuple[Root, Place, str]:
        found = self._documents().get(name)
        if found is None:
            raise NothingFound(f"no document is called {name!r}")
        return found

    # The journal's own protocol

    def logs(self) -> list[Plain]:
        """The journal's files by their names there: MEMORY.md and the daily logs, the newest first."""
        root = self.opened.memory.context.roots[Scope.LOCAL]
        names = [each.removeprefix("local/") for each in self._documents() if each.startswith("local/memory/")]
        rows = [{"name": name.rpartition("/")[2], "path": name} for name in names]
        place = root.documents[JOURNAL]
        return (
            [{"name": "MEMORY.md", "path": "MEMORY.md"}, *rows] if self.opened.files.size(place) is not None else rows
        )

    def journal_file(self, path: str) -> str:
        """One of them; empty where it is not there."""
        return self.opened.memory.context.files.read(self._journal_place(path)).text or ""

    def write_journal_file(self, path: str, text: str) -> None:
        """Write one of them as it is given."""
        root = self.opened.memory.context.roots[Scope.LOCAL]
        context = self.opened.memory.context
        for _ in range(5):
            base = context.files.read(self._journal_place(path)).digest
            try:
                editing.write_file(context, root, self._journal_place(path), text, base, dialect=JOURNAL if path == "MEMORY.md" else "")  # fmt: skip
                self.opened.memory.caught_up()
                return
            except Conflict:
                continue
        raise Conflict(f"{path} keeps changing; try again in a moment")

    def _journal_place(self, path: str) -> Place:
        journal = self.opened.memory.context.roots[Scope.LOCAL].documents[JOURNAL]
        return replace(journal, path=os.path.join(os.path.dirname(journal.path), path))

    def stamps(self) -> str:
        """What tells whether anything of memory changed, without opening it."""
        paths = [os.path.join(self.home, "state", name) for name in ("ended.ndjson", "state.db", "state.db-wal")]
        paths += [str(self.learning.handbook().place("memory_summary.md")), str(self.learning.handbook().root.own("inbox.ndjson"))]  # fmt: skip
        return "|".join((self._files(), *(cards.stamp(path) for path in paths)))

    def _files(self) -> str:
        """What tells whether a notebook or a setting changed."""
        places = [str(place) for root in self.opened.memory.context.roots.values() for place in root.documents.values()]
        return "|".join(cards.stamp(path) for path in (os.path.join(self.home, "config.toml"), *places))
