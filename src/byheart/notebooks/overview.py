"""Looking: recall, list, show, the Active Profile and the rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from byheart.domain.errors import Environment, Unnatural
from byheart.domain.records import Confidence, Kind, Placed, Record, Scope, leaves
from byheart.domain.results import Finding, Hit, Listing, ProfileView
from byheart.domain.values import dataclass, replace
from byheart.journal.format import conceals
from byheart.language import opposition
from byheart.text.lines import unescaped
from byheart.workspace import ranking
from byheart.workspace.context import (
    JOURNAL,
    PROFILE,
    RULES,
    Context,
    OpenedDocument,
    every,
    find_one,
    hits,
    is_enabled,
    opened,
    without_secrets,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One file as a person may see it."""

    scope: Scope
    dialect: str
    path: str
    exists: bool
    text: str
    problems: tuple[Finding, ...]


def listing(
    context: Context, scopes: Sequence[Scope], names: Sequence[str], kind: Kind | None, tag: str | None
) -> Listing:
    """Every record of these scopes and formats, in file order, filtered."""
    documents, problems = every(context, scopes, names)
    found = [
        hit
        for each in documents
        for hit in noted(each)
        if not hit.record.is_secret
        and (kind is None or hit.record.kind is kind)
        and (tag is None or tag in hit.record.tags)
    ]
    return Listing(hits=tuple(without_secrets(context, found)), problems=tuple(problems))


def noted(each: OpenedDocument) -> list[Hit]:
    """The document's hits, each with a note where another entry overrules it."""
    found = hits(each)
    if each.dialect.name != RULES:
        return found
    # What came with the repository overrules nothing that the user said.
    own = [at for at in range(len(found)) if at not in each.strangers]
    standing = opposition.standing(each.own)
    for loser, master in standing.overruled.items():
        winner = found[own[master]]
        found[own[loser]] = replace(found[own[loser]], note=f"overruled by {winner.id} (line {winner.line})")
    return found


def show(context: Context, scopes: Sequence[Scope]) -> list[Page]:
    """All files of these scopes as they are, secrets blanked out. Works while memory is off."""
    pages = []
    for scope in scopes:
        for name, place in context.roots[scope].every():
            documents, problems = every(context, [scope], [name], [place])
            document = documents[0] if documents else None
            pages.append(
                Page(
                    scope=scope,
                    dialect=name,
                    path=str(place),
                    exists=document.exists if document else True,
                    text=context.scanner.redacted(_page(context, document)) if document and document.exists else "",
                    problems=tuple(problems),
                )
            )
    return pages


def _page(context: Context, each: OpenedDocument) -> str:
    """A document's text, without what its label keeps in the store, or what is broken so that nobody can read its label."""
    document = each.document
    if each.dialect.name != JOURNAL:
        return document.text
    broken = {problem.line for problem in document.problems}
    secret = {placed.line for placed in document.placed if placed.record.is_secret}
    records = {placed.line for placed in document.placed}
    lines = document.text.split("\n")
    for number, line in enumerate(lines, start=1):
        if number in secret:
            lines[number - 1] = "- (labelled secret)"
        elif number in broken or (number not in records and conceals(line)):
            lines[number - 1] = "- (a broken record; see the file itself)"
        elif "\\u" in line and context.scanner.secrets(unescaped(line)):
            lines[number - 1] = "- (it holds a secret; see the file itself)"
    return "\n".join(lines)


def show_one(context: Context, selector: str, scope: Scope | None) -> Hit:
    """One record in full."""
    return without_secrets(context, [find_one(context, selector, scope)])[0]


def profile(context: Context, scopes: Sequence[Scope], *, activates: bool = True) -> ProfileView:
    """The Active Profile. A notebook that is missing or broken is created or recovered first, as at every activation; only
    looking (`activates` False) changes nothing."""
    local = context.roots[Scope.LOCAL]
    notes: list[str] = []
    if not context.limits.enabled:
        return ProfileView(enabled=False, bullets=(), notes=("memory is off in the configuration",))
    notes += _activated(context) if activates else []
    if not is_enabled(context, local):
        note = f"memory is off in {local.documents[PROFILE]}"
        return ProfileView(enabled=False, bullets=(), notes=(*notes, note))
    documents, problems = every(context, scopes, [PROFILE])
    # A notebook that is switched off lends nothing to the profile, whichever scope it has.
    documents = [each for each in documents if each.document.settings.enabled]
    own = [hit for each in documents for hit in hits(each) if not hit.is_repositorys]
    candidates, unfit = _fit(context, own)
    bullets, left_out = active_profile(candidates, context.limits.profile_bullets)
    return ProfileView(
        enabled=True,
        bullets=tuple(bullets),
        left_out=(*unfit, *left_out),
        notes=tuple(notes),
        problems=tuple(problems),
    )


def _activated(context: Context) -> list[str]:
    root = context.roots[Scope.LOCAL]
    try:
        each = opened(context, root, PROFILE)
        if each.exists and each.document.intact:
            return []
        # Only a first activation and a broken file need the writing half of byheart.
        from byheart.notebooks.setup import settled

        done = settled(context, root)
    except (Environment, Unnatural) as error:
        return [f"the notebook could not be set up: {error}"]
    if done.recovered:
        back = f" (byheart undo {done.id})" if done.undoable else ""
        return [f"{each.place} had no readable block and was recovered; the old content is below it{back}"]
    return list(done.notes)


def _fit(context: Context, found: Sequence[Hit]) -> tuple[list[Hit], list[tuple[str, str]]]:
    """What may be handed to an agent: a person can write anything into the file, so it is scanned on the way out too."""
    # One look at everything: nearly always it is all clean, and then nobody needs to look at each.
    if not _commanding(context, "\n".join(_told(hit.record) for hit in found)):
        return list(found), []
    fit, unfit = [], []
    for hit in found:
        findings = _commanding(context, _told(hit.record))
        if findings:
            name = hit.id if hit.record.triple or not hit.record.key else context.scanner.redacted(hit.record.key)
            unfit.append((name, f"its text {findings[0].message} [{findings[0].rule}]"))
        else:
            fit.append(hit)
    return fit, unfit


def _told(record: Record) -> str:
    """All of a record that would reach a session."""
    parts = [record.text, *leaves(record.value, names=True), *record.tags, record.source or "", *(record.triple or ())]
    if record.triple is None:
        parts.append(f"{record.key}: {record.text}")
    return "\n".join(dict.fromkeys(parts))


def _commanding(context: Context, text: str) -> list[Finding]:
    return [each for each in context.scanner.findings(text) if each.severity not in ("command", "weak")]


def rules(context: Context, scopes: Sequence[Scope], most: int = 0) -> Listing:
    """The three to seven rules of these scopes that matter most, or as many as are wanted; overruled ones are not among them."""
    if not is_enabled(context, context.roots[Scope.LOCAL]):
        return Listing(hits=(), problems=(Finding(rule="disabled", message="memory is off", severity="note"),))
    on = [scope for scope in scopes if is_enabled(context, context.roots[scope])]
    documents, problems = every(context, on, [RULES])
    ranked = []
    for order, each in enumerate(documents):
        by_line = {hit.line: hit for hit in hits(each)}
        for placed in standing_rules(each.own):
            kind, weight, line = ranking.rule_order(placed)
            ranked.append(((kind, weight, order, line), by_line[placed.line]))
    ranked.sort(key=lambda pair: pair[0])
    most = most or max(LEAST_RULES, min(MOST_RULES, context.limits.rules_shown))
    waiting = [hit for _, hit in ranked if not hit.record.needs_confirmation]
    chosen, unfit = _fit(context, waiting[:most])
    if unfit:
        chosen, unfit = _fit(context, waiting)
    problems += [Finding(rule="left-out", message=f"{name}: {why}") for name, why in unfit]
    return Listing(hits=tuple(chosen[:most]), problems=tuple(problems))


def of_repository(context: Context, most: int) -> list[Hit]:
    """What came into the trusted files of this checkout by somebody else's commits, safe to be told as the repository's."""
    if not context.trust.is_trusted or not is_enabled(context, context.roots[Scope.LOCAL]):
        return []
    root = context.roots[Scope.LOCAL]
    names = [name for name, place in root.documents.items() if context.trust.covers(place)]
    documents, _ = every(context, [Scope.LOCAL], names)
    found = [hit for each in documents for hit in hits(each) if hit.is_repositorys and not hit.record.is_secret]
    return _fit(context, found[-most:])[0]


__all__ = ["Page", "listing", "of_repository", "profile", "rules", "show", "show_one"]


LEAST_RULES, MOST_RULES = 3, 7
MOST_BULLETS = 15
_NEAR = 4


def active_profile(hits: Sequence[Hit], most: int) -> tuple[list[Hit], list[tuple[str, str]]]:
    """At most `most` entries that may be applied, and for each one left out, why.

    Hits come with the project's own before the global ones; of one key the project's own, and in a file the later, counts.
    """
    chosen: dict[str, Hit] = {}
    left_out: list[tuple[str, str]] = []
    for hit in hits:
        name = hit.record.key or hit.id
        rival = chosen.get(name)
        if hit.record.needs_confirmation:
            left_out.append((name, "it waits for confirmation"))
        elif not hit.record.text.strip():
            left_out.append((name, "it has no value"))
        elif rival is None:
            chosen[name] = hit
        elif rival.scope == hit.scope:
            chosen[name] = hit
            left_out.append((name, "a later entry has the same key"))
        else:
            left_out.append((name, "the project's own entry counts"))
    most = min(most, MOST_BULLETS)
    ordered = sorted(chosen.values(), key=_profile_order)
    # An edit by hand, or two machines, may leave two that exclude each other: the newer one of a scope counts. Only those that come near
    # being shown are compared, since a file may hold thousands.
    dated = sorted(ordered[: _NEAR * most], key=lambda hit: (hit.record.added or date.min, hit.line or 0))
    beaten: dict[str, Hit] = {}
    for older, newer in opposition.opposing([hit.record.text for hit in dated]):
        if dated[older].scope == dated[newer].scope and dated[newer].id not in beaten:
            beaten[dated[older].id] = dated[newer]
    for hit in (hit for hit in dated if hit.id in beaten):
        winner = beaten[hit.id].record
        left_out.append((hit.record.key or hit.id, f"{winner.key or winner.text} excludes it and is newer"))
    ordered = [hit for hit in ordered if hit.id not in beaten]
    left_out += [(hit.record.key or hit.id, f"only {most} entries are shown") for hit in ordered[most:]]
    return ordered[:most], left_out


def _profile_order(hit: Hit) -> tuple[int, int, int, str]:
    record = hit.record
    confidence = (record.confidence or Confidence.MEDIUM).rank
    age = -(record.added.toordinal() if record.added else 0)
    return (record.kind is Kind.LESSON, -confidence, age, record.key or "")


def standing_rules(placed: Sequence[Placed]) -> list[Placed]:
    """The entries that no other overrules, best first."""
    overruled = opposition.standing(placed).overruled
    standing = [each for index, each in enumerate(placed) if index not in overruled]
    return sorted(standing, key=ranking.rule_order)
