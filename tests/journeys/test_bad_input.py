"""Bad input of each kind: the message says what and where, the exit code is right, the bytes are untouched."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from byheart.testing import Bench
from tests.conftest import Cli, Outcome, as_shown

GOOD = "```yaml\nsaved_memory:\n  items:\n    - {key: a.b, value: x, confidence: high}\n```\n"


def refused(done: Outcome, code: int, *words: str) -> None:
    assert done.code == code, done
    assert done.out == ""
    for word in words:
        # Paths are shown from ~ on.
        assert re.sub(r"^/\S*?/(?=(?:project|home)/)", "~/", word) in done.err, done.err
    assert "Traceback" not in done.err
    assert "internal error" not in done.err


@pytest.mark.parametrize("command", ["import", "check", "convert"])
def test_missing_file_is_named(cli: Cli, command: str) -> None:
    more = ["--to", "rules"] if command == "convert" else []
    refused(cli(command, "nowhere.md", *more), 2, "nowhere.md", "does not exist")


def test_folder_in_place_of_a_file_is_named_and_left_alone(bench: Bench, cli: Cli) -> None:
    folder = Path(bench.project, "memories.md")
    folder.mkdir()
    refused(cli("remember", "--key", "a.b", "x"), 3, str(folder), "a folder stands where a file is expected")
    assert list(folder.iterdir()) == []


def test_file_in_place_of_a_folder_is_named_and_left_alone(bench: Bench, cli: Cli) -> None:
    path = bench.put("docs", "I am a file")
    bench.flags = ()
    done = cli("--set", "store.in_repo=true", "remember", "never guess")
    refused(done, 3, "'docs' is not a folder")
    assert Path(path).read_text(encoding="utf-8") == "I am a file"


def powerless(cli: Cli, *arguments: str) -> Outcome:
    """Run the command line without root's power to read and write whatever the modes say."""
    if os.geteuid() != 0:
        return cli(*arguments)
    lower = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]
    if subprocess.run([*lower, "true"], capture_output=True).returncode:
        pytest.skip("root's power over file modes cannot be given up on this machine")
    return cli(*arguments, under=lower)


def test_unreadable_file_is_named_and_left_alone(bench: Bench, cli: Cli) -> None:
    path = bench.put("memories.md", GOOD)
    os.chmod(path, 0)
    refused(powerless(cli, "remember", "--key", "c.d", "x"), 5, path, "permission denied; it cannot be read")
    os.chmod(path, 0o600)
    assert Path(path).read_text(encoding="utf-8") == GOOD


def test_file_that_is_not_utf8_is_named_with_its_line_and_left_alone(bench: Bench, cli: Cli) -> None:
    content = GOOD.encode() + b"caf\xe9\n"
    bench.trust()
    path = Path(bench.project, "memories.md")
    path.write_bytes(content)
    refused(cli("remember", "--key", "c.d", "x"), 5, "line 6 is not valid UTF-8", "save the file as UTF-8")
    refused(cli("profile"), 5, "line 6 is not valid UTF-8")
    assert path.read_bytes() == content


def test_file_of_100_megabytes_is_named_and_left_alone(bench: Bench, cli: Cli) -> None:
    bench.trust()
    path = Path(bench.project, "memories.md")
    with path.open("wb") as stream:
        stream.write(GOOD.encode())
        stream.truncate(100_000_000)
    refused(cli("remember", "--key", "c.d", "x"), 5, "100,000,000 bytes is more than the limit of 16,000,000")
    refused(cli("profile"), 5, "100,000,000 bytes")
    assert path.stat().st_size == 100_000_000


def test_folder_that_cannot_be_written_gives_a_message_and_changes_nothing(bench: Bench, cli: Cli) -> None:
    path = bench.put("memories.md", GOOD)
    os.chmod(bench.project, 0o500)
    refused(powerless(cli, "remember", "--key", "c.d", "x"), 5, "permission denied; it cannot be written")
    os.chmod(bench.project, 0o700)
    assert Path(path).read_text(encoding="utf-8") == GOOD


def test_read_only_disk_gives_a_message_and_changes_nothing(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting needs root's rights, which this machine does not give")
    try:
        bench.trust(str(disk))
        (disk / "memories.md").write_text(GOOD, encoding="utf-8")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        refused(cli("remember", "--key", "c.d", "x", folder=str(disk)), 5, "the disk is read-only")
        assert cli("profile", folder=str(disk)).out == "- a.b: x\n"
        assert (disk / "memories.md").read_text(encoding="utf-8") == GOOD
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_full_disk_gives_a_message_and_the_old_file_stands(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("mounting needs root's rights, which this machine does not give")
    try:
        bench.trust(str(disk))
        (disk / "memories.md").write_text(GOOD, encoding="utf-8")
        (disk / "docs/memory").mkdir(parents=True)
        (disk / "docs/memory/memories.ndjson").write_text("", encoding="utf-8")
        with (disk / "filler").open("wb") as stream:
            try:
                stream.write(b"x" * 40_000)
                stream.flush()
            except OSError:
                pass
        refused(
            cli("remember", "--key", "c.d", "x", folder=str(disk)), 5, "the disk is full; the old file is unchanged"
        )
        refused(cli("remember", "never guess", folder=str(disk)), 5, "the disk is full; the old file is unchanged")
        assert (disk / "memories.md").read_text(encoding="utf-8") == GOOD
        assert (disk / "docs/memory/memories.ndjson").read_text(encoding="utf-8") == ""
        assert not list(disk.rglob(".byheart-*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_file_marked_read_only_is_left_alone(bench: Bench, cli: Cli) -> None:
    path = bench.put("memories.md", GOOD)
    os.chmod(path, 0o444)
    refused(cli("remember", "--key", "c.d", "x"), 5, path, "marked read-only", "chmod u+w")
    assert Path(path).read_text(encoding="utf-8") == GOOD


def test_broken_yaml_is_named_with_its_line_and_left_alone_by_looking(bench: Bench, cli: Cli) -> None:
    text = "Intro\n\n```yaml\nsaved_memory:\n  items: [\n```\n"
    path = bench.put("memories.md", text)
    refused(cli("list"), 5, as_shown(bench, f"{path}:5"), "[broken-yaml]")
    assert cli("check").code == 3
    assert as_shown(bench, f"{path}:5") in cli("check").out
    assert Path(path).read_text(encoding="utf-8") == text


def test_broken_line_is_named_and_all_others_work(bench: Bench, cli: Cli) -> None:
    text = '{"k":"rule","t":["a","use","b"],"w":1,"n":"Use b."}\n{"k":"rule"\n{"k":"rule","t":["c","use","d"],"w":1,"n":"Use d."}\n'
    path = bench.put("docs/memory/memories.ndjson", text)
    done = cli("list")
    assert (done.code, done.out.count("\n")) == (0, 2)
    assert as_shown(bench, f"{path}:2: not valid JSON [broken-line]") in done.err
    assert cli("remember", "never guess").code == 0
    assert Path(path).read_text(encoding="utf-8").startswith(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[profile]\nbulets = 3\n", ("profile.bulets", "is not a known setting", "profile.bullets")),
        ("[profiles]\nbullets = 3\n", ("'profiles'", "is not a known table", "[profile]")),
        ("[profile]\nbullets = 99\n", ("out of range", "from 1 to 15")),
        ("[profile]\nbullets = true\n", ("wrong kind", "from 1 to 15")),
        ('[memory]\nenabled = "yes"\n', ("wrong kind", "true or false")),
        ('[output]\ncolor = "pink"\n', ("unknown value 'pink'", "auto, always, never")),
        ("[profile\n", ("is not valid TOML",)),
    ],
)
def test_unknown_or_wrong_key_is_named_with_file_and_what_is_allowed(
    bench: Bench, cli: Cli, text: str, words: tuple[str, ...]
) -> None:
    config = Path(bench.home, "config.toml")
    config.parent.mkdir()
    config.write_text(text, encoding="utf-8")
    refused(cli("profile"), 2, str(config), *words)
    assert sorted(os.listdir(bench.home)) == ["config.toml"]


def test_unknown_variable_and_flag_are_named(cli: Cli) -> None:
    refused(cli("profile", BYHEART_PROFILE_BULETS="3"), 2, "BYHEART_PROFILE_BULETS", "BYHEART_PROFILE_BULLETS")
    refused(cli("--set", "profile.bulets=3", "profile"), 2, "profile.bulets", "profile.bullets")
    refused(cli("profile", BYHEART_HOME="relative"), 2, "BYHEART_HOME", "absolute")


@pytest.mark.parametrize(
    "arguments",
    [
        ["remember"],
        ["remember", ""],
        ["remember", "--key", "a\nb", "x"],
        ["remember", "x", "--value", "[1,"],
        ["remember", "--issue", "x"],
    ],
)
def test_unusable_request_is_refused_with_a_reason(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert done.err.startswith("byheart: ")


def test_symlinked_notebook_is_refused_and_its_target_untouched(bench: Bench, cli: Cli) -> None:
    target = Path(bench.folder, "victim.md")
    target.write_text(GOOD, encoding="utf-8")
    os.symlink(target, os.path.join(bench.project, "memories.md"))
    refused(cli("remember", "--key", "c.d", "x"), 3, "symbolic link")
    assert target.read_text(encoding="utf-8") == GOOD


def test_error_as_json_has_class_message_and_exit_code(cli: Cli) -> None:
    import json

    done = cli("forget", "nothing", "--json")
    assert done.code == 1
    assert json.loads(done.err)["error"] == "NothingFound"


def test_forgetting_is_not_done_unasked_where_nobody_can_be_asked(bench: Bench, cli: Cli) -> None:
    bench.remember("I prefer tabs")
    for given in ("", "n\n", "y\n"):
        done = cli("forget", "I prefer tabs", given=given)
        assert (done.code, "--yes" in done.err) == (3, True)
    assert len(bench.memory.list().hits) == 1


def test_every_command_works_in_the_root_folder(cli: Cli) -> None:
    for words in (("brief",), ("status",), ("list",), ("learn",), ("recall", "x")):
        assert cli(*words, folder="/").code in (0, 1), words
