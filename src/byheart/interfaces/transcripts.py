"""Sessions and turns as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from byheart.domain.sessions import CommandUse, FileVisit, KnownFix, Listed, Speaker, Standing, Turn, cite
from byheart.handbook.phrases import short_id
from byheart.text.unicode import visible

_INDENT = "    "


def one_line(text: str, most: int = 100) -> str:
    """A text on one line, cut where it gets long."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def moment(at: datetime | None) -> str:
    """A time as this machine's people read it."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}" if at else "undated"


def session_table(found: Sequence[Listed], width: int) -> Iterator[str]:
    """Sessions, a line each: when, agent, the shortest name that is theirs alone, project, prompts and turns, what was asked."""
    names = _short_names([each.session.id for each in found])
    rows = [
        (
            moment(each.session.ended or each.session.started),
            each.session.agent,
            visible(name),
            visible((each.session.project or "-").rsplit("-", 1)[0]),
            f"{each.prompts}/{each.turns}{'*' if each.active else '+' if each.session.parent else ''}",
        )
        for each, name in zip(found, names, strict=True)
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(5)]
    room = max(20, width - sum(widths) - 10) if width else 100
    for row, each in zip(rows, found, strict=True):
        cells = "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True))
        yield f"{cells}  {one_line(each.session.title or each.first or '(no prompt)', room)}"


def _short_names(names: Sequence[str]) -> list[str]:
    """Each name as far as it takes to tell it from the others, and at least eight characters."""
    ordered = sorted(set(names))
    needed = dict.fromkeys(ordered, 8)
    for one, other in pairwise(ordered):
        shared = next(
            (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
        )
        for name in (one, other):
            needed[name] = max(needed[name], shared + 1)
    return [name[: needed[name]] for name in names]


def session_head(each: Listed) -> Iterator[str]:
    """A session's facts, a line each."""
    session = each.session
    rows = (
        ("session", f"{session.agent}:{session.id}"),
        ("file", session.path),
        ("project", session.project),
        ("folder", session.cwd),
        ("branch", session.branch),
        ("commit", session.commit),
        ("client", session.version),
        ("model", session.model),
        ("parent", session.parent),
        ("title", one_line(session.title) if session.title else None),
        ("memory", session.memory_mode),
        ("from", moment(session.started)),
        ("to", moment(session.ended)),
        ("state", "active" if each.active else "finished"),
        ("turns", f"{each.turns}, {each.prompts} by a person; {each.commands} commands, {each.failures} failed"),
    )
    for name, value in rows:
        if value:
            yield visible(f"{name + ':':<10}{value}")


def turn_lines(turn: Turn) -> Iterator[str]:
    """A turn as a transcript shows it: its number, who and when, then what was said or done."""
    marks = [turn.speaker.value if turn.tool is None else f"tool {visible(turn.tool)}"]
    if turn.synthetic:
        marks.append(f"({visible(turn.synthetic)})")
    if turn.side:
        marks.append(f"[{visible(turn.side)}]")
    if turn.standing is not Standing.LIVE:
        marks.append(f"[{turn.standing.value}]")
    if turn.exit is not None:
        marks.append(f"exit {turn.exit}")
    elif turn.failed:
        marks.append("failed")
    at = f"{turn.at:%Y-%m-%d %H:%M:%S}Z  " if turn.at else ""
    yield f"#{turn.number}  {at}{'  '.join(marks)}"
    if turn.text:
        yield from _indented(turn.text)
    if turn.command:
        yield from _indented("$ " + turn.command)
    if turn.arguments:
        yield from _indented(turn.arguments)
    for touch in turn.touches:
        yield f"{_INDENT}~ {touch.how.value} {visible(touch.path)}"
    if turn.output:
        yield from _indented(turn.output, "  > " if turn.speaker is Speaker.TOOL else _INDENT)


def _indented(text: str, indent: str = _INDENT) -> Iterator[str]:
    for line in visible(text.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n").split("\n"):
        yield f"{indent}{line}".rstrip()


def _short(named: str) -> str:
    """A turn's name with as much of its session's id as finds it again."""
    agent, _, rest = named.partition(":")
    thread, mark, number = rest.rpartition("#")
    return f"{agent}:{short_id(thread)}{mark}{number}" if agent and thread else named


def use_lines(use: CommandUse) -> Iterator[str]:
    """How a command was used."""
    known = use.succeeded + use.failed
    ran = "once" if use.runs == 1 else f"{use.runs} times"
    proof = f"{use.succeeded} of {known} succeeded" if known else f"ran {ran}, with no exit code seen"
    yield one_line(use.form, 200)
    yield f"{_INDENT}{proof}; last {moment(use.last)}{f'; {use.kind}' if use.kind else ''}"
    if " ".join(use.example.split()) != use.form:
        yield f"{_INDENT}as run: {one_line(use.example, 200)}"
    if use.result:
        yield f"{_INDENT}result: {one_line(use.result)}"
    yield visible(f"{_INDENT}{', '.join(map(_short, use.cites))}")


def fix_lines(fix: KnownFix) -> Iterator[str]:
    """An error and what helped."""
    yield one_line(fix.error, 200)
    if fix.failed_command:
        yield f"{_INDENT}from    {one_line(fix.failed_command, 160)}   {visible(_short(fix.failed_cite))}"
    for path in fix.edited:
        yield f"{_INDENT}edited  {visible(path)}"
    for command in fix.commands:
        yield f"{_INDENT}ran     {one_line(command, 200)}"
    if fix.is_workaround:
        yield f"{_INDENT}worked around, not solved: a check was skipped or something forced"
    if not fix.edited and not fix.commands:
        yield f"{_INDENT}nothing changed: it worked when it was run again"
    yield f"{_INDENT}then    {one_line(fix.proof, 160)}  {'succeeded' if fix.passed else 'went on without it'}   {visible(_short(fix.fixed_cite))}   {moment(fix.at)}"


def visit_lines(visit: FileVisit) -> Iterator[str]:
    """A session that touched a file."""
    verb = {"read": "read", "edit": "changed", "create": "written", "delete": "deleted"}[visit.how.value]
    times = "once" if visit.times == 1 else f"{visit.times} times"
    yield f"{moment(visit.at)}  {verb} {times}  {visible(visit.path)}   {visible(_short(cite(visit.session, visit.first)))}"
    if visit.asked:
        yield f"{_INDENT}asked: {one_line(visit.asked, 200)}"
    if visit.said:
        yield f"{_INDENT}agent: {one_line(visit.said, 200)}"


def calendar(days: Sequence[tuple[str, str, int]], until: datetime) -> str:
    """A year of activity as an SVG picture: a strip of weeks for each agent, darker where more was said."""
    from datetime import date, timedelta
    from html import escape

    last = until.astimezone().date()
    first = last - timedelta(days=last.weekday() + 52 * 7)
    totals: dict[str, int] = {}
    cells: dict[tuple[str, date], int] = {}
    for day, agent, number in days:
        on = date.fromisoformat(day)
        if first <= on <= last:
            totals[agent] = totals.get(agent, 0) + number
            cells[agent, on] = number
    agents = sorted(totals, key=lambda agent: totals[agent], reverse=True)
    step, left, top, strip = 13, 110, 34, 7 * 13 + 24
    width, height = left + 53 * step + 16, top + max(1, len(agents)) * strip
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f"<title>Agents' activity from {first} to {last}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="12" y="18" font-size="13" font-weight="bold">Turns a day, {first} to {last}</text>',
    ]
    hues = (210, 150, 25, 280, 350, 185, 50, 320, 100, 235)
    for row, agent in enumerate(agents):
        y = top + row * strip
        most = max(number for (name, _), number in cells.items() if name == agent)
        out.append(
            f'<text x="12" y="{y + 14}">{escape(agent)}</text><text x="12" y="{y + 29}" fill="#666">{totals[agent]:,} turns</text>'
        )
        for offset in range((last - first).days + 1):
            on = first + timedelta(days=offset)
            number = cells.get((agent, on), 0)
            shade = "#ebedf0" if not number else f"hsl({hues[row % len(hues)]},60%,{78 - round(46 * number / most)}%)"
            x, below = left + offset // 7 * step, y + offset % 7 * step
            out.append(
                f'<rect x="{x}" y="{below}" width="11" height="11" rx="2" fill="{shade}"><title>{on}: {number} turns, {escape(agent)}</title></rect>'
            )
            if on.day == 1 and row == 0:
                out.append(f'<text x="{x}" y="{top - 4}" fill="#666">{on:%b}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
