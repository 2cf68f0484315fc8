"""Every agent and generation as a readable transcript. `make golden` rewrites what is expected; read the difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from byheart.agents import agent as sources
from byheart.interfaces.transcripts import turn_lines
from tests.agents.homes import NAMES, every_transcript, home, taken

GOLDEN = Path(__file__).with_name("golden")


def rendered(place: Path) -> str:
    """All sessions of a home, with what was skipped."""
    rows = []
    for source, found in every_transcript(place):
        reading = source.read(found, None)
        for read in taken(reading).values():
            session = read.session
            # aider's sessions have no name of their own; what we call them depends on where they lie.
            own = session.id.rsplit("-", 1)[0] if session.agent == "aider" else session.id
            rows.append(f"== {session.agent} {own}")
            for name in (
                "version",
                "cwd",
                "branch",
                "commit",
                "remote",
                "parent",
                "title",
                "model",
                "memory_mode",
                "closed",
            ):
                if (value := getattr(session, name)) is not None:
                    rows.append(f"   {name}: {str(value).replace(str(place), '~')}")
            times = [f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else "-" for at in (session.started, session.ended)]
            # aider writes the machine's own time.
            rows.append(f"   from {times[0]} to {times[1]}" if session.agent != "aider" else "   dated")
            for turn in read.turns.values():
                rows += list(turn_lines(turn))
        tally = reading.tally
        counts = {name: dict(getattr(tally, name)) for name in ("skipped", "unknown", "mended") if getattr(tally, name)}
        rows += [f"-- {tally.known_lines} of {tally.lines} lines known" + (f", {counts}" if counts else ""), ""]
    return "\n".join(rows)


@pytest.mark.parametrize("name", NAMES)
def test_transcript_reads_as_expected(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = rendered(home(name, tmp_path))
    expected = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        expected.parent.mkdir(exist_ok=True)
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


def test_every_agent_has_a_home() -> None:
    shown = "".join((GOLDEN / f"{name}.txt").read_text(encoding="utf-8") for name in NAMES)
    missing = [
        agent for agent in sources.names() if f"== {agent} " not in shown and agent not in ("generic", "kilo-code")
    ]
    assert missing == []
