"""Settings in layers: defaults, the user's file, the project's file (which may only narrow), environment, flags."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from byheart.app.setting_rules import ALIASES, CRON, KEYS, ZONE, named
from byheart.domain.errors import BadInput, BadSetting, Unreadable
from byheart.domain.journal import JournalSettings
from byheart.domain.values import dataclass, field, fields
from byheart.text.deferred import module
from byheart.workspace.context import JOURNAL, PROFILE, RULES, Limits

if TYPE_CHECKING:
    from byheart.domain import brief, learning, sessions
    from byheart.journal import schedule
else:
    brief = module("byheart.domain.brief")
    learning = module("byheart.domain.learning")
    sessions = module("byheart.domain.sessions")
    schedule = module("byheart.journal.schedule")

# importlib.resources would find it too, at the price of 20 ms of imports.
DEFAULTS = os.path.join(os.path.dirname(__file__), "defaults.toml")
Setting = str | int | float | bool
_LARGEST = 100_000
_OWN_VARIABLES = frozenset(
    {
        "BYHEART_HOME",
        "BYHEART_CHILD",
        "BYHEART_DEBUG",
        "BYHEART_PYTHON",
        "BYHEART_HOOK_SECONDS",
        "BYHEART_EMBEDDINGS_KEY",
        "BYHEART_MODEL_KEY",
    }
)


_NOTEBOOKS = {"paths.profile": "memories.md", "paths.rules": "memories.ndjson", "paths.journal": "MEMORY.md"}
_NOTEBOOK = {"by-kind": "", "profile": PROFILE, "rules": RULES, "journal": JOURNAL}
_LEARNING = tuple(key.partition(".")[2] for key in KEYS if key.startswith("learning."))
_BRIEF = tuple(key.partition(".")[2] for key in KEYS if key.startswith("brief."))
_MOMENTS = tuple(key.partition(".")[2] for key in KEYS if key.startswith("moments."))
_JOURNAL = tuple(each.name for each in fields(JournalSettings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The settings in force, and where each came from."""

    values: Mapping[str, Setting]
    origins: Mapping[str, str]
    # What a checkout's own file asks for and may not have until its user trusts it.
    asked: Mapping[str, Setting] = field(default_factory=dict)

    @property
    def limits(self) -> Limits:
        number = self.number
        return Limits(
            enabled=bool(self.values["memory.enabled"]),
            profile_bullets=int(number("profile.bullets")),
            rules_shown=int(number("rules.shown")),
            recall_results=int(number("recall.results")),
            record_characters=int(number("store.record_characters")),
            file_bytes=int(number("store.file_bytes")),
            log_entries=int(number("store.log_entries")),
            stale_days=int(number("check.stale_days")),
            lock_seconds=number("store.lock_seconds"),
            notebook=_NOTEBOOK[self.text("store.notebook")],
        )

    @property
    def learning(self) -> learning.LearningSettings:
        return learning.LearningSettings(**{name: self.values[f"learning.{name}"] for name in _LEARNING})  # type: ignore[arg-type]

    @property
    def moments(self) -> brief.MomentSettings:
        return brief.MomentSettings(**{name: self.values[f"moments.{name}"] for name in _MOMENTS})  # type: ignore[arg-type]

    @property
    def brief(self) -> brief.BriefSettings:
        return brief.BriefSettings(**{name: self.values[f"brief.{name}"] for name in _BRIEF})  # type: ignore[arg-type]

    @property
    def journal(self) -> JournalSettings:
        own = {name: self.values[f"journal.{name}"] for name in _JOURNAL if name != "stale_days"}
        return JournalSettings(**own, stale_days=int(self.number("check.stale_days")))  # type: ignore[arg-type]

    @property
    def caps(self) -> sessions.Caps:
        names = ("line_bytes", "file_bytes", "document_bytes", "unpacked_bytes")
        return sessions.Caps(**{name: int(self.number(f"sessions.{name}")) for name in names})

    def number(self, key: str) -> float:
        return float(self.values[key])

    def text(self, key: str) -> str:
        return str(self.values[key])

    def flag(self, key: str) -> bool:
        return bool(self.values[key])


def load(
    user_file: str,
    project_file: str,
    environment: Mapping[str, str],
    flags: Sequence[str],
    *,
    vouched: Callable[[str], str] | None = None,
) -> Config:
    """All layers merged. Where in a checkout memory lies, its own file may say as far as the user vouches for it: `vouched` gives
    what of its text they do. Raises BadSetting, naming the file, the key and what is allowed."""
    values = _defaults()
    origins = dict.fromkeys(values, "default")
    asked: dict[str, Setting] = {}
    for key, value in _file(user_file).items():
        values[key], origins[key] = _checked(user_file, key, value), user_file
    project = _file(project_file, follow=False)
    asks = any(KEYS[key].narrow not in ("off", "lower") for key in project)
    own = _own(project_file, vouched) if vouched and asks else {}
    for key, value in project.items():
        narrowed = _narrowed(project_file, key, _checked(project_file, key, value), values[key])
        if KEYS[key].narrow not in ("off", "lower"):
            asked[key] = narrowed
            narrowed = narrowed if own.get(key) == value else values[key]
        if narrowed != values[key]:
            values[key], origins[key] = narrowed, project_file
    for key, value in _environment(environment).items():
        values[key], origins[key] = value, f"environment variable {_variable(key)}"
    for flag in flags:
        key, value = _flag(flag)
        values[key], origins[key] = value, "flag --set"
    return Config(values=values, origins=origins, asked=asked)


def _defaults() -> dict[str, Setting]:
    """Our own file, which is plain enough to be read without a parser for all that such files may hold."""
    values: dict[str, Setting] = {}
    section = ""
    for line in (_content(DEFAULTS, follow=True) or b"").decode().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, value = line.partition(" = ")
            values[f"{section}.{name}"] = json.loads(value)
    return values


def _file(path: str, *, follow: bool = True) -> dict[str, Setting]:
    content = _content(path, follow=follow)
    if content is None:
        return {}
    # Most people have no such file.
    import tomllib

    try:
        return _flat(path, tomllib.loads(content.decode("utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(path, "the file", f"is not valid TOML ({error})", "see docs/reference.md") from None
    except UnicodeDecodeError:
        raise BadSetting(path, "the file", "is not valid UTF-8", "a TOML file saved as UTF-8") from None
    except RecursionError:
        raise BadSetting(path, "the file", "is nested too deeply", "tables with plain values") from None


def _own(path: str, vouched: Callable[[str], str]) -> dict[str, Setting]:
    """The settings of a checkout's file that stand in the lines that the user vouches for; none where those make no file."""
    import tomllib

    text = vouched((_content(path, follow=False) or b"").decode("utf-8"))
    try:
        return _flat(path, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, BadSetting):
        return {}


def _content(path: str, *, follow: bool) -> bytes | None:
    """A settings file's bytes, None where there is none. A clone may bring a link, a FIFO or a file without end."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else os.strerror(error.errno or 0)
        raise Unreadable(path, reason, "make it a plain, readable file, or move it away") from None
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise Unreadable(path, "it is not an ordinary file", "make it a plain, readable file, or move it away")
        content = os.read(opened, _LARGEST + 1)
    finally:
        os.close(opened)
    if len(content) > _LARGEST:
        raise Unreadable(path, f"it is larger than {_LARGEST:,} bytes", "keep only settings in it")
    return content


def _flat(origin: str, tables: Mapping[str, object]) -> dict[str, Setting]:
    flat: dict[str, Setting] = {}
    sections = sorted({key.split(".")[0] for key in (*KEYS, *ALIASES)})
    for section, content in tables.items():
        if section not in sections or not isinstance(content, Mapping):
            raise BadSetting(origin, section, "is not a known table", ", ".join(f"[{name}]" for name in sections))
        for name, value in content.items():
            key = named(f"{section}.{name}")
            if key not in KEYS:
                known = ", ".join(each for each in KEYS if each.startswith(section + "."))
                raise BadSetting(origin, key, "is not a known setting", known)
            if not isinstance(value, str | int | float | bool):
                raise BadSetting(origin, key, "has a value of the wrong kind", KEYS[key].allowed())
            flat[key] = value
    return flat


def _checked(origin: str, key: str, value: Setting) -> Setting:
    rule = KEYS[key]
    if rule.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not rule.kind:
        raise BadSetting(origin, key, f"has the value {value!r}, which is of the wrong kind", rule.allowed())
    if rule.choices and value not in rule.choices:
        raise BadSetting(origin, key, f"has the unknown value {value!r}", rule.allowed())
    if rule.least is not None and rule.most is not None and not rule.least <= value <= rule.most:  # type: ignore[operator]
        raise BadSetting(origin, key, f"has the value {value!r}, which is out of range", rule.allowed())
    if value and rule.form in (CRON, ZONE) and not _well_formed(rule.form, str(value)):
        raise BadSetting(origin, key, f"has the value {value!r}, which cannot be understood", rule.allowed())
    return value


def _well_formed(form: str, text: str) -> bool:
    # Nearly nobody sets these, so nobody else pays for their grammar.
    if form == CRON:
        return schedule.cron(text) is not None
    from zoneinfo import ZoneInfo

    try:
        return bool(ZoneInfo(text).key)
    except (ValueError, OSError, KeyError):
        return False


def _narrowed(origin: str, key: str, value: Setting, current: Setting) -> Setting:
    """What a project's wish comes to: it arrives with a clone, so it can only take away."""
    match KEYS[key].narrow:
        case "off":
            return bool(current) and bool(value)
        case "lower":
            return min(value, current, key=float)
        case "any":
            return value
        case "inside":
            text, name = str(value), _NOTEBOOKS[key]
            steps = text.split("/")
            # A clone must not be able to point byheart at .git/config or at somebody's README.
            if text and (steps[-1] != name or any(step in ("", "..") or step.startswith((".", "~")) for step in steps)):
                allowed = f"a path inside the project that ends in {name}, without hidden folders"
                raise BadSetting(origin, key, f"has the value {text!r}, which a project may not choose", allowed)
            return text or current
        case _:
            may = ", ".join(name for name, rule in KEYS.items() if rule.narrow)
            raise BadSetting(origin, key, "may not be set by a project", may)


def _variable(key: str) -> str:
    return "BYHEART_" + key.replace(".", "_").upper()


def _environment(environment: Mapping[str, str]) -> dict[str, Setting]:
    known = {_variable(key): key for key in KEYS} | {_variable(name): key for name, key in ALIASES.items()}
    found = {}
    for name, text in environment.items():
        if not name.startswith("BYHEART_") or name in _OWN_VARIABLES:
            continue
        if name not in known:
            raise BadSetting(
                "environment", name, "is not a known variable", ", ".join(sorted({*known, "BYHEART_HOME"}))
            )
        found[known[name]] = _parsed(f"environment variable {name}", known[name], text)
    return found


def understood(origin: str, key: str, text: str) -> Setting:
    """A setting's value as somebody typed it. Raises BadInput for a key that is none, with the nearest, and BadSetting for such a value."""
    key = named(key)
    if key not in KEYS:
        raise BadInput(f"Unknown setting {key!r}. {_nearest(key)}")
    return _parsed(origin, key, text)


def _nearest(key: str) -> str:
    """Which settings somebody may have meant."""
    import difflib

    near = difflib.get_close_matches(key, KEYS, 3, 0.5) or [each for each in KEYS if key in each][:3]
    return f"Did you mean {' or '.join(near)}?" if near else "byheart settings lists them."


def meanings() -> dict[str, str]:
    """What each setting is for, by the comment above it in the file of defaults; keys below one comment share it."""
    found: dict[str, str] = {}
    table, said, is_open = "", "", False
    with open(DEFAULTS, encoding="utf-8") as stream:
        for line in stream:
            plain = line.strip()
            if plain.startswith("["):
                table, said = plain.strip("[]"), ""
            elif plain.startswith("#"):
                said = f"{said} {plain[1:].strip()}" if is_open else plain[1:].strip()
            elif " = " in plain:
                found[f"{table}.{plain.partition(' = ')[0]}"] = said
            is_open = plain.startswith("#")
    return found


def _flag(flag: str) -> tuple[str, Setting]:
    key, equals, text = flag.partition("=")
    key = named(key)
    if not equals:
        raise BadInput(f"--set {flag!r} needs the form KEY=VALUE")
    if key not in KEYS:
        raise BadInput(f"--set: unknown setting {key!r}. {_nearest(key)}")
    return key, _parsed("--set", key, text)


def _parsed(origin: str, key: str, text: str) -> Setting:
    """A value given as text, by the kind its key has."""
    rule = KEYS[key]
    value: Setting = text
    try:
        if rule.kind is bool:
            value = {
                "true": True,
                "1": True,
                "yes": True,
                "on": True,
                "false": False,
                "0": False,
                "no": False,
                "off": False,
            }[text.strip().casefold()]
        elif rule.kind is int:
            value = int(text)
        elif rule.kind is float:
            value = float(text)
    except (ValueError, KeyError):
        raise BadSetting(origin, key, f"has the value {text!r}, which is of the wrong kind", rule.allowed()) from None
    return _checked(origin, key, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What another program's settings come to here, as values and as a TOML table, and what has no counterpart."""

    values: Mapping[str, Setting]
    ignored: tuple[str, ...]

    @property
    def text(self) -> str:
        return "[journal]\n" + "".join(self.lines) if self.values else ""

    @property
    def lines(self) -> list[str]:
        # ASCII would spell an emoji as two halves, which TOML does not know.
        spelled = {key: json.dumps(value, ensure_ascii=False) for key, value in self.values.items()}
        return [f"{key.removeprefix('journal.')} = {value}\n" for key, value in spelled.items()]


def carried(origin: str, raw: object) -> Carried:
    """The journal's settings in a configuration with `continuity` and `memory` sections, in their own spelling.

    Raises BadSetting for a value that cannot be used here. Its daily logs are dated in UTC, so that comes along.
    """
    if not isinstance(raw, Mapping):
        raise BadSetting(origin, "the file", "is not a JSON object", "an object with continuity and memory")
    values: dict[str, Setting] = {}
    ignored: list[str] = []
    for section in ("continuity", "memory"):
        content = raw.get(section)
        if not isinstance(content, Mapping):
            continue
        for name, value in content.items():
            snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", str(name)).lower()
            known = named(f"{section}.{name}")
            key = known if known in KEYS else f"journal.{snake}"
            if key not in KEYS:
                ignored.append(f"{section}.{name}")
            elif value is not None:
                if not isinstance(value, str | int | float | bool):
                    raise BadSetting(origin, f"{section}.{name}", "has a value of the wrong kind", KEYS[key].allowed())
                # Other programs have one sort of number.
                whole = KEYS[key].kind is int and isinstance(value, float) and value.is_integer()
                values[key] = _checked(origin, key, int(value) if whole else value)
    ignored += [str(name) for name in raw if name not in ("continuity", "memory")]
    if values:
        values.setdefault("journal.timezone", "UTC")
    return Carried(values=values, ignored=tuple(ignored))
