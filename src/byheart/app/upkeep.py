"""Upkeep of the journal in the background, and the machine's schedulers."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from byheart.app.open import OpenMemory, Surroundings
from byheart.domain.errors import ByheartError
from byheart.storage.files.disk import DiskFiles
from byheart.text.deferred import module

if TYPE_CHECKING:
    from byheart.storage import background
    from byheart.storage.background import Scheduler
else:
    background = module("byheart.storage.background")

# A state file is small; whatever is larger is not one.
_MOST = 65_536


def known_folders(home: str) -> list[str]:
    """The folders of all projects whose journal has been written to, as far as they still exist."""
    found = []
    projects_folder = os.path.join(home, "projects")
    for name in sorted(os.listdir(projects_folder)) if os.path.isdir(projects_folder) else []:
        try:
            with open(os.path.join(projects_folder, name, ".byheart", "journal.json"), encoding="utf-8") as stream:
                folder = json.loads(stream.read(_MOST)).get("folder")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(folder, str) and os.path.isdir(folder):
            found.append(folder)
    return found


def start_upkeep(opened: OpenMemory, around: Surroundings) -> None:
    """Start what is due in the background; a command that was itself started that way starts nothing."""
    if around.environment.get("BYHEART_CHILD"):
        return
    try:
        due = opened.memory.is_upkeep_due()
    except ByheartError:
        # Whatever is wrong with the journal is told by commands that are about it.
        return
    if due:
        # Here, since nearly no command gets this far and all of them pay for imports.
        flags = [word for flag in around.flags for word in ("--set", flag)]
        folder = os.path.abspath(around.folder)
        background.start([*flags, "-C", folder, "journal", "upkeep"], {**around.environment, "BYHEART_CHILD": "1"})


def schedulers(around: Surroundings) -> list[Scheduler]:
    """The machine's schedulers, the better one first."""
    configuration = around.environment.get("XDG_CONFIG_HOME") or around.expanded("~/.config")
    folder = os.path.join(configuration, "systemd", "user")
    return [background.Systemd(folder, DiskFiles(), around.environment), background.Crontab(around.environment)]


def upkeep_job(around: Surroundings) -> background.ScheduledJob:
    """What a scheduler should run."""
    chosen = around.environment.get("BYHEART_HOME")
    return background.ScheduledJob(
        command=tuple(background.command(["-C", around.home, "journal", "upkeep", "--all"])),
        variables={"BYHEART_HOME": chosen} if chosen else {},
    )
