"""Writes docs/reference.md and the man page from the code: commands, settings, errors, scanner rules. --check only compares."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from byheart.app import setting_rules
from byheart.domain import errors
from byheart.interfaces.cli.group import COMMANDS, LINES, SECTIONS, byheart
from byheart.storage.scanners.generic import shape_rules
from byheart.storage.scanners.instructions import command_rules, instruction_rules, personal_rules
from byheart.storage.scanners.providers import provider_rules

ROOT = Path(__file__).resolve().parent.parent
TARGET, MAN = ROOT / "docs" / "reference.md", ROOT / "docs" / "byheart.1"


def commands() -> Iterator[str]:
    context = click.Context(byheart, info_name="byheart", max_content_width=100, terminal_width=100)
    yield "## Commands\n"
    yield "```text\n" + byheart.get_help(context) + "\n```\n"
    for name in COMMANDS:
        command = byheart.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, max_content_width=100, terminal_width=100)
        yield f"### byheart {name}\n"
        yield "```text\n" + command.get_help(inner) + "\n```\n"
        for below, nested in command.commands.items() if isinstance(command, click.Group) else ():
            lowest = click.Context(nested, info_name=below, parent=inner, max_content_width=100, terminal_width=100)
            yield f"#### byheart {name} {below}\n"
            yield "```text\n" + nested.get_help(lowest) + "\n```\n"


def settings() -> Iterator[str]:
    text = (ROOT / "src/byheart/app/defaults.toml").read_text(encoding="utf-8")
    flat = {f"{table}.{key}": value for table, keys in tomllib.loads(text).items() for key, value in keys.items()}
    yield "## Settings\n"
    yield "In `config.toml` of your byheart folder; every key can also be given as an environment variable or with `--set`.\n"
    yield "| key | default | allowed | a project may |\n| --- | --- | --- | --- |"
    narrowing = {
        "off": "switch it off",
        "lower": "lower it",
        "any": "set it",
        "inside": "name a path inside it",
        None: "not set it",
    }
    for key, rule in setting_rules.KEYS.items():
        shown = str(flat[key]).lower() if isinstance(flat[key], bool) else repr(flat[key])
        yield f"| `{key}` | `{shown}` | {rule.allowed()} | {narrowing[rule.narrow]} |"
    yield ""


def failures() -> Iterator[str]:
    yield "## Errors and exit codes\n"
    yield "0 done · 1 nothing found · 2 usage · 3 refused · 4 conflict or busy · 5 environment\n"
    yield "| error | exit code | meaning |\n| --- | --- | --- |"
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.ByheartError):
            yield f"| `{name}` | {kind.exit_code} | {(kind.__doc__ or '').strip().splitlines()[0]} |"
    yield ""


def rules() -> Iterator[str]:
    yield "## Scanner rules\n"
    groups = (
        ("Provider tokens", provider_rules()),
        ("Secrets by context", shape_rules()),
        ("Personal details", personal_rules()),
        ("Instruction-like text", instruction_rules()),
        ("Command lines (only refused when nobody asked)", command_rules()),
    )
    for title, found in groups:
        yield f"- **{title}**: " + ", ".join(f"`{rule.name}`" for rule in found)
    yield "- **Hidden characters**: `unicode-tag`, `unicode-selector-run`, `unicode-bidi`, `unicode-zero-width`, `unicode-control`, `unicode-surrogate`"
    yield ""


def page() -> str:
    head = "# Reference\n\nGenerated from the code by `make docs`; do not edit.\n"
    return "\n".join([head, *commands(), *settings(), *failures(), *rules()]).rstrip() + "\n"


def _roff(text: str) -> str:
    """A line of a man page: nothing of it is taken for a command."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain


def man() -> str:
    """The man page: every command with what it does, the settings' file, the exit codes."""
    lines = [
        '.TH BYHEART 1 "" "byheart" "User Commands"',
        ".SH NAME",
        "byheart \\- persistent memory for coding agents",
        ".SH SYNOPSIS",
        ".B byheart",
        "[\\fIOPTIONS\\fR] [\\fICOMMAND\\fR] [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        _roff("Reads the sessions that coding agents already write, learns preferences, decisions, solved errors and how a"),
        _roff("project is built, tested and run, and gives each new session a short brief. Memory is plain files on this machine."),
        _roff("Without a command it says where memory stands here and what to do next."),
    ]  # fmt: skip
    for section, names in SECTIONS.items():
        told = [name for name in names if name in LINES]
        lines += [f".SH {section.upper()}"] if told else []
        for name in told:
            lines += [".TP", f".B byheart {name}", _roff(LINES[name])]
    lines += [
        ".SH FILES",
        ".TP", ".I ~/.byheart", _roff("Memory, settings (config.toml) and what is derived from them; BYHEART_HOME moves it."),
        ".SH EXIT STATUS",
        _roff("0 done; 1 a search found nothing; 2 usage; 3 refused; 4 conflict or busy; 5 environment"),
        ".SH SEE ALSO",
        _roff("byheart help COMMAND"),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> int:
    for target, fresh in ((TARGET, page()), (MAN, man())):
        if "--check" not in sys.argv:
            target.write_text(fresh, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != fresh:
            print(f"docs/{target.name} is out of date; run: make docs", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
