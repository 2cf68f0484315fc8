"""What a task showed that the next one can use: commands that worked, where things are, what was decided, found out and asked for."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.handbook import Bullet
from byheart.handbook.phrases import one_line, shortened
from byheart.language import lasting
from byheart.language.sentences import is_document, sentences
from byheart.learning.extract.failures import correction
from byheart.learning.extract.tasks import is_chore
from byheart.sessions.facts import commands as lines_of
from byheart.sessions.facts.commands import only_looks
from byheart.sessions.facts.differences import deed_of, is_file, steps_in
from byheart.sessions.facts.files import is_common
from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.sessions import Turn
    from byheart.learning.extract.evidence import Evidence, Ran

# How a request is told that somebody made, and one that was made after there had been work.
ASKED, ASKED_LATER = "the user asked: ", "when it was done, the user asked: "
THEN_RAN = " -> then ran "
_ANY_WORK = ("git add", "git commit", "git status", "git diff", "git log", "git show")
_MOST_DEEDS = 12
SET_UP = "set-up, as the user told it: "
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
# A request that is short enough to be said again in nearly the same words.
_FEWEST, _MOST_WORDS, _REQUEST, _MOST_REQUESTS = 2, 12, 110, 6
# An address in a network, or a host with its port.
HOSTS = re.compile(r"\b(?!127\.|0\.)(?:\d{1,3}\.){3}\d{1,3}\b(?!\.\d)|\b[a-z][\w-]*(?:\.[\w-]+)*:\d{2,5}\b")
_MOST_SET_UP = 3
# An install command that adds something is about that.
_ADDS = re.compile(r"\s(?:add|install|i|get)\s+(?:-\S+\s+)*(?!-|\.|/)\S")
# A program and a word or two of what it is to do; what every project has is left out.
_PLAIN_CALL = re.compile(
    r"(?!git |gh |cd |rm |kill|mkdir |touch |chmod |sudo |open |source |curl |node |python)(?:\./)?[a-z][\w./-]*(?: (?:run )?[a-z][\w:-]*){1,2}"
)
_MOST_OTHERS = 3
_JOINED = re.compile(r"\s*(?:&&|\|\||;|\|(?!\|))\s*")
_TRIMMED = re.compile(r"\s*(?:\d?>&\d|\d?>\s?(?:/dev/null|\$null)|&>/dev/null)")
_TAGGED = re.compile(r"</?\w+>")
# How much an agent's sentence has to tell to be kept as a finding, and to be told in a summary.
_TELLING, _WORTH_SAYING, _MOST_TOLD = 1.8, 0.9, 14
_MOST_FILES, _MOST_FINDINGS, _MOST_DECISIONS, _MOST_REFERENCES = 6, 4, 6, 10
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
    lines = [*_set_up(found), *_decisions(found), *_commands(found), *_procedure(found), *_places(found)]
    lines += _findings(found.spoken)
    closing = [*_manners(found), *_closing(found)]
    return [*lines, *closing, *([Bullet(plan)] if plan else [])]


def _set_up(found: Evidence) -> list[Bullet]:
    """What a person told of the machine or the network, and a command that worked then used: it can be found nowhere else."""
    lines = []
    for turn in found.prompts:
        if is_document(turn.text):
            continue
        for sentence in sentences(turn.text):
            used = [each for each in found.ran if each.number > turn.number and each.ok is not False]
            if any(name in each.command for name in HOSTS.findall(sentence) for each in used):
                quote = shortened(one_line(sentence), 200).replace('"', "'")
                lines.append(Bullet(f'{SET_UP}"{quote}"', (turn.number,)))
    return lines[:_MOST_SET_UP]


def _commands(found: Evidence) -> list[Bullet]:
    """Commands that did what they are for, with their flags and the folder they ran in."""
    best: dict[str, list[Ran]] = {}
    for each in found.ran:
        if (
            each.kind in _KINDS
            and (each.ok or (each.kind == "run" and each.ok is None))
            and each.folder is not None
            and len(each.form) <= 160
            and "<<" not in each.form
            and not (each.kind == "install" and _ADDS.search(each.form))
        ):
            best.setdefault(each.kind or "", []).append(each)
    lines = _others(found)
    for kind, runs in best.items():
        for own, times in Counter((_alone(each.form, kind), each.folder) for each in runs).most_common(2):
            form, folder = own
            same = [each for each in runs if (_alone(each.form, kind), each.folder) == own]
            told = next((each.result for each in reversed(same) if each.result), None)
            failed = sum(1 for each in found.ran if each.ok is False and (_alone(each.form, kind), each.folder) == own)
            result = f"; last: {told}" if told else ""
            where = f" in `{folder}`" if folder else ""
            text = f"`{form}`{where} {_KINDS[kind]} here (worked {times} of {times + failed}{result})"
            # Where it ran was said by the call that went there.
            went = same[-1].went_at if folder else None
            turns = (same[-1].number,) if went is None else (went, same[-1].number)
            lines.append(Bullet(one_line(text, 300), turns))
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
    """Of a line that does several things, the part that it is known for, without the files that it was pointed at."""
    if not _JOINED.search(form):
        return form if kind == "test" else _untargeted(form)
    parts = [_TRIMMED.sub("", part).strip() for part in _JOINED.split(form)]
    return next((part for part in parts if lines_of.kind_of(part) == kind), form)


def _untargeted(form: str) -> str:
    """A command without the files at its end."""
    words = form.split()
    while len(words) > 2 and is_file(words[-1]) and not words[-1].startswith("./...") and not words[-2].startswith("-"):
        words.pop()
    return " ".join(words)


def _others(found: Evidence) -> list[Bullet]:
    """Commands of a few plain words that no purpose is known of: whether they matter here shows in how many sessions run them."""
    runs: dict[str, list[Ran]] = {}
    for each in found.ran:
        for step in steps_in(each.command) if each.ok and each.folder is not None else ():
            is_plain = _PLAIN_CALL.fullmatch(step) and lines_of.kind_of(step) is None
            if is_plain and not lines_of.only_looks(step) and not lines_of.only_looks(step.partition(" ")[2]):
                runs.setdefault(step, []).append(each)
    often = sorted(runs.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_OTHERS]
    return [
        Bullet(f"`{form}` is used here (worked {len(own)} of {len(own)})", (own[-1].number,)) for form, own in often
    ]


def _places(found: Evidence) -> list[Bullet]:
    """Where the work was done."""
    files = [path for path, _ in found.edited.most_common() if not is_common(path)]
    if not files:
        return []
    shown = ", ".join(f"`{path}`" for path in files[:_MOST_FILES])
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    turns = tuple(sorted({found.edits_at[path] for path in files[:_MOST_FILES]}))
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
    """What the user asked for in few words, at the beginning, on the way and at the end. Whatever it is: in how many sessions it returns is
    what tells; what returns can be done unasked."""
    lines = []
    later = {turn.number for turn in found.later}
    for place, turn in enumerate(found.prompts):
        after = found.prompts[place + 1] if place + 1 < len(found.prompts) else None
        if after is not None and _is_taken_back(found, turn, after):
            continue
        told = len(content_words(turn.text))
        is_request = _FEWEST <= told <= _MOST_WORDS and len(turn.text) < _REQUEST and "\n" not in turn.text.strip()
        is_later = turn.number in later
        if (
            is_request
            and not is_later
            and any(lasting.judged(each).is_possible or lasting.unsaid(each) for each in sentences(turn.text))
        ):
            # What is wanted from now on, or no longer, is told as that.
            continue
        if is_chore(turn.text) or (is_request and not correction(turn.text)):
            asked = ASKED_LATER if is_later else ASKED
            did = _done_for(found, turn.number, after.number if after else None)
            ran = f"{THEN_RAN}{', '.join(f'`{each}`' for each in did)}" if did else ""
            lines.append(Bullet(f'{asked}"{one_line(turn.text, 120)}"{ran}', (turn.number,)))
    return lines[-_MOST_REQUESTS:]


def _is_taken_back(found: Evidence, turn: Turn, after: Turn) -> bool:
    """Whether somebody stopped the agent to say the same in other words: those count."""
    if not any(turn.number < each.number < after.number for each in found.interrupted):
        return False
    one, other = set(content_words(turn.text)), set(content_words(after.text))
    return 2 * len(one & other) >= len(one | other)


def _done_for(found: Evidence, number: int, until: int | None) -> list[str]:
    """What was run for a request, each thing once; looking at files and putting a commit together are a part of any."""
    done: dict[str, None] = {}
    for each in found.ran:
        if each.number > number and (until is None or each.number < until) and each.ok is not False:
            for step in steps_in(each.command):
                deed = deed_of(step)
                if deed and not deed.startswith(_ANY_WORK) and (deed.count(" ") > 1 or not only_looks(step)):
                    done[deed.replace("`", "'")[:60]] = None
    return list(done)[:_MOST_DEEDS]


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
