"""What `byheart` says by itself: where memory stands in this project, and what to do next. It reads few files, and no database."""

from __future__ import annotations

import os

from byheart.interfaces.cli import common
from byheart.storage import cards


def shown() -> int:
    """Say it; the exit code."""
    # As Surroundings has it, without the rest of the house: this is what people type to see whether anything is there.
    # Where it says nothing that can be used, who opens memory says why.
    home = cards.home_of(dict(os.environ)) or common.surroundings().home
    folder = cards.folder_of(common.call.folder or common.folder())
    name = os.path.basename(folder)
    if not os.path.isdir(home):
        common.say("byheart is not set up yet.")
        common.say("Start with: byheart init")
        common.say("All commands: byheart help")
        return 0
    card = cards.read(home, folder)
    if card is None:
        common.say(f"See what the next session in {name or folder} is told: byheart brief")
        if not any(os.path.exists(os.path.join(home, "projects", name, "handbook")) for name in _names(home)):
            common.say("Learn from your sessions: byheart learn")
        if not os.path.exists(os.path.join(home, "state", "installed.json")):
            common.say("Connect your agents:      byheart init")
    elif card["off"]:
        common.say(f"{name}: {card['off']}")
    else:
        lines = [line for section in card["sections"] for line in section["lines"]]
        tokens = int(card["head"][1]) + sum(line[2] for line in lines)
        count = f"{len(lines)} {'line' if len(lines) == 1 else 'lines'} for the next session, {tokens:,} tokens"
        common.say(
            f"{name}: {count if lines else 'nothing to tell the next session yet. Learn: byheart learn · save: byheart remember'}"
        )
        waiting = _lines(os.path.join(home, "projects", card["project"], ".byheart", "inbox.ndjson"))
        told = [each for each in cards.every_sent(home) if each.get("project") == card["project"]]
        if told:
            common.say(f"Last told: {told[0].get('client')}, {str(told[0].get('at', ''))[:16].replace('T', ' ')}")
        if waiting:
            common.say(f"Inbox: {waiting} {'item' if waiting == 1 else 'items'} to decide: byheart inbox")
        common.say("")
        common.say("See the brief: byheart brief · in your browser: byheart open · ask: byheart recall WORDS")
    common.say("All commands: byheart help")
    return 0


def _names(home: str) -> list[str]:
    try:
        return os.listdir(os.path.join(home, "projects"))
    except OSError:
        return []


def _lines(path: str) -> int:
    return cards.read_bytes(path, 4_000_000).count(b"\n")
