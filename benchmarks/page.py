"""Measures how soon each view of the page answers; prints a table and, last, one line of JSON.

    python benchmarks/page.py [--records 10000] [--sessions 200] [--runs 15]

Wall time of a request on loopback, and what the first page loads in all.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.transcripts import Story, write

from byheart.testing import Bench

BYHEART = str(Path(sys.executable).with_name("byheart"))
VIEWS = ("", "brief", "memory", "memory?query=topic", "sessions", "sessions?query=bell", "skills", "inbox", "history", "machine", "settings")  # fmt: skip


def home(folder: str, records: int, sessions: int) -> Bench:
    """A home with so many rules, and so many sessions that were learnt from."""
    bench = Bench(folder, flags=("recall.embedder=none",))
    own = Path(bench.home, "projects", bench.opened().project.id)
    own.mkdir(parents=True)
    rule = '{{"k":"preference","t":["topic {0}","prefers","way {0}"],"w":1,"n":"Prefer way {0} for topic {0} in all of the code."}}\n'
    (own / "memories.ndjson").write_text("".join(rule.format(number) for number in range(records)))
    for number in range(sessions):
        events: list[tuple[object, ...]] = [
            ("user", f"Mend bell {number} of the long hall."),
            ("run", "make test", "Error: bell broken", 2),
            ("edit", f"hall/bell{number}.py"),
            ("run", "make test", "48 passed in 2.10s", 0),
        ]
        name = f"5e55{number:04d}-4b7c-4d2e-9f10-0c0ffee0{number:04d}"
        began = f"2026-05-{1 + number % 28:02d}T{number % 24:02d}:00:00"
        write(Story("claude-code", name, bench.project, began, events, extra={}), Path(folder))
    return bench


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--runs", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = home(folder, given.records, given.sessions)
        environment = {**os.environ, **bench.environment}
        for words in (["learn"], ["brief", "--prepare"], ["recall", "topic"]):
            subprocess.run([BYHEART, *words], env=environment, cwd=bench.project, capture_output=True, check=False)
        child = subprocess.Popen([BYHEART, "serve"], env=environment, cwd=bench.project, stdout=subprocess.PIPE, text=True)  # fmt: skip
        try:
            assert child.stdout
            link = next(found[0] for line in child.stdout if (found := re.search(r"http://\S+", line)))
            rows, loaded = measured(link, given.runs)
        finally:
            child.terminate()
            child.wait()
    for row in rows:
        print(f"/{row['view']:<24}{row['ms']:>8} ms  {row['bytes']:>9,} bytes")
    print(f"first page with its style and script: {loaded:,} bytes")
    print(json.dumps({"records": given.records, "sessions": given.sessions, "views": rows, "loaded": loaded}))


def measured(link: str, runs: int) -> tuple[list[dict[str, object]], int]:
    """Each view with the median of its answers, and what the first page loads."""
    host = link.split("/")[2]
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", "/" + link.split("/", 3)[3])
    answer = connection.getresponse()
    answer.read()
    cookie = str(answer.getheader("Set-Cookie")).partition(";")[0]

    def ask(path: str) -> tuple[float, int]:
        began = time.perf_counter()
        connection.request(
            "GET", path, headers={"Cookie": cookie, "Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
        )
        found = connection.getresponse()
        body = found.read()
        assert found.status == 200, (path, found.status, body[:300])
        return (time.perf_counter() - began) * 1000, len(body)

    rows: list[dict[str, object]] = []
    for view in VIEWS:
        ask(f"/{view}")
        taken = []
        for _ in range(runs):
            taken.append(ask(f"/{view}"))
            # As fast as a person clicks, so that nobody is told to wait.
            time.sleep(0.1)
        rows.append({"view": view, "ms": round(statistics.median(ms for ms, _ in taken), 1), "bytes": taken[0][1]})
    return rows, sum(ask(path)[1] for path in ("/", "/static/app.css", "/static/app.js"))


if __name__ == "__main__":
    main()
