"""The contract of the Files port, for every implementation of it."""

from __future__ import annotations

import multiprocessing
import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.domain.documents import Place, Root
from byheart.domain.errors import Busy, Conflict, Unnatural, Unreadable, Unwritable
from byheart.domain.ports import Files
from byheart.domain.records import Scope
from byheart.storage.files.disk import DiskFiles

IMPLEMENTATIONS: dict[str, Callable[[], Files]] = {"disk": DiskFiles}


@pytest.fixture(params=IMPLEMENTATIONS)
def files(request: pytest.FixtureRequest) -> Files:
    return IMPLEMENTATIONS[request.param]()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(str(tmp_path), "a/b/notes.md")


def root(tmp_path: Path) -> Root:
    return Root(
        scope=Scope.LOCAL, folder=Place(str(tmp_path), "root"), documents={"x": Place(str(tmp_path), "root/x.md")}
    )


def test_absent_file_reads_as_no_text(files: Files, place: Place) -> None:
    assert files.read(place).text is None


def test_written_text_is_read_back_byte_for_byte(files: Files, place: Place) -> None:
    text = "\ufeffone\r\ntwo\rthree\n\x0bfour\u2028five"
    files.write(place, text, "")
    assert files.read(place).text == text


def test_write_with_an_old_digest_is_refused_and_changes_nothing(files: Files, place: Place) -> None:
    first = files.write(place, "one", "")
    files.write(place, "two", first.digest)
    with pytest.raises(Conflict):
        files.write(place, "three", first.digest)
    with pytest.raises(Conflict):
        files.write(place, "three", "")
    assert files.read(place).text == "two"


def test_append_checks_the_digest_and_adds_at_the_end(files: Files, place: Place) -> None:
    first = files.write(place, "one\n", "")
    files.append(place, "two\n", first.digest)
    with pytest.raises(Conflict):
        files.append(place, "three\n", first.digest)
    assert files.read(place).text == "one\ntwo\n"


def test_remove_checks_the_digest(files: Files, place: Place) -> None:
    first = files.write(place, "one", "")
    with pytest.raises(Conflict):
        files.remove(place, "other")
    files.remove(place, first.digest)
    assert files.read(place).text is None


def test_lone_surrogate_is_refused_before_anything_is_written(files: Files, place: Place) -> None:
    with pytest.raises(Unwritable, match="surrogate"):
        files.write(place, "\ud800", "")
    assert files.read(place).text is None


@pytest.mark.parametrize(
    "path", ["../x", "a/../x", "/etc/x", "a//b", "./x", "", "a\x00b", "a\nb", "a\\b", "CON", "a/nul.md", "com1"]
)
def test_path_that_leaves_the_base_or_names_a_device_is_refused(files: Files, tmp_path: Path, path: str) -> None:
    with pytest.raises(Unnatural):
        files.read(Place(str(tmp_path), path))
    with pytest.raises(Unnatural):
        files.write(Place(str(tmp_path), path), "x", "")


@given(path=st.text(alphabet="./ab\\\x00~", max_size=12))
def test_no_path_ever_reaches_outside_the_base(path: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as outer:
        base = os.path.join(outer, "base")
        os.mkdir(base)
        with suppress(Unnatural, Unreadable, Conflict):
            DiskFiles().write(Place(base, path), "x", "")
        assert os.listdir(outer) == ["base"]


# what only a disk has


def test_new_files_are_0600_and_new_folders_0700(tmp_path: Path, place: Place) -> None:
    old = os.umask(0)
    try:
        DiskFiles().write(place, "x", "")
        DiskFiles().append(Place(str(tmp_path), "a/c/log"), "x\n", None)
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"a": 0o700, "b": 0o700, "c": 0o700, "notes.md": 0o600, "log": 0o600}


def test_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("one", encoding="utf-8")
    path.chmod(0o640)
    files = DiskFiles()
    files.write(Place(str(tmp_path), "x.md"), "two", files.read(Place(str(tmp_path), "x.md")).digest)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def make_symlink(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def make_hard_link(path: Path, victim: Path) -> None:
    os.link(victim, path)


def make_fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path, _: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


def make_folder(path: Path, _: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [make_symlink, make_hard_link, make_fifo, make_socket, make_folder])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_anything_but_a_plain_file_is_refused_for_reading_and_writing(
    tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    base = tmp_path / "base"
    base.mkdir()
    make(base / "x.md", victim)
    files, place = DiskFiles(), Place(str(base), "x.md")
    for attempt in (
        lambda: files.read(place),
        lambda: files.write(place, "x", ""),
        lambda: files.append(place, "x", None),
    ):
        with pytest.raises(Unnatural):
            attempt()
    assert victim.read_text(encoding="utf-8") == "precious"
    assert sorted(os.listdir(base)) == ["x.md"]


def test_symlinked_folder_below_the_base_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "docs").symlink_to(tmp_path / "outside")
    with pytest.raises(Unnatural, match="symbolic link"):
        DiskFiles().write(Place(str(tmp_path / "base"), "docs/x.md"), "x", "")
    assert os.listdir(tmp_path / "outside") == []


def test_base_itself_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    DiskFiles().write(Place(str(tmp_path / "link"), "x.md"), "x", "")
    assert (tmp_path / "real" / "x.md").read_text(encoding="utf-8") == "x"


def test_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    files, place = DiskFiles(), Place(str(tmp_path), "x.md")
    files.write(place, "one", "")
    with pytest.raises(Conflict):
        files.write(place, "two", "wrong")
    assert os.listdir(tmp_path) == ["x.md"]


def hold(folder: str, ready: multiprocessing.synchronize.Event, done: multiprocessing.synchronize.Event) -> None:
    with DiskFiles().locked(root(Path(folder))):
        ready.set()
        done.wait(30)


def test_lock_keeps_others_out_until_it_is_released_and_says_who_holds_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(str(tmp_path), ready, done))
    holder.start()
    assert ready.wait(30)
    with (
        pytest.raises(Busy, match=f"process {holder.pid} holds the lock"),
        DiskFiles(lock_seconds=0.05).locked(root(tmp_path)),
    ):
        pass
    done.set()
    holder.join(30)
    with DiskFiles(lock_seconds=5).locked(root(tmp_path)):
        pass


def test_lock_of_a_killed_process_is_free_and_its_leftovers_are_swept(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(str(tmp_path), ready, done))
    holder.start()
    assert ready.wait(30)
    orphan = tmp_path / "root" / ".byheart-0123456789abcdef.tmp"
    orphan.write_text("half", encoding="utf-8")
    holder.kill()
    holder.join(30)
    with DiskFiles(lock_seconds=5).locked(root(tmp_path)):
        assert not orphan.exists()


def test_two_homes_that_share_a_repository_file_exclude_each_other(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    shared = {"x": Place(str(repo), "memories.md")}
    first = Root(scope=Scope.LOCAL, folder=Place(str(tmp_path / "home1"), "p"), documents=shared)
    second = Root(scope=Scope.LOCAL, folder=Place(str(tmp_path / "home2"), "p"), documents=shared)
    with DiskFiles().locked(first), pytest.raises(Busy), DiskFiles(lock_seconds=0.05).locked(second):
        pass


def test_append_to_a_file_that_was_removed_is_a_conflict_and_makes_no_stump(tmp_path: Path) -> None:
    class Removing(DiskFiles):
        def _expect(self, place: Place, folder: int, name: str, base: str) -> None:
            super()._expect(place, folder, name, base)
            os.unlink(name, dir_fd=folder)

    place = Place(str(tmp_path), "x.md")
    first = DiskFiles().write(place, "one\n", "")
    with pytest.raises(Conflict):
        Removing().append(place, "tail\n", first.digest)
    assert os.listdir(tmp_path) == []


def test_append_without_a_digest_starts_on_a_line_of_its_own(tmp_path: Path) -> None:
    place = Place(str(tmp_path), "log")
    (tmp_path / "log").write_text('{"torn', encoding="utf-8")
    DiskFiles().append(place, "whole\n", None)
    assert (tmp_path / "log").read_text(encoding="utf-8") == '{"torn\nwhole\n'


def test_two_documents_outside_in_one_folder_do_not_lock_each_other_out(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    documents = {"a": Place(str(tmp_path / "repo"), "a.md"), "b": Place(str(tmp_path / "repo"), "b.ndjson")}
    with DiskFiles(lock_seconds=0.1).locked(
        Root(scope=Scope.LOCAL, folder=Place(str(tmp_path / "home"), "p"), documents=documents)
    ):
        pass


def test_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unwritable):
        DiskFiles().write(Place("/proc/nowhere/byheart", "x.md"), "x", "")
