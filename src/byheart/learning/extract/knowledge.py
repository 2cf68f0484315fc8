"""What a task showed that the next one can use: commands that worked, where things are, what was decided and found out, and
what went wrong and helped."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.handbook import Bullet
from byheart.handbook.lessons import Lesson, lesson_line
from byheart.handbook.phrases import one_line, shortened
from byheart.language import lasting
from byheart.language.sentences import is_document, sentences
from byheart.learning.extract.signals import default_of
from byheart.learning.extract.tasks import is_chore
from byheart.sessions.facts import commands as lines_of
from byheart.sessions.facts import errors
from byheart.sessions.facts.differences import counterpart, steps_in, to_blame
from byheart.sessions.facts.files import is_common
from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.sessions import FixFact, Turn
    from byheart.learning.extract.evidence import Evidence, Ran

MANNER = "how the user wanted it done: "
_MANNER = re.compile(
    r"\b(?:delegat\w+ (?:\w+ ){0,4}?to|us(?:e|ing)|with|via|through|spawn|have)\s+(?:the |a |an |our |my )?([A-Za-z@/][\w@.+#/-]*(?:\s\d+(?:\.\d+)*\b)?)",
    re.IGNORECASE,
)
_NO_THING = frozenset(
    "it this that these those them all any some same another other more most less it's you me us we i he she they your its current existing new old "
    "following above below first second last one two right left correct proper full good best only just also not no to be been had has issue issues".split()
)
PROCEDURE = "commands that worked, in order: "
_LONGEST_PROCEDURE = 12
_KINDS = {
    "test": "runs the tests", "lint": "lints", "types": "checks types", "build": "builds", "format": "formats",
    "install": "installs dependencies", "run": "starts it",
}  # fmt: skip
# How agents tell what they do, did or would do; none of it is a finding.
_NARRATES = re.compile(
    r"^\W*(?:I\b|I'|Let me|Now\b|Next\b|But\b|So\b|Then\b|We'?(?:ll| will| can| could| should)|You (?:can|could|should)|Would|Could|Should|(?:Also )?(?:Add|Updat|Chang|Creat|Remov|Committ|Pass|Renam|Replac|Mov|Fix|Extract|Refactor|Implement|Verifi|Rewr|Skip|Us|Mak|Keep|Set|Merg)(?:e|ed|ing|s|d|es)?\b|"
    r"All (?:\d+|tests|checks)|(?:The|This) (?:change|fix|commit|work|implementation|plan|PR) (?:is|was|now|adds|updates)|Done|Bonus|Note)",
)
_EXPLAINS = re.compile(
    r"\b(?:because|root cause|caused? (?:by|is|was)|due to|turns out|only (?:when|if|works|applies)|requires?|must|never|ignores?|silently|cannot|can'?t|does(?:n'?t| not)|don'?t|isn'?t|aren'?t|without|unless|otherwise|instead of|leftover|overrides?|falls back|lives? in|defined in|stored in|comes from|by design|no longer)\b",
    re.IGNORECASE,
)
_SPOKEN = 800
# A request that is short enough to be said again in nearly the same words.
_FEWEST, _MOST_WORDS, _REQUEST, _MOST_REQUESTS = 2, 12, 110, 6
_PASTED = re.compile(r"^#|https?://|^\s*[-*] .*\n\s*[-*] ", re.MULTILINE)
_FINE = re.compile(
    r"\b(?:works?(?: now| fine| well| perfectly)?|not an issue|doesn'?t (?:really )?matter|that'?s fine|is fine|no problem|perfect|great|thanks?|looks good)\b",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"^\W*(?:(?:no|nope|wait|stop|please|actually|and|but|so|ok)[,.! ]+)*(?:use|run|make|keep|leave|put|move|add|remove|delete|change|revert|undo|do|don'?t|do not|only|just|never|always|show|hide|rename|fix|try|check|look|read|write|commit|push|create|start|stop|go|rebuild|review|test|fold|split)\b|"
    r"\b(?:should(?:n'?t)?|must(?:n'?t)?|needs? to|have to|want|instead|rather|not|never|don'?t|didn'?t|wrong|still)\b",
    re.IGNORECASE,
)
_BYPASS = re.compile(
    r"--no-verify|--force\b|(?:^|\s)-f(?:\s|$)|--skip|\|\| *true|\bgit stash\b|\brm -rf\b|HUSKY=0|--legacy-peer-deps|--no-check|-DskipTests"
)
_JOINED = re.compile(r"\s*(?:&&|\|\||;|\|(?!\|))\s*")
_TRIMMED = re.compile(r"\s*(?:\d?>&\d|\d?>\s?(?:/dev/null|\$null)|&>/dev/null)")
_TAGGED = re.compile(r"</?\w+>")
# How much an agent's sentence has to tell to be kept as a finding, and to be told in a summary.
_TELLING, _WORTH_SAYING, _MOST_TOLD = 1.8, 0.9, 14
_MOST_FILES, _MOST_FINDINGS, _MOST_FIXES, _MOST_DECISIONS, _MOST_REFERENCES, _MOST_UNSOLVED = 6, 4, 12, 6, 10, 8
# How an agent tells what it found out: a cause, a constraint, how something works. What it is about to do is no finding.
_CAUSE = re.compile(
    r"\b(?:root cause|because|caused by|due to|turns out|the (?:issue|problem|bug|error|failure|reason|culprit|fix|trick) (?:is|was|here)|which means|that'?s why|blocked by|so that|otherwise|only (?:works|applies|runs|when)|"
    r"requires?|needs? (?:to|the)|must|cannot|can'?t|doesn'?t (?:support|work|exist|handle|include)|does not|no longer|instead of|rather than|by design|on purpose|intentionally|leftover|silently|unrelated to|pre-existing|overrides?|ignores?|falls back|lives? in|defined in|located (?:in|at)|stored in|comes from|is (?:used|called|set|generated|handled|read|written|built|configured) (?:by|in|from|at|via|when)|backward compat\w*|convention|pattern|hook)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"^\W*(?:let me|i'?ll|i will|i'?m going to|now (?:let|i|update|add|the|we)|next[,:]|first[,:]|step \d|i need to|i should|i can see|i have (?:a|all|enough)|let'?s|would you|do you|shall i|should i|want me|i'?m (?:now|also)|i also need|here'?s|here is|here are|done|all done|good|great|perfect|looks good|the changes? (?:is|are) (?:done|complete|in place)|all changes|everything|i'?ve|i have)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"`[^`\n]{2,80}`|\b[\w-]+(?:/[\w.-]+)+\b|\b\w+\.(?:ts|tsx|js|py|go|rs|md|json|ya?ml|toml|sh|lua|css|html|java|rb)\b|\b[a-z]+[A-Z]\w+\b|\b\w+_\w+\b"
)
_TESTED = re.compile(
    r"\b(?:all )?\d[\d,]* (?:tests?|specs?) (?:pass|passed|passing)\b|\btests? (?:all )?pass\b", re.IGNORECASE
)
_QA = re.compile(r"\"(?P<q>[^\"\n]{4,400})\"=\"(?P<a>[^\"\n]{1,400})\"")
_ANSWERS = re.compile(
    r"(?:User has answered your questions?|Your questions have been answered): (?P<pairs>\"[^\"\n]+\"=\"[^\"\n]*\"(?:, \"[^\"\n]+\"=\"[^\"\n]*\")*)\.?(?: You can now continue[^\"]*)?\Z"
)
_SUBJECT = re.compile(r"-m\s+(?:\"\$\(cat <<-?\s*'?\"?\w+'?\"?\s*\n\s*)?[\"']?(?P<subject>[^\n\"']{8,100})")
_LINKS = re.compile(r"https?://[^\s)>\]\"'`]{8,200}")


def knowledge(found: Evidence, *, plan: str = "") -> list[Bullet]:
    """Facts and procedures, those that were proved first."""
    lines = [*_decisions(found), *_commands(found), *_procedure(found), *_places(found)]
    lines += _findings(found.spoken)
    closing = [*_manners(found), *_closing(found)]
    return [*lines, *closing, *([Bullet(plan)] if plan else [])]


def _commands(found: Evidence) -> list[Bullet]:
    """Commands that did what they are for, with their flags and the folder they ran in."""
    best: dict[str, list[Ran]] = {}
    for each in found.ran:
        if (
            each.kind in _KINDS
            and each.ok
            and each.folder is not None
            and len(each.form) <= 160
            and "<<" not in each.form
        ):
            best.setdefault(each.kind or "", []).append(each)
    lines = []
    for kind, runs in best.items():
        for own, times in Counter((_alone(each.form, kind), each.folder) for each in runs).most_common(2):
            form, folder = own
            same = [each for each in runs if (_alone(each.form, kind), each.folder) == own]
            told = next((each.result for each in reversed(same) if each.result), None)
            failed = sum(1 for each in found.ran if each.ok is False and (_alone(each.form, kind), each.folder) == own)
            result = f"; last: {told}" if told else ""
            where = f" in `{folder}`" if folder else ""
            text = f"`{form}`{where} {_KINDS[kind]} here (worked {times} of {times + failed}{result})"
            lines.append(Bullet(one_line(text, 300), (same[-1].number,)))
    return lines


def _procedure(found: Evidence) -> list[Bullet]:
    """The commands that did something and worked, in order: what several sessions went through is a procedure."""
    taken: list[tuple[str, int]] = []
    for each in found.ran:
        form = _core(each.form)
        if not each.ok or all(lines_of.only_looks(part) for part in lines_of.parts_of(form)):
            continue
        if len(form) > 100 or "`" in form or "<<" in form:
            form = lines_of.stem_of(form)
        if len(form) > 140 or "`" in form:
            continue
        if taken and lines_of.stem_of(taken[-1][0]) == lines_of.stem_of(form):
            taken.pop()
        taken.append((form, each.number))
    last = taken[-_LONGEST_PROCEDURE:]
    if len({lines_of.stem_of(form) for form, _ in last}) < 3:
        return []
    shown = " ; ".join(f"`{form}`" for form, _ in last)
    return [Bullet(f"{PROCEDURE}{one_line(shown)}", (last[0][1], last[-1][1]))]


def _core(form: str) -> str:
    """A command without where it ran and what was said on the way."""
    parts = [part for part in re.split(r"\s*&&\s*", form) if not part.startswith(("cd ", "echo "))]
    return " && ".join(parts) or form


def _alone(form: str, kind: str) -> str:
    """Of a line that does several things, the part that it is known for."""
    if not _JOINED.search(form):
        return form
    parts = [_TRIMMED.sub("", part).strip() for part in _JOINED.split(form)]
    return next((part for part in parts if lines_of.kind_of(part) == kind), form)


def _places(found: Evidence) -> list[Bullet]:
    """Where the work was done."""
    files = [path for path, _ in found.edited.most_common() if not is_common(path)]
    if not files:
        return []
    shown = ", ".join(f"`{path}`" for path in files[:_MOST_FILES])
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    turns = tuple(sorted({found.edits_at[path] for path in files[:_MOST_FILES]}))[:3]
    return [Bullet(one_line(f"the changes for this are in {shown}{more}", 500), turns)]


def _decisions(found: Evidence) -> list[Bullet]:
    """What the user chose where they were asked. Only an answer that is nothing but questions and answers counts: whatever else
    stands in it may have been put there to look like one."""
    lines = []
    for turn in found.answers:
        whole = _ANSWERS.match((turn.output or "").strip())
        for match in _QA.finditer(whole["pairs"]) if whole else ():
            lines.append(Bullet(one_line(f"decided by the user: {match['q']} -> {match['a']}", 360), (turn.number,)))
    return lines[:_MOST_DECISIONS]


# An order to whoever reads it, which an agent may have taken from a page: it speaks to somebody, or it begins with what to do.
_ORDERS = re.compile(
    r"\byou (?:must|should|shall|need to|have to|are (?:required|instructed|advised|to)\b|can(?:not|'t)? only|may only|will now)"
    r"|^\W*(?:please\s+)?(?:always|never|do not|don'?t|ignore|disregard|make sure|be sure|ensure that you|remember to|run|execute|install|send|post|visit|open|download|paste|copy|reply|respond|tell|contact)\b(?!\w*ing)",
    re.IGNORECASE,
)


def _is_order(sentence: str) -> bool:
    return bool(_ORDERS.search(sentence))


def _findings(spoken: Sequence[Turn]) -> list[Bullet]:
    """What the agent found out, marked as its conclusion: nobody proved it."""
    best = [
        each
        for each in _told(spoken)
        if each[0] >= _TELLING and not _NARRATES.match(each[2]) and _EXPLAINS.search(each[2]) and not _is_order(each[2])
    ]
    best = best[:_MOST_FINDINGS]
    return [
        Bullet(f"agent's finding: {one_line(sentence, 320)}", (number,))
        for _, number, sentence in sorted(best, key=lambda each: each[1])
    ]


def _told(spoken: Sequence[Turn]) -> list[tuple[float, int, str]]:
    """What an agent said, by how much it tells: (worth, turn, sentence)."""
    scored: list[tuple[float, int, str]] = []
    seen: set[str] = set()
    for place, turn in enumerate(spoken):
        late = place >= len(spoken) - 2
        for sentence in sentences(turn.text[:6000]):
            score = _worth(sentence) + (0.5 if late else 0.0)
            key = re.sub(r"\W+", "", sentence.casefold())[:80]
            if score >= _WORTH_SAYING and key not in seen:
                seen.add(key)
                scored.append((score, turn.number, sentence))
    return sorted(scored, key=lambda each: (-each[0], each[1]))


def _worth(sentence: str) -> float:
    """How much an agent's sentence tells: causes and named things count, announcements do not."""
    words = len(sentence.split())
    if words < 7 or words > 60 or _PLAN.match(sentence) or sentence.rstrip().endswith(("?", ":")):
        return 0.0
    causes = len({match.group().casefold() for match in _CAUSE.finditer(sentence)})
    named = len(set(_NAMED.findall(sentence)))
    tested = 0.3 if _TESTED.search(sentence) else 0.0
    return min(causes, 2) * 0.9 + min(named, 3) * 0.5 + tested - (0.4 if words > 40 else 0.0)


def manners_in(sentence: str) -> list[str]:
    """The things that somebody wants used for a piece of work, by name."""
    if len(sentence.split()) > 40 or sentence.rstrip().endswith("?"):
        return []
    found = (" ".join(match[1].split()) for match in _MANNER.finditer(sentence))
    return [name for name in found if name.casefold().split(" ")[0] not in _NO_THING and len(name) > 2]


def _manners(found: Evidence) -> list[Bullet]:
    """How the user wanted it done: with what, or by whom. What returns in many sessions can be done unasked."""
    lines = []
    for turn in found.prompts:
        if is_document(turn.text):
            continue
        for sentence in sentences(turn.text):
            if manners_in(sentence) and not lasting.judged(sentence).is_possible:
                lines.append(Bullet(f'{MANNER}"{one_line(sentence, 200)}"', (turn.number,)))
    return lines[:3]


def _closing(found: Evidence) -> list[Bullet]:
    """What the user had done on the way and at the end, in their words: what returns in many sessions can be done unasked. Whatever it
    is: in how many sessions it returns is what tells."""
    lines = []
    for turn in found.later:
        words = len(content_words(turn.text))
        is_request = _FEWEST <= words <= _MOST_WORDS and len(turn.text) < _REQUEST and "\n" not in turn.text.strip()
        if is_chore(turn.text) or (is_request and not _correction(turn.text)):
            lines.append(Bullet(f'when it was done, the user asked: "{one_line(turn.text, 120)}"', (turn.number,)))
    return lines[-_MOST_REQUESTS:]


def failures(found: Evidence) -> list[Bullet]:
    """What went wrong: with what helped, with what the user said to it, or with nothing yet."""
    lines = [_fixed(fix) for fix in _telling(found)]
    for turn in found.later:
        quote = _correction(turn.text)
        if quote:
            lines.append(Bullet(f'the user corrected: "{quote}" -> {default_of(quote)}', (turn.number,)))
    lines = [*lines[: _MOST_FIXES + 3], *_stopped(found)]
    return [*lines, *_open(found)]


def _correction(text: str) -> str:
    """The sentence that corrects what was done; none where it is a lasting wish, which is told elsewhere, a question, praise, or
    part of something pasted."""
    if len(text) > _SPOKEN or is_document(text) or _PASTED.search(text):
        return ""
    every = list(sentences(text))
    for place, sentence in enumerate(every):
        if lasting.of_words(sentence, follows_work=True) != lasting.CORRECTION or sentence.rstrip().endswith("?"):
            continue
        if lasting.judged(sentence, is_correction=True).is_sure or _FINE.search(sentence):
            return ""
        # A short no means nothing without what follows it.
        whole = sentence if len(content_words(sentence)) >= 4 else " ".join(every[place : place + 2])
        if len(content_words(whole)) >= 4 and _WANTS.search(whole):
            return one_line(whole, 220).replace('"', "'")
    return ""


def _stopped(found: Evidence) -> list[Bullet]:
    """Where the user stopped the agent to tell it something else."""
    lines = []
    for turn in [*found.interrupted, *found.refused]:
        after = next((each for each in found.prompts if each.number > turn.number), None)
        if after is None or len(after.text) > _SPOKEN or _FINE.search(after.text) or _correction(after.text):
            continue
        said = next(
            (each for each in sentences(after.text) if _WANTS.search(each) and len(content_words(each)) >= 4), ""
        )
        if said and not said.rstrip().endswith("?"):
            quote = one_line(said, 200).replace('"', "'")
            lines.append(
                Bullet(f'the user stopped the agent: "{quote}" -> {default_of(quote)}', (turn.number, after.number))
            )
    return lines[:2]


def _clumsy(found: Evidence) -> list[Bullet]:
    """Tools that failed again and again for the same reason."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int] = {}
    for turn in found.turns:
        if turn.tool is None or turn.command is not None or not turn.failed or not turn.output:
            continue
        reason = one_line(_TAGGED.sub("", turn.output).strip().split("\n", 1)[0], 120).replace("`", "'")
        if reason and turn not in found.refused:
            counts[turn.tool, reason] += 1
            first.setdefault((turn.tool, reason), turn.number)
    return [
        Bullet(
            f"`{tool}` failed {times} time{'s' if times > 1 else ''} with `{reason}` -> check its input first",
            (first[tool, reason],),
        )
        for (tool, reason), times in counts.most_common(2)
    ]


def _telling(found: Evidence) -> list[FixFact]:
    """What was got over, each error once: what another call got over before what a change of files did, and the shorter way before the
    longer; in the order they happened. Whether an error is worth telling shows in how many sessions meet it, so few are left out."""
    helped = [fix for fix in found.fixes if not _is_narrower(fix)]
    once = {fix.signature: fix for fix in reversed(helped)}
    # What went through when it was tried again comes last: one session alone proves nothing by it.
    ways = sorted(
        once.values(),
        key=lambda fix: (
            not fix.passed,
            not (fix.commands or fix.edited),
            bool(fix.edited),
            len(fix.commands) + len(fix.edited),
        ),
    )
    return sorted(ways[:_MOST_FIXES], key=lambda fix: fix.failed_at)


def _is_narrower(fix: FixFact) -> bool:
    """Whether what went through in the end tried less than what had failed: a single test file proves nothing about all."""
    if lines_of.kind_of(fix.failed_command) is None:
        return False
    failed, proof = (set(lines_of.form_of(each).split()) for each in (fix.failed_command, fix.proof))
    if any(word.startswith(folder) for folder in failed if folder.endswith("/") for word in proof - failed):
        return True
    return any("/" in word or "." in word for word in proof - failed) and not any(
        "/" in word or "." in word for word in failed - proof
    )


def _fixed(fix: FixFact) -> Bullet:
    """A failure with what got over it, each told by the single command that it is about."""
    step = to_blame(fix.failed_command, fix.error)
    worked = counterpart(step, fix.proof)
    lesson = Lesson(
        command=_short(step),
        error=fix.error,
        changed=fix.edited[-3:],
        ran=tuple(_between(fix, step, worked))[-2:],
        proof=_short(worked),
        passed=fix.passed,
        is_workaround=bool(_BYPASS.search(" ".join((*fix.commands, fix.proof)))),
    )
    return Bullet(lesson_line(lesson), (fix.failed_at, fix.fixed_at))


def _between(fix: FixFact, step: str, worked: str) -> dict[str, None]:
    """What was run before it worked, step by step, in order; where it only ran elsewhere, with where."""
    known = {step, worked}
    # What was already a part of the line that failed is no new step, whatever it was pointed at.
    same = {_acts(each) for each in steps_in(fix.failed_command)} - {_acts(step)}
    ran: dict[str, None] = {}
    for command in (*(each for each in fix.commands if each != fix.proof), fix.proof):
        for each in steps_in(command):
            if each == worked and command == fix.proof:
                break
            is_own = lines_of.kind_of(step) == "commit" and lines_of.program_of(each) == lines_of.program_of(step)
            if each not in known and _acts(each) not in same and not is_own and not lines_of.only_looks(each):
                ran[_short(each)] = None
    if lines_of.form_of(fix.proof) == lines_of.form_of(fix.failed_command) and fix.proof in fix.commands:
        ran[_step(fix.proof, fix.failed_command)] = None
    return ran


def _acts(step: str) -> tuple[str, ...]:
    """A program with what it is told to do."""
    return (lines_of.program_of(step), *[word for word in step.split() if word.isalpha()][:2])


def _short(command: str) -> str:
    """A command as it is told: without the texts that were put into it."""
    form = lines_of.form_of(command)
    if "<<" in form:
        form = form.split("<<", 1)[0].rstrip(" \"'$(cat")
    return one_line(form, 110).replace("`", "'")


def _step(command: str, failed: str) -> str:
    """A command as a step of a fix; where it only ran elsewhere than the one that failed, with where."""
    form = lines_of.form_of(command)
    if form == lines_of.form_of(failed) and (before := lines_of.BEFORE.match(command.strip())):
        return one_line(f"{before.group().rstrip(' &;')} && {form}", 120).replace("`", "'")
    return _short(command)


def _open(found: Evidence) -> list[Bullet]:
    """What still failed when the task ended."""
    fixed = {fix.failed_at for fix in found.fixes}
    last: dict[str, Ran] = {}
    for each in found.ran:
        if each.kind in ("test", "build", "lint", "types", "commit", "install"):
            last[each.kind] = each
    ended = [each for each in last.values() if each.ok is False and each.errors and each.number not in fixed]
    told = [
        Bullet(lesson_line(Lesson(command=_blamed(each), error=each.errors[0], is_last=True)), (each.number,))
        for each in ended
    ]
    return [*told, *_unsolved(found, {each.number for each in ended})]


def _unsolved(found: Evidence, told: set[int]) -> list[Bullet]:
    """What was met and not got over on the way, each error once: in how many sessions that happens is what tells."""
    solved = {fix.signature for fix in found.fixes}
    first: dict[str, Ran] = {}
    for each in found.ran:
        if each.ok is False and each.errors and each.number not in told:
            first.setdefault(errors.signature_of(each.errors[0]), each)
    return [
        Bullet(lesson_line(Lesson(command=_blamed(each), error=each.errors[0])), (each.number,))
        for signature, each in first.items()
        if signature not in solved and "`" not in each.errors[0]
    ][:_MOST_UNSOLVED]


def _blamed(ran: Ran) -> str:
    return _short(to_blame(ran.command, ran.errors[0]))


def references(found: Evidence) -> list[Bullet]:
    """What to look up word for word: commits, commands that proved it, links."""
    lines: list[Bullet] = []
    for each in found.ran:
        if each.kind == "commit" and each.ok and (subject := _SUBJECT.search(each.command)):
            lines.append(Bullet(f"commit: {one_line(subject['subject'], 120)}", (each.number,)))
    proofs = [each for each in found.ran if each.kind in ("test", "build", "lint", "types") and each.ok]
    for each in proofs[-2:]:
        told = f": {each.result}" if each.result else ""
        lines.append(Bullet(f"verified: {one_line(f'`{each.form}`{told}', 220)}", (each.number,)))
    for turn in found.prompts:
        for link in _LINKS.findall(turn.text)[:3]:
            lines.append(Bullet(f"link: {link.rstrip('.,;:')}", (turn.number,)))
    once: dict[str, Bullet] = {}
    for line in lines:
        once.setdefault(line.text, line)
    return list(once.values())[:_MOST_REFERENCES]


def steps(found: Evidence) -> list[Bullet]:
    """How it went, for somebody who wants to see it once more: what was asked, changed and run."""
    lines = []
    for turn in found.prompts[:6]:
        lines.append(Bullet(f'the user: "{shortened(one_line(turn.text), 160)}"'.replace('""', '"'), (turn.number,)))
    lines += _clumsy(found)
    told = sorted(_told(found.spoken)[:_MOST_TOLD], key=lambda each: each[1])
    lines += [
        Bullet(f"the agent: {one_line(sentence, 320)}", (number,))
        for _, number, sentence in told
        if not _is_order(sentence)
    ]
    lines.sort(key=lambda line: line.turns)
    if found.edited:
        lines.append(Bullet(f"{sum(found.edited.values())} changes to {len(found.edited)} files", (found.last_edit,)))
    kinds = Counter(each.kind for each in found.ran if each.kind)
    if kinds:
        lines.append(Bullet("ran " + ", ".join(f"{kind} {times}×" for kind, times in kinds.most_common(5))))
    return lines
