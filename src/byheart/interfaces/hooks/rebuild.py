"""What a hook does when it cannot be quick: make a card, search memory, start somebody who learns."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from byheart.domain.errors import ByheartError
from byheart.interfaces.hooks import hook
from byheart.storage import cards
from byheart.text.deferred import module

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from byheart.app import briefs
    from byheart.app import open as app_open
    from byheart.app.open import OpenMemory
    from byheart.interfaces.hooks.hook import HookCall
    from byheart.text import client_text
else:
    briefs = module("byheart.app.briefs")
    app_open = module("byheart.app.open")
    client_text = module("byheart.text.client_text")

from contextlib import contextmanager

# Sources larger than this, in bytes together, are not parsed while a session waits and there is an older card.
_LARGE = 1_500_000
_SECONDS = 2.0
_LONGEST = 300


class Late(BaseException):
    """The time that a hook has is over."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """A stretch that ends with Late when its time is over."""

    def ring(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def card(call: HookCall, folder: str, old: dict[str, Any] | None) -> tuple[dict[str, Any] | None, bool]:
    """A card that holds: made anew if there is time for it, else the old one, with word that it is old."""
    heavy = old is not None and _weight(old) > _LARGE
    if not heavy:
        try:
            with within(_seconds(old, call.environment)):
                opened, around = _opened(call, folder)
                return briefs.prepared(opened, around), False
        except Late:
            pass
    hook.run(call, ["-C", folder, "brief", "--prepare"])
    return old, True


def _seconds(old: dict[str, Any] | None, environment: Mapping[str, str]) -> float:
    """How long a hook may take: as the settings said when the last card was made, since reading them takes time itself; unless the
    environment says it."""
    try:
        return float(environment["BYHEART_HOOK_SECONDS"])
    except (KeyError, ValueError):
        return float(old["settings"].get("seconds") or _SECONDS) if old else _SECONDS


def _weight(old: dict[str, Any]) -> int:
    """How much there is to parse, in bytes."""
    stale = {path for place in cards.stale(old) for path, _ in old["sections"][place]["sources"]}
    return sum(os.path.getsize(path) for path in stale if os.path.isfile(path))


def _opened(call: HookCall, folder: str) -> tuple[OpenMemory, app_open.Surroundings]:
    around = app_open.Surroundings(folder=folder, environment=call.environment)
    return app_open.open_memory(around), around


def learns(call: HookCall) -> bool:
    """Whether the user wants sessions learnt from by themselves, asked of the settings themselves."""
    try:
        opened, _ = _opened(call, cards.folder_of(call.cwd))
    except ByheartError:
        return False
    return opened.config.flag("learning.enabled") and opened.config.flag("memory.enabled")


def safe(text: str) -> str:
    """A message as it may be shown: in one line, without secrets, and short."""
    return client_text.defused(app_open.redacted(text), _LONGEST)


def clean(text: str) -> str:
    """A path or a name without secrets."""
    return app_open.redacted(text)
