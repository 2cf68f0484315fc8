"""memory:// addresses: the handbook's files, and the notebooks that a brief tells from."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, ByheartError, NothingFound
from byheart.domain.handbook import SUMMARY
from byheart.domain.records import Scope
from byheart.handbook.lines import learnt
from byheart.journal.format import conceals
from byheart.learning import targets
from byheart.learning.handbook_files import HandbookFiles, paths
from byheart.text.deferred import module
from byheart.text.unicode import visible
from byheart.workspace.context import PROFILE, REPOSITORYS, RULES, without_secrets

if TYPE_CHECKING:
    from byheart.domain.results import Hit
    from byheart.journal import experiences, files
    from byheart.learning.targets import Shown
    from byheart.notebooks import overview
    from byheart.workspace.context import Context
else:
    experiences = module("byheart.journal.experiences")
    files = module("byheart.journal.files")
    overview = module("byheart.notebooks.overview")

NAMESPACES = ("root", "profile", "rules", "journal", "experiences", "record")
_NOTEBOOKS = {"profile": PROFILE, "rules": RULES}
_MOST = 200
_HANDLE = re.compile(r"h[0-9a-f]{7}(?:-\d+)?")


def read(context: Context, own_files: HandbookFiles, address: str, shown: Shown) -> str:
    """What an address names, without secrets. Raises BadInput or NothingFound, saying what can be named."""
    return visible(_read(context, own_files, address, shown))


def _read(context: Context, own_files: HandbookFiles, address: str, shown: Shown) -> str:
    rest = address[len(SCHEME) :] if address.casefold().startswith(SCHEME) else ""
    host, _, path = rest.partition("#")[0].partition("/")
    fragment = rest.partition("#")[2]
    host = host.casefold()
    if not rest or host == "root" or host not in NAMESPACES:
        return context.scanner.redacted(_of_handbook(own_files, address, fragment, shown))
    if host == "journal" and not fragment:
        return context.scanner.redacted(_of_journal(context, path))
    if host == "experiences":
        return _of_experiences(context, fragment)
    if fragment:
        target = targets.meant(own_files, address, None, shown)
        if target.hit is None:
            return f"{target.text}\n({target.where})\n"
        hit = without_secrets(context, [target.hit])[0]
        named = f"{hit.record.key}: " if hit.record.key and not hit.record.triple else ""
        if hit.record.origin is not None:
            at = hit.record.origin.at
            day = f" {files.local_day(context, at).isoformat()}" if at else ""
            named = f"[{hit.record.origin.category}{day}] "
        return f"{named}{hit.record.text}{_theirs(hit.is_repositorys)}\n({hit.path}:{hit.line})\n"
    if host == "record":
        raise BadInput(f"{address!r} names no record; {SCHEME}record#ID does")
    return _of_notebook(context, _NOTEBOOKS[host])


def _of_handbook(own_files: HandbookFiles, address: str, fragment: str, shown: Shown) -> str:
    if not fragment or not (_HANDLE.fullmatch(fragment) or address.casefold().startswith("memory://root#")):
        return read_handbook_file(own_files, address)
    found = [hit for hit in learnt(own_files.context, own_files.root) if hit.id == fragment]
    if not found:
        target = targets.meant(own_files, address, None, shown)
        raise NothingFound(f"{address}: no such line; {target.where} comes nearest")
    return "".join(f"{_entry(own_files, hit)}\n({hit.path}:{hit.line})\n" for hit in found)


def _entry(own_files: HandbookFiles, hit: Hit) -> str:
    """A line as its file has it, with what stands indented below it."""
    place = Place(own_files.folder.base, hit.path.removeprefix(own_files.folder.base.rstrip("/") + "/"))
    lines = (own_files.context.files.read(place).text or "").split("\n")[hit.line - 1 :]
    below = next((at for at, line in enumerate(lines[1:], 1) if not line.startswith(" ")), len(lines))
    return "\n".join(lines[:below]) if lines and hit.path.endswith(SUMMARY) else hit.record.text


def _of_notebook(context: Context, name: str) -> str:
    found = overview.listing(context, (Scope.LOCAL, Scope.GLOBAL), [name], None, None).hits
    return "".join(f"- {hit.record.key + ': ' if hit.record.key and not hit.record.triple else ''}{hit.record.text} [{hit.id}]{_theirs(hit.is_repositorys)}\n" for hit in found[:_MOST])  # fmt: skip


def _of_journal(context: Context, path: str) -> str:
    own_files = files.journal_files(context, context.roots[Scope.LOCAL])
    name = path.strip("/")
    if not name or name == "MEMORY":
        place = own_files.memory
    elif name in ("USER", "LONGMEMORY"):
        place = own_files.user if name == "USER" else own_files.long_memory
    elif (day := _day(name)) is not None:
        place = own_files.daily(day)
    else:
        raise BadInput(f"{name!r} is not part of the journal; {SCHEME}journal, {SCHEME}journal/2026-01-31 and {SCHEME}journal/LONGMEMORY are")  # fmt: skip
    text = files.read(context, place).text
    if text is None:
        raise NothingFound(f"{place} does not exist")
    document = files.parsed(context, text)
    hidden = {each.line for each in document.placed if each.record.is_secret} | {
        each.line for each in document.problems
    }
    lines = text.split("\n")
    theirs = context.trust.strangers(place, lines) if context.trust.covers(place) else ()
    return "\n".join(
        line + _theirs(number - 1 in theirs)
        for number, line in enumerate(lines, 1)
        if number not in hidden and not conceals(line)
    )


def _theirs(is_repositorys: bool) -> str:
    return f" ({REPOSITORYS})" if is_repositorys else ""


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    except ValueError:
        return None


def _of_experiences(context: Context, fragment: str) -> str:
    found = experiences.listed(context, list(context.roots), _MOST)
    chosen = [each for each in found if each.id.startswith(fragment)] if fragment else found
    if fragment and not chosen:
        raise NothingFound(f"no experience is called {fragment!r}")
    return "".join(f"- {each.text} [{each.id}]\n" for each in chosen)


SCHEME = "memory://"
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")


def read_handbook_file(own_handbook: HandbookFiles, address: str) -> str:
    """What an address names. It is decoded once; nothing outside the handbook is read, whatever it spells."""
    if not address.casefold().startswith(SCHEME):
        raise BadInput(f"{address!r} is not a memory address; addresses begin with {SCHEME}root")
    rest = address[len(SCHEME) :]
    for mark in "?#":
        rest = rest.split(mark, 1)[0]
    host, _, path = rest.partition("/")
    if host.casefold() != "root":
        raise BadInput(
            f"unknown memory namespace {host!r}; known are root, profile, rules, journal, experiences and record"
        )
    path = _decoded(path)
    names = [name for name in re.split(r"[/\\]", path) if name not in ("", ".")]
    if ".." in names:
        raise BadInput(f"{address!r} goes up a folder (..), which memory addresses cannot")
    if "\x00" in path or any(name.startswith(".") for name in names) or re.match(r"[A-Za-z]:", path):
        raise BadInput(f"{address!r} is not a file name of memory")
    if path.startswith(("/", "\\")):
        raise BadInput(f"{address!r} is an absolute path, which memory addresses cannot be")
    return _text(own_handbook, "/".join(names) or SUMMARY, address)


def _decoded(path: str) -> str:
    if "%" not in path:
        return path
    raw = _ESCAPE.sub(lambda found: f"\x00{found[1]}", path).encode("utf-8", "surrogatepass")
    plain = re.sub(rb"\x00([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), raw)
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path!r} is not UTF-8") from None


def _text(own_handbook: HandbookFiles, path: str, address: str) -> str:
    files = own_handbook.context.files
    try:
        found = files.read(own_handbook.place(path)).text
    except ByheartError:
        found = None
    if found is not None:
        return found
    known = list(paths(files, own_handbook.folder))
    below = sorted({each[len(path) + 1 :].split("/")[0] for each in known if each.startswith(f"{path}/")})
    if below:
        return "".join(f"{name}\n" for name in below)
    if not known:
        raise NothingFound(f"there is no memory for {own_handbook.name} yet; run: byheart learn")
    raise NothingFound(f"{address}: memory has no such file; {SCHEME}root/MEMORY.md is the whole of it")
