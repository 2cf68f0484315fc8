"""A process that learns, for tests that run several or kill one."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.learning.world import World


def main() -> None:
    """Learn once, and say what it came to."""
    world = World(Path(sys.argv[1]))
    report = world.learn()
    refused = [each.refused for each in report.projects if each.refused]
    print(len(report.learnt), report.nothing, report.skipped, report.failed, refused, flush=True)


if __name__ == "__main__":
    main()
