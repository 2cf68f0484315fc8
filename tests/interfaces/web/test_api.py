"""The API: memory's own laws over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread

import pytest

from byheart.interfaces.web import api
from byheart.testing import Bench
from tests.conftest import Cli
from tests.interfaces.web.kit import Caller, gateway
from tests.learning.world import World, fixed

TOKEN = "ghp_" + "R7tYq2Lm9Xc4Vb8Nw1Kd5Hs3Jf6Pz0Ga1Bc2"


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    found.session(
        ("user", "Mend the bell. From now on always use zirconium bolts."),
        *fixed(),
        ("user", "perhaps we should keep the oven at 200"),
    )
    found.learn()
    Path(found.bench.home, "config.toml").write_text(
        '# mine\n[recall]\nembedder = "none" # words alone\n', encoding="utf-8"
    )
    return found


@pytest.fixture
def caller(world: World) -> Iterator[Caller]:
    with gateway(world.bench) as found:
        yield found


def test_a_record_is_remembered_found_reworded_confirmed_undone_and_forgotten(caller: Caller) -> None:
    saved = caller.api("POST", "/records", {"text": "I prefer pnpm"})
    name = saved["handle"]
    first = caller.api("GET", "/records?query=package+manager")["records"][0]
    assert first["text"] == "I prefer pnpm."
    done = caller.api("PATCH", f"/records/{name}", {"text": "I prefer pnpm over npm"})
    assert done["action"] == "reworded" and done["undo_with"]
    assert caller.api("POST", "/undo", {"id": done["id"]})["action"] == "undone"
    assert any(row["text"] == "I prefer pnpm." for row in caller.api("GET", "/records?book=profile")["records"])
    assert caller.api("POST", f"/records/{name}/confirm")["action"]
    assert caller.api("GET", f"/records/{name}/forget")["text"]
    caller.api("DELETE", f"/records/{name}")
    assert not any("pnpm" in row["text"] for row in caller.api("GET", "/records")["records"])
    assert caller.ask("DELETE", f"/api/v1/records/{name}").status == 404


def test_a_secret_is_refused_and_found_nowhere(caller: Caller, world: World) -> None:
    answer = caller.ask("POST", "/api/v1/records", {"text": f"the token is {TOKEN}"})
    assert answer.status == 403 and TOKEN.encode() not in answer.body
    document = caller.api("GET", "/documents/local/memories.md")
    put = caller.ask("PUT", "/api/v1/documents/local/USER.md", {"text": f"# Me\n\ntoken {TOKEN}\n"}, If_Match='""')
    assert put.status == 403 and TOKEN not in document["text"]
    assert world.holding(TOKEN) == []


def test_a_document_is_written_only_over_the_one_that_was_read(caller: Caller, world: World) -> None:
    caller.api("POST", "/records", {"text": "I prefer pnpm"})
    read = caller.api("GET", "/documents/local/memories.md")
    place = Path(read["path"])
    place.write_text(read["text"] + "\n- a line of mine\n", encoding="utf-8")
    answer = caller.ask(
        "PUT",
        "/api/v1/documents/local/memories.md",
        {"text": read["text"].replace("pnpm", "yarn")},
        If_Match=f'"{read["etag"]}"',
    )
    assert answer.status == 409 and "a line of mine" in place.read_text()
    fresh = caller.api("GET", "/documents/local/memories.md")
    done = caller.api(
        "PUT",
        "/documents/local/memories.md",
        {"text": fresh["text"].replace("pnpm", "yarn")},
        If_Match=f'"{fresh["etag"]}"',
    )
    assert "yarn" in place.read_text() and "a line of mine" in place.read_text()
    caller.api("POST", "/undo", {"id": done["id"]})
    assert place.read_text() == fresh["text"]


def test_a_document_without_if_match_or_with_broken_records_is_refused(caller: Caller) -> None:
    caller.api("POST", "/records", {"text": "I prefer pnpm"})
    read = caller.api("GET", "/documents/local/memories.md")
    assert caller.ask("PUT", "/api/v1/documents/local/memories.md", {"text": "x"}).status == 400
    broken = read["text"].replace("items:", "items: [")
    answer = caller.ask("PUT", "/api/v1/documents/local/memories.md", {"text": broken}, If_Match=f'"{read["etag"]}"')
    assert answer.status in (400, 403, 503), answer.body
    assert caller.api("GET", "/documents/local/memories.md")["text"] == read["text"]


@pytest.mark.parametrize(
    "name",
    [
        "local/../../../etc/passwd",
        "../config.toml",
        "handbook/../../config.toml",
        "local/%2e%2e/config.toml",
        "/etc/passwd",
    ],
)
def test_documents_are_those_of_memory_and_no_others(caller: Caller, name: str) -> None:
    assert caller.ask("GET", f"/api/v1/documents/{name}").status in (400, 404)


def test_inbox_is_decided(caller: Caller, world: World) -> None:
    items = caller.api("GET", "/inbox")
    for each in items[:1]:
        caller.api("POST", f"/inbox/{each['id']}", {"how": "accept", "text": "keep the oven at 200 degrees"})
    for each in items[1:]:
        caller.api("POST", f"/inbox/{each['id']}", {"how": "reject"})
    assert caller.api("GET", "/inbox") == []


def test_sessions_are_listed_searched_and_read_with_what_they_taught(caller: Caller) -> None:
    (row,) = caller.api("GET", "/sessions")["sessions"]
    found = caller.api("GET", f"/sessions/{row['id']}")
    assert found["turns"][0]["text"].startswith("Mend the bell")
    assert any("zirconium" in text for lines in found["learnt"].values() for text in lines)
    assert caller.api("GET", "/sessions?query=zirconium")["sessions"][0]["hits"]


def test_a_setting_is_written_beside_what_is_there_and_taken_out_again(caller: Caller, world: World) -> None:
    place = Path(world.bench.home, "config.toml")
    before = place.read_text()
    assert caller.api("PUT", "/settings/profile.bullets", {"value": "7"})["value"] == 7
    assert "# mine" in place.read_text() and "# words alone" in place.read_text() and "bullets = 7" in place.read_text()
    caller.api("PUT", "/settings/profile.bullets", {"value": None})
    assert before.strip() in place.read_text()
    answer = caller.ask("PUT", "/api/v1/settings/profile.bullet", {"value": "7"})
    assert answer.status == 404 and "profile.bullets" in answer.json["message"]
    assert caller.ask("PUT", "/api/v1/settings/profile.bullets", {"value": "99"}).status == 400


def test_memory_is_switched_off_and_on(caller: Caller) -> None:
    caller.api("POST", "/memory", {"on": False})
    assert caller.api("GET", "/today")["enabled"] is False
    caller.api("POST", "/memory", {"on": True})
    assert caller.api("GET", "/today")["enabled"] is True


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/records?start=-1", None), ("GET", "/records?start=x", None), ("GET", "/records?nonsense=1", None), ("GET", "/records?book=cook", None),
        ("POST", "/records", {}), ("POST", "/records", {"text": 5}), ("POST", "/records", {"text": "x", "more": 1}), ("POST", "/records", []), ("POST", "/inbox/x", {"how": "eat"}),
        ("POST", "/records", {"text": "\ud800"}), ("POST", "/records", {"text": ""}), ("GET", f"/records?project={'x' * 300}", None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_named(caller: Caller, method: str, path: str, body: object) -> None:
    answer = caller.ask(method, f"/api/v1{path}", body)
    assert answer.status == 400 and set(answer.json) == {"error", "message"}


@pytest.mark.parametrize(("method", "path", "body"), [("GET", "/sessions?query=%00", None), ("POST", "/records", {"text": "a\u0000b"})])  # fmt: skip
def test_nul_is_refused(caller: Caller, method: str, path: str, body: object) -> None:
    assert caller.ask(method, f"/api/v1{path}", body).status == 403


def test_address_below_a_record_has_methods_of_its_own(caller: Caller) -> None:
    for name, allowed in (("confirm", "POST"), ("forget", "GET")):
        answer = caller.ask("PATCH", f"/api/v1/records/x/{name}")
        assert (answer.status, answer.headers["allow"]) == (405, allowed)


def test_body_that_is_no_json_object_is_refused(caller: Caller) -> None:
    assert caller.ask("POST", "/api/v1/records", b"{").status == 400
    assert caller.ask("POST", "/api/v1/records", b'{"text": "x"}', Content_Type="text/plain").status == 415


def test_every_reading_operation_answers(caller: Caller) -> None:
    for each in api.OPERATIONS:
        if each.method == "GET" and "{" not in each.path:
            caller.api("GET", each.path)


def test_description_names_every_operation(caller: Caller) -> None:
    told = caller.api("GET", "/openapi.json")
    assert told["openapi"].startswith("3.1")
    assert sum(len(each) for each in told["paths"].values()) == len(api.OPERATIONS)


def test_a_listener_is_told_when_memory_changes(caller: Caller) -> None:
    heard, ready = list[bytes](), Event()

    def listen() -> None:
        connection = HTTPConnection("127.0.0.1", caller.listening.port, timeout=60)
        connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {caller.token}"})
        stream = connection.getresponse()
        while not heard:
            line = stream.readline()
            ready.set()
            if line.startswith(b"event:") or not line:
                heard.append(line)

    thread = Thread(target=listen, daemon=True)
    thread.start()
    assert ready.wait(30)
    caller.api("POST", "/records", {"text": "I prefer pnpm"})
    thread.join(30)
    assert heard == [b"event: changed\n"]


def test_mcp_is_served_by_the_same_process(caller: Caller) -> None:
    told = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = caller.ask("POST", "/mcp", told)
    assert "review_candidates" in {tool["name"] for tool in answer.json["result"]["tools"]}


def test_stored_text_is_text_on_every_page(caller: Caller) -> None:
    payload = "<img src=x onerror=alert(1)>"
    caller.api("POST", "/records", {"text": f"never {payload} here"})
    for view in ("", "brief", "memory", "history", "sessions", "inbox", "skills", "machine", "settings"):
        answer = caller.ask("GET", f"/{view}", Accept="text/html")
        assert answer.status == 200, view
        assert payload.encode() not in answer.body, view
    assert b"&lt;img src=x" in caller.ask("GET", "/memory").body


def test_page_that_is_not_there_says_so(caller: Caller) -> None:
    assert caller.ask("GET", "/nowhere", Accept="text/html").status == 404
    assert caller.ask("GET", "/sessions/nobody", Accept="text/html").status == 404
    assert caller.ask("GET", "/memory?project=nobody", Accept="text/html").status == 404


def test_whole_memory_as_one_file_that_loads_nothing(world: World, bench: Bench) -> None:
    import subprocess
    import sys

    world.bench.remember("I prefer <b>pnpm</b>")
    target = Path(world.bench.folder, "memory.html")
    command = [sys.executable, "-m", "byheart", "view", "--html", str(target)]
    done = subprocess.run(
        command,
        cwd=world.bench.project,
        env={"PATH": "/usr/bin", **world.bench.environment, "BYHEART_CHILD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = target.read_text(encoding="utf-8")
    assert "&lt;b&gt;pnpm" in text and "zirconium" in text
    assert "<script" not in text and "href=" not in text and "src=" not in text
    again = subprocess.run(
        command,
        cwd=world.bench.project,
        env={"PATH": "/usr/bin", **world.bench.environment, "BYHEART_CHILD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 3 and "already exists" in again.stderr
    assert json.dumps(text)


def test_taking_out_a_setting_that_there_is_not_is_refused(caller: Caller) -> None:
    answer = caller.ask("PUT", "/api/v1/settings/nonsense", {"value": None})
    assert answer.status == 404 and "nonsense" in answer.json["message"]


def test_a_line_that_was_changed_meanwhile_is_not_reworded(caller: Caller, world: World) -> None:
    row = caller.api("POST", "/records", {"text": "my editor is helix"})
    (found,) = (each for each in caller.api("GET", "/records")["records"] if "helix" in each["text"])
    path = Path(row["path"])
    path.write_text(path.read_text().replace("helix", "kakoune"), encoding="utf-8")
    answer = caller.ask("PATCH", f"/api/v1/records/{found['id']}", {"text": "my editor is vim", "was": found["text"]})
    assert answer.status in (404, 409)
    assert "kakoune" in path.read_text() and "vim" not in path.read_text()


def test_a_file_keeps_its_line_ends_when_a_browser_saves_it(caller: Caller) -> None:
    caller.api("POST", "/records", {"text": "I prefer pnpm"})
    name = next(each["name"] for each in caller.api("GET", "/documents") if each["bytes"])
    document = caller.api("GET", f"/documents/{name}")
    path = Path(document["path"])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    document = caller.api("GET", f"/documents/{name}")
    typed = document["text"].replace("\r\n", "\n") + "more of mine\n"
    answer = caller.ask("PUT", f"/api/v1/documents/{name}", {"text": typed}, **{"If-Match": f'"{document["etag"]}"'})
    assert answer.status == 200
    assert path.read_bytes().count(b"\r\n") == path.read_bytes().count(b"\n") > 1


def test_sessions_that_nobody_has_indexed_yet_are_shown(caller: Caller, world: World) -> None:
    world.session(("user", "Polish the brass bell of the bakery."), ("say", "Polished."))
    assert any("brass bell" in str(each["first"]) for each in caller.api("GET", "/sessions")["sessions"])


def test_memory_as_one_page_leaves_out_what_is_labelled_secret(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    cli("journal", "append", "The quagga deploys on Mondays")
    cli("journal", "append", "The gopher salary band is seven", "--sensitivity", "secret")
    cli("remember", "I prefer pnpm")
    page = tmp_path / "memory.html"
    assert cli("view", "--html", str(page)).code == 0
    text = page.read_text(encoding="utf-8")
    assert "pnpm" in text and "quagga" in text
    assert "gopher" not in text


def test_today_says_what_each_session_taught(caller: Caller) -> None:
    told = caller.api("GET", "/today")
    assert any("zirconium" in line for each in told["sessions"] for line in each["learnt"])
    page = caller.ask("GET", "/", Accept="text/html").body.decode()
    assert "Learnt: " in page and "zirconium" in page


def test_health_tries_hooks_and_servers_when_it_is_asked_to(caller: Caller, cli: Cli) -> None:
    cli("install", "claude-code")
    assert b"not tested" in caller.ask("GET", "/machine", Accept="text/html").body
    page = caller.ask("GET", "/machine?test=true", Accept="text/html").body.decode()
    assert "server answers" in page and "hook OK" in page
