"""Puts the parts together: the only place that reads the environment and names adapters."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Any

from byheart.app import config as settings
from byheart.app.memory import Memory
from byheart.app.setting_rules import KEYS
from byheart.domain.documents import Place, Project, Root
from byheart.domain.errors import BadInput, BadSetting, Conflict, Refused, Unreadable
from byheart.domain.ports import Dialect, Files, RecordIndex, Scanner
from byheart.domain.records import Scope
from byheart.domain.values import dataclass
from byheart.search.models import USE, Cache, Noted, RecallModels
from byheart.storage import cards, git, moments, projects
from byheart.storage.files.disk import DiskFiles
from byheart.storage.scanners.scanner import RuleScanner
from byheart.text.deferred import module
from byheart.workspace.context import JOURNAL, PROFILE, RULES, Context, SearchTools
from byheart.workspace.trust import Trust, VouchedFiles

if TYPE_CHECKING:
    from byheart import prompts as byheart_prompts
    from byheart.agents import agent as agents
    from byheart.app.config import Config
    from byheart.domain import learning
    from byheart.domain.learning import ChatModel
    from byheart.journal import format as journal_format
    from byheart.learning import budget as learning_budget
    from byheart.notebooks.formats import profile_yaml, rules_ndjson
    from byheart.storage import models as storage_models
    from byheart.storage import sync_store
    from byheart.storage.embedders import registry
    from byheart.storage.index import records
else:
    agents = module("byheart.agents.agent")
    learning = module("byheart.domain.learning")
    journal_format = module("byheart.journal.format")
    learning_budget = module("byheart.learning.budget")
    byheart_prompts = module("byheart.prompts")
    profile_yaml = module("byheart.notebooks.formats.profile_yaml")
    rules_ndjson = module("byheart.notebooks.formats.rules_ndjson")
    registry = module("byheart.storage.embedders.registry")
    records = module("byheart.storage.index.records")
    storage_models = module("byheart.storage.models")
    sync_store = module("byheart.storage.sync_store")

PROFILE_FILE, RULES_FILE, JOURNAL_FILE = "memories.md", "memories.ndjson", "MEMORY.md"
REPO_RULES = "docs/memory/memories.ndjson"
SHARED_RULES = "~/.skill_master/memory/memories.ndjson"
SETTINGS_FILE = projects.MARKER
# Transcripts and notes that agents keep in a checkout.
IN_CHECKOUT = (".aider.chat.history.md", ".specstory/history", "trajectories", ".goose/memory")
# A journal shows itself in its first records; a large one need not be read for that.
_PEEK = 65_536
# Files that stand beside a MEMORY.md which is a journal, also while it has no record yet.
_DAILY = re.compile(r"\d{4}-\d{2}-\d{2}\.md")
_SUBSTRATE = ("HEARTBEAT.md", "SOUL.md", "LONGMEMORY.md")


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
class OpenMemory:
    """A memory, with the configuration and project it was opened for."""

    memory: Memory
    config: Config
    project: Project
    home: str
    in_repo: dict[str, Place]
    files: Files
    shadowed: tuple[str, ...] = ()
    # Why the checkout's own settings are not used, where they cannot be.
    ignored: str = ""

    def write_new(self, place: Place, text: str) -> None:
        """Write a file that a person named for output; one that exists is left alone, and no folder is made."""
        if not os.path.isdir(place.base):
            raise BadInput(f"{place.base} is not a folder; name a file in one that exists")
        try:
            self.files.write(place, text, "")
        except Conflict:
            raise Refused(f"{place} already exists; name another file") from None


class _Dialects(Mapping[str, Dialect]):
    """The file formats, each loaded when a file of it is read: most commands need one of them, and some need none."""

    def __init__(self) -> None:
        self._loaded: dict[str, Dialect] = {}

    def __getitem__(self, name: str) -> Dialect:
        if name not in self._loaded:
            self._loaded[name] = _dialect(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter((PROFILE, RULES, JOURNAL))

    def __len__(self) -> int:
        return 3


def _dialect(name: str) -> Dialect:
    match name:
        case "yaml-block":
            return profile_yaml.YamlBlock()
        case "triples":
            return rules_ndjson.Triples()
        case "journal":
            return journal_format.Journal()
    raise KeyError(name)


def open_memory(around: Surroundings, files: Files | None = None, scanner: Scanner | None = None) -> OpenMemory:
    """The memory that belongs to a folder. Raises BadSetting for a configuration that cannot be used; a checkout's own settings that
    cannot be are passed over, since a clone may bring any."""
    home = around.home
    project = project_of(around.folder, home)
    trust = trust_of(home, project, files or DiskFiles(), around.clock)
    config, ignored = _configured(around, project, trust)
    limits = config.limits
    disk = files or DiskFiles(file_bytes=limits.file_bytes, lock_seconds=limits.lock_seconds)
    in_repo = {PROFILE: Place(project.folder, PROFILE_FILE), RULES: Place(project.folder, REPO_RULES)}
    roots = {
        Scope.LOCAL: _local(around, config, home, project, in_repo, trust),
        Scope.GLOBAL: _global(around, config, home),
    }
    context = Context(
        files=VouchedFiles(disk, trust),
        trust=trust,
        scanner=scanner or RuleScanner(),
        dialects=_Dialects(),
        roots=roots,
        project=project,
        limits=limits,
        clock=around.clock,
        token=lambda: os.urandom(4).hex(),
        salt=_salt(disk, home),
        journal=config.journal,
        zone=_zone(around, config),
        search_tools=_search_tools(around, config, home, disk),
        drop_briefs=lambda: _drop_prepared(home),
    )
    chosen = set(roots[Scope.LOCAL].documents.values())
    theirs = Place(project.folder, JOURNAL_FILE)
    shadowed = []
    if theirs not in chosen and trust.is_trusted and not config.text("paths.journal") and is_journal(theirs):
        shadowed.append(str(theirs))
    return OpenMemory(
        memory=Memory(context),
        config=config,
        project=project,
        home=home,
        in_repo=in_repo,
        files=disk,
        shadowed=tuple(shadowed),
        ignored=ignored,
    )


def _drop_prepared(home: str) -> None:
    """Take away what was prepared for sessions, and what is kept of what they were told."""
    cards.drop(home)
    moments.drop(home)
    sync_store.drop_copies(home)


def _configured(around: Surroundings, project: Project, trust: Trust) -> tuple[Config, str]:
    """The settings in force, and why the checkout's own were passed over, where they were."""
    user_file, own = os.path.join(around.home, "config.toml"), Place(project.folder, SETTINGS_FILE)

    def loaded(project_file: str) -> Config:
        return settings.load(
            user_file,
            project_file,
            around.environment,
            around.flags,
            vouched=lambda text: trust.own_text(own, text) if trust.is_trusted else "",
        )

    try:
        return loaded(str(own)), ""
    except (BadSetting, Unreadable) as error:
        if str(own) not in (getattr(error, "origin", ""), getattr(error, "path", "")):
            raise
        return loaded(""), str(error)


def project_of(folder: str, home: str) -> Project:
    """The project that a folder belongs to."""
    return projects.find(folder, lambda name: os.path.isdir(os.path.join(home, "projects", name)))


def trust_of(home: str, project: Project, files: Files, clock: Callable[[], datetime]) -> Trust:
    """What the user vouches for in a project's checkout."""
    return Trust(
        files,
        Place(home, f"projects/{project.id}"),
        project.folder,
        project.common_folder or "",
        git.Moves(git.git_folder(project.folder)),
        _salt(files, home),
        lambda: f"{clock():%Y-%m-%d}",
    )


def _search_tools(around: Surroundings, config: Config, home: str, files: Files) -> Callable[[], SearchTools]:
    """Where records are searched, made when it is first asked for; while memory is off, nothing is kept of it."""
    path = os.path.join(home, "state", "index.db")

    @cache
    def made(where: str) -> RecordIndex:
        return records.NotebookIndex(where)

    @cache
    def search_tools() -> SearchTools:
        kept = path if config.flag("memory.enabled") else ":memory:"
        answers, contexts = _kept_answers(config), _kept_answers(config)
        return SearchTools(
            index=lambda: made(kept),
            spare=lambda: made(":memory:"),
            recall_models=recall_models(around, config, home, lambda text: RuleScanner().redacted(text)),
            answers=answers,
            contexts=contexts,
            is_there=lambda: os.path.exists(path),
            asked=Noted(files, Place(home, USE), {"recall": answers.use, "session context": contexts.use}, time.time),
        )

    return search_tools


def _kept_answers(config: Config) -> Cache[Any]:
    return Cache(
        int(config.number("recall.cache_entries")),
        int(config.number("recall.cache_bytes")),
        config.number("recall.cache_seconds"),
        time.monotonic,
    )


def recall_models(around: Surroundings, config: Config, home: str, clean: Callable[[str], str]) -> RecallModels:
    """The models that recall may ask, as configured."""
    choice = registry.ModelChoice(
        kind=config.text("recall.embedder"),
        store=os.path.join(home, "models"),
        folder=around.expanded(config.text("recall.model_folder")),
        address=config.text("recall.endpoint"),
        model=config.text("recall.endpoint_model"),
        key=around.environment.get("BYHEART_EMBEDDINGS_KEY"),
    )
    if choice.kind == "none":
        return RecallModels(None, lambda: registry.reranker(choice), clean)
    # One thread is all that a question needs, and starting more costs more than it gives.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return RecallModels(lambda: registry.embedder(choice), lambda: registry.reranker(choice), clean)


def models(around: Surroundings, config: Config, home: str) -> learning.Models | None:
    """The models that learning may ask, as configured; None where it works by itself. Raises BadSetting."""
    settings = config.learning
    if settings.model == "none":
        return None

    folder, seconds = os.path.join(home, "state", "asked"), settings.model_seconds

    def made(name: str) -> ChatModel:
        if settings.model == "command":
            return storage_models.CommandModel(settings.model_command, name, folder, around.environment, seconds)
        if settings.model == "agent":
            return storage_models.AgentModel(
                headless_of(around, settings.model_agent), name, folder, around.environment, seconds
            )
        key = around.environment.get("BYHEART_MODEL_KEY")
        return storage_models.EndpointModel(
            settings.model_endpoint, name, key, seconds, api=settings.model_api, retries=settings.model_retries
        )

    needed = {"command": "model_command", "agent": "model"}.get(settings.model, "model_endpoint")
    told = str(getattr(settings, needed))
    if not told.strip() or (needed == "model_endpoint" and not told.startswith(("http://", "https://"))):
        origin = config.origins[f"learning.{needed}"]
        raise BadSetting(origin, f"learning.{needed}", f"is {told!r}", KEYS[f"learning.{needed}"].form)
    return learning.Models(
        extracting=made(settings.extract_model),
        # Where nobody named one for this, the other does it.
        consolidating=made(settings.consolidate_model or settings.extract_model),
        # A token is some four characters of English; of other texts, fewer.
        characters=settings.model_input_tokens * 3,
        prompts=byheart_prompts.OwnPrompts(os.path.join(home, "prompts")).check(),
        budget=learning_budget.Budget(
            settings=settings, files=disk(), place=Place(home, "state/spent.json"), clock=around.clock
        ),
    )


def headless_of(around: Surroundings, wanted: str) -> learning.Headless:
    """How the user's own agent is asked: the one that the settings name, else the first that is on the path. Raises BadInput."""
    found = agents.headless()
    for name, headless in found.items():
        is_there = shutil.which(headless.command[0], path=around.environment.get("PATH"))
        if (wanted == name) if wanted else is_there:
            if is_there:
                return headless
            raise BadInput(f"{headless.command[0]!r} is not on the PATH; install it, or set learning.model_agent")
    raise BadInput(
        f"no agent {wanted!r} can be asked; learning.model_agent knows: {', '.join(found)}"
        if wanted
        else f"none of these programs is on the PATH: {', '.join(each.command[0] for each in found.values())}"
    )


def _local(
    around: Surroundings, config: Config, home: str, project: Project, in_repo: dict[str, Place], trust: Trust
) -> Root:
    """This project's files. Those of its checkout count where the user trusts them or is about to make them; what is kept at
    home is read beside them."""
    folder = f"projects/{project.id}"
    documents, rivals, kept = {}, {}, {}
    for name, key, file in ((PROFILE, "paths.profile", PROFILE_FILE), (RULES, "paths.rules", RULES_FILE)):
        usual, chosen = Place(home, f"{folder}/{file}"), config.text(key)
        wanted = _chosen(around, chosen, project.folder) if chosen else in_repo[name]
        is_there = os.path.lexists(str(wanted))
        if _is_named(around, chosen) or (
            trust.allows(wanted) if is_there else chosen or config.flag("store.in_repo") or trust.has_made(wanted)
        ):
            documents[name] = wanted
            if wanted != usual and os.path.lexists(str(usual)):
                kept[name] = usual
        else:
            documents[name], rivals[name] = usual, in_repo[name]
    documents[JOURNAL] = _journal(around, config, project, Place(home, f"{folder}/journal/{JOURNAL_FILE}"), trust)
    own = _chosen_by_person(config, home, documents, ("paths.profile", "paths.rules", "paths.journal"))
    return Root(
        scope=Scope.LOCAL, folder=Place(home, folder), documents=documents, rivals=rivals, kept=kept, chosen=own
    )


def _chosen_by_person(
    config: Config, home: str, documents: Mapping[str, Place], keys: tuple[str, str, str]
) -> frozenset[str]:
    """The notebooks that somebody keeps: a setting names them, or they are where byheart puts none by itself."""
    return frozenset(
        name
        for name, key in zip((PROFILE, RULES, JOURNAL), keys, strict=True)
        if config.text(key) or (documents[name].base != home and os.path.lexists(str(documents[name])))
    )


def _is_named(around: Surroundings, path: str) -> bool:
    """Whether a path of the settings names one file for all projects, which is the user's word for it."""
    return os.path.isabs(around.expanded(path))


def _journal(around: Surroundings, config: Config, project: Project, usual: Place, trust: Trust) -> Place:
    """Where this project's MEMORY.md lies. A repository's own counts only where the user trusts it and it is a journal, since
    the name is common, and only while there is none at home."""
    chosen = config.text("paths.journal")
    if chosen:
        wanted = _chosen(around, chosen, project.folder)
        if _is_named(around, chosen) or trust.allows(wanted) or not os.path.lexists(str(wanted)):
            return wanted
        return usual
    if os.path.lexists(str(usual)) or not trust.allows(Place(project.folder, JOURNAL_FILE)):
        return usual
    theirs = is_journal(Place(project.folder, JOURNAL_FILE))
    return Place(project.folder, JOURNAL_FILE) if theirs else usual


def is_journal(place: Place) -> bool:
    """Whether a file is a journal, by its beginning or by the company it keeps."""
    try:
        opened = os.open(str(place), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        head = os.read(opened, _PEEK).decode("utf-8", "replace")
    except OSError:
        return False
    finally:
        os.close(opened)
    return (
        journal_format.looks_like(head)
        or any(os.path.lexists(os.path.join(place.base, name)) for name in _SUBSTRATE)
        or _has_daily_logs(os.path.join(os.path.dirname(str(place)), "memory"))
    )


def _has_daily_logs(folder: str) -> bool:
    """Whether a folder holds a journal's daily logs: CursorClaw makes its MEMORY.md empty."""
    try:
        with os.scandir(folder) as entries:
            return any(_DAILY.fullmatch(entry.name) for entry in entries)
    except OSError:
        return False


def _zone(around: Surroundings, config: Config) -> tzinfo | None:
    """The journal's zone: as configured, else as TZ says, else None for the machine's own."""
    name = config.text("journal.timezone") or around.environment.get("TZ", "").removeprefix(":")
    if not name:
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        # TZ may be spelled in ways that only the C library reads, and it does.
        return None


def _global(around: Surroundings, config: Config, home: str) -> Root:
    documents = {
        PROFILE: Place(home, f"global/{PROFILE_FILE}"),
        RULES: Place(home, f"global/{RULES_FILE}"),
        JOURNAL: Place(home, f"global/journal/{JOURNAL_FILE}"),
    }
    shared = around.expanded(SHARED_RULES)
    if os.path.lexists(shared):
        documents[RULES] = _split(shared)
    keys = ("paths.global_profile", "paths.global_rules", "paths.global_journal")
    for name, key in zip((PROFILE, RULES, JOURNAL), keys, strict=True):
        if config.text(key):
            documents[name] = _chosen(around, config.text(key), home)
    own = _chosen_by_person(config, home, documents, keys)
    return Root(scope=Scope.GLOBAL, folder=Place(home, "global"), documents=documents, chosen=own)


def _chosen(around: Surroundings, path: str, base: str) -> Place:
    """A path from the configuration: relative ones are below `base`, and stay there."""
    full = around.expanded(path)
    return _split(full) if os.path.isabs(full) else Place(base, full)


def _split(path: str) -> Place:
    return Place(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def disk() -> Files:
    """Files as they are on this machine."""
    return DiskFiles()


def redacted(text: str) -> str:
    """A text for a person's eyes, without secrets."""
    return RuleScanner().redacted(text)


def place_of(path: str, folder: str) -> Place:
    """A file that a person named on the command line."""
    return _split(os.path.join(folder, os.path.expanduser(path)))


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
