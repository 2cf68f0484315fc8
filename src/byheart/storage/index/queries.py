"""Asking the index: lists, searches, and what the work shows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from byheart.domain.sessions import (
    AgentCount,
    CommandUse,
    FileVisit,
    Found,
    How,
    KnownFix,
    Listed,
    Session,
    Tally,
    Touch,
    Turn,
    Which,
    cite,
)
from byheart.storage.index.writing import milliseconds, moment, tally_of, turn_of
from byheart.text.questions import question

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_WORD = re.compile(r"\w+", re.UNICODE)
_MOST_WORDS = 40
# A text that was saved by another tool as well counts once, as the agent's own.
_ONCE = "NOT (s.agent = 'specstory' AND EXISTS (SELECT 1 FROM session o WHERE o.id = s.id AND o.agent <> 'specstory'))"


def session_of(row: sqlite3.Row) -> Session:
    """A session's row as a value."""
    return Session(
        id=row["id"],
        agent=row["agent"],
        path=row["path"],
        version=row["version"],
        cwd=row["cwd"],
        project=row["project"],
        branch=row["branch"],
        commit=row["commit_id"],
        remote=row["remote"],
        started=moment(row["started"]),
        ended=moment(row["ended"]),
        parent=row["parent"],
        title=row["title"],
        model=row["model"],
        memory_mode=row["memory_mode"],
        closed=None if row["closed"] is None else bool(row["closed"]),
    )


def where_of(which: Which) -> tuple[str, list[object]]:
    """Conditions on a session `s`, and what they are filled with."""
    parts, given = [_ONCE, "s.turns > 0"], list[object]()
    for column, value in (("agent", which.agent), ("project", which.project)):
        if value is not None:
            parts.append(f"s.{column} = ?")
            given.append(value)
    if which.since is not None:
        parts.append("s.ended >= ?")
        given.append(milliseconds(which.since))
    if which.until is not None:
        parts.append("s.started < ?")
        given.append(milliseconds(which.until))
    if not which.subagents:
        parts.append("s.parent IS NULL")
    if which.text is not None:
        # Each word anywhere in the session, not all of them in one turn.
        for word in question(which.text).terms:
            parts.append(
                "s.n IN (SELECT t.session FROM turn_words JOIN turn t ON t.n = turn_words.rowid WHERE turn_words MATCH ? AND t.standing = 'live')"
            )
            given.append(word)
    return " AND ".join(parts), given


def match(words: str) -> str:
    """A question as FTS5 takes it: every word quoted, so that none is taken for an operator."""
    found = dict.fromkeys(word.casefold() for word in _WORD.findall(words))
    return " OR ".join(f'"{word}"' for word in list(found)[:_MOST_WORDS])


def sessions(db: sqlite3.Connection, which: Which, most: int) -> list[Listed]:
    """The newest first."""
    where, given = where_of(which)
    rows = db.execute(
        f"SELECT * FROM session s WHERE {where} ORDER BY coalesce(s.ended, s.started, 0) DESC, s.n DESC LIMIT ?",
        (*given, most),
    )
    return [_listed(row) for row in rows]


def _listed(row: sqlite3.Row) -> Listed:
    return Listed(
        session=session_of(row),
        turns=row["turns"],
        prompts=row["prompts"],
        commands=row["commands"],
        failures=row["failures"],
        first=row["first"],
    )


def named(db: sqlite3.Connection, name: str) -> list[Listed]:
    """Sessions with this id, or this id prefix; `agent:` in front narrows it, a `#turn` behind it is left away."""
    own = name.split("#")[0]
    agent, colon, rest = own.partition(":")
    own = rest if colon and rest and re.fullmatch(r"[a-z-]+", agent) else own
    narrowed = " AND s.agent = ?" if own is rest else ""
    given = (agent,) if narrowed else ()
    for condition, value in (
        ("s.id = ?", own),
        ("s.id LIKE ? ESCAPE '\\'", _escaped(own) + "%"),
    ):
        rows = db.execute(
            f"SELECT * FROM session s WHERE {condition}{narrowed} AND {_ONCE} AND s.turns > 0 ORDER BY s.prompts + s.commands DESC, s.ended DESC LIMIT 20",
            (value, *given),
        ).fetchall()
        if rows:
            return [_listed(row) for row in rows]
    return []


def turns(db: sqlite3.Connection, session: Session) -> list[Turn]:
    """A session's turns as they were kept."""
    own = db.execute(
        "SELECT n FROM session WHERE id = ? AND agent = ? AND path = ?", (session.id, session.agent, session.path)
    ).fetchone()
    if own is None:
        return []
    touches: dict[int, list[Touch]] = {}
    for turn, path, how in db.execute("SELECT turn, path, how FROM touch WHERE session = ?", (own[0],)):
        touches.setdefault(turn, []).append(Touch(path, How(how)))
    rows = db.execute("SELECT * FROM turn WHERE session = ? ORDER BY number", (own[0],))
    return [turn_of(row, tuple(touches.get(row["n"], ()))) for row in rows]


def uses(db: sqlite3.Connection, words: Sequence[str], kind: str | None, which: Which, most: int) -> list[CommandUse]:
    """Commands that hold all these words, or are of this kind, each form once."""
    where, given = where_of(which)
    conditions, fill = [], list[object]()
    if words:
        conditions.append("(" + " AND ".join("c.form LIKE ? ESCAPE '\\'" for _ in words) + ")")
        fill += ["%" + _escaped(word) + "%" for word in words]
    if kind:
        conditions.append("c.kind = ?")
        fill.append(kind)
    if not conditions:
        return []
    rows = db.execute(
        f"""SELECT c.form, c.kind, count(*) AS runs, sum(c.ok = 1) AS good, sum(c.ok = 0) AS bad, max(coalesce(t.at, s.ended)) AS last,
              coalesce(max(CASE WHEN c.ok = 1 AND instr(t.command, '|') = 0 THEN t.n END), max(CASE WHEN c.ok = 1 THEN t.n END)) AS best, max(t.n) AS newest
            FROM command c JOIN turn t ON t.n = c.turn JOIN session s ON s.n = c.session
            WHERE ({" OR ".join(conditions)}) AND t.standing = 'live' AND {where}
            GROUP BY c.form ORDER BY good DESC, last DESC LIMIT ?""",
        (*fill, *given, most),
    ).fetchall()
    return [_use(db, row) for row in rows]


def _use(db: sqlite3.Connection, row: sqlite3.Row) -> CommandUse:
    shown = row["best"] or row["newest"]
    turn = db.execute(
        "SELECT t.number, t.command, s.*, c.result FROM turn t JOIN session s ON s.n = t.session JOIN command c ON c.turn = t.n WHERE t.n = ?",
        (shown,),
    ).fetchone()
    session = session_of(turn)
    return CommandUse(
        form=row["form"],
        example=turn["command"] or row["form"],
        kind=row["kind"],
        runs=row["runs"],
        succeeded=row["good"] or 0,
        failed=row["bad"] or 0,
        last=moment(row["last"]),
        project=session.project,
        cwd=session.cwd,
        cites=(cite(session, turn["number"]),),
        result=turn["result"],
    )


_FIX = """s.n AS session_row, t.at AS at,
              (SELECT count(DISTINCT e.session) FROM error e JOIN session o ON o.n = e.session
               WHERE e.signature = f.signature AND o.project IS s.project) AS seen"""


def known_fixes(db: sqlite3.Connection, words: str, which: Which, most: int) -> list[KnownFix]:
    """Errors that share words with a question, and what helped."""
    asked = match(words)
    if not asked:
        return []
    where, given = where_of(which)
    rows = db.execute(
        f"""SELECT f.*, bm25(fix_words, 2.0, 1.0) AS score, {_FIX}
            FROM fix_words JOIN fix f ON f.n = fix_words.rowid JOIN session s ON s.n = f.session
            LEFT JOIN turn t ON t.session = f.session AND t.number = f.fixed_at
            WHERE fix_words MATCH ? AND {where} ORDER BY score LIMIT ?""",
        (asked, *given, most),
    ).fetchall()
    return [_fix_of(db, row) for row in rows]


def recent_fixes(db: sqlite3.Connection, which: Which, most: int) -> list[KnownFix]:
    """Errors that were overcome for certain, the last first."""
    where, given = where_of(which)
    rows = db.execute(
        f"""SELECT f.*, 0.0 AS score, {_FIX} FROM fix f JOIN session s ON s.n = f.session
            LEFT JOIN turn t ON t.session = f.session AND t.number = f.fixed_at
            WHERE f.passed AND {where} ORDER BY coalesce(t.at, s.ended) DESC LIMIT ?""",
        (*given, most),
    ).fetchall()
    return [_fix_of(db, row) for row in rows]


def _fix_of(db: sqlite3.Connection, row: sqlite3.Row) -> KnownFix:
    session = session_of(db.execute("SELECT * FROM session WHERE n = ?", (row["session_row"],)).fetchone())
    return KnownFix(
        error=row["error"],
        failed_command=row["failed_command"],
        proof=row["proof"],
        passed=bool(row["passed"]),
        commands=tuple(json.loads(row["commands"])),
        edited=tuple(json.loads(row["edited"])),
        at=moment(row["at"]) or session.ended,
        project=session.project,
        failed_cite=cite(session, row["failed_at"]),
        fixed_cite=cite(session, row["fixed_at"]),
        score=-row["score"],
        seen=row["seen"],
    )


def visits(db: sqlite3.Connection, path: str, which: Which, most: int) -> list[FileVisit]:
    """Sessions that touched a file, the newest first. A relative path fits wherever it ends a longer one."""
    where, given = where_of(which)
    plain = path.replace("\\", "/").rstrip("/").removeprefix("./")
    name = plain.rsplit("/", 1)[-1]
    tail = "%/" + _escaped(plain.lstrip("/"))
    # A path may be told whole, or from the folder that the session ran in; either may be what is asked for.
    told = "replace(x.path, char(92), '/')"
    whole = f"CASE WHEN {told} LIKE '/%' OR {told} LIKE '_:/%' THEN {told} ELSE replace(coalesce(s.cwd, ''), char(92), '/') || '/' || {told} END"
    rows = db.execute(
        f"""SELECT s.*, x.path AS touched, min(CASE x.how WHEN 'delete' THEN 0 WHEN 'create' THEN 1 WHEN 'edit' THEN 2 ELSE 3 END) AS rank,
              count(DISTINCT x.turn) AS times, min(t.number) AS low, max(t.number) AS high, max(coalesce(t.at, s.ended)) AS newest
            FROM touch x JOIN turn t ON t.n = x.turn JOIN session s ON s.n = x.session
            WHERE x.name = ? AND ({told} = ? OR {whole} = ? OR {whole} LIKE ? ESCAPE '\\') AND t.standing = 'live' AND {where}
            GROUP BY s.n, CASE WHEN x.how = 'read' THEN 0 ELSE 1 END ORDER BY newest DESC LIMIT ?""",
        (name, plain, plain, tail, *given, most),
    ).fetchall()
    return [_visit(db, row) for row in rows]


def paths(db: sqlite3.Connection, project: str, most: int) -> list[tuple[str, str]]:
    """The files that sessions of a project touched, each with the folder of the session; those of most sessions first."""
    rows = db.execute(
        """SELECT x.path, coalesce(s.cwd, ''), count(DISTINCT s.n) AS times FROM touch x JOIN turn t ON t.n = x.turn JOIN session s ON s.n = x.session
           WHERE s.project = ? AND t.standing = 'live' AND coalesce(t.failed, 0) = 0 GROUP BY x.path, s.cwd ORDER BY times DESC, x.path LIMIT ?""",
        (project, most),
    )
    return [(path, cwd) for path, cwd, _ in rows]


def edited(db: sqlite3.Connection, session: Session) -> list[tuple[str, int]]:
    """The files that a session changed, as it named them, each with in how many turns; most first."""
    rows = db.execute(
        """SELECT x.path, count(DISTINCT x.turn) AS times FROM touch x JOIN turn t ON t.n = x.turn JOIN session s ON s.n = x.session
           WHERE s.agent = ? AND s.id = ? AND x.how IN ('edit', 'create') AND t.standing = 'live' GROUP BY x.path ORDER BY times DESC, x.path""",
        (session.agent, session.id),
    )
    return [(path, times) for path, times in rows]


def _escaped(text: str) -> str:
    """A text as LIKE takes it literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _visit(db: sqlite3.Connection, row: sqlite3.Row) -> FileVisit:
    def last(condition: str) -> str:
        found = db.execute(
            f"SELECT substr(text, 1, 400) FROM turn WHERE session = ? AND number < ? AND standing = 'live' AND {condition} ORDER BY number DESC LIMIT 1",
            (row["n"], row["low"]),
        ).fetchone()
        return found[0] if found else ""

    return FileVisit(
        session=session_of(row),
        path=row["touched"],
        how=(How.DELETE, How.CREATE, How.EDIT, How.READ)[row["rank"]],
        times=row["times"],
        first=row["low"],
        last=row["high"],
        at=moment(row["newest"]),
        # What was asked for, rather than the "yes" to a question about it.
        asked=last("speaker = 'user' AND synthetic IS NULL AND length(text) > 24")
        or last("speaker = 'user' AND synthetic IS NULL"),
        said=last("speaker = 'assistant' AND synthetic IS NULL"),
    )


def counts(db: sqlite3.Connection, which: Which) -> list[AgentCount]:
    """Every agent's share, the largest first."""
    where, given = where_of(which)
    tallies: dict[str, Tally] = {}
    files: dict[str, int] = {}
    everything = which == Which()
    chosen = "" if everything else f" WHERE f.key IN (SELECT s.file FROM session s WHERE {where})"
    for agent, text in db.execute(f"SELECT f.agent, f.tally FROM file f{chosen}", () if everything else given):
        tallies.setdefault(agent, Tally()).add(tally_of(text))
        files[agent] = files.get(agent, 0) + 1
    rows = db.execute(
        f"SELECT s.agent, count(*) AS sessions FROM session s WHERE {where} GROUP BY s.agent ORDER BY sessions DESC",
        given,
    ).fetchall()
    found = []
    for agent, number in rows:
        spoken = db.execute(
            f"SELECT t.speaker, sum(t.synthetic IS NULL), sum(t.synthetic IS NOT NULL), sum(t.standing <> 'live') FROM turn t JOIN session s ON s.n = t.session "
            f"WHERE s.agent = ? AND {where} GROUP BY t.speaker",
            (agent, *given),
        ).fetchall()

        def total(table: str, agent: str = agent) -> int:
            live = "" if table == "fix" else "JOIN turn t ON t.n = x.turn AND t.standing = 'live'"
            query = (
                f"SELECT count(*) FROM {table} x {live} JOIN session s ON s.n = x.session WHERE s.agent = ? AND {where}"
            )
            return int(db.execute(query, (agent, *given)).fetchone()[0])

        found.append(
            AgentCount(
                agent=agent,
                files=files.pop(agent, 0),
                sessions=number,
                turns={speaker: plain for speaker, plain, _, _ in spoken},
                synthetic=sum(added for _, _, added, _ in spoken),
                abandoned=sum(gone for _, _, _, gone in spoken),
                commands=total("command"),
                errors=total("error"),
                fixes=total("fix"),
                tally=tallies.pop(agent, Tally()),
            )
        )
    if everything:
        found += [_unread(agent, files[agent], tally) for agent, tally in tallies.items()]
    return found


def _unread(agent: str, files: int, tally: Tally) -> AgentCount:
    """Files that came to no session."""
    return AgentCount(
        agent=agent,
        files=files,
        sessions=0,
        turns={},
        synthetic=0,
        abandoned=0,
        commands=0,
        errors=0,
        fixes=0,
        tally=tally,
    )


def days(db: sqlite3.Connection, which: Which) -> list[tuple[str, str, int]]:
    """Day, agent, and how many turns there were."""
    where, given = where_of(which)
    rows = db.execute(
        f"""SELECT date(coalesce(t.at, s.started) / 1000, 'unixepoch', 'localtime') AS day, s.agent, count(*) FROM turn t
            JOIN session s ON s.n = t.session WHERE t.standing = 'live' AND t.synthetic IS NULL AND coalesce(t.at, s.started) IS NOT NULL AND {where}
            GROUP BY day, s.agent ORDER BY day""",
        given,
    )
    return [(day, agent, number) for day, agent, number in rows]


def folders(db: sqlite3.Connection) -> list[str]:
    """Every folder that a session ran in."""
    return [row[0] for row in db.execute("SELECT DISTINCT cwd FROM session WHERE cwd IS NOT NULL")]


def place_of(db: sqlite3.Connection, session: Session) -> Found | None:
    """The transcript that a session was read from."""
    row = db.execute(
        "SELECT f.* FROM file f JOIN session s ON s.file = f.key WHERE s.id = ? AND s.agent = ? AND s.path = ?",
        (session.id, session.agent, session.path),
    ).fetchone()
    if row is None:
        return None
    part = row["key"][len(row["path"]) + 1 :]
    return Found(
        agent=row["agent"], path=row["path"], size=row["size"], modified=row["modified"], inode=row["inode"], part=part
    )


def projects(db: sqlite3.Connection) -> list[tuple[str, int]]:
    """Every project with how many sessions ran in it."""
    rows = db.execute(
        "SELECT project, count(*) FROM session WHERE project IS NOT NULL AND turns > 0 GROUP BY project ORDER BY 2 DESC"
    )
    return [(row[0], row[1]) for row in rows]


def agents(db: sqlite3.Connection) -> list[str]:
    """Every agent that left a session."""
    return [row[0] for row in db.execute("SELECT DISTINCT agent FROM session WHERE turns > 0 ORDER BY agent")]


def saying(db: sqlite3.Connection, text: str, most: int) -> list[tuple[str, Session, int, str]]:
    """Turns that have all words of a text in their order: the key of their file, their session and number, and all they say."""
    escaped = (word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for word in text.split())
    like = "%" + "%".join(escaped) + "%"
    fields = " OR ".join(f"t.{name} LIKE ?1 ESCAPE '\\'" for name in ("text", "command", "arguments", "output"))
    rows = db.execute(
        f"SELECT s.*, t.number AS at, t.text AS said, t.command AS ran, t.arguments AS given, t.output AS came "
        f"FROM turn t JOIN session s ON s.n = t.session WHERE {fields} LIMIT ?2",
        (like, most),
    ).fetchall()
    return [
        (
            row["file"],
            session_of(row),
            row["at"],
            "\n".join(part for part in (row["said"], row["ran"], row["given"], row["came"]) if part),
        )
        for row in rows
    ]
