"""From a free sentence to its parts: scope, kind, triple, key and a clean sentence. Deterministic."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.records import Kind, Scope, Triple, Value
from byheart.domain.values import dataclass
from byheart.text.deferred import deferred
from byheart.text.similarity import STOP_WORDS, normalised
from byheart.text.slugs import short_digest, slug

if TYPE_CHECKING:
    from collections.abc import Mapping

# Every project of somebody, in the words that people use for that.
_EVERYWHERE = r"(?:for|in|across) (?:all|every|each)(?: of)?(?: my| our| the)? (?:projects?|repos?|repositor(?:y|ies)|code ?bases?)"
_GLOBAL = deferred(
    rf"^\s*\(?(?:(?:global(?:ly)?|everywhere|wherever i (?:work|am)|{_EVERYWHERE})\)?\s*(?:[:,]|\s-)|everywhere(?=\s+(?:use|prefer|write|keep|run|avoid|never|always|do(?: not|n'?t)|i prefer)\b)|{_EVERYWHERE}(?=\s+\w))\s*",
    re.IGNORECASE,
)
_GLOBAL_MEMORY = deferred(
    r"^(\s*(?:please\s+)?(?:add|save|store|put|write)\s+(?:this\s+)?(?:to|in|into)\s+)(?:my\s+|the\s+)?global(\s+memory)",
    re.IGNORECASE,
)
_GLOBAL_VERB = deferred(r"^(\s*(?:please\s+)?remember)\s+globally\b", re.IGNORECASE)
_GLOBAL_END = deferred(
    rf"[\s,;]*(?:\(global(?:ly)?\)|,\s*globally|(?<=[\s,])everywhere|(?<=[\s,]){_EVERYWHERE})\s*[.!]?\s*$",
    re.IGNORECASE,
)
_TRIGGER = deferred(
    r"^\s*(?:please\s+)?(?:(?:add|save|store|put|write)\s+(?:this\s+)?(?:to|in|into)\s+(?:the\s+|your\s+|my\s+)?(?:\w+\s+)?memory\s*(?:that\b|:|,)"
    r"|(?:note|memori[sz]e|learn)\s*(?:that\b|:|,)|(?:remember|keep in mind)\b\s*(?:this\s*[:,–—-]|that\b|to\b|:|,)?)\s*",
    re.IGNORECASE,
)
_ADD_TO_MEMORY = deferred(
    r"^\s*(?:global\w*\s*:?\s*)?(?:please\s+)?add\s+(?:this\s+)?to\s+(?:\w+\s+){0,2}memory\b", re.IGNORECASE
)
_LEAD = deferred(
    r"^(?:(?:from now on|going forward|in (?:the )?future|please|always remember|also|and|so|ok(?:ay)?|hey)\b[\s,:]*)+",
    re.I,
)
_WHO = r"(?:i|we|you|agents?|user|the user|they|he|she|team|the team)"
_BECAUSE = deferred(
    r"\s*(?:[,;]\s*)?\b(?:because|since|as it|so that|due to|otherwise)\b\s*(.+)$|\s*;\s*(it(?:'s| is) .+)$", re.I
)
_NEVER = deferred(
    rf"^(?:{_WHO}\s+)?(?:must never|should never|never|must not|mustn'?t|do not|don'?t|may not|should not|shouldn'?t|no longer|avoid|stop|refuse to|forbid(?:den)?|prohibit(?:ed)?|ban(?:ned)?|no(?!\s+need))\s+(?:to\s+|ever\s+|use of\s+)?(.+)$",
    re.IGNORECASE,
)
_SOFT = deferred(r"^(?:i|we)\b|^(?:please\s+)?avoid\b", re.IGNORECASE)
_ALWAYS = deferred(
    rf"^(?:{_WHO}\s+)?(?:must always|should always|always|must|should|have to|has to|need to|needs to|ensure|make sure(?: that)?(?: to)?|require[sd]?)\s+(.+)$",
    re.IGNORECASE,
)
_MODAL = deferred(
    r"^(.{2,80}?)\s+(must not|must never|should not|should never|mustn'?t|shouldn'?t|cannot|may not|must|should|has to|have to|needs to|need to)\s+(.+)$",
    re.IGNORECASE,
)
_I = r"(?:(?:i|we|user|the user)(?:\s+would|'d)?\s+)"
_PREFER = deferred(
    rf"^{_I}?(?:strongly\s+|really\s+|generally\s+|usually\s+)?(?:prefer(?:s|red)?|likes?|loves?|favou?rs?|wants?)\s+(?!not\b)(?:to\s+(?:use\s+|have\s+)?|using\s+)?(.+)$",
    re.IGNORECASE,
)
_RATHER = deferred(rf"^{_I}rather\s+(?:use\s+|have\s+)?(.+?)\s+than\s+(?:use\s+|have\s+)?(.+)$", re.IGNORECASE)
_DISLIKE = deferred(
    rf"^{_I}?(?:rather\s+)?(?:prefer(?:s)? not to(?: use| have)?|(?:(?<=\s)(?:avoid|dislike|hate|can'?t stand|cannot stand|do(?: not|n'?t) (?:like|want|care (?:for|about)))))\s+(?:to\s+|using\s+)?(.+)$",
    re.IGNORECASE,
)
_I_USE = deferred(r"^(?:i|we|user|the user|the team)\s+(?:always\s+|usually\s+|only\s+)?uses?\s+(.+)$", re.IGNORECASE)
_USE = deferred(
    r"^(?:use|using|choose|pick|run|write|call|put|keep|set|name|format|commit|deploy|test|check|build|ask|follow|prefer|bump|update|add|remove|install)\s+(?!(?:is|are|was|were|takes?|has|had)\b)",
    re.IGNORECASE,
)
_OVER = deferred(r"^(.+?)(?:\s+(?:over|instead of|rather than|in place of)|,\s*not)\s+(.+)$", re.IGNORECASE)
_PURPOSE = deferred(
    r"^(.+?)\s+(?:for|when|in|on|before|after|during|with|as|while|until|unless|if|whenever)\s+(.+)$", re.IGNORECASE
)
_FOR = deferred(r"^(.+?)\s+for\s+(.+)$", re.IGNORECASE)
_IS = deferred(r"^(?:my |our |the )?(.{2,60}?)\s+(?:is|are|=|defaults? to)\s+(.+)$", re.IGNORECASE)
# Things that have one value at a time: said anew, the old value is out of date.
_ATTRIBUTE = deferred(
    r"^(?:my|our|the|default)?\s*((?:[\w-]+ ){0,3}(?:time ?zone|name|editor|shell|version|port|host|branch|language|locale|region|os|database|registry|framework|manager|width|length|indent(?:ation)?|style|format|url|path|folder|directory|command|license|licence|tone|theme|budget|default|encoding))$",
    re.IGNORECASE,
)
_KEYED = deferred(r"^([a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)+)\s*[:=]\s*(.+)$", re.IGNORECASE)
_LESSON = deferred(
    r"^(?:lesson(?:s)?(?: learned| learnt)?\s*[:,-]\s*)?(.+?)\s*(?:->|→|=>)\s*(.+?)(?:\s*(?:->|→|=>)\s*(.+))?$",
    re.DOTALL,
)
_FIXED = deferred(
    r"^(?:lesson(?:s)?(?: learned| learnt)?\s*[:,-]\s*)?(.+?)[,;]?\s+(?:(?:was|is|got|were)\s+)?(?:fixed|solved|resolved|cured)\s+(?:by|with|through)\s+(.+)$",
    re.I,
)
_REPEATED = deferred(
    r"\b(?:repeatedly|repeated(?:ly)?|again and again|multiple times|over and over|more than once|twice)\b", re.I
)
_VERBS = {
    "use", "run", "write", "call", "commit", "push", "deploy", "edit", "touch", "modify",
    "change", "delete", "remove", "add", "install", "start", "stop", "restart", "create", "format", "test", "build",
    "check", "ask", "put", "keep", "store", "log", "print", "mock", "skip", "merge", "rebase", "squash", "import", "show",
    "open", "set", "name", "make", "include", "follow", "read", "send", "return", "choose", "pick", "generate", "update", "bump",
}  # fmt: skip
_GERUNDS = {
    "using": "use", "running": "run", "writing": "write", "calling": "call", "committing": "commit", "pushing": "push",
    "deploying": "deploy", "editing": "edit", "touching": "touch", "changing": "change", "deleting": "delete",
    "removing": "remove", "adding": "add", "installing": "install", "starting": "start", "creating": "create",
    "testing": "test", "building": "build", "logging": "log", "printing": "print", "mocking": "mock", "merging": "merge",
    "importing": "import", "storing": "store", "sending": "send", "skipping": "skip", "updating": "update",
}  # fmt: skip
_FILLERS = frozenset("prefer prefers like always never from now on want really very".split())
_TOPICS = (
    (
        "writing",
        "tone concise verbose style answer reply explain comment docs documentation english language emoji bullet markdown punctuation summary",
    ),
    ("testing", "test tests testing pytest jest coverage mock fixture snapshot tdd unit integration"),
    (
        "tooling",
        "npm pnpm yarn bun pip uv poetry docker make git editor vim ide linter ruff eslint prettier formatter tool tools cli shell zsh bash package manager compiler",
    ),
    (
        "code",
        "tabs spaces indent naming camelcase snake_case function functions class type types typing imports async exceptions error errors variable variables typescript python rust go java",
    ),
    (
        "workflow",
        "commit commits branch branches pr pull merge rebase review deploy release ci pipeline ticket issue plan approve",
    ),
    ("environment", "timezone time zone os macos linux windows port host database db server cloud aws region locale"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a sentence says, taken apart."""

    scope: Scope
    kind: Kind
    sentence: str
    triple: Triple
    key: str
    value: Value


def parse(text: str) -> Wording:
    """Take a free sentence apart; the same sentence always gives the same parts."""
    scope, body = scoped(text)
    keyed = _KEYED.match(body)
    if keyed:
        key, value = keyed[1].lower(), simple_value(keyed[2].strip())
        kind = Kind.LESSON if key.startswith("lessons.") else Kind.PREFERENCE
        triple = (key.split(".")[0], key.split(".", 1)[1].replace(".", "_"), _short(str(keyed[2])))
        return Wording(scope=scope, kind=kind, sentence=body, triple=triple, key=key, value=value)
    lesson = _lesson(body)
    if lesson is not None:
        name = _lesson_name(lesson)
        triple = (name, "fixed_by", _short(str(lesson.get("fix", ""))))
        return Wording(
            scope=scope, kind=Kind.LESSON, sentence=_sentence(body), triple=triple, key=f"lessons.{name}", value=lesson
        )
    core = _plain(body)
    kind, triple = _classified(core)
    if kind is Kind.PREFERENCE and triple[1] == "is":
        fact = _fact(core)
        if fact is not None:
            key, value = fact
            return Wording(scope=scope, kind=kind, sentence=_sentence(core), triple=triple, key=key, value=value)
    return Wording(
        scope=scope, kind=kind, sentence=_sentence(core), triple=triple, key=_key(core, triple), value=_sentence(core)
    )


def core(text: str) -> str:
    """What a request asks for, without the words that only ask: "please remember that …", "from now on …"."""
    return _plain(scoped(text)[1])


def _plain(body: str) -> str:
    return _LEAD.sub("", body).strip() or body


def scoped(text: str) -> tuple[Scope, str]:
    """The scope a request names, and the request without its wrapping. Only an outright "global" is global."""
    body, scope = " ".join(text.split()), Scope.LOCAL
    for pattern, keep in ((_GLOBAL, ""), (_GLOBAL_MEMORY, r"\1\2"), (_GLOBAL_VERB, r"\1"), (_GLOBAL_END, "")):
        shorter, count = pattern.subn(keep, body, count=1)
        if count and shorter.strip():
            body, scope = shorter.strip(), Scope.GLOBAL
    stripped = _TRIGGER.sub("", body, count=1).strip()
    body = stripped or body
    # "From now on, in every project …": the scope may stand behind words that only introduce it.
    for rest in (body, _plain(body)):
        shorter, count = _GLOBAL.subn("", rest, count=1)
        if count and shorter.strip():
            return Scope.GLOBAL, shorter.strip()
    return scope, body


def is_for_rules(text: str) -> bool:
    """Whether a request says "add to memory", which asks for a line among the rules."""
    return bool(_ADD_TO_MEMORY.search(text))


def simple_value(text: str) -> Value:
    """A short text as the value it spells: number, boolean, list in brackets, or itself."""
    lowered = text.casefold()
    if lowered in ("true", "false"):
        return lowered == "true"
    if re.fullmatch(r"[-+]?(?:0|[1-9][0-9]{0,14})", text):
        return int(text)
    # 3.10 is a version, not 3.1: only what a number prints as is one.
    if re.fullmatch(r"-?[0-9]{1,12}\.[0-9]{1,12}", text) and repr(float(text)) == text:
        return float(text)
    if text.startswith("[") and text.endswith("]"):
        return [simple_value(part.strip().strip("'\"")) for part in text[1:-1].split(",") if part.strip()]
    return text.strip("'\"") if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _lesson(body: str) -> dict[str, Value] | None:
    arrows = _LESSON.match(body)
    if arrows and (arrows[3] or body.casefold().startswith("lesson")):
        parts = [part.strip() for part in arrows.groups() if part]
        return dict(zip(("issue", "outcome", "fix") if len(parts) == 3 else ("issue", "fix"), parts, strict=True))
    fixed = _FIXED.match(body)
    if fixed and not re.search(r"\b(?:be|been|being|should|must|will|can|gets?)$", fixed[1].strip(), re.IGNORECASE):
        return {"issue": fixed[1].strip(), "fix": fixed[2].strip().rstrip(".")}
    return None


def _lesson_name(lesson: Mapping[str, Value]) -> str:
    issue = re.sub(r"^(?:the|a|an|our|my)\s+", "", str(lesson.get("issue", "")), flags=re.IGNORECASE)
    # "The bug" is fixed more than once; a short issue is told apart by its fix.
    return slug(issue if len(issue.split()) > 1 else f"{issue} {lesson.get('fix', '')}", most=32)


def is_derived(key: str, text: str, value: Value) -> bool:
    """Whether a key was made from what its record says, so that it would give the text away."""
    if isinstance(value, dict) and "issue" in value:
        return key == f"lessons.{_lesson_name(value)}"
    return key == parse(text).key


def _classified(core: str) -> tuple[Kind, Triple]:
    body, reason = _split_reason(core)
    disliked = _DISLIKE.match(body)
    if disliked:
        return Kind.PREFERENCE, _negative(disliked[1], reason)
    never = _NEVER.match(body)
    if never:
        kind = Kind.PREFERENCE if _SOFT.match(body) else Kind.CONSTRAINT
        return kind, _negative(never[1], reason)
    always = _ALWAYS.match(body)
    if always:
        return Kind.RULE, _positive(always[1], reason, "always")
    rather = _RATHER.match(body)
    if rather:
        return Kind.PREFERENCE, (_short(rather[1]), "prefer_over", _short(rather[2]))
    prefer = _PREFER.match(body) or _I_USE.match(body)
    if prefer:
        return Kind.PREFERENCE, _preferred(prefer[1], reason)
    modal = _MODAL.match(body)
    if modal and not re.match(r"(?:i|we|there|it|this|that|no)\b", modal[1], re.IGNORECASE):
        negative = re.search(r"not|n't|never", modal[2], re.IGNORECASE)
        triple = (_short(modal[1]), "must_not" if negative else "must", _short(modal[3]))
        return Kind.CONSTRAINT if negative else Kind.RULE, triple
    if _USE.match(body):
        return Kind.RULE, _positive(body, reason, "")
    named = _IS.match(body)
    if named:
        predicate = "is" if _ATTRIBUTE.match(named[1]) else "noted_as"
        return Kind.PREFERENCE, (_short(named[1]), predicate, _short(named[2]))
    purpose = _PURPOSE.match(body)
    if purpose:
        return Kind.PREFERENCE, (_short(purpose[1]), "applies_to", _short(purpose[2]))
    return Kind.PREFERENCE, (_short(body), "noted", reason or "general")


def _split_reason(core: str) -> tuple[str, str]:
    found = _BECAUSE.search(core)
    if not found or found.start() == 0:
        return core.rstrip(" .!"), ""
    reason = (found[1] or found[2] or "").strip(" .!")
    reason = re.sub(
        r"^(?:it(?:'s| is)|they(?:'re| are)|this is|that(?:'s| is)|of)\s+(?:too |very |so |really )?",
        "",
        reason,
        flags=re.I,
    )
    return core[: found.start()].rstrip(" .!,"), _short(reason)


def _negative(rest: str, reason: str) -> Triple:
    verb, thing = _verb(rest)
    if _REPEATED.search(thing):
        subject = _short(_REPEATED.sub(" ", thing))
        return subject, f"avoid_repeated_{verb}s" if verb else "avoid_repeats", reason or "general"
    over = _OVER.match(thing)
    if over:
        return _short(over[2]), "prefer_over", _short(over[1])
    purpose = _PURPOSE.match(thing)
    if purpose:
        return _short(purpose[1]), f"avoid_{verb}" if verb else "avoid", _short(purpose[2])
    return _short(thing), f"avoid_{verb}" if verb and verb != "use" else "avoid", reason or "general"


def _positive(rest: str, reason: str, lead: str) -> Triple:
    verb, thing = _verb(rest)
    over = _OVER.match(thing)
    if over:
        return _short(over[1]), "prefer_over", _short(over[2])
    predicate = "_".join(part for part in (lead if verb != "use" else "", verb) if part) or "use"
    chosen = _FOR.match(thing) if verb == "use" else None
    if chosen:
        # The purpose is the subject: two tools for one purpose are then seen to oppose each other.
        return _short(chosen[2]), "use", _short(chosen[1])
    purpose = _PURPOSE.match(thing)
    if purpose:
        return _short(purpose[1]), predicate, _short(purpose[2])
    return _short(thing), predicate, reason or "general"


def _preferred(rest: str, reason: str) -> Triple:
    over = _OVER.match(rest)
    if over:
        return _short(over[1]), "prefer_over", _short(over[2])
    chosen = _FOR.match(rest)
    if chosen:
        return _short(chosen[2]), "prefer", _short(chosen[1])
    purpose = _PURPOSE.match(rest)
    if purpose:
        return _short(purpose[1]), "prefer", _short(purpose[2])
    return _short(rest), "prefer", reason or "general"


def _verb(rest: str) -> tuple[str, str]:
    words = rest.split(None, 1)
    first = words[0].casefold() if words else ""
    verb = _GERUNDS.get(first, first)
    return (verb, words[1]) if len(words) == 2 and verb in _VERBS else ("", rest)


def _short(text: str, most: int = 48) -> str:
    """A part of a triple: articles out, lower case. What is too long is cut and told apart by a digest of the whole."""
    text = re.sub(
        r"^(?:(?:the|a|an|any|my|our|your|all|to|with|in|on|at|from)\s+)+", "", text.strip(" .!,;:\"'`"), flags=re.I
    )
    whole = "_".join(text.casefold().replace("|", "/").split()).strip("_.,;:")
    if len(whole) <= most:
        return whole or "general"
    cut = whole[: most - 7].rsplit("_", 1)[0] if "_" in whole[: most - 7] else whole[: most - 7]
    return f"{cut}_{short_digest(whole)[:6]}"


def _fact(core: str) -> tuple[str, Value] | None:
    """Key and value of "my X is Y", keyed by X alone, so that a later Y replaces the earlier one."""
    named = _IS.match(core.rstrip(" .!"))
    attribute = _ATTRIBUTE.match(named[1]) if named else None
    if named is None or attribute is None:
        return None
    return f"{_topic(core)}.{slug(attribute[1], most=36)}", simple_value(named[2].strip())


def _topic(core: str) -> str:
    words = set(re.findall(r"[\w-]+", core.casefold()))
    return next((name for name, vocabulary in _TOPICS if words & set(vocabulary.split())), "general")


def _key(core: str, triple: Triple) -> str:
    """A name made from the sentence's telling words; where they are too many, a digest tells such sentences apart."""
    telling = [
        word
        for word in (each.strip(".-") for each in re.findall(r"[\w.+#-]+", core.casefold()))
        if word and word not in STOP_WORDS and (len(word) > 1 or word.isdigit())
    ]
    telling = [word for word in telling if word not in _FILLERS]
    name = slug(" ".join(telling[:5]) or triple[0], most=36)
    if len(telling) > 5 or len(" ".join(telling)) > 36:
        name = f"{name}-{short_digest(normalised(core))[:4]}"
    return f"{_topic(core)}.{name}"


def _sentence(text: str) -> str:
    """One clean sentence: spaces folded, first letter large, a full stop."""
    folded = " ".join(text.split()).rstrip(" .")
    if not folded:
        return folded
    ending = "" if folded[-1] in "!?…" or ord(folded[-1]) > 0x2E80 else "."
    # The first word may be code: src/app.py, run_tests(), snake_case.
    if folded[0].islower() and not re.match(r"\w*[./(_=:\d]", folded):
        folded = folded[0].upper() + folded[1:]
    return folded + ending
