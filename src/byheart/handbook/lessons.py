"""What went wrong and what got over it, as one line of a raw memory: spelled here, and read back here."""

from __future__ import annotations

import re

from byheart.domain.values import dataclass
from byheart.handbook.phrases import one_line

_LINE = re.compile(
    r"^`(?P<command>[^`]+)` (?P<how>failed with|still failed at the end:) `(?P<error>[^`]+)` -> (?P<rest>.+)$"
)
_UNSOLVED, _PASSED, _PAST, _AROUND = "unsolved", "passed", "went past it", "worked around, not solved: "
_AGAIN, _SPOKE = " when it was run again", ", after the user had been asked"
_END = re.compile(
    rf"^(?P<around>{_AROUND})?`(?P<proof>[^`]+)` (?P<ended>{_PASSED}|{_PAST})(?:{_AGAIN}(?P<spoke>{_SPOKE})?)?$"
)
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A call that failed: with what, what was changed and run before it worked, and the call that showed it. Without such a call
    nobody got over it; `is_last` says that the task ended so, `is_asked` that the user had spoken before it worked."""

    command: str
    error: str
    changed: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    proof: str = ""
    passed: bool = True
    is_workaround: bool = False
    is_last: bool = False
    is_asked: bool = False

    @property
    def is_solved(self) -> bool:
        return bool(self.proof)

    @property
    def is_retry(self) -> bool:
        """Whether nothing but trying again helped."""
        return self.is_solved and not self.changed and not self.ran and self.proof == self.command


def lesson_line(lesson: Lesson) -> str:
    """A lesson as a line."""
    error = one_line(lesson.error, 200).replace("`", "'")
    if not lesson.is_solved:
        how = "still failed at the end:" if lesson.is_last else "failed with"
        return f"`{lesson.command}` {how} `{error}` -> {_UNSOLVED}"
    did = []
    if lesson.changed:
        did.append("changing " + ", ".join(f"`{path}`" for path in lesson.changed))
    if lesson.ran:
        did.append("running " + ", ".join(f"`{each}`" for each in lesson.ran))
    ended = f"{_AROUND if lesson.is_workaround else ''}`{lesson.proof}` {_PASSED if lesson.passed else _PAST}"
    steps = (
        [" and ".join(did), ended]
        if did
        else [f"{ended}{_AGAIN + _SPOKE * lesson.is_asked if lesson.is_retry else ''}"]
    )
    return " -> ".join([f"`{lesson.command}` failed with `{error}`", *steps])


def lesson_of(line: str) -> Lesson | None:
    """The lesson that a line spells; None for one that is spelled otherwise."""
    found = _LINE.match(line)
    if found is None:
        return None
    known = Lesson(command=found["command"], error=found["error"], is_last=found["how"] != "failed with")
    if found["rest"] == _UNSOLVED:
        return known
    did, _, last = found["rest"].rpartition(" -> ")
    end = _END.match(last)
    if end is None:
        return None
    changed, _, ran = did.partition("running ")
    return Lesson(
        command=known.command,
        error=known.error,
        changed=tuple(_QUOTED.findall(changed)),
        ran=tuple(_QUOTED.findall(ran)),
        proof=end["proof"],
        passed=end["ended"] == _PASSED,
        is_workaround=bool(end["around"]),
        is_asked=bool(end["spoke"]),
    )
