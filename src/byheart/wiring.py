"""Puts the parts together: the only place that reads the environment and names adapters."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from byheart import config as settings
from byheart.adapters import projects
from byheart.adapters.files.disk import DiskFiles
from byheart.adapters.scanners.scanner import RuleScanner
from byheart.config import Config
from byheart.dialects.triples import NAME as RULES
from byheart.dialects.triples import Triples
from byheart.dialects.yaml_block import NAME as PROFILE
from byheart.dialects.yaml_block import YamlBlock
from byheart.domain.errors import BadInput, Conflict, Refused
from byheart.domain.ports import Dialect, Files, Scanner
from byheart.domain.records import Scope
from byheart.domain.reports import Checkup
from byheart.domain.roots import Place, Project, Root
from byheart.flows.desk import Desk
from byheart.memory import Memory

PROFILE_FILE, RULES_FILE = "memories.md", "memories.ndjson"
REPO_RULES = "docs/memory/memories.ndjson"
SHARED_RULES = "~/.skill_master/memory/memories.ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the outside says: where we stand, the environment, the clock."""

    folder: str
    environment: Mapping[str, str]
    flags: tuple[str, ...] = ()
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def home(self) -> str:
        """The folder that holds all of byheart's own state."""
        chosen = self.environment.get("BYHEART_HOME") or "~/.byheart"
        path = self.expanded(chosen)
        if not os.path.isabs(path):
            raise BadInput(f"BYHEART_HOME is {chosen!r}; it must be an absolute path")
        return os.path.realpath(path)

    def expanded(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            user = self.environment.get("HOME") or os.path.expanduser("~")
            return user + path[1:]
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A memory, with the configuration and project it was opened for."""

    memory: Memory
    config: Config
    project: Project
    home: str
    in_repo: dict[str, Place]
    files: Files
    shadowed: tuple[str, ...] = ()

    def write_new(self, place: Place, text: str) -> None:
        """Write a file that a person named for output; one that exists is left alone."""
        try:
            self.files.write(place, text, "")
        except Conflict:
            raise Refused(f"{place} exists already; name another file") from None


def open_memory(around: Surroundings, files: Files | None = None, scanner: Scanner | None = None) -> Opened:
    """The memory that belongs to a folder. Raises BadSetting for a configuration that cannot be used."""
    home = around.home
    project = projects.find(around.folder, lambda name: os.path.isdir(os.path.join(home, "projects", name)))
    config = settings.load(
        os.path.join(home, "config.toml"),
        os.path.join(project.folder, projects.MARKER),
        around.environment,
        around.flags,
    )
    limits = config.limits
    disk = files or DiskFiles(file_bytes=limits.file_bytes, lock_seconds=limits.lock_seconds)
    dialects: dict[str, Dialect] = {PROFILE: YamlBlock(), RULES: Triples()}
    in_repo = {PROFILE: Place(project.folder, PROFILE_FILE), RULES: Place(project.folder, REPO_RULES)}
    roots = {
        Scope.LOCAL: _local(around, config, home, project, in_repo),
        Scope.GLOBAL: _global(around, config, home),
    }
    desk = Desk(
        files=disk,
        scanner=scanner or RuleScanner(),
        dialects=dialects,
        roots=roots,
        project=project,
        limits=limits,
        clock=around.clock,
        token=lambda: os.urandom(4).hex(),
        salt=_salt(disk, home),
    )
    usual = (Place(home, f"projects/{project.id}/{file}") for file in (PROFILE_FILE, RULES_FILE))
    chosen = set(roots[Scope.LOCAL].documents.values())
    shadowed = tuple(str(place) for place in usual if place not in chosen and os.path.lexists(str(place)))
    return Opened(
        memory=Memory(desk),
        config=config,
        project=project,
        home=home,
        in_repo=in_repo,
        files=disk,
        shadowed=shadowed,
    )


def _local(around: Surroundings, config: Config, home: str, project: Project, in_repo: dict[str, Place]) -> Root:
    folder = f"projects/{project.id}"
    documents, rivals = {}, {}
    for name, key, file in ((PROFILE, "paths.profile", PROFILE_FILE), (RULES, "paths.rules", RULES_FILE)):
        chosen = config.text(key)
        if chosen:
            documents[name] = _chosen(around, chosen, project.folder)
        elif config.flag("store.in_repo") or os.path.lexists(str(in_repo[name])):
            documents[name] = in_repo[name]
        else:
            documents[name], rivals[name] = Place(home, f"{folder}/{file}"), in_repo[name]
    return Root(scope=Scope.LOCAL, folder=Place(home, folder), documents=documents, rivals=rivals)


def _global(around: Surroundings, config: Config, home: str) -> Root:
    documents = {PROFILE: Place(home, f"global/{PROFILE_FILE}"), RULES: Place(home, f"global/{RULES_FILE}")}
    shared = around.expanded(SHARED_RULES)
    if os.path.lexists(shared):
        documents[RULES] = _split(shared)
    for name, key in ((PROFILE, "paths.global_profile"), (RULES, "paths.global_rules")):
        if config.text(key):
            documents[name] = _chosen(around, config.text(key), home)
    return Root(scope=Scope.GLOBAL, folder=Place(home, "global"), documents=documents)


def _chosen(around: Surroundings, path: str, base: str) -> Place:
    """A path from the configuration: relative ones are below `base`, and stay there."""
    full = around.expanded(path)
    return _split(full) if os.path.isabs(full) else Place(base, full)


def _split(path: str) -> Place:
    return Place(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def redacted(text: str) -> str:
    """A text for a person's eyes, without secrets."""
    return RuleScanner().redacted(text)


def place_of(path: str, folder: str) -> Place:
    """A file that a person named on the command line."""
    full = os.path.join(folder, os.path.expanduser(path))
    return _split(full)


def _salt(files: Files, home: str) -> Callable[[], bytes]:
    """The secret that tombstones are keyed with; made at first need, kept in the home folder."""
    place = Place(home, "salt")

    def salt() -> bytes:
        found = files.read(place).text
        if not found:
            try:
                found = files.write(place, os.urandom(32).hex() + "\n", "").text
            except Conflict:
                found = files.read(place).text
        return (found or "").strip().encode()

    return salt


def machine(opened: Opened, versions: Sequence[tuple[str, str]]) -> list[Checkup]:
    """What the machine says about itself: versions, the home folder, its modes and whether it can be written."""
    found = [Checkup(subject=name, state="ok", detail=version) for name, version in versions]
    home = opened.home
    if not os.path.isdir(home):
        found.append(Checkup(subject="home", state="ok", detail=f"{home} (not there yet)"))
    else:
        loose = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(home)
            for name in names
            if os.lstat(os.path.join(folder, name)).st_mode & 0o077
        ]
        state, detail = ("warning", f"{home}: other users can read {loose[0]}") if loose else ("ok", home)
        if not os.access(home, os.W_OK):
            state, detail = "failure", f"{home} cannot be written"
        found.append(Checkup(subject="home", state=state, detail=detail))
    found += [
        Checkup(
            subject="unused notebook",
            state="warning",
            detail=f"{path} is not read here; byheart import can bring it over",
        )
        for path in opened.shadowed
    ]
    project = opened.project
    identity = project.remote or project.common_folder or project.folder
    found.append(Checkup(subject="project", state="ok", detail=f"{project.id} ({identity})"))
    return found
