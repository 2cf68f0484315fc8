"""A handbook in step with one that an agent keeps itself: what the agent wrote comes in beside ours as evidence, and where the user
wants it, ours stands in its place. One project at a time, never for all."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError, Conflict, Refused
from byheart.domain.handbook import EXTENSIONS, MEMORY, ROLLOUTS, SKILLS, SUMMARY
from byheart.domain.values import asdict, dataclass, field
from byheart.learning.consolidation import forgotten_lines
from byheart.learning.handbook_files import HandbookFiles, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = "links.json"
_LARGEST = 1_000_000
# What an agent keeps besides its skills. The rest of its folder it makes from these, or these from it.
_READ = (MEMORY, SUMMARY, "learned.md")
_APPLIES = re.compile(r"^applies_to:\s*cwd=([^;\n]+)", re.MULTILINE)
_BLOCK = re.compile(r"^(?=# Task Group:)", re.MULTILINE)
_SKILL = re.compile(r"\bskills/([\w.-]+)/")
# Newer versions of the agent that keeps one handbook for all projects take a summary only with this line first.
_VERSION = "v1\n\n"


@dataclass(slots=True, kw_only=True)
class Link:
    """An agent's own handbook. `is_shared` says that it is one for all projects, of which the blocks of `cwd` are ours to replace.
    `before` are the texts that stood there when we first wrote, None for no file; `written` the digests of what we wrote."""

    agent: str
    folder: str
    cwd: str
    is_shared: bool = False
    writes: bool = False
    before: dict[str, str | None] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)

    def place(self, path: str) -> Place:
        """A file of the agent's."""
        return Place(self.folder, path)


def links(own: HandbookFiles) -> list[Link]:
    """What a project's handbook is linked with."""
    text = own.context.files.read(own.root.own(FILE)).text
    if not text:
        return []
    try:
        return [Link(**each) for each in json.loads(text)]
    except (ValueError, TypeError):
        raise Refused(f"{own.root.own(FILE)} is not as byheart writes it; look at it, then delete it") from None


def kept(own: HandbookFiles, every: list[Link]) -> None:
    """Write down what a handbook is linked with."""
    place, files = own.root.own(FILE), own.context.files
    found = files.read(place)
    if every:
        files.write(place, json.dumps([asdict(each) for each in every], indent=1, sort_keys=True) + "\n", found.digest)
    elif found.text is not None:
        files.remove(place, found.digest)


def taken_in(own: HandbookFiles) -> list[str]:
    """Bring in what linked agents wrote since; the files of ours that changed."""
    changed: list[str] = []
    every = links(own)
    if every:
        _let_go(own, every)
    for link in every:
        wanted = _evidence(own, link)
        folder = f"{EXTENSIONS}/{link.agent}"
        there = own.context.files.names(own.place(f"{folder}/resources"))
        for path in [*wanted, *(f"{folder}/resources/{name}" for name in there)]:
            now = own.context.files.read(own.place(path))
            if path not in wanted:
                own.context.files.remove(own.place(path), now.digest)
            elif now.text != wanted[path]:
                own.context.files.write(own.place(path), wanted[path], now.digest)
            else:
                continue
            changed.append(path)
    return changed


def _let_go(own: HandbookFiles, every: list[Link]) -> None:
    """Take what was forgotten out of the texts that are kept for the way back."""
    is_forgotten = forgotten_lines(own)
    clean = {
        (link.agent, path): "\n".join(line for line in text.split("\n") if not is_forgotten(_plain(line)))
        for link in every
        for path, text in link.before.items()
        if text
    }
    gone = {
        key for key, text in clean.items() if any(text != link.before[key[1]] for link in every if link.agent == key[0])
    }
    for link in every:
        link.before |= {path: clean[agent, path] for agent, path in gone if agent == link.agent}
    if gone:
        kept(own, every)


def _plain(line: str) -> str:
    return line.strip().lstrip("-*# ").strip()


def _evidence(own: HandbookFiles, link: Link) -> dict[str, str]:
    """What an agent wrote about this project, as files of an extension, without secrets and what was forgotten."""
    is_forgotten = forgotten_lines(own)
    found: dict[str, str] = {}
    for path, text in _theirs(own, link).items():
        lines = own.context.scanner.redacted(text).split("\n")
        clean = "\n".join(line for line in lines if not is_forgotten(_plain(line)))
        if clean.strip():
            found[_resource(link, path)] = clean
    if found:
        about = f"What {link.agent} remembers of this project itself, as it wrote it. byheart keeps these files in step with it."
        found[f"{EXTENSIONS}/{link.agent}/instructions.md"] = f"{about}\n"
    return found


def _resource(link: Link, path: str) -> str:
    """Where an agent's file comes in; a handbook in our own form is read as one."""
    name = path if path == MEMORY and link.is_shared else f"{path.removesuffix('.md').replace('/', '-').casefold()}.md"
    return f"{EXTENSIONS}/{link.agent}/resources/{name}"


def _theirs(own: HandbookFiles, link: Link) -> dict[str, str]:
    """The texts of an agent's that are about this project and that we did not write. What stood where we write now came in before, and
    stays."""
    found: dict[str, str] = {}
    for path in _READ:
        text = _text(own, link, path)
        if link.is_shared:
            # What stands outside of blocks is about no project, or about all.
            mine = [block for block in _blocks(text) if _is_about(block, link.cwd)] if path == MEMORY else []
            text = "".join(block for block in mine if digest_of(block.strip()) not in link.written.values())
        elif digest_of(text) == link.written.get(path):
            text = ""
        if path in link.written:
            known = own.context.files.read(own.place(_resource(link, path))).text or ""
            text = (
                known
                if text.strip() in known
                else "\n\n".join(each.strip("\n") for each in (known, text) if each.strip())
            )
        if text.strip():
            found[path] = text
    named = set(_SKILL.findall(found.get(MEMORY, "")))
    for name in own.context.files.names(link.place(SKILLS)) if os.path.isdir(link.folder) else ():
        path = f"{SKILLS}/{name}/SKILL.md"
        text = _text(own, link, path) if not link.is_shared or name in named else ""
        if digest_of(text) == link.written.get(path):
            text = own.context.files.read(own.place(_resource(link, path))).text or ""
        if text.strip():
            found[path] = text
    return found


def _text(own: HandbookFiles, link: Link, path: str) -> str:
    """A file of an agent's; nothing where it is not there or cannot be read: it is not ours to mend."""
    if not os.path.isdir(link.folder):
        return ""
    try:
        return own.context.files.read(link.place(path), _LARGEST).text or ""
    except ByheartError:
        return ""


def _blocks(text: str) -> list[str]:
    return [part for part in _BLOCK.split(text) if part.startswith("# Task Group:")]


def _is_about(block: str, cwd: str) -> bool:
    found = _APPLIES.search(block)
    return found is not None and os.path.realpath(found[1].strip()) == os.path.realpath(cwd)


def in_step(own: HandbookFiles) -> str:
    """Hand our handbook out again after it changed; why that could not be done, empty where it was."""
    try:
        handed_out(own)
    except ByheartError as error:
        return str(error)
    return ""


def handed_out(own: HandbookFiles) -> list[str]:
    """Put our handbook in the place of linked agents' own, where the user wants that; the paths that changed. What they wrote since has
    come in before. Raises Refused where their own text holds a secret, since it could not be kept for the way back."""
    every = links(own)
    changed: list[str] = []
    for link in every:
        wanted = _ours(own, link) if link.writes else {}
        now = (
            {path: own.context.files.read(link.place(path), _LARGEST) for path in wanted}
            if os.path.isdir(link.folder)
            else {}
        )
        due = {path: text for path, text in wanted.items() if path not in now or now[path].text != text}
        changed += _withdrawn(own, link, wanted) if wanted else []
        if not due:
            continue
        for path in due:
            before = now[path].text if path in now else None
            if before and path not in link.before and own.context.scanner.redacted(before) != before:
                raise Refused(
                    f"{link.place(path)} holds a secret, so it cannot be kept for the way back; take it out first"
                )
            link.before.setdefault(path, before)
        link.written |= {path: digest_of(text) for path, text in wanted.items()}
        if link.is_shared and MEMORY in wanted:
            mine = (block for block in _blocks(wanted[MEMORY]) if _is_about(block, link.cwd))
            kept_digests = {name: value for name, value in link.written.items() if "#" not in name}
            link.written = {
                **kept_digests,
                **{f"{MEMORY}#{number}": digest_of(block.strip()) for number, block in enumerate(mine)},
            }
        # Written down first: a text of ours is never taken for theirs, and theirs is never lost.
        kept(own, every)
        os.makedirs(link.folder, mode=0o700, exist_ok=True)
        for path, text in due.items():
            try:
                own.context.files.write(link.place(path), text, now[path].digest if path in now else "")
            except Conflict:
                # The agent wrote it at this very moment; the next time both are seen.
                continue
            changed.append(str(link.place(path)))
    return changed


def _withdrawn(own: HandbookFiles, link: Link, wanted: Mapping[str, str]) -> list[str]:
    """Take back what we wrote and our handbook has no longer; the paths that changed."""
    changed = []
    for path in [path for path in link.before if path not in wanted and os.path.isdir(link.folder)]:
        now = own.context.files.read(link.place(path), _LARGEST)
        if now.text is not None and digest_of(now.text) == link.written.get(path):
            before = link.before[path]
            if before is None:
                own.context.files.remove(link.place(path), now.digest)
            else:
                own.context.files.write(link.place(path), before, now.digest)
            changed.append(str(link.place(path)))
            del link.before[path], link.written[path]
    return changed


def _ours(own: HandbookFiles, link: Link) -> dict[str, str]:
    """Our handbook as the agent's files: what it hands its model, and what that names."""
    files = own.context.files
    found = {path: text for path in _own_paths(own) if (text := files.read(own.place(path)).text) is not None}
    if MEMORY not in found or SUMMARY not in found:
        return {}
    if link.is_shared:
        theirs = _text(own, link, MEMORY)
        others = "".join(block for block in _BLOCK.split(theirs) if not _is_about(block, link.cwd)).rstrip("\n")
        # Our blocks are about the folders that sessions ran in; here they are this project's.
        mine = "".join(_APPLIES.sub(lambda _: f"applies_to: cwd={link.cwd}", block) for block in _blocks(found[MEMORY]))
        found[MEMORY] = f"{others}\n\n{mine}" if others else mine
        summary = _text(own, link, SUMMARY)
        if summary and digest_of(summary) != link.written.get(SUMMARY):
            # It is about other projects, too.
            del found[SUMMARY]
        else:
            found[SUMMARY] = _VERSION + found[SUMMARY]
    return found


def _own_paths(own: HandbookFiles) -> Iterator[str]:
    yield from (MEMORY, SUMMARY)
    files = own.context.files
    yield from (f"{ROLLOUTS}/{name}" for name in files.names(own.place(ROLLOUTS)) if name.endswith(".md"))
    yield from (f"{SKILLS}/{name}/SKILL.md" for name in files.names(own.place(SKILLS)))


def cut(own: HandbookFiles, agent: str) -> list[str]:
    """Undo a link: what we wrote goes, and what stood there comes back, but where the agent has written since; the files that changed."""
    every = links(own)
    changed: list[str] = []
    files = own.context.files
    for link in (each for each in every if each.agent == agent):
        for path, before in link.before.items() if os.path.isdir(link.folder) else ():
            now = files.read(link.place(path), _LARGEST)
            if now.text is None:
                continue
            if link.is_shared and path == MEMORY:
                text = _unwritten(link, now.text, before)
            else:
                text = before if digest_of(now.text) == link.written.get(path) else now.text
            if text == now.text:
                continue
            if text is None:
                files.remove(link.place(path), now.digest)
            else:
                files.write(link.place(path), text, now.digest)
            changed.append(str(link.place(path)))
        for folder in (ROLLOUTS, SKILLS):
            if os.path.isdir(os.path.join(link.folder, folder)):
                files.prune(link.place(folder))
        for path in _resources(own, agent):
            files.remove(own.place(path), files.read(own.place(path)).digest)
    kept(own, [each for each in every if each.agent != agent])
    return changed


def _resources(own: HandbookFiles, agent: str) -> list[str]:
    folder = f"{EXTENSIONS}/{agent}"
    there = [f"{folder}/resources/{name}" for name in own.context.files.names(own.place(f"{folder}/resources"))]
    return [
        *there,
        *(
            [f"{folder}/instructions.md"]
            if own.context.files.size(own.place(f"{folder}/instructions.md")) is not None
            else []
        ),
    ]


def _unwritten(link: Link, now: str, before: str | None) -> str | None:
    """A handbook for all projects without our blocks in it, and with those of this project that stood there."""
    ours = {value for name, value in link.written.items() if name.startswith(f"{MEMORY}#")}
    parts = _BLOCK.split(now)
    rest = [part for part in parts if digest_of(part.strip()) not in ours]
    stood = _BLOCK.split(before or "")
    others = [part.strip() for part in stood if not _is_about(part, link.cwd)]
    if len(rest) < len(parts) and [part.strip() for part in rest] == others:
        # Nobody else wrote since: every byte as it was.
        return before
    old = [part for part in stood if _is_about(part, link.cwd) and part.strip() not in {each.strip() for each in rest}]
    text = "\n\n".join(part.strip("\n") for part in [*rest, *old] if part.strip())
    return f"{text}\n" if text else None


def told(own: HandbookFiles) -> list[Mapping[str, object]]:
    """The links of a project, as they are listed."""
    return [{"agent": each.agent, "folder": each.folder, "writes": each.writes} for each in links(own)]
