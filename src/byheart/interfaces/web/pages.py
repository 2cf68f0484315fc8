"""The page: what the gateway gives, put into templates. Stored text is text there, always."""

from __future__ import annotations

import os
from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import jinja2
from starlette.responses import HTMLResponse
from starlette.routing import Route

from byheart import __version__
from byheart.app.sessions import agent_names
from byheart.interfaces.web import plots
from byheart.interfaces.web.doors import Problem
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from byheart.app.gateway import Gateway
    from byheart.interfaces.web.doors import Doors

_WEEKS = 10
# What forms of the views ask with.
_FIELDS = ("project", "query", "book", "everywhere", "session", "start", "name", "agent")
# Address, name, and the key that goes there.
VIEWS = (("/", "Today", "t"), ("/brief", "Brief", "b"), ("/memory", "Memory", "m"), ("/sessions", "Sessions", "s"), ("/skills", "Skills", "k"), ("/inbox", "Inbox", "i"), ("/history", "History", "h"), ("/machine", "Health", "e"), ("/settings", "Settings", "g"))  # fmt: skip
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(os.path.join(os.path.dirname(__file__), "templates")),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)


def _size(count: int | None) -> str:
    return f"{(count or 0) / 1e6:,.1f} MB" if (count or 0) > 100_000 else f"{count or 0:,} bytes"


def _parts(
    rows: Sequence[dict[str, Any]], name_of: Callable[[dict[str, Any]], str]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Rows by a name of theirs, in the order in which they come."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(name_of(row), []).append(row)
    return list(found.items())


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_TEMPLATES.filters["seen"] = lambda text: visible(str(text)) if text is not None else ""
_TEMPLATES.filters["day"] = lambda text: str(text)[:16].replace("T", " ")
_TEMPLATES.filters["home"] = lambda text: str(text).replace(os.path.expanduser("~"), "~", 1)
_TEMPLATES.filters["parts"] = lambda lines: _parts(lines, lambda line: line["section"])
_TEMPLATES.filters["by_table"] = lambda rows: _parts(rows, lambda row: row["key"].partition(".")[0])
_TEMPLATES.filters["file"] = lambda path: str(path).rpartition("/")[2]
_TEMPLATES.filters["size"] = _size
_TEMPLATES.globals |= {"count": count, "views": VIEWS, "version": __version__, "plots": plots}


def rendered(template: str, **values: Any) -> str:
    """A template with its values."""
    return _TEMPLATES.get_template(template).render(**values)


def routes() -> list[Route]:
    """The views."""
    return [
        Route("/", _view("today.html", lambda g, _: g.today(), plotted=_today)),
        Route("/brief", _view("brief.html", lambda g, a: {**g.brief(a.get("session") or None), "briefed": g.briefed()}, plotted=_brief)),
        Route("/memory", _view("memory.html", _memory)),
        Route("/memory/file", _view("file.html", lambda g, a: {**g.document(a.get("name", "")), "documents": g.documents()})),
        Route("/sessions", _view("sessions.html", _sessions, plotted=_activity)),
        Route("/sessions/{id}", _view("session.html", lambda g, a: g.session(a["id"]))),
        Route("/skills", _view("skills.html", lambda g, _: {"skills": g.skills()})),
        Route("/inbox", _view("inbox.html", lambda g, _: {"inbox": g.inbox()})),
        Route("/history", _view("history.html", lambda g, _: _history(g), plotted=_growth)),
        Route("/machine", _view("machine.html", lambda g, a: {**g.health(a.get("test") == "true"), "findings": g.findings()})),
        Route("/settings", _view("settings.html", lambda g, _: {"settings": g.settings(), "enabled": not g.brief()["off"], "projects": g.projects(), "agents": _switches(g)})),
    ]  # fmt: skip


Asked = "Callable[[Gateway, dict[str, str]], dict[str, Any]]"


def _view(
    template: str,
    ask: Callable[[Gateway, dict[str, str]], dict[str, Any]],
    plotted: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: {},
) -> Callable[[Request], Awaitable[Response]]:
    async def view(request: Request) -> Response:
        doors: Doors = request.app.state.doors
        given = {**dict.fromkeys(_FIELDS, ""), **dict(request.query_params), **request.path_params}
        project = given["project"] or None
        try:
            found = await doors.ask(lambda gateway: {**ask(gateway, given), "all_projects": gateway.projects(), "here": gateway.opened.project.name, "waits": len(gateway.learning.inbox())}, project)  # fmt: skip
        except Problem as problem:
            status = problem.status if problem.status in (404, 400) else 503
            body = rendered("problem.html", message=problem.message, path=request.url.path, project=project, all_projects=[], here="", waits=0, given=given)  # fmt: skip
            return HTMLResponse(body, status)
        page = {**found, **plotted(found), "path": request.url.path, "project": project, "given": given}
        return HTMLResponse(rendered(template, **page))

    return view


def _history(gateway: Gateway) -> dict[str, Any]:
    log = gateway.log()
    since = (gateway.opened.memory.context.clock() - timedelta(days=7)).isoformat()[:10]
    return {"log": log, "week": sum(str(each["at"])[:10] >= since for each in log)}


def _switches(gateway: Gateway) -> list[dict[str, Any]]:
    """The agents whose sessions are here, whether they are read, and what the setting is when that is switched."""
    known = agent_names()
    chosen = [
        name.strip() for name in str(gateway.opened.config.values["sessions.agents"]).split(",") if name.strip()
    ] or list(known)
    here = sorted({agent for _, agent, _ in gateway.activity()} | (set(chosen) if len(chosen) < len(known) else set()))
    found = []
    for agent in here:
        is_on = agent in chosen
        then = [name for name in known if name in chosen and name != agent] if is_on else [*chosen, agent]
        found.append({"name": agent, "is_on": is_on, "then": "" if len(then) == len(known) else ",".join(then)})
    return found


def missing(request: Request) -> Response:
    """The page where there is none."""
    body = rendered("problem.html", message="There is no such page", path=request.url.path, project=None, all_projects=[], here="", waits=0, given=dict.fromkeys(_FIELDS, ""))  # fmt: skip
    return HTMLResponse(body, 404)


def _memory(gateway: Gateway, given: dict[str, str]) -> dict[str, Any]:
    start = int(given["start"]) if given.get("start", "").isdecimal() and len(given["start"]) < 7 else 0
    found = gateway.records(given.get("query", ""), given.get("book", ""), start)
    return {**found, "documents": gateway.documents(), "findings": gateway.findings()}


def _sessions(gateway: Gateway, given: dict[str, str]) -> dict[str, Any]:
    start = int(given["start"]) if given.get("start", "").isdecimal() and len(given["start"]) < 7 else 0
    found = gateway.sessions(given.get("query", ""), given.get("agent", ""), start, given.get("everywhere") == "true")
    return {**found, "days": [list(each) for each in gateway.activity()]}


# Plots


def _mondays() -> list[date]:
    today = date.today()  # noqa: DTZ011 - the reader's own days
    monday = today - timedelta(days=today.weekday())
    return [monday - timedelta(weeks=ago) for ago in reversed(range(_WEEKS))]


def _today(found: dict[str, Any]) -> dict[str, Any]:
    mondays = _mondays()[-len(found["weeks"]) :]
    rows = [(f"{day:%d %b}", value) for day, value in zip(mondays, found["weeks"], strict=False)]
    return {"plot": plots.bars("Errors met again, by week", rows) if any(found["weeks"]) else ""}


def _brief(found: dict[str, Any]) -> dict[str, Any]:
    tokens: Counter[str] = Counter()
    for line in found["told"]:
        tokens[line["section"]] += line["tokens"]
    return {"plot": plots.bars("Tokens of the brief, by section", [(_short(name), value) for name, value in tokens.items()], "tokens") if len(tokens) > 1 else ""}  # fmt: skip


def _short(title: str) -> str:
    return {"What the user wants": "profile", "What the user asked for in earlier sessions": "asked for", "How things are done here": "how"}.get(title, title.partition(" ")[0].lower())  # fmt: skip


def _activity(found: dict[str, Any]) -> dict[str, Any]:
    mondays = _mondays()
    by_agent: dict[str, Counter[date]] = {}
    for day, agent, turns in found["days"]:
        when = _day(day)
        if when is not None:
            by_agent.setdefault(agent, Counter())[when - timedelta(days=when.weekday())] += turns
    groups: dict[str, Sequence[int]] = {agent: [counts[monday] for monday in mondays] for agent, counts in sorted(by_agent.items(), key=lambda each: -each[1].total())[:8]}  # fmt: skip
    return {"plot": plots.stacked("Turns by agent and week", [f"{monday:%d %b}" for monday in mondays], groups)}


def _growth(found: dict[str, Any]) -> dict[str, Any]:
    mondays = _mondays()
    kinds: dict[str, Counter[date]] = {}
    for row in found["log"]:
        when = _day(row["at"])
        if when is not None:
            kinds.setdefault(row["action"], Counter())[when - timedelta(days=when.weekday())] += 1
    groups: dict[str, Sequence[int]] = {kind: [counts[monday] for monday in mondays] for kind, counts in kinds.items()}
    return {"plot": plots.stacked("Changes by week", [f"{monday:%d %b}" for monday in mondays], groups)}


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(str(text)[:10])
    except ValueError:
        return None
