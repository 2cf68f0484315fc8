"""The hook: reads a card, cuts it to size, prints it. Everything slower is somewhere else and is imported when it is needed.

A test holds the list of what this may import: a session waits for it.
"""

from __future__ import annotations

import json
import os
import sys
import time

from byheart.agents import register
from byheart.brief import fit
from byheart.storage import cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LARGEST = 8_000_000
# How often work is looked for unasked, in seconds; how long to wait for an agent to say what it has to say; and how soon a second
# hook of the same start is one too many.
_EVERY, _PATIENCE, _AT_ONCE = 300, 1.5, 20
# All that a model is told of what went wrong: a person sees the rest.
BROKEN = "(byheart: memory could not be read; `byheart doctor` says why)"
_NOT_READY = "memory is not ready yet; it is being prepared for the next session"
_BEFORE = "(memory changed a moment ago; this is how it was before)"


class HookCall:
    """One call of a hook: which agent, which moment, what it says, and where it stands."""

    __slots__ = ("asks", "client", "environment", "event", "home", "room", "seen", "told")

    def __init__(self, event: str, client: str, told: dict[str, Any], environment: dict[str, str], room: int) -> None:
        self.event, self.client, self.told, self.environment, self.room = event, client, told, environment, room
        self.home = cards.home_of(environment)
        # Whether the user is to be asked.
        self.asks = False
        # What the user is shown of it.
        self.seen = ""

    @property
    def cwd(self) -> str:
        """The folder that the session is in."""
        named = register.words(self.told, "cwd", "workspace", "directory")
        roots = self.told.get("workspace_roots")
        if not named and isinstance(roots, list) and roots and isinstance(roots[0], str):
            named = roots[0]
        return named if named and os.path.isabs(named) and os.path.isdir(named) else os.getcwd()

    @property
    def session(self) -> str:
        """The session's id, as the agent names it."""
        return register.words(self.told, "session_id", "sessionId", "conversation_id", "thread-id", "thread_id")


def main(arguments: list[str]) -> int:
    """Answer a hook. Whatever goes wrong, the session goes on: exit code 0, and at most a line that says so."""
    if os.environ.get("BYHEART_CHILD"):
        # byheart itself asked this agent something.
        return 0
    client = _after(arguments, "--client") or "text"
    event = arguments[0] if arguments else ""
    if event not in register.EVENTS or client not in register.CLIENTS:
        known = f"events: {', '.join(register.EVENTS)}; clients: {', '.join(register.CLIENTS)}"
        sys.stderr.write(f"byheart: a hook is called as byheart hook EVENT --client NAME; {known}\n")
        return 2
    room = _after(arguments, "--tokens")
    told: dict[str, Any] = {}
    call: HookCall | None = None
    try:
        told = _spoken(_after(arguments, "--payload"))
        call = HookCall(event, client, told, dict(os.environ), int(room) if room.isdecimal() else 0)
        text = _answer(call)
    except Exception:  # noqa: BLE001 - a hook must never stop a session
        # What went wrong may quote a file that came with a clone, so nothing of it is told to a model.
        text = BROKEN if event == register.START else ""
    if text:
        asks = call is not None and call.asks
        wrapped = (
            register.asking(client, text)
            if asks
            else register.envelope(client, event, told, text, call.seen if call else "")
        )
        out = wrapped if isinstance(wrapped, str) else json.dumps(wrapped)
        try:
            _print(out.encode("utf-8", "replace"))
        except OSError:
            # Nobody listens any more.
            return 0
    return 0


def _print(content: bytes) -> None:
    """Everything at once, past what the interpreter would want to flush when it ends."""
    while content:
        content = content[os.write(1, content) :]


def _after(arguments: list[str], name: str) -> str:
    for place, each in enumerate(arguments):
        if each == name:
            return arguments[place + 1] if place + 1 < len(arguments) else ""
        if each.startswith(f"{name}="):
            return each[len(name) + 1 :]
    return ""


def _spoken(payload: str) -> dict[str, Any]:
    """What the agent says about the moment: JSON on standard input, or as an argument."""
    raw = payload.encode("utf-8", "replace") if payload else b""
    if not raw and not _is_terminal():
        raw = _heard()
    try:
        told = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return True


def _heard() -> bytes:
    """What stands on standard input. One that is left open is not waited for longer than a session would like."""
    import select

    found, deadline = b"", time.monotonic() + _PATIENCE
    while len(found) < _LARGEST and (left := deadline - time.monotonic()) > 0:
        try:
            if not select.select([0], [], [], left)[0]:
                break
            part = os.read(0, 1 << 20)
        except (OSError, ValueError):
            break
        if not part:
            break
        found += part
    return found


def _answer(call: HookCall) -> str:
    if not call.home:
        return ""
    if call.event == register.START:
        return start(call)
    if call.event in register.DURING:
        from byheart.interfaces.hooks import moment

        text, call.asks = moment.during(call)
        return text
    noted(call)
    return ""


def start(call: HookCall) -> str:
    """What a session is told at its start; empty where there is nothing, or where it knows already."""
    folder = cards.folder_of(call.cwd)
    card = cards.read(call.home, folder)
    late = False
    if card is None or not _is_fresh(card, call.environment):
        from byheart.interfaces.hooks import rebuild

        card, late = rebuild.card(call, folder, card)
        if card is None:
            return fit.silence(_NOT_READY)
    learn_now(call, card)
    if card["off"]:
        return fit.silence(card["off"]) if call.told.get("source") != "resume" else ""
    return told(call, card, late=late)


def told(call: HookCall, card: dict[str, Any], *, late: bool = False) -> str:
    """A card as this session is told of it, kept for whoever asks why."""
    settings = card["settings"]
    most = call.room or settings["tokens"]
    room = settings["characters"] if register.is_narrow(call.client) and not call.room else most * 4
    before = cards.sent(call.home, call.client, call.session) if call.session else None
    ids, asks = _asked(call, card, before)
    until = cards.said_until(call.home, card["folder"]) if card["saved"] else ""
    cut = fit.cut(card, os.path.lexists, most=most, room=room, until=until, first=[_BEFORE] if late else [], asks=asks)
    head, chosen, out, notes, saved = cut.head, cut.chosen, cut.out, cut.notes, cut.saved
    if not chosen and not asks:
        return "".join(f"{note}\n" for note in notes) if call.told.get("source") != "resume" else ""
    body = fit.rendered(head[0], chosen, len(out), "", notes)
    digest = f"{len(body)}-{_sum(body)}"
    if before is not None and before.get("digest") == digest and _knows(call, before):
        return ""
    if saved and not call.environment.get("BYHEART_CHECK"):
        cards.note_said(call.home, card["folder"], card["saved"][0][0])
    delimiter = os.urandom(6).hex()
    text = fit.rendered(head[0], chosen, len(out), delimiter, notes, asks)
    if asks and not call.environment.get("BYHEART_CHECK"):
        cards.note_asked(call.home, card["folder"], _today(), ids)
    count = sum(len(lines) for _, lines in chosen)
    call.seen = f"byheart: {count} {'line' if count == 1 else 'lines'}, {fit.tokens_of(head, chosen, (*notes, asks))} tokens · byheart why"
    if call.session and not card.get("private"):
        cards.keep_sent(
            call.home,
            call.client,
            call.session,
            {
                "session": call.session,
                "client": call.client,
                "project": card["project"],
                "folder": card["folder"],
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "seconds": time.time(),
                "digest": digest,
                "asked": ids or (before or {}).get("asked", []),
                "characters": len(text),
                "told": [[title, *line[:4]] for title, lines in chosen for line in lines],
                "left_out": [[title, line[0], line[1], "there was no room"] for title, line in out]
                + [[section["title"], *each] for section in cut.sections for each in section["left_out"]],
            },
        )
    return text


def _knows(call: HookCall, before: dict[str, Any]) -> bool:
    """Whether a session has just this in front of it: it goes on, or two hooks tell it of the same start."""
    source = call.told.get("source")
    if source == "resume":
        return True
    return source == "startup" and time.time() - float(before.get("seconds") or 0) < _AT_ONCE


def _asked(call: HookCall, card: dict[str, Any], before: dict[str, Any] | None) -> tuple[list[str], str]:
    """Which messages this session is asked about, and how: none where it goes on, was asked before, or where somebody was asked today
    and did not answer."""
    is_new = call.told.get("source") not in ("resume", "compact") and not (before or {}).get("asked")
    if not card["asks"] or not is_new or not call.session or cards.asked(call.home, card["folder"])[0] == _today():
        return [], ""
    return fit.asking(card["asks"])


def _today() -> str:
    return time.strftime("%Y-%m-%d")


def _sum(text: str) -> int:
    import zlib

    return zlib.crc32(text.encode("utf-8", "replace"))


def _is_fresh(card: dict[str, Any], environment: dict[str, str]) -> bool:
    if not cards.holds(card, environment) or cards.stale(card):
        return False
    if card["day"] == _today():
        return True
    # Another day has other daily logs; without a journal it is a day like any other.
    return not any(section["name"] == "journal" and section["lines"] for section in card["sections"])


def noted(call: HookCall) -> None:
    """Note that a session ended, pauses or is about to be cut short; somebody will learn from it."""
    path = register.words(call.told, "transcript_path", "transcriptPath")
    told = {
        "event": call.event,
        "client": call.client,
        "session": call.session,
        "cwd": call.cwd,
        "path": path,
        "at": int(time.time()),
    }
    if any(_is_odd(part) for name in ("cwd", "path", "session") for part in str(told[name]).split("/")):
        # A name that is long and mixed may be a credential, and then it is written nowhere.
        from byheart.interfaces.hooks import rebuild

        told = {name: rebuild.clean(value) if isinstance(value, str) else value for name, value in told.items()}
    cards.note(call.home, told)
    card = cards.read(call.home, cards.folder_of(call.cwd))
    if call.event != register.STOP:
        learn_now(call, card, at_once=True)
    if call.event == register.END and call.session:
        from byheart.storage import moments

        moments.nothing_open(call.home, call.client, call.session)


def _is_odd(name: str) -> bool:
    """Whether a name is none that people or programs give: long, of letters and digits, and not an id."""
    return (
        len(name) >= 20
        and name.count("-") != 4
        and not name.isalpha()
        and any(map(str.isdigit, name))
        and not name.endswith((".jsonl", ".json", ".md"))
    )


def learn_now(call: HookCall, card: dict[str, Any] | None, *, at_once: bool = False) -> None:
    """Have somebody learn, where the user wants that: at once when a session ended, else every now and then."""
    if card is not None and not card["settings"]["learns"]:
        return
    mark = os.path.join(call.home, "state", "worker.lock")
    try:
        rested = time.time() - os.stat(mark).st_mtime
    except OSError:
        rested = _EVERY + 1
    if not at_once and rested <= _EVERY:
        return
    if card is None:
        from byheart.interfaces.hooks import rebuild

        if not rebuild.learns(call):
            return

    run(call, ["work"])


def run(call: HookCall, arguments: list[str]) -> None:
    """Run byheart detached and silent."""
    silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    words = [sys.executable, "-m", "byheart", *arguments]
    environment = {**call.environment, "BYHEART_CHILD": "1"}
    try:
        os.posix_spawn(sys.executable, words, environment, file_actions=silent, setsid=True)
    except (OSError, NotImplementedError):
        # Some systems cannot start a process with a session of its own in one go.
        from byheart.storage import background

        background.start(arguments, environment)
