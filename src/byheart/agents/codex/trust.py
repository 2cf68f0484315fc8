"""Codex runs only hooks whose content somebody trusts, and skips others without a word. Whoever connects Codex wants byheart's to
run: Codex itself is asked what it calls them, and its own setting for that is written, for byheart's hooks alone."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from byheart.agents.installing.pieces import Piece, PieceKind
from byheart.domain.values import replace
from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from byheart.agents.installing.pieces import Recipe

BY_HAND = "Codex asks to review new hooks: type /hooks in it and trust byheart's, else they do not run"
NAME = "trust"
_SECONDS = 25.0


def with_trust(recipe: Recipe, hooks: str, path: str, environment: Mapping[str, str]) -> tuple[Recipe, list[str]]:
    """A recipe that also trusts its hooks; and what to tell where that could not be found out. `hooks` is what hooks.json will
    say, `path` where it lies."""
    program = shutil.which("codex", path=environment.get("PATH", os.defpath))
    # Codex goes by the user's own settings for that, also where a project's files name the hooks.
    config = os.path.join(recipe.folders[0], "config.toml")
    if program is None:
        return recipe, [BY_HAND]
    ours = {handler["command"] for piece in recipe.pieces if piece.path == path for handler in piece.value["hooks"]}
    lines = [
        f'[hooks.state.{json.dumps(path + key)}]\ntrusted_hash = "{digest}"'
        for key, command, digest in _asked(program, hooks, environment)
        if command in ours
    ]
    if len(lines) != len(ours):
        return recipe, [BY_HAND]
    piece = Piece(
        kind=PieceKind.BLOCK,
        path=config,
        at=(NAME, short_digest(path)),
        text="\n\n".join(lines),
        why="has Codex run byheart's hooks",
    )
    return replace(recipe, pieces=(*recipe.pieces, piece)), []


def _asked(program: str, hooks: str, environment: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """What Codex calls these hooks: (the end of the key, the command, the hash). It is asked in a folder that is thrown away, so
    that nothing changes in its own; nothing where it does not answer."""
    with tempfile.TemporaryDirectory(prefix="byheart-codex-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "hooks.json")
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as stream:
            stream.write(hooks)
        own = {**environment, "CODEX_HOME": folder, "HOME": folder, "BYHEART_CHILD": "1"}
        try:
            child = subprocess.Popen([program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=own, cwd=folder)  # fmt: skip
        except OSError:
            return []
        try:
            return list(_told(child, folder, path))
        finally:
            child.kill()
            child.wait()
            for each in (child.stdin, child.stdout):
                if each:
                    # What a program that ended early did not take is flushed once more here.
                    with suppress(OSError):
                        each.close()


def _told(child: subprocess.Popen[bytes], folder: str, path: str) -> Iterator[tuple[str, str, str]]:
    assert child.stdin and child.stdout
    info = {"name": "byheart", "title": "byheart", "version": "1"}
    asked = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": info}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [folder]}},
    ]
    try:
        child.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in asked))
        child.stdin.flush()
    except BrokenPipeError:
        return
    deadline = time.monotonic() + _SECONDS
    held = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([child.stdout], [], [], left)[0]:
            return
        part = os.read(child.stdout.fileno(), 65_536)
        if not part:
            return
        held += part
        *lines, held = held.split(b"\n")
        for line in lines:
            found = _answer(line)
            if found is not None:
                for each in found:
                    key = str(each.get("key", ""))
                    if key.startswith(path):
                        yield key[len(path) :], str(each.get("command")), str(each.get("currentHash"))
                return


def _answer(line: bytes) -> list[dict[str, object]] | None:
    try:
        message = json.loads(line)
        if message.get("id") != 2:
            return None
        return [hook for each in message["result"]["data"] for hook in each["hooks"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
