"""byheart without anybody waiting for it: started now or by the machine's scheduler, and a lock for whoever is at it."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from byheart.domain.documents import Place
from byheart.domain.errors import Environment, Refused
from byheart.domain.ports import Files
from byheart.domain.values import dataclass


def command(arguments: Sequence[str]) -> list[str]:
    """The words that run this installation of byheart."""
    return [sys.executable, "-m", "byheart", *arguments]


def crew(arguments: Sequence[str], environment: Mapping[str, str], count: int) -> Callable[[], list[str]]:
    """Start byheart so many times over beside this process; what is given back waits for all of them and tells what they
    printed. Those that fail leave their work to whoever started them."""
    made = [
        subprocess.Popen(
            command(arguments),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(count)
    ]

    def wait() -> list[str]:
        return [each.communicate()[0].decode("utf-8", "replace") for each in made]

    return wait


def start(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Run byheart with these arguments, detached and silent; whether it could be started."""
    try:
        subprocess.Popen(
            command(arguments),
            env=dict(environment),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    return True


MARK = "# byheart upkeep"
_UNITS = ("byheart-upkeep.service", "byheart-upkeep.timer")
_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledJob:
    """What to run every hour, and the variables it needs."""

    command: tuple[str, ...]
    variables: Mapping[str, str]


class Systemd:
    """A timer of the user's own systemd. It runs while the user is logged in, or always where lingering is enabled."""

    name = "systemd"

    def __init__(self, folder: str, files: Files, environment: Mapping[str, str]) -> None:
        self._folder, self._files, self._environment = folder, files, environment

    def is_available(self) -> bool:
        """Whether a systemd of this user answers."""
        if shutil.which("systemctl", path=self._environment.get("PATH")) is None:
            return False
        return _run(["systemctl", "--user", "show-environment"], self._environment)[0] == 0

    def texts(self, job: ScheduledJob) -> dict[str, str]:
        """The unit files, by name."""
        _refuse_odd(job)
        words = " ".join(_unit_word(word, "$") for word in job.command)
        variables = "".join(f"Environment={_unit_word(f'{name}={value}')}\n" for name, value in job.variables.items())
        service = (
            f"{MARK}\n[Unit]\nDescription=byheart journal upkeep\n\n"
            f"[Service]\nType=oneshot\n{variables}ExecStart={words}\n"
        )
        timer = (
            f"{MARK}\n[Unit]\nDescription=byheart journal upkeep, hourly\n\n"
            "[Timer]\nOnCalendar=hourly\nRandomizedDelaySec=300\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
        )
        return dict(zip(_UNITS, (service, timer), strict=True))

    def install(self, job: ScheduledJob) -> list[str]:
        """Write the units and start the timer; what was done. A file of the same name that is not ours is left alone."""
        done = []
        for name, text in self.texts(job).items():
            place = Place(self._folder, name)
            old = self._files.read(place)
            if old.text is not None and not old.text.startswith(MARK):
                raise Refused(f"{place} exists and is not byheart's; move it away first")
            self._files.write(place, text, old.digest)
            done.append(f"wrote {place}")
        for arguments in (["daemon-reload"], ["enable", "--now", _UNITS[1]]):
            _demand(["systemctl", "--user", *arguments], self._environment)
        return [*done, f"started {_UNITS[1]}"]

    def remove(self) -> list[str]:
        """Stop the timer and delete the units, if they are ours; what was done."""
        ours = [name for name in _UNITS if (self._text(name) or "").startswith(MARK)]
        if not ours:
            return []
        _run(["systemctl", "--user", "disable", "--now", _UNITS[1]], self._environment)
        done = []
        for name in ours:
            place = Place(self._folder, name)
            self._files.remove(place, self._files.read(place).digest)
            done.append(f"removed {place}")
        _run(["systemctl", "--user", "daemon-reload"], self._environment)
        return done

    def show(self) -> str | None:
        """What is installed, or None."""
        found = [(name, text) for name in _UNITS if (text := self._text(name)) and text.startswith(MARK)]
        if not found:
            return None
        return "\n".join(f"{Place(self._folder, name)}:\n{text.rstrip()}" for name, text in found)

    def _text(self, name: str) -> str | None:
        return self._files.read(Place(self._folder, name)).text


class Crontab:
    """A line in the user's crontab; every other line stays as it is."""

    name = "cron"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def is_available(self) -> bool:
        """Whether there is a crontab command."""
        return shutil.which("crontab", path=self._environment.get("PATH")) is not None

    def texts(self, job: ScheduledJob) -> dict[str, str]:
        """The line to add."""
        _refuse_odd(job)
        variables = [f"{name}={shlex.quote(value)}" for name, value in job.variables.items()]
        words = " ".join(["env", *variables, *(shlex.quote(word) for word in job.command)] if variables else
                         [shlex.quote(word) for word in job.command])  # fmt: skip
        # cron takes a bare percent sign for the end of the line.
        return {"crontab": f"17 * * * * {words.replace('%', chr(92) + '%')} >/dev/null 2>&1 {MARK}\n"}

    def install(self, job: ScheduledJob) -> list[str]:
        """Put the line in, in place of an earlier one of ours; what was done."""
        kept = self._others()
        self._save(kept + ("" if not kept or kept.endswith("\n") else "\n") + self.texts(job)["crontab"])
        return ["added a line to the crontab"]

    def remove(self) -> list[str]:
        """Take the line out; what was done."""
        if self.show() is None:
            return []
        self._save(self._others())
        return ["removed the line from the crontab"]

    def show(self) -> str | None:
        """What is installed, or None."""
        return next((line for line in self._read().split("\n") if line.rstrip().endswith(MARK)), None)

    def _others(self) -> str:
        lines = self._read().splitlines(keepends=True)
        return "".join(line for line in lines if not line.rstrip().endswith(MARK))

    def _read(self) -> str:
        code, out, err = _run(["crontab", "-l"], self._environment)
        # A user without a crontab gets exit code 1 and a sentence; any other failure must not be taken for an empty one.
        if code != 0 and "no crontab" not in err.casefold():
            raise Environment(f"crontab -l failed: {err.strip() or code}; nothing was changed")
        return out if code == 0 else ""

    def _save(self, text: str) -> None:
        _demand(["crontab", "-"], self._environment, text)


Scheduler = Systemd | Crontab


def _refuse_odd(job: ScheduledJob) -> None:
    """A line break in a path would be a line of its own in the unit or in the crontab."""
    for word in (*job.command, *job.variables, *job.variables.values()):
        if any(ord(each) < 32 or ord(each) == 127 for each in word):
            raise Refused(f"{word!r} has a control character, which a schedule cannot contain; choose another path")


def _unit_word(word: str, doubled: str = "") -> str:
    """A word as a unit file needs it: quoted, with systemd's own specifiers, and in commands its variables, switched off."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    for each in doubled:
        plain = plain.replace(each, each * 2)
    return f'"{plain}"'


def _run(command: Sequence[str], environment: Mapping[str, str], given: str = "") -> tuple[int, str, str]:
    try:
        done = subprocess.run(
            list(command),
            env=dict(environment),
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, "", str(error)
    return done.returncode, done.stdout, done.stderr


def _demand(command: Sequence[str], environment: Mapping[str, str], given: str = "") -> None:
    code, out, err = _run(command, environment, given)
    if code != 0:
        raise Environment(f"{' '.join(command)} failed: {(err or out).strip() or code}")


@contextmanager
def held(path: str) -> Iterator[bool]:
    """A stretch in which this process has the lock; False where somebody else has it. When it was last taken is the file's
    time of modification."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        os.utime(path)
        yield True
    finally:
        os.close(opened)


@contextmanager
def waited_for(path: str) -> Iterator[None]:
    """A stretch in which this process alone does what the lock is for; others wait for it."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
