"""byheart schedule: let the machine start the journal's upkeep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from byheart.app.upkeep import schedulers, upkeep_job
from byheart.domain.errors import Environment
from byheart.interfaces.cli import common, options

if TYPE_CHECKING:
    from byheart.storage.schedulers import Scheduler

_NAMES = ("systemd", "cron")


@click.group(epilog=common.examples("byheart schedule show", "byheart schedule install --cron"))
def schedule() -> None:
    """Let the machine start upkeep every hour; without it, any byheart command does when something is due.

    Nothing is installed unless you ask. What is installed only runs `byheart journal upkeep --all`, which does what is due.
    """


def _chosen(name: str | None) -> list[Scheduler]:
    found = schedulers(common.surroundings())
    return [each for each in found if name in (None, each.name)]


@schedule.command(epilog=common.examples("byheart schedule install", "byheart schedule install --systemd --print"))
@click.option("--systemd", "name", flag_value="systemd", help="A timer of your own systemd.")
@click.option("--cron", "name", flag_value="cron", help="A line in your crontab.")
@click.option("--print", "only_print", is_flag=True, help="Print what would be installed; change nothing.")
@options.json_option
def install(name: str | None, only_print: bool, as_object: bool) -> int:
    """Install a timer: systemd where it answers, else cron."""
    job = upkeep_job(common.surroundings())
    wanted = _chosen(name)
    if only_print:
        texts = {f"{each.name}: {file}": text for each in wanted for file, text in each.texts(job).items()}
        if as_object:
            common.put(texts)
        else:
            for title, text in texts.items():
                common.note(title)
                common.page(text.rstrip("\n"))
        return 0
    usable = next((each for each in wanted if each.is_available()), None)
    if usable is None:
        tried = " and ".join(each.name for each in wanted)
        raise Environment(f"{tried} cannot be used here; byheart schedule install --print shows what to set up by hand")
    for other in _chosen(None):
        # One timer is enough: an earlier one of the other sort goes.
        if other is not usable and other.name != usable.name and other.is_available():
            other.remove()
    done = usable.install(job)
    if as_object:
        common.put({"scheduler": usable.name, "done": done})
    else:
        for line in done:
            common.say(line)
        common.note("take it back with: byheart schedule remove")
    return 0


@schedule.command(epilog=common.examples("byheart schedule remove"))
@options.json_option
def remove(as_object: bool) -> int:
    """Remove every timer that byheart installed."""
    done = [line for each in _chosen(None) if each.is_available() or each.name == "systemd" for line in each.remove()]
    if as_object:
        common.put({"done": done})
    else:
        for line in done:
            common.say(line)
    if not done:
        common.note("byheart: nothing is scheduled")
        return 1
    return 0


@schedule.command(epilog=common.examples("byheart schedule show"))
@options.json_option
def show(as_object: bool) -> int:
    """Show what is installed."""
    found = {
        each.name: text
        for each in _chosen(None)
        if each.is_available() or each.name == "systemd"
        if (text := each.show()) is not None
    }
    if as_object:
        common.put(found)
    else:
        for name, text in found.items():
            common.note(f"{name}:")
            common.page(text)
    if not found:
        common.note("byheart: nothing is scheduled; byheart schedule install sets it up")
        return 1
    return 0
