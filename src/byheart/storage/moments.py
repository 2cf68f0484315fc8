"""What may be said at a moment of a session, prepared: a file for each project that is asked by key, so that no more than the answer is
read; what a session was told so far; what was got over a moment ago; and what came of remarks."""

from __future__ import annotations

import json
import os
import zlib
from array import array
from bisect import bisect_left

from byheart.storage import cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

VERSION = 2
# In the place of a project: what holds in all of them.
EVERYWHERE = "everywhere"
_LARGEST, _MOST, _HEADER = 60_000_000, 40_000, 2_000_000
_FOLDER, _LIVE_BYTES, _LIVE_LINES = "state/moments", 256_000, 300
_OUTCOMES = "state/outcomes.ndjson"
# A session that got over nothing for so many seconds waits no more.
_WAITS = 6 * 3600


class Prepared:
    """A prepared file, opened. Keys are held as numbers; an entry is read when it is asked for."""

    __slots__ = ("_at", "_body", "_keys", "_opened", "header")

    def __init__(self, opened: int, header: dict[str, Any], keys: array[int], at: array[int], body: int) -> None:
        self._opened, self.header, self._keys, self._at, self._body = opened, header, keys, at, body

    def find(self, key: str) -> dict[str, Any] | None:
        """The entry of a key, if it has one."""
        number = _number(key)
        place = bisect_left(self._keys, number)
        if place == len(self._keys) or self._keys[place] != number:
            return None
        start, end = self._at[place], self._at[place + 1]
        try:
            found = json.loads(os.pread(self._opened, end - start, self._body + start))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and found.get("key") == key else None

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._opened)


def _number(key: str) -> int:
    raw = key.encode("utf-8", "replace")
    return zlib.crc32(raw) << 32 | zlib.adler32(raw)


def path_of(home: str, project: str) -> str:
    """Where the prepared file of a project is: beside the cards, so that what lets go of cards lets go of it."""
    return cards.path_of(home, project).removesuffix(".json") + ".moments"


def write(home: str, project: str, header: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what may be said in a project, whole or not at all."""
    rows: dict[int, bytes] = {}
    for key, entry in list(entries.items())[:_MOST]:
        rows[_number(key)] = json.dumps({"key": key, **entry}, ensure_ascii=False).encode("utf-8", "replace")
    numbers = sorted(rows)
    at, end = array("I"), 0
    for number in numbers:
        at.append(end)
        end += len(rows[number])
    at.append(end)
    head = json.dumps({"version": VERSION, "project": project, **header}, ensure_ascii=False).encode("utf-8", "replace")
    first = f"{len(head):>12} {len(numbers):>12}\n".encode()
    body = b"".join(rows[number] for number in numbers)
    content = first + head + array("Q", numbers).tobytes() + at.tobytes() + body
    if len(content) <= _LARGEST and len(head) <= _HEADER:
        cards.put_bytes(path_of(home, project), content)


def read(home: str, project: str) -> Prepared | None:
    """What may be said in a project; None where nothing is prepared, or not in a way that can be used."""
    try:
        opened = os.open(path_of(home, project), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        first = os.pread(opened, 26, 0)
        length, count = int(first[:12]), int(first[13:25])
        if not (0 < length <= _HEADER and 0 <= count <= _MOST):
            raise ValueError
        header = json.loads(os.pread(opened, length, 26))
        keys, at = array("Q"), array("I")
        start = 26 + length
        keys.frombytes(os.pread(opened, 8 * count, start))
        at.frombytes(os.pread(opened, 4 * (count + 1), start + 8 * count))
        if header.get("version") != VERSION or header.get("project") != project or len(at) != count + 1:
            raise ValueError
        return Prepared(opened, header, keys, at, start + 12 * count + 4)
    except (OSError, ValueError, AttributeError):
        os.close(opened)
        return None


def said(home: str, client: str, session: str) -> dict[str, Any]:
    """What a session was told at its moments so far."""
    return cards.read_object(_said_path(home, client, session)) or {"tokens": 0, "said": {}, "open": []}


def keep_said(home: str, client: str, session: str, told: Mapping[str, Any]) -> None:
    """Keep what a session was told, for it not to be told again and for whoever asks why."""
    named = {**told, "client": client, "session": session}
    cards.put_bytes(_said_path(home, client, session), json.dumps(named, ensure_ascii=False).encode("utf-8", "replace"))
    mark = _open_path(home, client, session)
    if told["open"]:
        # Whoever looks at the marks before starting us can tell whose each is.
        cards.put_bytes(mark, session.encode("utf-8", "replace"))
    else:
        _remove(mark)


def _said_path(home: str, client: str, session: str) -> str:
    name = os.path.basename(cards.sent_path(home, client, session))
    return os.path.join(home, _FOLDER, name)


def every_said(home: str, client: str, session: str) -> list[dict[str, Any]]:
    """The remarks that a session was told, in order."""
    found = said(home, client, session)["said"]
    return sorted((each for each in found.values() if isinstance(each, dict)), key=lambda each: str(each.get("at", "")))


def every_session(home: str) -> list[dict[str, Any]]:
    """The sessions that were told something at a moment: client, session, folder, and when first."""
    folder = os.path.join(home, _FOLDER)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".json")]
    except OSError:
        return []
    found = []
    for name in sorted(names):
        told = cards.read_object(os.path.join(folder, name)) or {}
        said = sorted((str(each.get("at")), str(each.get("folder"))) for each in (told.get("said") or {}).values() if isinstance(each, dict))  # fmt: skip
        if said and told.get("session"):
            found.append({"client": told["client"], "session": told["session"], "at": said[0][0], "folder": said[0][1]})
    return found


def _open_path(home: str, client: str, session: str) -> str:
    """The mark of a session that waits for a failure to be got over."""
    name = os.path.basename(cards.sent_path(home, client, session)).removesuffix(".json")
    return os.path.join(home, _FOLDER, f"open.{name}")


def has_open(home: str, client: str, session: str) -> bool:
    """Whether a session waits for a failure to be got over."""
    return os.path.exists(_open_path(home, client, session))


def nothing_open(home: str, client: str, session: str) -> None:
    """A session waits no more."""
    _remove(_open_path(home, client, session))


def _live_path(home: str, project: str) -> str:
    return os.path.join(home, _FOLDER, os.path.basename(cards.path_of(home, project)).removesuffix(".json") + ".live")


def note_live(home: str, project: str, told: Mapping[str, Any]) -> None:
    """Note what a session got over just now; the oldest are let go of."""
    path = _live_path(home, project)
    lines = [*live_lines(home, project), json.dumps(told, ensure_ascii=False)]
    cards.put_bytes(path, "".join(f"{line}\n" for line in lines[-_LIVE_LINES:]).encode("utf-8", "replace"))


def live_lines(home: str, project: str) -> list[str]:
    """What was noted, as lines, the oldest first."""
    raw = cards.read_bytes(_live_path(home, project), _LIVE_BYTES).decode("utf-8", "replace")
    return [line for line in raw.split("\n") if line]


def live(home: str, project: str, signatures: Iterable[str]) -> dict[str, Any] | None:
    """The newest of what was got over in a project of late that has one of these signatures."""
    wanted = set(signatures)
    for line in reversed(live_lines(home, project)):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and told.get("signature") in wanted:
            return told
    return None


def note_outcome(home: str, told: Mapping[str, Any]) -> None:
    """Note what came of a remark."""
    cards.append_line(os.path.join(home, _OUTCOMES), json.dumps(told, ensure_ascii=False))


def outcomes(home: str) -> list[dict[str, Any]]:
    """What came of remarks, the oldest first."""
    found = []
    for line in cards.read_bytes(os.path.join(home, _OUTCOMES), 16_000_000).decode("utf-8", "replace").split("\n"):
        try:
            told = json.loads(line) if line else None
        except ValueError:
            continue
        if isinstance(told, dict):
            found.append(told)
    return found


def sweep(home: str, most: int, now: float) -> None:
    """Let go of the oldest of what sessions were told, and of the marks of sessions that ended without a word."""
    folder = os.path.join(home, _FOLDER)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    paths = [os.path.join(folder, name) for name in names if name.endswith(".json")]
    for path in sorted(paths, key=lambda path: -os.stat(path).st_mtime)[most:]:
        _remove(path)
    for path in (os.path.join(folder, name) for name in names if name.startswith("open")):
        try:
            if now - os.stat(path).st_mtime > _WAITS:
                _remove(path)
        except OSError:
            continue


def drop(home: str) -> None:
    """Take away everything that is kept of moments, as when something was forgotten."""
    folder = os.path.join(home, _FOLDER)
    try:
        names = os.listdir(folder)
    except OSError:
        names = []
    for name in names:
        _remove(os.path.join(folder, name))
    _remove(os.path.join(home, _OUTCOMES))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
