"""Pictures as inline SVG, each with its numbers in a table behind it. No style of their own: the page's colours apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDE, _HIGH, _FOOT, _HEAD = 640, 160, 22, 14


def bars(title: str, rows: Sequence[tuple[str, float]], unit: str = "") -> Markup:
    """A bar for each row, and the rows as a table."""
    if not rows:
        return Markup("")
    top = max(value for _, value in rows) or 1
    width = _WIDE / len(rows)
    room = _HIGH - _FOOT - _HEAD
    parts = []
    for place, (name, value) in enumerate(rows):
        high = room * value / top
        left = place * width
        parts.append(
            Markup('<g><title>{}: {} {}</title><rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>').format(
                name, _shown(value), unit, left + width * 0.15, _HEAD + room - high, width * 0.7, max(high, 1 if value else 0)
            )
            + Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(left + width / 2, _HIGH - 6, name[:12])
            + (Markup('<text class="value" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(left + width / 2, _HEAD + room - high - 3, _shown(value)) if value else "")
            + Markup("</g>")
        )  # fmt: skip
    svg = Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="xMidYMid meet">{}</svg>').format(title, _WIDE, _HIGH, Markup("").join(parts))  # fmt: skip
    table = Markup("").join(Markup("<tr><th scope=row>{}</th><td>{} {}</td></tr>").format(name, _shown(value), unit) for name, value in rows)  # fmt: skip
    return Markup('<figure class="plot"><figcaption>{}</figcaption>{}<details><summary>Numbers</summary><table>{}</table></details></figure>').format(escape(title), svg, table)  # fmt: skip


def stacked(title: str, names: Sequence[str], groups: dict[str, Sequence[int]]) -> Markup:
    """Bars with a part for each group, a legend, and the numbers as a table."""
    # Who has nothing to show is no part of the picture.
    groups = {group: values for group, values in groups.items() if any(values)}
    totals = [sum(values[place] for values in groups.values()) for place in range(len(names))]
    if not any(totals):
        return Markup("")
    top, width, room = max(totals), _WIDE / len(names), _HIGH - _FOOT - _HEAD
    parts = []
    for place, name in enumerate(names):
        floor = float(_HEAD + room)
        for number, (group, values) in enumerate(groups.items()):
            high = room * values[place] / top
            floor -= high
            parts.append(Markup('<g><title>{} {}: {}</title><rect class="part{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/></g>').format(group, name, values[place], number % 8, place * width + width * 0.15, floor, width * 0.7, high))  # fmt: skip
        parts.append(Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(place * width + width / 2, _HIGH - 6, name))  # fmt: skip
        if totals[place]:
            parts.append(Markup('<text class="value" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(place * width + width / 2, floor - 3, _shown(totals[place])))  # fmt: skip
    svg = Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(title, _WIDE, _HIGH, Markup("").join(parts))  # fmt: skip
    legend = Markup("").join(Markup('<li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="part{}" width="10" height="10"/></svg>{}</li>').format(number % 8, group) for number, group in enumerate(groups))  # fmt: skip
    head = Markup("").join(Markup("<th scope=col>{}</th>").format(name) for name in names)
    rows = Markup("").join(Markup("<tr><th scope=row>{}</th>{}</tr>").format(group, Markup("").join(Markup("<td>{}</td>").format(value) for value in values)) for group, values in groups.items())  # fmt: skip
    return Markup('<figure class="plot"><figcaption>{}</figcaption>{}<ul class="legend">{}</ul><details><summary>Numbers</summary><table><tr><td></td>{}</tr>{}</table></details></figure>').format(title, svg, legend, head, rows)  # fmt: skip


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
