"""Settings in layers, and what a project may do with them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from byheart.app import config, setting_rules
from byheart.app.config import load
from byheart.domain.errors import BadInput, BadSetting
from byheart.testing import Bench
from byheart.workspace.context import Limits
from tests.conftest import Cli


def layered(
    tmp_path: Path,
    user: str = "",
    project: str = "",
    variables: dict[str, str] | None = None,
    flags: tuple[str, ...] = (),
    *,
    is_trusted: bool = False,
) -> config.Config:
    mine, theirs = tmp_path / "config.toml", tmp_path / ".byheart.toml"
    mine.write_text(user, encoding="utf-8")
    theirs.write_text(project, encoding="utf-8")
    return config.load(
        str(mine), str(theirs), variables or {}, flags, vouched=(lambda text: text) if is_trusted else None
    )


def test_defaults_file_has_every_key_and_agrees_with_the_limits(tmp_path: Path) -> None:
    text = Path(config.DEFAULTS).read_text(encoding="utf-8")
    keys = {f"{table}.{key}" for table, content in tomllib.loads(text).items() for key in content}
    assert keys == set(setting_rules.KEYS)
    assert layered(tmp_path).limits == Limits()


def test_later_layers_win_over_earlier_ones(tmp_path: Path) -> None:
    user, variables, flags = "[profile]\nbullets = 9\n", {"BYHEART_PROFILE_BULLETS": "7"}, ("profile.bullets=3",)
    assert layered(tmp_path).limits.profile_bullets == 15
    assert layered(tmp_path, user).limits.profile_bullets == 9
    assert layered(tmp_path, user, "[profile]\nbullets = 8\n").limits.profile_bullets == 8
    assert layered(tmp_path, user, variables=variables).limits.profile_bullets == 7
    assert layered(tmp_path, user, variables=variables, flags=flags).limits.profile_bullets == 3


def test_origin_of_each_setting_is_known(tmp_path: Path) -> None:
    found = layered(tmp_path, "[profile]\nbullets = 9\n", flags=("rules.shown=5",))
    assert found.origins["profile.bullets"] == str(tmp_path / "config.toml")
    assert found.origins["rules.shown"] == "flag --set"
    assert found.origins["recall.results"] == "default"


@pytest.mark.parametrize(
    ("user", "project", "key", "expected"),
    [
        ("[profile]\nbullets = 5\n", "[profile]\nbullets = 12\n", "profile.bullets", 5),
        ("[memory]\nenabled = false\n", "[memory]\nenabled = true\n", "memory.enabled", False),
        ("", "[memory]\nenabled = false\n", "memory.enabled", False),
        ("", "[store]\nin_repo = true\n", "store.in_repo", False),
        ("", '[paths]\nrules = "notes/memories.ndjson"\n', "paths.rules", ""),
    ],
)
def test_project_may_only_narrow(tmp_path: Path, user: str, project: str, key: str, expected: object) -> None:
    assert layered(tmp_path, user, project).values[key] == expected


def test_trusted_project_may_say_where_in_it_memory_lies(tmp_path: Path) -> None:
    text = '[store]\nin_repo = true\n[paths]\nrules = "notes/memories.ndjson"\n'
    found = layered(tmp_path, "", text, is_trusted=True)
    assert (found.values["store.in_repo"], found.values["paths.rules"]) == (True, "notes/memories.ndjson")


@pytest.mark.parametrize(
    "project",
    [
        '[paths]\nprofile = "/etc/passwd"\n',
        '[paths]\nprofile = "../outside.md"\n',
        '[paths]\nrules = "~/x"\n',
        '[paths]\nglobal_rules = "x"\n',
        '[paths]\nprofile = ".git/config"\n',
        '[paths]\nprofile = "README.md"\n',
        '[paths]\nrules = "Makefile"\n',
        '[paths]\nrules = ".hidden/memories.ndjson"\n',
        "[memory]\nenabled = " + "[" * 5000,
        "[store]\nlock_seconds = 1\n",
        '[output]\ncolor = "never"\n',
    ],
)
def test_project_that_reaches_further_is_refused_by_name(tmp_path: Path, project: str) -> None:
    with pytest.raises(BadSetting) as caught:
        layered(tmp_path, project=project)
    assert ".byheart.toml" in str(caught.value)


def test_project_path_through_a_symlink_is_refused(bench: Bench) -> None:
    import os

    from byheart.domain.errors import Unnatural

    os.symlink(bench.folder, os.path.join(bench.project, "out"))
    bench.put(".byheart.toml", '[paths]\nrules = "out/memories.ndjson"\n')
    with pytest.raises(Unnatural):
        bench.remember("never guess")


def test_home_variable_moves_all_state(bench: Bench, tmp_path: Path) -> None:
    bench.variables["BYHEART_HOME"] = str(tmp_path / "moved")
    bench.remember("never guess")
    bench.remember("I prefer tabs", scope="global")
    bench.memory.forget("Never guess.")
    assert not Path(bench.home).exists()
    assert (tmp_path / "moved").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["moved", "project"]


def test_project_file_that_is_a_link_or_a_fifo_is_passed_over_at_once(bench: Bench, cli: Cli) -> None:
    import os

    path = os.path.join(bench.project, ".byheart.toml")
    os.symlink("/dev/zero", path)
    assert (cli("status").code, "symbolic link" in cli("status").err) == (0, True)
    os.unlink(path)
    os.mkfifo(path)
    assert (cli("status").code, "not an ordinary file" in cli("status").err) == (0, True)


def test_small_file_limit_does_not_touch_byhearts_own_log(bench: Bench) -> None:
    Path(bench.home).mkdir()
    Path(bench.home, "config.toml").write_text("[store]\nfile_bytes = 10000\n", encoding="utf-8")
    for number in range(40):
        bench.remember(f"never do thing number {number}")
        bench.memory.forget(f"Never do thing number {number}.")
    assert len(bench.memory.log(most=500)) == 80


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("[memories]\nenabled = true\n", "learning.enabled", True),
        ("[memories]\nmaxRolloutAgeDays = 12\n", "learning.max_session_age_days", 12.0),
        ("[memories]\nminRolloutIdleHours = 3\n", "learning.min_idle_hours", 3.0),
        ("[memories]\nmaxRolloutsPerStartup = 7\n", "learning.sessions_per_start", 7),
        ("[memories]\nsummaryInjectionTokenLimit = 900\n", "learning.summary_tokens", 900),
        ("[continuity]\nmemoryMaxRecords = 40\n", "journal.memory_max_records", 40),
        ("[continuity]\nsessionMemoryCap = 9000\n", "journal.session_memory_cap", 9000),
        ("[continuity]\nexperienceStoreEnabled = true\n", "journal.experience_store_enabled", True),
    ],
)
def test_settings_are_known_by_the_names_of_other_programs(tmp_path: Path, text: str, key: str, value: object) -> None:
    place = tmp_path / "config.toml"
    place.write_text(text)
    assert load(str(place), str(tmp_path / "none"), {}, []).values[key] == value


def test_other_names_hold_in_the_environment_and_on_the_command_line(tmp_path: Path) -> None:
    none = str(tmp_path / "none")
    told = load(none, none, {"BYHEART_MEMORIES_ENABLED": "true"}, ["continuity.memoryMaxChars=500"])
    assert told.values["learning.enabled"] is True and told.values["journal.memory_max_chars"] == 500


def test_mistyped_flag_names_the_nearest_and_not_every_key(tmp_path: Path) -> None:
    none = str(tmp_path / "none")
    with pytest.raises(BadInput, match=r"brief\.tokens") as told:
        load(none, none, {}, ["brief.token=5"])
    assert len(str(told.value)) < 200


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("continuity.memoryCompactionMaxRecords", "journal.memory_compaction_threshold_records"),
        ("continuity.memoryCompactionMaxChars", "journal.memory_compaction_threshold_chars"),
        ("continuity.memoryCompactionScheduleCron", "journal.memory_compaction_schedule"),
        ("continuity.sessionMemoryCap", "journal.session_memory_cap"),
        ("memory.includeSecretsInPrompt", "journal.include_secrets_in_prompt"),
        ("memory.integrityScanEveryMs", "journal.integrity_scan_every_ms"),
        ("memories.maxRolloutsPerStartup", "learning.sessions_per_start"),
    ],
)
def test_settings_answer_to_the_names_of_other_programs(theirs: str, ours: str) -> None:
    assert setting_rules.named(theirs) == ours and ours in setting_rules.KEYS
