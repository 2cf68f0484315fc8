"""Which project a folder belongs to, from what git leaves on disk."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from byheart.storage import projects


def unknown(_: str) -> bool:
    return False


def git(folder: Path, *arguments: str) -> None:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=environment)


def repository(folder: Path, remote: str | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def test_worktrees_share_their_repository(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", str(tmp_path / "side"))
    found = projects.find(str(main), unknown)
    side = projects.find(str(tmp_path / "side"), unknown)
    assert found.id == side.id
    assert (found.folder, side.folder) == (str(main), str(tmp_path / "side"))


def test_clones_of_one_remote_share_whatever_way_it_is_written(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", "git@github.com:Acme/Shop.git")
    two = repository(tmp_path / "two", "https://user:pw@github.com/acme/shop/")
    assert projects.find(str(one), unknown).id == projects.find(str(two), unknown).id


def test_repositories_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    one, two = repository(tmp_path / "a" / "shop"), repository(tmp_path / "b" / "shop")
    fork = repository(tmp_path / "c" / "shop", "git@github.com:other/shop.git")
    assert len({projects.find(str(each), unknown).id for each in (one, two, fork)}) == 3


def test_repository_keeps_its_memory_when_it_gets_a_remote(tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop")
    before = projects.find(str(folder), unknown).id
    git(folder, "remote", "add", "origin", "git@github.com:acme/shop.git")
    assert projects.find(str(folder), lambda name: name == before).id == before
    assert projects.find(str(folder), unknown).id != before


def test_folder_below_belongs_to_the_repository_above(tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop")
    (folder / "src" / "deep").mkdir(parents=True)
    assert projects.find(str(folder / "src" / "deep"), unknown) == projects.find(str(folder), unknown)


def test_folder_outside_git_is_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    found = projects.find(str(tmp_path / "plain"), unknown)
    assert (found.folder, found.remote) == (str(tmp_path / "plain"), None)


def test_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    modules = main / ".git" / "modules" / "lib"
    modules.mkdir(parents=True)
    (modules / "config").write_text(
        '[core]\n\tworktree = ../../../lib\n[remote "origin"]\n\turl = git@github.com:acme/lib.git\n', encoding="utf-8"
    )
    (main / "lib").mkdir()
    (main / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n", encoding="utf-8")
    assert projects.find(str(main / "lib"), unknown).remote == "github.com/acme/lib"
    # Anybody can point at it; it points back at one.
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / ".git").write_text(f"gitdir: {modules}\n", encoding="utf-8")
    assert projects.find(str(tmp_path / "evil"), unknown).remote is None


def test_settings_of_git_behind_a_link_are_not_read(tmp_path: Path) -> None:
    private = repository(tmp_path / "private")
    (private / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/x.git\n', encoding="utf-8")
    evil = repository(tmp_path / "evil")
    (evil / ".git" / "config").unlink(missing_ok=True)
    (evil / ".git" / "config").symlink_to(private / ".git" / "config")
    assert projects.find(str(evil), unknown).remote is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("git@github.com:Acme/Shop.git", "github.com/acme/shop"),
        ("ssh://git@github.com:22/acme/shop", "github.com/acme/shop"),
        ("https://token@github.com/acme/shop.git", "github.com/acme/shop"),
        ("git://example.org/A/b.git/", "example.org/A/b"),
        ("https://example.org:8443/a/b", "example.org:8443/a/b"),
        ("host:path/to/repo.git", "host/path/to/repo"),
        ("/srv/git/shop.git", "/srv/git/shop.git"),
        ("https://bob:p@ss@github.com/o/r", "github.com/o/r"),
        ("https://gitlab.com/o/r.git?private_token=x#y", "gitlab.com/o/r"),
        ("", None),
        ("../relative", None),
    ],
)
def test_remote_is_normalised_and_loses_its_credentials(url: str, expected: str | None) -> None:
    assert projects.normalised_remote(url) == expected


def test_git_is_never_run_and_hostile_config_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = repository(tmp_path / "shop")
    marker = tmp_path / "ran"
    with (folder / ".git" / "config").open("a", encoding="utf-8") as stream:
        stream.write(f"[core]\n\tfsmonitor = touch {marker}\n[diff]\n\texternal = touch {marker}\n")
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ntouch {marker}\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    projects.find(str(folder), unknown)
    assert not marker.exists()


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: /nowhere", "garbage\x00", "gitdir: " + "a" * 5000])
def test_broken_git_file_still_gives_a_project(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content, encoding="utf-8")
    assert projects.find(str(tmp_path), unknown).folder == str(tmp_path)


def test_project_names_are_safe_as_folder_names(tmp_path: Path) -> None:
    for name in ("$(touch x)", "a;b", "with 'quotes'", "-leading", "..strange", "日本"):
        folder = tmp_path / name
        folder.mkdir()
        found = projects.find(str(folder), unknown).id
        assert "/" not in found
        assert not found.startswith((".", "-"))


@pytest.mark.parametrize(
    "row", ["\turl = git@github.com:acme/shop.git # main", "", "\turl = git@github.com:acme/shop.git ; x"]
)
def test_git_config_is_read_as_git_reads_it(tmp_path: Path, row: str) -> None:
    (tmp_path / ".git").mkdir()
    header = '[remote "origin"]' if row else '[remote "origin"] url = git@github.com:acme/shop.git'
    (tmp_path / ".git" / "config").write_text(f"{header}\n{row}\n", encoding="utf-8")
    assert projects.find(str(tmp_path), unknown).remote == "github.com/acme/shop"


def test_git_file_that_points_at_another_project_does_not_claim_its_memory(tmp_path: Path) -> None:
    victim = repository(tmp_path / "victim", "git@github.com:acme/private.git")
    git(victim, "commit", "-q", "--allow-empty", "-m", "x")
    git(victim, "worktree", "add", "-q", str(tmp_path / "side"))
    for number, target in enumerate([victim / ".git", victim / ".git" / "worktrees" / "side"]):
        thief = tmp_path / f"thief{number}"
        thief.mkdir()
        (thief / ".git").write_text(f"gitdir: {target}\n", encoding="utf-8")
        assert projects.find(str(thief), unknown).id != projects.find(str(victim), unknown).id


def test_git_config_that_is_a_fifo_does_not_block(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "config")
    assert projects.find(str(tmp_path), unknown).remote is None


@pytest.mark.parametrize("is_relative", [True, False])
def test_folder_that_claims_to_be_a_worktree_of_a_repository_that_does_not_know_it_is_its_own(
    tmp_path: Path, is_relative: bool
) -> None:
    victim = repository(tmp_path / "victim", "git@github.com:acme/private.git")
    thief = tmp_path / "thief"
    claim = thief / ".g" / "worktrees" / "x"
    claim.mkdir(parents=True)
    (thief / ".git").write_text("gitdir: .g/worktrees/x\n", encoding="utf-8")
    common = os.path.relpath(victim / ".git", claim) if is_relative else victim / ".git"
    (claim / "commondir").write_text(f"{common}\n", encoding="utf-8")
    (claim / "gitdir").write_text(f"{thief}/.git\n", encoding="utf-8")
    (claim / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert projects.find(str(thief), unknown).id != projects.find(str(victim), unknown).id
