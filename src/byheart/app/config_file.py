"""Settings put into the user's config.toml."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

from byheart.app import config as settings
from byheart.app.config import Carried
from byheart.app.open import OpenMemory, place_of
from byheart.app.setting_rules import named
from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, Refused
from byheart.text.deferred import module

if TYPE_CHECKING:
    import tomlkit

    from byheart.app.config import Setting
else:
    tomlkit = module("tomlkit")


def carried_over(opened: OpenMemory, path: str, folder: str) -> Carried:
    """Another program's configuration, as far as it is about the journal."""
    place = place_of(path, folder)
    text = opened.files.read(place).text
    if text is None:
        raise BadInput(f"{place} does not exist; name a configuration file")
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place} is not valid JSON: {error}") from None
    return settings.carried(str(place), raw)


def carry_over(opened: OpenMemory, taken: Carried) -> str:
    """Put carried settings into the user's config.toml; what is set there already stays. The file's path."""
    place = Place(opened.home, "config.toml")
    old = opened.files.read(place)
    text = old.text or ""
    before = tomllib.loads(text)
    own = before.get("journal", {})
    if not isinstance(own, dict):
        raise Refused(f"{place} gives journal a value of its own; make it a table and try again")
    fresh = [line for line in taken.lines if line.split(" = ")[0] not in own]
    table = re.search(r"^[ \t]*\[journal\][^\n]*\n?", text, re.MULTILINE)
    if table:
        head = text[: table.end()] if text[: table.end()].endswith("\n") else text[: table.end()] + "\n"
        new = head + "".join(fresh) + text[table.end() :]
    else:
        joint = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        new = f"{text}{joint}[journal]\n{''.join(fresh)}"
    fresh_values = tomllib.loads("".join(fresh))
    try:
        sound = tomllib.loads(new) == {**before, "journal": {**own, **fresh_values}}
    except tomllib.TOMLDecodeError:
        sound = False
    if not sound:
        raise Refused(
            f"{place} spells its journal table in a way that byheart will not edit; add the lines there by hand"
        )
    opened.files.write(place, new, old.digest)
    return str(place)


def put(opened: OpenMemory, key: str, text: str) -> Setting:
    """Set one key in the user's config.toml, everything else in it kept as it is; the value as it was understood. Raises BadSetting for a
    key or value that is none."""
    place, key = Place(opened.home, "config.toml"), named(key)
    value = settings.understood("the new value", key, text)
    old = opened.files.read(place)
    document = tomlkit.parse(old.text or "")
    table, _, name = key.partition(".")
    if table not in document:
        document[table] = tomlkit.table()
    document[table][name] = value
    opened.files.write(place, tomlkit.dumps(document), old.digest)
    return value


def unset(opened: OpenMemory, key: str) -> bool:
    """Take one key out of the user's config.toml, so that its default holds; whether it was there."""
    place = Place(opened.home, "config.toml")
    old = opened.files.read(place)
    document = tomlkit.parse(old.text or "")
    table, _, name = named(key).partition(".")
    if name not in document.get(table, {}):
        return False
    del document[table][name]
    opened.files.write(place, tomlkit.dumps(document), old.digest)
    return True
