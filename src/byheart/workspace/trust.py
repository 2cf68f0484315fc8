"""Whose words a repository's files hold. What a clone brings is nobody's until this user says `byheart trust`, or made it here.

Kept at home, in the project's own folder: which checkouts are trusted, and a digest of each line that is known, marked as the
user's or as the repository's. A line that nobody has seen yet is the user's if nothing but their own commits has moved the
checkout since the last look, and no commit of somebody else's has the same line; it is the repository's otherwise.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError, Conflict
from byheart.workspace import tombstones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set
    from typing import Protocol

    from byheart.domain.documents import Document
    from byheart.domain.ports import Files, Snapshot

    class Moves(Protocol):
        """What moved a checkout, other than its user."""

        def mark(self) -> str: ...

        def brought(self, mark: str) -> bool: ...

        def offered(self, path: str) -> list[str]: ...

        def introduced(self, path: str) -> set[str]: ...

        def is_disguised(self, checkout: str, path: str) -> bool: ...

        def is_tracked(self, path: str) -> bool: ...

        def is_nested(self, checkout: str, path: str) -> bool: ...

        def is_same(self, marks: Set[str]) -> bool: ...


# What a file has: whole lines, or entries and what they say was forgotten where an entry has several lines. And files as a whole,
# each as its path, size and time.
LINES_OF, ENTRIES_OF, FORGOTTEN_OF, FILES_OF = "lines", "entries", "forgotten", "files"
TRUSTED, LINES = "trusted.json", "trusted-lines.txt"
_MINE, _THEIRS = "+", "-"
_LENGTH = 24
_MOST_FOLDERS = 200


class Trust:
    """What this user vouches for in one checkout of one project."""

    def __init__(
        self,
        files: Files,
        folder: Place,
        checkout: str,
        repository: str,
        moves: Moves,
        salt: Callable[[], bytes],
        today: Callable[[], str],
    ) -> None:
        self._files, self._moves, self._salt, self._today = files, moves, salt, today
        self._checkout, self._repository = checkout, repository
        self._key: bytes | None = None
        self._record = Place(folder.base, f"{folder.path}/.byheart/{TRUSTED}")
        self._list = Place(folder.base, f"{folder.path}/.byheart/{LINES}")
        self._known: dict[str, str] | None = None
        self._told: dict[str, dict[str, str]] | None = None
        # Why nobody is trusted although somebody may be.
        self.problem = ""

    @property
    def is_trusted(self) -> bool:
        """Whether the files of this checkout count as the user's."""
        own = self._own()
        if own.get("state") != "trusted":
            return False
        # Without the lines nobody could tell what of the checkout others brought.
        self._lines()
        if self.problem:
            return False
        # Another repository may lie in the folder of one that was trusted.
        return self._moves.is_same({value for name, value in own.items() if name == "mark" or " " in name})

    @property
    def is_asked(self) -> bool:
        """Whether the user has been asked about this checkout, whatever they said."""
        return bool(self._own().get("state"))

    def renew(self) -> None:
        """Look at what is kept again: another process may have changed it."""
        self._known = self._told = None

    def allows(self, place: Place) -> bool:
        """Whether a file may be used: it lies elsewhere, byheart made it here, or the user trusts the whole checkout."""
        if not self.covers(place):
            return True
        # A repository within this one moves by itself; whoever trusts this has not said a word about that.
        is_within = not self._moves.is_nested(self._checkout, str(place))
        return is_within and (self.is_trusted or f"made {place}" in self._own())

    def made(self, place: Place) -> None:
        """Note that byheart itself made a file here; of the rest of the checkout that says nothing."""
        if not self.is_trusted:
            self._note(
                {
                    "mark": self._moves.mark(),
                    **self._own(),
                    f"made {place}": self._today(),
                    "repository": self._repository,
                }
            )

    def has_made(self, place: Place) -> bool:
        """Whether byheart made a file here, so that its user chose to keep memory in the repository."""
        return f"made {place}" in self._own()

    def covers(self, place: Place) -> bool:
        """Whether a file lies in this checkout, so that it may have come with it."""
        path = str(place)
        # A home folder may be a checkout itself; what byheart keeps there is the user's all the same.
        return path.startswith(self._checkout.rstrip("/") + "/") and not path.startswith(
            self._list.base.rstrip("/") + "/"
        )

    def accept(self, texts: Iterable[str] = ()) -> None:
        """Trust this checkout, and these texts of it as the user's own. Raises Environment where that cannot be kept."""
        self._note(
            {
                "state": "trusted",
                "since": self._today(),
                "mark": self._moves.mark(),
                "repository": self._repository,
            }
        )
        self.vouch(texts)

    def decline(self) -> None:
        """Do not trust this checkout, nor others of its repository; nobody need ask again."""
        for folder, told in list(self._every().items()):
            if self._repository and told.get("repository") == self._repository:
                self._note({"state": "declined", "since": self._today()}, folder)
        self._note({"state": "declined", "since": self._today()})

    def vouch(self, texts: Iterable[str]) -> None:
        """Count texts as the user's own from now on."""
        self._mark(texts, _MINE)

    def vouch_new(self, texts: Sequence[str]) -> None:
        """Count those of the texts as the user's that nobody has seen before."""
        known = self._lines()
        self._mark([text for text in texts if self._digest(text) not in known], _MINE)

    def strangers(self, place: Place, texts: Sequence[str], kind: str = LINES_OF) -> frozenset[int]:
        """Which of a file's texts are the repository's rather than the user's, by their place among them. `texts` are all that
        it has of a kind: what is not among them would count as looked at, too."""
        names = [self._digest(text) for text in texts]
        known = self._lines()
        fresh = [at for at, name in enumerate(names) if name and name not in known]
        # Read after the file was: what is being pulled meanwhile is then seen as under way, or as done.
        mark, key = self._moves.mark(), f"{kind} {place}"
        own = self._own()
        before = own.get(key, own.get("mark", ""))
        if fresh:
            # A whole file is compared with what others committed; no pull can bring one that nobody did.
            is_all = kind != FILES_OF and self._moves.brought(before)
            theirs = set(fresh if is_all else self._offered(place, texts, fresh, kind))
            self._mark([texts[at] for at in sorted(theirs)], _THEIRS)
            self._keep([texts[at] for at in fresh if at not in theirs], _MINE, {key: mark})
        elif mark != before:
            # What came and brought no line of this file is over; what is typed from now on is the user's.
            self._keep([], _MINE, {key: mark})
        known = self._lines()
        return frozenset(at for at, name in enumerate(names) if name and known.get(name) == _THEIRS)

    def _offered(self, place: Place, texts: Sequence[str], fresh: Sequence[int], kind: str) -> list[int]:
        """Those of the fresh texts that somebody else's commit has in this file, too: a squashed merge, or a file taken out of a
        branch, leaves no other trace."""
        if kind == FILES_OF:
            return [at for at in fresh if self._is_offered_file(texts[at])]
        if self._moves.is_disguised(self._checkout, self._inside(str(place))):
            return list(fresh)
        found = self._moves.offered(self._inside(str(place)))
        if kind == LINES_OF:
            lines = {_plain(line) for text in found for line in text.split("\n")}
            return [at for at in fresh if _plain(texts[at]) in lines]
        whole = [_plain(text) for text in found]
        if kind == ENTRIES_OF:
            # A merge may leave an entry with somebody else's words and a field of the user's.
            theirs = self._moves.introduced(self._inside(str(place)))
            return [
                at
                for at in fresh
                if any(_plain(texts[at]) in text for text in whole) or not theirs.isdisjoint(_worded(texts[at]))
            ]
        # What is said to be forgotten is spelled in many ways; its words are there in each.
        return [at for at in fresh if any(all(word in text for word in texts[at].split()[1:]) for text in whole)]

    def _is_offered_file(self, unit: str) -> bool:
        """Whether a file came with somebody else's commit: the one that is checked out has it, or another has just this text."""
        path = self._inside(unit.rsplit(" ", 2)[0])
        if self._moves.is_tracked(path):
            return True
        offered = self._moves.offered(path)
        if not offered:
            return False
        if self._moves.is_disguised(self._checkout, path):
            return True
        try:
            current = self._files.read(Place(self._checkout, path)).text or ""
        except ByheartError:
            return True
        plain = _plain(current)
        lines = {line.strip() for line in current.split("\n")}
        return any(_plain(text) == plain for text in offered) or not lines.isdisjoint(self._moves.introduced(path))

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._checkout.rstrip("/") + "/")

    def is_strange(self, text: str) -> bool:
        """Whether a text is known to be the repository's, wherever it stands by now."""
        known = self._lines()
        return bool(known) and known.get(self._digest(text)) == _THEIRS

    def own_text(self, place: Place, text: str) -> str:
        """A file's text without the lines that are the repository's."""
        if not text or not self.covers(place):
            return text
        if not self.allows(place):
            return ""
        lines = text.split("\n")
        theirs = self.strangers(place, lines)
        return "\n".join(line for at, line in enumerate(lines) if at not in theirs) if theirs else text

    def is_on(self, place: Place, text: str, *, says_on: bool) -> bool:
        """Whether memory is on, given what a notebook of the checkout says: others may switch it off, and never on again."""
        key, own = f"off {place}", self._own()
        if not says_on:
            mark = self._moves.mark()
            if own and own.get(key) != mark:
                self._keep([], _MINE, {key: mark})
            return False
        if key not in own:
            return True
        plain = _plain(text)
        offered = self._moves.offered(self._inside(str(place)))
        if (
            self._moves.brought(own[key])
            or self._moves.is_disguised(self._checkout, self._inside(str(place)))
            or any(_plain(each) == plain for each in offered)
        ):
            return False
        self.switched_on(place)
        return True

    def switched_on(self, place: Place) -> None:
        """Note that the user has switched memory on again."""
        own = self._own()
        if f"off {place}" in own:
            self._note({name: value for name, value in own.items() if name != f"off {place}"})

    def _keep(self, texts: Sequence[str], sign: str, marks: dict[str, str]) -> None:
        self._mark(texts, sign)
        try:
            self._note({**self._own(), **marks})
        except ByheartError:
            # Where home cannot be written, the next look comes to the same.
            return

    def _mark(self, texts: Iterable[str], sign: str) -> None:
        known = self._lines()
        names = [name for text in dict.fromkeys(texts) if (name := self._digest(text)) and known.get(name) != sign]
        if not names:
            return
        known.update(dict.fromkeys(names, sign))
        try:
            self._files.append(self._list, "".join(f"{sign}{name}\n" for name in names), None)
        except ByheartError:
            return

    def _digest(self, text: str) -> str:
        plain = _plain(text)
        if not plain:
            return ""
        if self._key is None:
            self._key = self._salt()
        return tombstones.digest(self._key, plain)[:_LENGTH]

    def _lines(self) -> dict[str, str]:
        if self._known is None:
            rows = self._text(self._list).split("\n")
            # The last word about a line counts.
            self._known = {row[1:]: row[0] for row in rows if len(row) == _LENGTH + 1 and row[0] in (_MINE, _THEIRS)}
        return self._known

    def _text(self, place: Place) -> str:
        """What is kept; nothing where it cannot be read, so that nobody is trusted."""
        try:
            return self._files.read(place).text or ""
        except ByheartError as error:
            self.problem = f"what this repository brings counts as nobody's until this is mended: {error}"
            return ""

    def _own(self) -> dict[str, str]:
        every = self._every()
        if self._checkout in every or not self._repository:
            return every.get(self._checkout, {})
        # Another worktree of a repository is as good as the first; its own lines are looked at afresh.
        same = (told for told in every.values() if told.get("repository") == self._repository)
        return next(
            ({"state": "trusted", "repository": self._repository} for told in same if told.get("state") == "trusted"),
            {},
        )

    def _every(self) -> dict[str, dict[str, str]]:
        if self._told is None:
            text = self._text(self._record)
            self._told = _parsed(text)
            if text.strip() not in ("", "{}") and not self._told:
                self.problem = f"what this repository brings counts as nobody's: {self._record} is damaged; byheart trust makes a new one"
        return self._told

    def _note(self, own: dict[str, str], folder: str = "") -> None:
        for _ in range(12):
            old = self._files.read(self._record)
            every = {**_parsed(old.text or ""), folder or self._checkout: own}
            text = json.dumps(dict(list(every.items())[-_MOST_FOLDERS:]), indent=1) + "\n"
            try:
                if text != old.text:
                    self._files.write(self._record, text, old.digest)
            except Conflict:
                continue
            self._told = every
            return
        raise Conflict(f"{self._record} keeps changing; try again in a moment")


class VouchedFiles:
    """Files, with every line that byheart itself writes into a trusted checkout counted as the user's."""

    def __init__(self, files: Files, trust: Trust) -> None:
        self._files, self._trust = files, trust
        self.read, self.behind, self.size, self.stamp = files.read, files.behind, files.size, files.stamp
        self.remove, self.names, self.prune = files.remove, files.names, files.prune
        self.locked, self.claimed = files.locked, files.claimed

    def write(self, place: Place, text: str, base: str) -> Snapshot:
        """Replace a file's text; what stood in it before, and was not looked at yet, is judged first."""
        if not self._trust.covers(place):
            return self._files.write(place, text, base)
        old = self._files.read(place).text if base else None
        if old is not None:
            self._trust.strangers(place, old.split("\n"))
        done = self._files.write(place, text, base)
        if old is None:
            self._trust.made(place)
        self._trust.vouch_new(text.split("\n"))
        return done

    def append(self, place: Place, text: str, base: str | None) -> None:
        """Add text at a file's end."""
        is_new = self._trust.covers(place) and self._files.size(place) is None
        self._files.append(place, text, base)
        if is_new:
            self._trust.made(place)
        if self._trust.covers(place):
            self._trust.vouch(text.split("\n"))


# Lines of an entry that many entries have.
_FIELD = re.compile(r"(?:- )?(?:key|added|source|confidence|tags|updated): |(?:- )?[\w-]{1,12}$")


def _worded(entry: str) -> list[str]:
    """The lines of an entry that say what it is about."""
    return [line for row in entry.split("\n") if (line := row.strip()) and not _FIELD.match(line)]


# What git writes out anew into each checkout.
_IDENT = re.compile(r"\$Id: [^$\n]*\$")


def _plain(text: str) -> str:
    """A text as it is compared: the same however blanks stand in it, and whichever checkout it is in."""
    return " ".join((_IDENT.sub("$Id$", text) if "$Id: " in text else text).split())


def _parsed(text: str) -> dict[str, dict[str, str]]:
    """Checkouts and how they stand. What cannot be read trusts nobody."""
    try:
        raw = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(raw, dict):
        return {}
    return {
        folder: {str(name): str(value) for name, value in told.items()}
        for folder, told in raw.items()
        if isinstance(told, dict)
    }


def entries_of(document: Document) -> list[str]:
    """A document's entries as they are vouched for, in their order, where an entry has several lines."""
    return [document.text[each.start : each.end] for each in document.placed]


def deletions_of(document: Document) -> list[str]:
    """What a document says was forgotten, as it is vouched for."""
    return [f"forgotten {each.key or ''} {each.value or ''}" for each in document.deletions]
