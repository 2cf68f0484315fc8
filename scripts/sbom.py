"""Writes what a user's install is made of, as a CycloneDX list: `python scripts/sbom.py FILE`."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What only builds the package is not in it.
_BUILDS = frozenset("editables hatchling packaging pathspec pluggy trove-classifiers".split())


def bill() -> dict[str, object]:
    """The list: each package that is installed with byheart, with its version and licence."""
    parts = []
    for line in (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8").splitlines():
        name, _, version = line.partition("==")
        if not version or name in _BUILDS:
            continue
        part: dict[str, object] = {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name.lower()}@{version}"}  # fmt: skip
        try:
            told = metadata.metadata(name).json
            licence = str(told.get("license_expression") or told.get("license") or "")
        except metadata.PackageNotFoundError:
            licence = ""
        if licence and "\n" not in licence:
            part["licenses"] = [{"license": {"name": licence}}]
        parts.append(part)
    own = {"type": "application", "name": "byheart", "version": metadata.version("byheart")}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": own}, "components": parts}  # fmt: skip


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=2) + "\n", encoding="utf-8")
