"""What somebody wants remembered: taken apart, checked for shape and for what must not be stored; and, where nobody asked, whether it
is durable, useful, specific and safe, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from byheart.domain.errors import BadInput, Refused, Unsafe
from byheart.domain.records import (
    NEEDS_CONFIRMATION,
    Confidence,
    Kind,
    Record,
    Request,
    Scope,
    Signal,
    Value,
    leaves,
    spoken,
)
from byheart.domain.reports import Reason, Verdict
from byheart.domain.values import replace
from byheart.language import lasting as language_lasting
from byheart.language import personal, wording
from byheart.notebooks import merge
from byheart.text.deferred import deferred
from byheart.text.similarity import content_words
from byheart.workspace.context import JOURNAL, PROFILE, RULES, Context, keeps_journal

if TYPE_CHECKING:
    from byheart.domain.results import Finding

_ROUTES = {
    Kind.RULE: RULES,
    Kind.CONSTRAINT: RULES,
    Kind.PREFERENCE: PROFILE,
    Kind.LESSON: PROFILE,
    Kind.NOTE: JOURNAL,
}
_MOST_PARTS, _MOST_TRIPLE, _MOST_TAG, _MOST_SOURCE, _MOST_KEY = 24, 120, 60, 200, 120
# A request may wrap its memory in a few words ("add to memory that …").
_WRAPPING = 200


def prepared(context: Context, request: Request) -> tuple[Record, Scope, str]:
    """The record, scope and format of a request that may be stored. Raises BadInput, Refused or Unsafe."""
    most = context.limits.record_characters
    # Before anything else looks at it: no pattern should have to read a book.
    if len(request.text) > most + _WRAPPING:
        raise Refused(_too_long(len(request.text), most))
    if is_transcript(request.text):
        raise Refused("not stored: it is a transcript, not one statement; store what it teaches instead")
    if not request.copied and request.key is None and _SAYS_NOTHING.fullmatch(request.text):
        raise BadInput(f"there is nothing to remember in {request.text.strip()!r}; say what should hold from now on")
    _refuse_unsafe(context, request)
    _refuse_personal(request)
    record, scope, name = compose(routed(context, request))
    # Parts that say nothing by themselves may tell a secret together, as they will be read.
    first, *rest = (leaves(record.value) if isinstance(record.value, dict) else []) or [""]
    together = [finding for each in rest for finding in context.scanner.secrets(f"{first}: {each}")]
    if found := [each for each in together if each.severity == "secret"]:
        raise Unsafe(found)
    longest = max(len(record.text), len(spoken(record.value)))
    if longest > most:
        raise Refused(_too_long(longest, most))
    return record, scope, name


def _too_long(length: int, most: int) -> str:
    return f"not stored: {length} characters is too long for one memory (at most {most}); say it shorter"


def routed(context: Context, request: Request) -> Request:
    """The request with the notebook that it goes to: the one that is named, or the one that the person keeps. Where that is none or
    several, its kind decides."""
    if request.to is not None or request.key is not None or request.triple is not None:
        return request
    if context.limits.notebook:
        return replace(request, to=context.limits.notebook)
    scope = request.scope or wording.scoped(request.text)[0]
    if request.sensitivity or (request.category and keeps_journal(context, context.roots[scope])):
        # Only a journal can hold them; a label that is dropped tells everybody what it was to keep back.
        return replace(request, to=JOURNAL)
    # For all projects, the one that is kept here says what kind of notebook this person keeps.
    for root in (context.roots[scope], context.roots[Scope.LOCAL]):
        if root.chosen:
            return replace(request, to=next(iter(root.chosen))) if len(root.chosen) == 1 else request
        if keeps_journal(context, root) and not any(
            context.files.size(root.documents[each]) for each in (PROFILE, RULES)
        ):
            return replace(request, to=JOURNAL)
    return replace(request, to=RULES) if wording.is_for_rules(request.text) and request.kind is None else request


def compose(request: Request) -> tuple[Record, Scope, str]:
    """The record, scope and format that a request comes to."""
    if not request.text.strip() and (request.value is None or not request.key):
        raise BadInput("nothing to remember: give a sentence, or --key and --value")
    said = wording.parse(request.text) if request.text.strip() else None
    key = request.key or (said.key if said else None)
    kind = _kind(request, said)
    name = request.to or _ROUTES[kind]
    if kind is Kind.LESSON and key is not None and not key.startswith("lessons."):
        key = f"lessons.{key.split('.', 1)[-1]}"
    value = request.value
    if value is None and said is not None:
        value = said.value
        if request.key and request.key != said.key and (kind is not Kind.LESSON or isinstance(said.value, str)):
            # The words for a key of the person's own are taken as they are, without the request's wrapping.
            value = wording.simple_value(wording.scoped(request.text)[1])
    sentence = said.sentence if said and not request.verbatim else request.text
    triple = request.triple or (said.triple if said else None)
    if name == RULES and triple is None:
        raise BadInput("a rule needs a sentence or --triple")
    record = Record(
        text=sentence if name != PROFILE else spoken(value) or sentence,
        kind=kind if name != RULES or kind in (Kind.RULE, Kind.CONSTRAINT) else Kind.PREFERENCE,
        key=key,
        value=value,
        triple=triple,
        weight=request.weight,
        confidence=request.confidence or confidence_for(request.signal),
        tags=request.tags,
        source=request.source or request.signal.value,
        added=request.added,
    )
    _check_shape(record)
    scope = request.scope or (said.scope if said else Scope.LOCAL)
    return merge.labelled(record), scope, name


def _kind(request: Request, said: wording.Wording | None) -> Kind:
    if request.kind is not None:
        return request.kind
    if request.key and request.triple is None:
        # Whoever names a key means the profile, whatever the sentence sounds like.
        return Kind.LESSON if request.key.startswith("lessons.") else Kind.PREFERENCE
    return said.kind if said else Kind.PREFERENCE


def _check_shape(record: Record) -> None:
    _check_value(record.value)
    key = record.key
    if key is not None and (not key or len(key) > _MOST_KEY or key != key.strip() or not key.isprintable()):
        raise BadInput(f"the key {key[:40]!r} is not usable; use a short dotted name such as writing.tone")
    for part in record.triple or ():
        if not part.strip() or len(part) > _MOST_TRIPLE:
            raise BadInput(f"a part of the triple is empty or longer than {_MOST_TRIPLE} characters: {part[:40]!r}")
    for tag in record.tags:
        if not tag.strip() or len(tag) > _MOST_TAG:
            raise BadInput(f"a tag is empty or longer than {_MOST_TAG} characters: {tag[:40]!r}")
    if record.source and len(record.source) > _MOST_SOURCE:
        raise BadInput(f"the source is longer than {_MOST_SOURCE} characters; a short note will do")


def _check_value(value: Value, depth: int = 0) -> None:
    parts: Sequence[Value] = []
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            raise BadInput(f"the value {value} is not a number that can be stored")
        case bool():
            return
        case int() if abs(value) >= 10**15:
            raise BadInput("the number has more than 15 digits; store it as a text")
        case list():
            parts = value
        case dict():
            parts = list(value.values())
    if len(parts) > _MOST_PARTS or (parts and depth > 1):
        raise BadInput(
            f"a value may be a text, a number, true or false, or a small list or map (at most {_MOST_PARTS} parts)"
        )
    for part in parts:
        _check_value(part, depth + 1)


def _refuse_unsafe(context: Context, request: Request) -> None:
    """Scan the words as they came, and every field that somebody filled in, alone and behind its name.

    Parts that we derived from the sentence are not scanned on their own: out of context they look like what they are not.
    """
    fields = leaves(request.value)
    parts = [request.text, *fields, *request.tags, request.source or "", request.key or ""]
    if request.key:
        parts += [f"{request.key} = {each}" for each in (fields or [request.text])]
        parts += [f"{name} = {each}" for name, each in _named(request.value)]
    parts += [name for name, _ in _named(request.value)]
    if request.triple:
        parts += [*request.triple, f"{request.triple[0]} {request.triple[1]} = {request.triple[2]}"]
    findings = [
        finding
        for part in dict.fromkeys(parts)
        for finding in context.scanner.findings(part)
        if not (request.asked and finding.severity in ("command", "weak"))
    ]
    if findings:
        raise Unsafe(findings)


def _refuse_personal(request: Request) -> None:
    """Raise Refused for what tells of somebody's private life: unasked always, and asked for until the user was warned."""
    if request.is_private_wanted or request.copied:
        return
    private = next((kind for part in (request.text, *leaves(request.value)) if (kind := personal.kind_of(part))), "")
    if private and not request.asked:
        raise Refused(f"not stored: it tells of a person's private life ({private}); only the user may ask for that")
    if private:
        raise Refused(
            f"not stored yet: it tells of a person's private life ({private}), and every agent here would be told of it. "
            "If the user wants that all the same: byheart remember --private, or the tool with private: true"
        )


def _named(value: Value) -> list[tuple[str, str]]:
    """The texts of a map with their names."""
    if not isinstance(value, dict):
        return []
    return [(name, text) for name, part in value.items() for text in leaves(part)]


_LASTING = deferred(
    r"\b(?:always|never|from now on|going forward|by default|prefer(?:s|red|ence)?|avoid|rather than|instead of|every time"
    r"|whenever|in general|usually|convention|standard|must(?: not)?|don'?t ever|do not ever|i (?:like|dislike|hate|use)"
    r"|we (?:use|always|never)|our (?:team|convention|policy|style)|my (?:timezone|time zone|name|editor|os|default))\b",
    re.IGNORECASE,
)
_PASSING = deferred(
    r"\b(?:for now|right now|this time|just (?:this )?once|today|tomorrow|tonight|yesterday|this (?:week|morning|afternoon"
    r"|session|pr|branch|commit|file|task|one)|temporar(?:y|ily)|for the moment|currently|until|at the moment|in this case"
    r"|next (?:step|week)|quickly|wip|hotfix)\b",
    re.IGNORECASE,
)
_CHATTER = deferred(
    r"^\s*(?:thanks?(?: you)?|ok(?:ay)?|yes|no|sure|great|cool|hi|hello|hey|please continue|continue|go on|done|lgtm|nice)\b[\s,.!]*(?:\w+[\s.!]*){0,2}$",
    re.IGNORECASE,
)
_SAYS_NOTHING = deferred(
    r"\W*(?:thanks?(?: you)?|ok(?:ay)?|yes|no|sure|great|cool|hi|hello|hey|continue|go on|done|lgtm|nice)?\W*",
    re.IGNORECASE,
)
_HEDGED = deferred(
    r"\b(?:maybe|perhaps|i think|i guess|might|not sure|possibly|probably|for example|e\.g\.)\b", re.IGNORECASE
)
_TRANSCRIPT = deferred(r"(?m)^\s*(?:user|human|assistant|ai|system|tool|me|you)\s*:\s", re.IGNORECASE)


def judge(
    text: str,
    signal: Signal,
    findings: Sequence[Finding],
    *,
    lesson: bool,
    most: int,
    evidence: str = "",
    is_keyed: bool = False,
) -> Verdict:
    """Store only what passes all four tests; an ambiguous or passing signal is kept at low confidence at best. `evidence` are the words
    that it was said in, where somebody has found that they speak of every time."""
    passing = bool(_PASSING.search(text))
    lasting = bool(evidence) or bool(_LASTING.search(text)) or language_lasting.judged(text).is_sure
    hedged = bool(_HEDGED.search(text))
    reasons = (
        _durable(signal, lasting=lasting, passing=passing, lesson=lesson, is_keyed=is_keyed),
        _stated(text),
        Reason(test="useful", passed=True, because="its key says what it is about") if is_keyed else _useful(text),
        _specific(text, most),
        _safe(findings),
    )
    confidence = confidence_for(signal)
    if passing or hedged or (signal is not Signal.REPEATED and not lasting and not lesson and not is_keyed):
        confidence = Confidence.LOW
    return Verdict(
        stored=all(reason.passed for reason in reasons),
        confidence=confidence,
        tags=(NEEDS_CONFIRMATION,) if confidence is Confidence.LOW else (),
        reasons=reasons,
    )


def confidence_for(signal: Signal) -> Confidence:
    """Said or confirmed outright: high. Repeated without confirmation: medium. Inferred: low."""
    match signal:
        case Signal.EXPLICIT | Signal.CONFIRMED:
            return Confidence.HIGH
        case Signal.REPEATED:
            return Confidence.MEDIUM
        case Signal.INFERRED:
            return Confidence.LOW


def _durable(signal: Signal, *, lasting: bool, passing: bool, lesson: bool, is_keyed: bool) -> Reason:
    if passing and not lasting:
        return Reason(test="durable", passed=False, because="it speaks of the moment (for now, today, this time …)")
    if lesson:
        return Reason(test="durable", passed=True, because="a problem with its fix stays true")
    if lasting:
        return Reason(test="durable", passed=True, because="it uses the language of lasting preferences")
    if is_keyed and signal in (Signal.EXPLICIT, Signal.CONFIRMED):
        return Reason(test="durable", passed=True, because="the user said it, and it has a key of its own")
    if signal is Signal.REPEATED:
        return Reason(test="durable", passed=True, because="the same signal came more than once")
    if signal is Signal.INFERRED:
        return Reason(test="durable", passed=True, because="inferred, so it is kept at low confidence until confirmed")
    return Reason(test="durable", passed=False, because="nothing says that it will still hold in a later session")


_FLAG = deferred(r"(?:^|\s)--?[A-Za-z][\w-]*(?:=\S+)?(?=\s|$)")
_SHELL = deferred(r"\s(?:&&|\|\||\||>>?|2>&1)\s|^\s*(?:\$|>|#)\s|^\s*(?:\./|sudo\s|[A-Z_]{2,}=\S+\s)")
_PROGRAM = deferred(
    r"^\s*(?:git|gh|npm|npx|pnpm|yarn|bun|pip3?|uv|poetry|cargo|go|make|just|docker|kubectl|helm|terraform|aws|gcloud|az|ssh|scp|curl|wget|rm|mv|cp|chmod|chown|kill|python3?|node|deno|bash|sh|zsh|psql|mysql|systemctl|brew|apt(?:-get)?)"
    r"\s+[a-z./~-][\w./:@~-]*(?:\s+[\w./:@~=-]+){0,6}\s*$"
)
_SENTENCE = deferred(
    r"\b(?:i|we|you|our|my|the|a|an|is|are|be|to|not|never|always|prefer|use|uses|using|with|before|after|when|because|instead|than|should|must|do|don'?t|and|or|for|in|on|of)\b",
    re.IGNORECASE,
)


# What code and command lines are put together with, and sentences hardly ever.
_CODE = deferred(r"[;{}=$|<>]|\w\(|\s(?:'[^']+'|\"[^\"]+\")\s*$")
_QUOTED = deferred(r"'[^']*'|\"[^\"]*\"")
# An order to run something, now: what is to be done always, or never, or before something else each time, says so.
_ORDER = deferred(r"(?:please\s+|just\s+)?(?:run|execute|invoke|launch)\b", re.IGNORECASE)
_LASTING_WORD = deferred(r"\b(?:always|never|prefer|whenever|every time|by default)\b", re.IGNORECASE)
_LEAD = deferred(r"^(?:first|please|just|now)?[\s,:]*(?:do|run|use)?[\s:]+(?=\S)", re.IGNORECASE)
_THEN = deferred(r"\s*[,;]\s*(?:and\s+)?then\s+|\s+and\s+then\s+|\s*;\s*", re.IGNORECASE)


def is_command(text: str) -> bool:
    """Whether a text is something to run rather than something to know: it has what command lines have, and no words that join
    others to a sentence; a program's name with nothing but its arguments is one, too."""
    bare = text.strip().strip("`")
    if "\n" in bare:
        return all(is_command(line) for line in bare.split("\n") if line.strip())
    if _ORDER.match(bare) and not _LASTING_WORD.search(bare):
        return True
    words = _SENTENCE.findall(_QUOTED.sub(" ", _FLAG.sub(" ", bare)))
    if _CODE.search(bare) and not words:
        return True
    steps = _THEN.split(_LEAD.sub("", bare))
    if len(steps) > 1:
        return all(is_command(_LEAD.sub("", step)) for step in steps)
    return bool((_FLAG.search(bare) or _SHELL.search(bare)) and not words) or bool(
        _PROGRAM.match(bare) and len(words) < 2
    )


# An order for every time that skips a check, forces something or deletes: only its user may have that stored.
_RISKY = deferred(
    r"^(?:(?:always|please|from now on|just|and|so)\b[\s,:]*)*(?:use|run|do|execute|call|push|commit|delete|remove)\b.*"
    r"(?:--force\b|--no-verify\b|\brm\s+-\w*[rf]|\bsudo\b|\breset\s+--hard\b|\|\s*(?:ba|z)?sh\b|\bchmod\s+777\b|\bcurl\b|\bdrop\s+(?:table|database)\b)",
    re.IGNORECASE,
)


# What speaks to whoever reads it of what they have to do or may do: by whom is no question where nobody asked for it.
_TO_ITS_READER = deferred(
    r"\b(?:you|an?\s+(?:ai|agent|assistant|model)|agents?|assistants?|models?)\b[^.]{0,40}\b(?:are\s+(?:required|obliged|allowed|permitted|authori[sz]ed|expected)|must|shall|have\s+to|may\s+now)\b|"
    r"\b(?:agentes?|agenten?|asistentes?|assistants?|assistenten?|assistenti|ассистент\w*|агент\w*|エージェント|代理|智能体)[^.]{0,40}(?:deben?|debes|müssen|muss|doivent|doit|devem|deve|devono|должн\w+|必须|しなければ|べき)|"
    r"\b(?:obedec\w+|gehorch\w+|obéi\w+|obbed\w+|подчин\w+|повин\w+)|服从|従わ|"
    r"^\s*</?[a-z][\w-]{2,30}>|</?(?:system|policy|instructions?|rules?|orders?)\b[^>]{0,40}>|"
    r"\b(?:skip|bypass|disable|ignore|turn(?:ing)?\s+off|without|dangerously[ -]skip)\w*\b[^.]{0,30}\b(?:permissions?|approvals?|confirmations?|sandbox\w*|safety)\b|"
    r"\b(?:permissions?|approvals?|confirmations?|sandbox\w*|safety)\b[^.]{0,30}\b(?:skipped|bypassed|disabled|ignored|turned\s+off)\b",
    re.IGNORECASE,
)


def _stated(text: str) -> Reason:
    if _TO_ITS_READER.search(text):
        return Reason(
            test="a statement",
            passed=False,
            because="it tells agents what they have to do or may do, which only the user may",
        )
    if _RISKY.search(text.strip()):
        return Reason(test="a statement", passed=False, because="it orders something risky to be run")
    if is_command(text):
        return Reason(test="a statement", passed=False, because="it is a command to run, not something to know")
    return Reason(test="a statement", passed=True, because="it says something")


def _useful(text: str) -> Reason:
    if _CHATTER.match(text):
        return Reason(test="useful", passed=False, because="it is conversation, not a preference")
    if text.rstrip().endswith("?"):
        return Reason(test="useful", passed=False, because="it is a question")
    words = content_words(text)
    if len(set(words)) < 2 and len(text) < 12:
        return Reason(test="useful", passed=False, because="it says too little to change a later answer")
    return Reason(test="useful", passed=True, because="it would change how later work is done")


def _specific(text: str, most: int) -> Reason:
    if is_transcript(text):
        return Reason(test="specific", passed=False, because="it is a transcript, not one statement")
    if len(text) > most:
        return Reason(test="specific", passed=False, because=f"it is longer than {most} characters")
    return Reason(test="specific", passed=True, because="it fits one small entry")


def is_transcript(text: str) -> bool:
    """Whether a text is a stretch of conversation or a page of lines rather than one statement."""
    return len(_TRANSCRIPT.findall(text)) >= 2 or text.strip().count("\n") > 8


def _safe(findings: Sequence[Finding]) -> Reason:
    if findings:
        rules = ", ".join(sorted({finding.rule for finding in findings}))
        return Reason(test="safe", passed=False, because=f"the scanner found {rules}")
    return Reason(test="safe", passed=True, because="nothing sensitive or instruction-like was found")
