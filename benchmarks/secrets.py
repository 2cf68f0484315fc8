"""How well secrets are found, and how fast: `python benchmarks/secrets.py --data FOLDER` (a folder with safety/ and transcripts/).

Prints a table and JSON. A row of the labelled set counts as found where any rule speaks; tier A-clean must never be.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tarfile
import time
from pathlib import Path

from byheart.storage.scanners.scanner import RuleScanner

_BYTES = 24_000_000


def rows(path: Path) -> list[dict]:  # type: ignore[type-arg]
    """The labelled texts of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def transcripts(folder: Path) -> str:
    """Some megabytes of transcripts."""
    found: list[str] = []
    size = 0
    for name in ("claude-code", "claude_code", "codex"):
        for archive in sorted(folder.glob(f"{name}*.tar.gz")):
            with tarfile.open(archive) as tar:
                for member in tar:
                    opened = tar.extractfile(member) if member.isfile() else None
                    if opened is not None and size < _BYTES:
                        found.append(opened.read().decode("utf-8", "replace"))
                        size += len(found[-1])
    return "\n".join(found)


def dense() -> str:
    """Text in which nearly every line could be a secret, and none is: names, ids, digests, settings."""
    rng = random.Random(3)

    def digits(count: int) -> str:
        return "".join(rng.choice("0123456789abcdef") for _ in range(count))

    shapes = (
        lambda: f'"token_count": {rng.randrange(10**6)}, "key": "user:{rng.randrange(10**6)}:profile",',
        lambda: f"password_field = form.password_{rng.randrange(99)}.value  # the password is required",
        lambda: f"api_key = os.environ['SERVICE_{rng.randrange(99)}_API_KEY']",
        lambda: f"sha256:{digits(64)} integrity sk-learn pk_index re_match key-{digits(6)}",
        lambda: f"https://host{rng.randrange(99)}.example:8080/a/b?sig=none&token=${{TOKEN}}",
        lambda: (
            f"secret name: {digits(8)}-{digits(4)}-{digits(4)}-{digits(4)}-{digits(12)} pass the key to the token handler"
        ),
        lambda: f"Authorization: Bearer <token> curl -H 'x: y' basic auth login user secret.{rng.randrange(99)}",
    )
    lines = [rng.choice(shapes)() for _ in range(60_000)]
    return "\n".join(lines)


def speed(scanner: RuleScanner, text: str) -> float:
    """Megabytes a second, in pieces of a turn's size."""
    pieces = [text[at : at + 8_000] for at in range(0, len(text), 8_000)]
    began = time.process_time()
    for at in range(0, len(pieces), 40):
        scanner.spans("\n\x00\n".join(pieces[at : at + 40]))
    return len(text.encode("utf-8", "replace")) / 1e6 / (time.process_time() - began)


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="the rows that are wrong")
    options = parser.parse_args()
    scanner = RuleScanner()
    known = rows(options.data / "safety" / "secrets_dev.jsonl.gz")
    wanted = {
        "core and strong": [row for row in known if row["label"] and row.get("core") and row.get("strong_format")],
        "core or strong": [row for row in known if row["label"] and (row.get("core") or row.get("strong_format"))],
        "A-clean": [row for row in known if not row["label"] and "A" in str(row.get("tier", ""))],
    }
    figures: dict[str, object] = {}
    for name, every in wanted.items():
        found = [row for row in every if scanner.secrets(row["text"])]
        share = len(found) / len(every)
        figures[name] = {"found": len(found), "of": len(every), "share": round(share, 4)}
        sys.stdout.write(f"{name:<22} {len(found):>5} of {len(every):<5} {share:.4f}\n")
        if options.show:
            ids = {row["id"] for row in found}
            wrong = found if name == "A-clean" else [row for row in every if row["id"] not in ids]
            for row in wrong:
                sys.stdout.write(f"    {row['id']} {row.get('type')} {row.get('bare_token')} {row['text'][:300]!r}\n")
    secrets = "\n".join(row["text"] for row in known) * 4
    texts = {"transcripts": transcripts(options.data / "transcripts"), "candidates": dense(), "secrets": secrets}
    for name, text in texts.items():
        if text:
            speed(scanner, text[:1_000_000])
            figures[f"{name} MB/s"] = round(speed(scanner, text), 1)
            sys.stdout.write(f"{name + ' MB/s':<22} {figures[f'{name} MB/s']:>5}\n")
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
