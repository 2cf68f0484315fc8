"""Prepared briefs, and the lease of whoever prepares them."""

from __future__ import annotations

import json
import os

from byheart.storage.project_root import top_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Card = dict[str, Any]

# Another number, and cards are made anew.
VERSION = 7
_FOLDER, _SENT, _NOTES = "state/briefs", "state/sent", "state/ended.ndjson"
# The words that a call has to hold for anything to be said of it; and the folders whose cards were taken away.
_WORDS, _DROPPED = "words.txt", "dropped.txt"
# A word that is looked for whole may stand behind a line break, which JSON spells with a letter.
_BEHIND_BREAK = "n"
# What is kept of a folder besides: nothing that anybody said stands in it.
_KEPT = (".said", ".asked")
_LARGEST, _MOST_NOTES = 4_000_000, 16_000_000
_SHAPE = {
    "version",
    "folder",
    "project",
    "day",
    "head",
    "settings",
    "environment",
    "general",
    "off",
    "notices",
    "saved",
    "asks",
    "triggers",
    "files",
    "sections",
}
# Variables that say nothing about what a brief holds.
_OWN = ("BYHEART_HOME", "BYHEART_CHILD", "BYHEART_DEBUG", "BYHEART_PYTHON", "BYHEART_HOOK_SECONDS", "BYHEART_EMBEDDINGS_KEY", "BYHEART_MODEL_KEY")  # fmt: skip


def home_of(environment: Mapping[str, str]) -> str:
    """byheart's folder, as the environment says; empty where it says nothing that can be used."""
    chosen = environment.get("BYHEART_HOME") or "~/.byheart"
    if chosen == "~" or chosen.startswith("~/"):
        chosen = (environment.get("HOME") or os.path.expanduser("~")) + chosen[1:]
    return os.path.realpath(chosen) if os.path.isabs(chosen) else ""


def folder_of(cwd: str) -> str:
    """The folder whose card a session in `cwd` is told from."""
    start = os.path.realpath(cwd)
    return top_of(start) or start


def overrides(environment: Mapping[str, str]) -> list[str]:
    """Settings that the environment makes: with others, a card does not hold."""
    return sorted(f"{name}={environment[name]}" for name in environment if name.startswith("BYHEART_") and name not in _OWN)  # fmt: skip


def stamp(path: str) -> str:
    """What tells whether a file changed; empty where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}:{found.st_ino}"


def lasting_stamps(home: str, folder: str) -> list[str]:
    """What tells a process that lives for hours to open memory again: changed settings, and what was forgotten meanwhile."""
    import glob

    there = glob.escape(home)
    gone = [*glob.glob(os.path.join(there, "projects", "*", ".byheart", "forgotten*")), *glob.glob(os.path.join(there, "global", ".byheart", "forgotten*"))]  # fmt: skip
    own = [os.path.join(home, "config.toml"), os.path.join(folder, ".byheart.toml")]
    return [f"{path} {stamp(path)}" for path in (*own, *sorted(gone))]


def path_of(home: str, folder: str) -> str:
    """Where a folder's card lies."""
    import zlib

    raw = os.fsencode(folder)
    return os.path.join(home, _FOLDER, f"{zlib.crc32(raw):08x}{zlib.adler32(raw):08x}.json")


def read(home: str, folder: str) -> Card | None:
    """A folder's card; None where there is none that can be used."""
    card = read_object(path_of(home, folder))
    if card is None or card.get("version") != VERSION or card.get("folder") != folder or not set(card) >= _SHAPE:
        return None
    # A home that was copied still holds cards of the one it was copied from.
    made_in = os.path.dirname(card["general"][0][0]) if card["general"] else home
    return card if made_in == home or _is_same_folder(made_in, home) else None


def _is_same_folder(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def write(home: str, card: Card) -> None:
    """Keep a card, whole or not at all."""
    _put(path_of(home, card["folder"]), json.dumps(card, ensure_ascii=False, separators=(",", ":")))


def said_until(home: str, folder: str) -> str:
    """Until when what was saved has been announced to the sessions of a folder; empty where none was told anything yet."""
    return read_bytes(f"{path_of(home, folder)}.said", 100).decode("ascii", "replace").strip()


def note_said(home: str, folder: str, at: str) -> None:
    """Note that what was saved up to then has been announced."""
    _put(f"{path_of(home, folder)}.said", at)


def asked(home: str, folder: str) -> tuple[str, list[str]]:
    """The day on which a session of a folder was last asked for verdicts and gave none yet, and about which messages; empty where none
    was."""
    told = read_object(f"{path_of(home, folder)}.asked") or {}
    ids = told.get("ids")
    return str(told.get("day", "")), [str(each) for each in ids] if isinstance(ids, list) else []


def note_asked(home: str, folder: str, day: str, ids: list[str]) -> None:
    """Note that a session of a folder was asked."""
    _put(f"{path_of(home, folder)}.asked", json.dumps({"day": day, "ids": ids}))


def note_answered(home: str, folder: str) -> None:
    """Note that what a session was asked has its answer."""
    _remove(f"{path_of(home, folder)}.asked")


def folders(home: str) -> list[tuple[str, str]]:
    """The folders that have cards: (folder, project)."""
    place = os.path.join(home, _FOLDER)
    found = (read_object(os.path.join(place, name)) for name in _names(place))
    return [(str(card.get("folder")), str(card.get("project"))) for card in found if card]


def note_words(home: str, of: str, words: Iterable[str]) -> None:
    """Note the words that a call has to hold for anything to be said of it in a folder or project. Those of all are in one file, which is
    looked through before anything of ours is started."""
    place = os.path.join(home, _FOLDER)
    put_bytes(f"{path_of(home, of).removesuffix('.json')}.words", "\n".join(sorted(words)).encode("utf-8", "replace"))
    every = {
        word
        for name in _names(place, ".words")
        for word in read_bytes(os.path.join(place, name), _LARGEST).decode("utf-8", "replace").split("\n")
        if len(word) > 1
    }
    lines = sorted({spelled for word in every for spelled in (word, _BEHIND_BREAK + word)})
    put_bytes(os.path.join(place, _WORDS), "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))


def drop(home: str) -> None:
    """Take away every card and everything that is kept of what sessions were told, as when something was forgotten: also what a
    killed hook left half-written. The folders are noted for whoever makes their cards anew."""
    known = [folder for folder, _ in folders(home)]
    for place in (_FOLDER, _SENT):
        for name in _names(os.path.join(home, place), ""):
            if not name.endswith((*_KEPT, _DROPPED)):
                _remove(os.path.join(home, place, name))
    if known:
        put_bytes(os.path.join(home, _FOLDER, _DROPPED), "\n".join(known).encode("utf-8", "replace"))


def take_dropped(home: str) -> list[str]:
    """The folders whose cards were taken away since this was last asked."""
    path = os.path.join(home, _FOLDER, _DROPPED)
    found = read_bytes(path, _LARGEST).decode("utf-8", "replace").split("\n")
    _remove(path)
    return [folder for folder in found if folder]


def stale(card: Card) -> list[int]:
    """Which sections of a card were made from files that are others now."""
    return [
        place
        for place, section in enumerate(card["sections"])
        if any(stamp(path) != known for path, known in section["sources"])
    ]


def holds(card: Card, environment: Mapping[str, str]) -> bool:
    """Whether the settings and the identity that a card was made under are still so."""
    return bool(card["environment"] == overrides(environment)) and not any(
        stamp(path) != known for path, known in card["general"]
    )


def sent_path(home: str, client: str, session: str) -> str:
    """Where it is kept what a session was told."""
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "-_.") else "_" for each in session[:120])
    return os.path.join(home, _SENT, f"{client}~{safe or 'unknown'}.json")


def sent(home: str, client: str, session: str) -> Card | None:
    """What a session was told last, if it was told anything."""
    return read_object(sent_path(home, client, session))


def every_sent(home: str) -> list[Card]:
    """What sessions were told, the newest first."""
    folder = os.path.join(home, _SENT)
    found = [each for name in _names(folder) if (each := read_object(os.path.join(folder, name))) is not None]
    return sorted(found, key=lambda each: str(each.get("at", "")), reverse=True)


def keep_sent(home: str, client: str, session: str, told: Card) -> None:
    """Keep what a session was told."""
    _put(sent_path(home, client, session), json.dumps(told, ensure_ascii=False))


def sweep_sent(home: str, most: int) -> int:
    """Let go of the oldest of what sessions were told; how many went."""
    folder = os.path.join(home, _SENT)
    paths = [os.path.join(folder, name) for name in _names(folder)]
    old = sorted(paths, key=lambda path: -os.stat(path).st_mtime)[most:]
    for path in old:
        _remove(path)
    return len(old)


def note(home: str, told: Card) -> None:
    """Note that a session ended or pauses: one line, whoever else writes."""
    append_line(os.path.join(home, _NOTES), json.dumps(told))


def append_line(path: str, line: str) -> None:
    """Add a line to a file of ours, whoever else writes; nothing where it is full."""
    import stat

    _made(os.path.dirname(path))
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        found = os.fstat(opened)
        if stat.S_ISREG(found.st_mode) and found.st_size < _MOST_NOTES:
            os.write(opened, (line + "\n").encode("utf-8", "replace"))
    finally:
        os.close(opened)


def take_notes(home: str) -> list[Card]:
    """What was noted since it was last taken. The file is moved first, so that nothing noted meanwhile is lost."""
    path = os.path.join(home, _NOTES)
    aside = f"{path}.taken"
    if not os.path.exists(aside):
        try:
            os.rename(path, aside)
        except FileNotFoundError:
            return []
    found = []
    for line in read_bytes(aside, _MOST_NOTES).decode("utf-8", "replace").split("\n"):
        try:
            told = json.loads(line) if line else None
        except ValueError:
            continue
        if isinstance(told, dict):
            found.append(told)
    return found


def notes_done(home: str) -> None:
    """What was taken has been seen to."""
    _remove(os.path.join(home, f"{_NOTES}.taken"))


def has_notes(home: str) -> bool:
    """Whether anything is noted."""
    path = os.path.join(home, _NOTES)
    return os.path.exists(path) or os.path.exists(f"{path}.taken")


def read_object(path: str) -> Card | None:
    """What a JSON file holds; None where that is no object that can be read."""
    raw = read_bytes(path, _LARGEST)
    if not raw:
        return None
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_bytes(path: str, most: int) -> bytes:
    """A plain file of at most so many bytes; empty where there is none."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        size = os.fstat(opened).st_size
        return os.read(opened, size) if 0 < size <= most else b""
    except OSError:
        return b""
    finally:
        os.close(opened)


def _put(path: str, text: str) -> None:
    put_bytes(path, text.encode("utf-8", "replace"))


def put_bytes(path: str, content: bytes) -> None:
    """Write a file, whole or not at all. What cannot be kept is not kept: a session is told all the same."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        _made(os.path.dirname(path))
        opened = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with open(opened, "wb", closefd=False) as stream:
                stream.write(content)
            os.replace(beside, path)
        finally:
            os.close(opened)
            _remove(beside)
    except OSError:
        return


def _made(folder: str) -> None:
    """Make a folder, and those above it that are missing, for nobody else to look into."""
    if not os.path.isdir(folder):
        _made(os.path.dirname(folder))
        os.mkdir(folder, 0o700)


def _names(folder: str, ending: str = ".json") -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(ending))
    except OSError:
        return []


def _remove(path: str) -> None:
    if os.path.lexists(path) and not os.path.isdir(path):
        os.unlink(path)
