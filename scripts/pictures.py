"""Makes docs/pictures/terminal.svg from a real run on the sample: python scripts/pictures.py [--check]"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "terminal.svg"
WIDTH = 96
# What the picture shows, in the sample's shop, with how many lines of each answer.
COMMANDS = (
    (("learn",), 0),
    (("how", "test"), 6),
    (("fix", "no such table: orders"), 5),
    (("memory", "view"), 16),
)
_FENCE = re.compile(r'<byheart-memory id="\w+">')
_PASSING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def answers() -> list[tuple[str, list[str]]]:
    """What each command prints on a fresh home with the sample's sessions."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place, "home", "sam")
        shutil.copytree(ROOT / "scripts" / "sample", home)
        project = Path(place, "shop")
        project.mkdir()
        environment = {
            **os.environ,
            "HOME": str(home),
            "BYHEART_HOME": str(home / ".byheart"),
            "COLUMNS": str(WIDTH),
            "NO_COLOR": "1",
        }
        environment.pop("BYHEART_CHILD", None)
        found = []
        for words, most in COMMANDS:
            where = () if words == ("learn",) else ("--project", "shop")
            done = subprocess.run(
                [sys.executable, "-m", "byheart", *words, *where],
                env=environment, cwd=project, capture_output=True, text=True, encoding="utf-8", check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            out = _FENCE.sub("<byheart-memory>", _PASSING.sub("", done.stdout)).rstrip("\n")
            lines = [
                part for line in out.split("\n") for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ") or [""]
            ]
            if most:
                shown = " ".join(f'"{word}"' if " " in word else word for word in words)
                found.append((f"byheart {shown}", lines[:most]))
        return found


def text() -> str:
    """What the picture says, as plain text."""
    return "\n\n".join("\n".join([f"$ {command}", *lines]) for command, lines in answers()) + "\n"


def drawn(told: str) -> str:
    """The picture of a terminal that says this. No font is fetched."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    for line in told.rstrip("\n").split("\n"):
        console.print(Text(line, style="bold" if line.startswith("$ ") else ""))
    svg = console.export_svg(title="byheart", unique_id="byheart")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace") + "\n"


def said_by(svg: str) -> str:
    """The words of a picture, without spaces."""
    words = "".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    for sign, entity in (
        ("<", "&lt;"),
        (">", "&gt;"),
        ('"', "&quot;"),
        ("'", "&#x27;"),
        (" ", "&#160;"),
        ("&", "&amp;"),
    ):
        words = words.replace(entity, sign)
    return "".join(words.split())


if __name__ == "__main__":
    now = drawn(text())
    if "--check" in sys.argv:
        told = PICTURE.read_text(encoding="utf-8") if PICTURE.exists() else ""
        sys.exit(0 if said_by(told) == said_by(now) else "docs/pictures/terminal.svg is out of date: run make pictures")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(now, encoding="utf-8")
