"""Several machines of one person meet in a folder or a git repository: the same bytes in the end, and nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byheart.app.open import Surroundings
from byheart.app.sync import CONFLICTS, Synced, sync
from byheart.domain.errors import BadInput, ByheartError
from byheart.domain.records import Request, Scope
from byheart.testing import Bench

# More with SYNC=300, as before a release.
EXAMPLES = int(os.environ.get("SYNC", "40"))
WORDS = ("pnpm", "tabs", "ruff", "helix", "zsh", "meson")


def machine(folder: Path, name: str) -> Bench:
    place = folder / name
    place.mkdir()
    return Bench(str(place))


def around(bench: Bench) -> Surroundings:
    return Surroundings(folder=bench.project, environment=bench.environment, flags=bench.flags, clock=bench.clock)


def met(bench: Bench, where: Path) -> Synced:
    done = sync(around(bench), str(where))
    assert done.problems == []
    return done


def texts(bench: Bench) -> set[str]:
    return {hit.record.text for hit in bench.memory.list(scopes=[Scope.GLOBAL]).hits}


def said(bench: Bench, text: str) -> None:
    bench.memory.remember(Request(text=f"global: {text}"))


@pytest.fixture(params=["folder", "git"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return meeting(tmp_path, request.param)


def meeting(folder: Path, kind: str) -> Path:
    found = folder / "shared"
    found.mkdir()
    if kind == "git":
        subprocess.run(["git", "init", "-q", "--bare", str(found)], check=True)
    return found


def test_what_either_machine_was_told_is_on_both_with_the_same_bytes(tmp_path: Path, place: Path) -> None:
    one, other = machine(tmp_path, "one"), machine(tmp_path, "other")
    said(one, "I prefer pnpm")
    said(one, "never push to main")
    said(other, "I prefer short answers")
    for bench in (one, other, one):
        met(bench, place)
    assert texts(one) == texts(other) and len(texts(one)) == 3
    assert files(one) == files(other)


def files(bench: Bench) -> dict[str, bytes]:
    home = Path(bench.home)
    found = {str(path.relative_to(home)): path.read_bytes() for path in sorted((home / "global").glob("mem*"))}
    # One that was emptied is as one that was never made.
    return {name: content for name, content in found.items() if content}


def test_what_one_machine_forgot_is_gone_from_the_other_and_not_learnt_again(tmp_path: Path, place: Path) -> None:
    one, other = machine(tmp_path, "one"), machine(tmp_path, "other")
    said(one, "I prefer quagga")
    for bench in (one, other):
        met(bench, place)
    one.memory.forget("I prefer quagga.", scope=Scope.GLOBAL)
    for bench in (one, other):
        met(bench, place)
    assert texts(one) == texts(other) == set()
    with pytest.raises(ByheartError, match="forgotten"):
        other.memory.remember(Request(text="I prefer quagga", scope=Scope.GLOBAL, asked=False))


def test_two_versions_of_one_entry_the_newer_stands_and_both_are_kept(tmp_path: Path, place: Path) -> None:
    one, other = machine(tmp_path, "one"), machine(tmp_path, "other")
    said(one, "my editor is helix")
    for bench in (one, other):
        met(bench, place)
    path = "global/memories.md"
    for bench, editor in ((one, "kakoune"), (other, "zed")):
        file = Path(bench.home, path)
        file.write_text(file.read_text().replace("helix", editor), encoding="utf-8")
    done = [met(bench, place) for bench in (one, other, one)]
    assert files(one) == files(other)
    assert any(each.conflicts for each in done)
    kept = "".join(Path(bench.home, "global", CONFLICTS).read_text() for bench in (one, other) if Path(bench.home, "global", CONFLICTS).exists())  # fmt: skip
    assert "kakoune" in kept and "zed" in kept


def test_what_is_labelled_secret_stays_on_its_machine(tmp_path: Path, place: Path) -> None:
    one, other = machine(tmp_path, "one"), machine(tmp_path, "other")
    store = one.memory.journal(Scope.GLOBAL)
    store.append({"text": "The quagga deploys on Mondays"})
    store.append({"text": "The gopher band is seven", "provenance": {"sensitivity": "secret"}})
    for bench in (one, other, one):
        met(bench, place)
    assert any("quagga" in each.text for each in other.memory.journal(Scope.GLOBAL).read_all())
    for path in [*place.rglob("*"), *Path(other.home).rglob("*")]:
        assert not path.is_file() or b"gopher" not in path.read_bytes(), path
    assert any("gopher" in each.text for each in one.memory.journal(Scope.GLOBAL).read_all())


def test_nothing_happens_without_a_place_to_meet(tmp_path: Path) -> None:
    bench = machine(tmp_path, "one")
    with pytest.raises(BadInput, match="Name a folder or a git repository"):
        sync(around(bench), "")
    with pytest.raises(BadInput, match="neither a folder"):
        sync(around(bench), str(tmp_path / "none"))


def test_paths_that_others_put_there_lead_nowhere(tmp_path: Path) -> None:
    bench, place = machine(tmp_path, "one"), meeting(tmp_path, "folder")
    top = place / "byheart"
    for name in ("config.toml", "state/gateway.json", "projects/x/handbook/MEMORY.md", "global/extra.sh"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x = 1\n")
    (top / "global" / "memories.ndjson").symlink_to("/etc/passwd")
    done = met(bench, place)
    assert done.taken == []
    assert not Path(bench.home, "config.toml").exists() and not Path(bench.home, "global", "extra.sh").exists()


DEEDS = st.lists(
    st.tuples(st.sampled_from((0, 1)), st.sampled_from(("say", "forget", "edit", "sync")), st.sampled_from(WORDS)),
    max_size=12,
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(deeds=DEEDS, kind=st.sampled_from(("folder", "git")))
def test_any_interleaving_ends_with_the_same_bytes_and_loses_nothing(
    deeds: list[tuple[int, str, str]], kind: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        where = meeting(top, kind)
        homes = [machine(top, "one"), machine(top, "other")]
        wanted: dict[str, bool] = {}
        for at, deed, word in deeds:
            bench = homes[at]
            if deed == "say":
                said(bench, f"never use {word} here")
                wanted[word] = True
            elif deed == "forget":
                try:
                    bench.memory.forget(f"Never use {word} here.", scope=Scope.GLOBAL)
                except ByheartError:
                    continue
                # Whoever had said it too keeps it, where the two had not met yet.
                wanted.pop(word, None)
            elif deed == "edit":
                rules = Path(bench.home, "global", "memories.ndjson")
                row = {"k": "rule", "t": [word, "noted", f"{at}"], "w": 1, "n": f"{word} was noted by {at}."}
                rules.parent.mkdir(parents=True, exist_ok=True)
                with open(rules, "a", encoding="utf-8") as stream:
                    stream.write(json.dumps(row) + "\n")
                wanted[f"{word} was noted by {at}"] = True
            else:
                met(bench, where)
        for bench in (*homes, *homes):
            met(bench, where)
        assert files(homes[0]) == files(homes[1])
        told = "\n".join(texts(homes[0]))
        assert all(word in told for word in wanted), (wanted, told)
