"""The protocol by hand: what is odd is answered, and the server goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from byheart.interfaces.mcp import schemas
from byheart.testing import Bench
from tests.interfaces.mcp.test_official_client import served


def spoken(bench: Bench, *messages: object, raw: bytes = b"") -> list[dict[str, Any]]:
    """What a server answers to these messages, in order of arrival."""
    given = raw or b"".join(json.dumps(each).encode() + b"\n" for each in messages)
    environment = {**os.environ, **bench.environment}
    done = subprocess.run(
        [sys.executable, "-m", "byheart", "mcp"], input=given, capture_output=True, cwd=bench.project, env=environment, check=True, timeout=60
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def ask(method: str, id_: object = 1, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def test_list_of_tools_is_short() -> None:
    assert len(json.dumps({"tools": schemas.TOOLS})) < 9_000
    assert len(schemas.INSTRUCTIONS) < 1_500
    assert {"remember", "forget", "from now on"} <= set(schemas.INSTRUCTIONS.split("'")) | set(
        schemas.INSTRUCTIONS.lower().split()
    )


@pytest.mark.parametrize(
    ("wanted", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_version_is_agreed_on(bench: Bench, wanted: str | None, answered: str) -> None:
    found = spoken(bench, ask("initialize", protocolVersion=wanted, capabilities={}))
    assert found[0]["result"]["protocolVersion"] == answered
    assert found[0]["result"]["serverInfo"]["name"] == "byheart"


def test_odd_messages_are_answered_and_the_next_one_too(bench: Bench) -> None:
    raw = b"\n".join(
        [
            b"not json",
            b"[]",
            b"7",
            b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": 2}',
            b'{"jsonrpc": "2.0", "id": 3, "method": "no/such"}',
            b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "nothing"}}',
            b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": []}',
            b'{"jsonrpc": "2.0", "method": "notifications/whatever"}',
            b'{"jsonrpc": "2.0", "id": "six", "method": "ping"}',
            b'{"a":' * 5000,
            b"\xff\xfe",
            b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}',
        ]
    )
    found = spoken(bench, raw=raw + b"\n")
    by_id = {json.dumps(each["id"]): each for each in found}
    assert by_id["7"]["result"] == {} and by_id['"six"']["result"] == {}
    assert by_id["3"]["error"]["code"] == -32601
    assert by_id["4"]["error"]["code"] == -32602
    assert sum(each.get("error", {}).get("code") == -32700 for each in found) == 3


@pytest.mark.parametrize("bad", ["[]", "{}", "[1]", "null", "true", "NaN", "1e999", "[" * 960 + "]" * 960])
def test_id_that_is_none_ends_nothing(bench: Bench, bad: str) -> None:
    raw = "\n".join(
        [
            f'{{"jsonrpc":"2.0","id":{bad},"method":"tools/call","params":{{"name":"recall_memory","arguments":{{"query":"x"}}}}}}',
            f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{bad}}}}}',
            f'{{"jsonrpc":"2.0","id":{bad},"method":"ping"}}',
            '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"recall_memory","arguments":{"query":"x"}}}',
            '{"jsonrpc":"2.0","id":9,"method":"ping"}',
        ]
    )
    found = spoken(bench, raw=raw.encode() + b"\n")
    assert {each["id"] for each in found if "result" in each} == {8, 9}


def test_long_message_is_refused_and_the_next_one_is_answered(bench: Bench) -> None:
    found = spoken(bench, raw=b'{"x": "' + b"y" * 9_000_000 + b'"}\n' + json.dumps(ask("ping")).encode() + b"\n")
    assert found[0]["error"]["code"] == -32600 and found[1]["result"] == {}


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("recall_memory", {"query": 7}, "must be of type string"),
        ("recall_memory", {"query": " "}, "is empty"),
        ("recall_memory", {"query": "x", "limit": 0}, "from 1 to 20"),
        ("recall_memory", {"query": "x", "limit": True}, "must be of type integer"),
        ("recall_memory", {"query": "x", "depth": 1}, "no argument 'depth'"),
        ("memory_folder", {"command": "format"}, "must be one of"),
        ("memory_folder", {"command": "create", "path": "/memories/x"}, "file_text is missing"),
        ("memory_folder", {"command": "view", "path": "/etc"}, "not below /memories"),
        ("forget_memory", {"memory": "nothing"}, "no line is named"),
    ],
)
def test_unfit_arguments_are_explained_to_the_model(
    bench: Bench, name: str, arguments: dict[str, object], problem: str
) -> None:
    found = spoken(bench, ask("tools/call", name=name, arguments=arguments))[0]
    assert problem in found["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "address",
    [
        "memory://root/../../config.toml",
        "file:///etc/passwd",
        "memory://nowhere",
        "",
        "memory://journal/..",
        "memory://profile#nothing",
    ],
)
def test_resource_that_is_none(bench: Bench, address: str) -> None:
    found = spoken(bench, ask("resources/read", uri=address))[0]
    assert found["error"]["code"] == -32002


def test_modern_requests_speak_for_themselves(bench: Bench) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    found = spoken(bench, ask("server/discover", 1, _meta=meta), ask("tools/list", 2, _meta=meta), ask("ping", 3, _meta={"io.modelcontextprotocol/protocolVersion": "2030-01-01"}))  # fmt: skip
    assert found[0]["result"]["supportedVersions"][0] == "2026-07-28"
    assert found[1]["result"]["resultType"] == "complete" and found[1]["result"]["cacheScope"] == "private"
    assert found[2]["error"]["code"] == -32022


def test_first_answers_do_not_wait_for_memory(bench: Bench) -> None:
    program = (
        "import sys, io, json, os\n"
        "lines = [{'jsonrpc': '2.0', 'id': n, 'method': m, 'params': {}} for n, m in enumerate(['initialize', 'tools/list', 'prompts/list'])]\n"
        "given = io.BytesIO(b''.join(json.dumps(each).encode() + b'\\n' for each in lines))\n"
        "from byheart.interfaces.mcp.stdio import StreamClient\n"
        "out = io.BytesIO()\n"
        "StreamClient(given, out, os.getcwd()).run()\n"
        "assert out.getvalue().count(b'\\n') == 3\n"
        "print('\\n'.join(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **bench.environment}, cwd=bench.project, check=True)  # fmt: skip
    loaded = set(done.stdout.split())
    for heavy in (
        "byheart.app.open",
        "byheart.app.memory",
        "click",
        "yaml",
        "sqlite3",
        "asyncio",
        "byheart.domain.records",
    ):
        assert heavy not in loaded, heavy


def asked(address: str, body: bytes, **headers: str) -> tuple[int, str]:
    base = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(
        address, body, {**base, **{name.replace("_", "-"): value for name, value in headers.items()}}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as told:
            return told.status, told.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_http_turns_strangers_away(bench: Bench) -> None:
    ping = json.dumps(ask("ping")).encode()
    with served(bench) as (address, token):
        right = {"Authorization": f"Bearer {token}"}
        assert asked(address, ping, **right)[0] == 200
        assert asked(address, ping)[0] == 401
        assert asked(address, ping, Authorization="Bearer wrong")[0] == 401
        assert asked(address, ping, **right, Origin="https://example.org")[0] == 403
        assert asked(address, ping, **right, Origin="null")[0] == 403
        assert asked(address, ping, **right, Origin=address.removesuffix("/mcp"))[0] == 200
        assert asked(address, ping, **right, Host="example.org")[0] == 421
        assert asked(address, ping, **right, Origin="http://localhost:80@evil.example")[0] == 403
        assert asked(address, ping, **right, Origin="http://[evil")[0] == 403
        assert asked(address + "/../state", ping, **right)[0] == 404
        assert asked(address, b"{", **right)[0] == 400
        assert asked(address, ping, **right, Mcp_Session_Id="unknown")[0] == 404
        assert asked(address, ping, **{**right, "Content_Type": "text/plain"})[0] == 415
        request = urllib.request.Request(address, headers=right)
        with pytest.raises(urllib.error.HTTPError) as fault:
            urllib.request.urlopen(request, timeout=20)
        fault.value.close()
        assert fault.value.code == 405
    assert (Path(bench.home, "state", "mcp-token").stat().st_mode & 0o077) == 0


def test_folder_of_notes_by_its_six_commands(bench: Bench) -> None:
    from byheart.app.notes_folder import memory_folder
    from byheart.domain.errors import BadInput, Conflict, NothingFound, Refused, Unsafe

    notes = memory_folder(bench.project, bench.environment)
    assert "(nothing)" in notes.execute({"command": "view", "path": "/memories"})
    notes.execute({"command": "create", "path": "/memories/a/plan.md", "file_text": "one\ntwo\nthree\n"})
    notes.execute({"command": "str_replace", "path": "/memories/a/plan.md", "old_str": "two", "new_str": "zwei"})
    notes.execute({"command": "insert", "path": "/memories/a/plan.md", "insert_line": 0, "insert_text": "zero"})
    shown = notes.execute({"command": "view", "path": "/memories/a/plan.md", "view_range": [1, 3]})
    assert [line.split("\t")[1] for line in shown.split("\n")[1:]] == ["zero", "one", "zwei"]
    notes.execute({"command": "create", "path": "/memories/b.md", "file_text": ""})
    with pytest.raises(Conflict):
        notes.execute({"command": "rename", "old_path": "/memories/b.md", "new_path": "/memories/a/plan.md"})
    notes.execute({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/c"})
    listed = notes.execute({"command": "view", "path": "/memories"})
    assert "- c/plan.md" in listed and "- b.md" in listed and "- a/" not in listed
    with pytest.raises(BadInput):
        notes.execute({"command": "str_replace", "path": "/memories/c/plan.md", "old_str": "e", "new_str": ""})
    with pytest.raises(NothingFound):
        notes.execute({"command": "view", "path": "/memories/none"})
    with pytest.raises(Conflict):
        notes.execute({"command": "create", "path": "/memories/b.md", "file_text": "again"})
    with pytest.raises(Unsafe):
        notes.execute(
            {
                "command": "create",
                "path": "/memories/k",
                "file_text": "key ghp_" + "R7tYq2Lm9Xc4Vb8Nw1Kd5Hs3Jf6Pz0Ga1Bc2",
            }
        )
    with pytest.raises(Refused):
        notes.execute({"command": "delete", "path": "/memories"})
    notes.execute({"command": "delete", "path": "/memories/c"})
    assert "c/" not in notes.execute({"command": "view", "path": "/memories"})


@pytest.mark.parametrize("path", ["/etc/passwd", "/memories/../x", "/memories/..", "memories/x", "/memories/%2e%2e/x", "/memories/.git/x", "/memoriesx", "/memories/a\x00b", "/memories/a\\..\\b", "/memories/" + "d/" * 9 + "x", "//memories/x", ""])  # fmt: skip
def test_path_outside_the_folder_of_notes(bench: Bench, path: str) -> None:
    from byheart.app.notes_folder import memory_folder
    from byheart.domain.errors import ByheartError

    notes = memory_folder(bench.project, bench.environment)
    with pytest.raises(ByheartError):
        notes.execute({"command": "create", "path": path, "file_text": "x"})


def test_link_in_the_folder_of_notes_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    from byheart.app.notes_folder import memory_folder
    from byheart.domain.errors import ByheartError

    notes = memory_folder(bench.project, bench.environment)
    notes.execute({"command": "create", "path": "/memories/a.md", "file_text": "x"})
    folder = next(Path(bench.home).glob("projects/*/memories"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("outside")
    os.symlink(outside, folder / "way")
    os.symlink(outside / "secret.txt", folder / "file")
    for path in ("/memories/way/secret.txt", "/memories/file"):
        with pytest.raises(ByheartError):
            notes.execute({"command": "view", "path": path})
        with pytest.raises(ByheartError):
            notes.execute({"command": "create", "path": path, "file_text": "y"})
    assert (outside / "secret.txt").read_text() == "outside"


def test_secret_is_neither_a_name_nor_shown(bench: Bench) -> None:
    from byheart.app.notes_folder import memory_folder
    from byheart.domain.errors import ByheartError

    token = "ghp_" + "R7tYq2Lm9Xc4Vb8Nw1Kd5Hs3Jf6Pz0Ga1Bc2"
    notes = memory_folder(bench.project, bench.environment)
    for name in (f"{token}.md", "c\u202e.md"):
        with pytest.raises(ByheartError):
            notes.execute({"command": "create", "path": f"/memories/{name}", "file_text": "x"})
    notes.execute({"command": "create", "path": "/memories/a.md", "file_text": "x"})
    folder = next(Path(bench.home).glob("projects/*/memories"))
    (folder / "a.md").write_text(f"key {token}\n")
    (folder / f"{token}.txt").write_text("x")
    assert token not in notes.execute({"command": "view", "path": "/memories/a.md"})
    assert token not in notes.execute({"command": "view", "path": "/memories"})


def test_learnt_line_is_forgotten_by_the_address_that_the_brief_gives(tmp_path: Path) -> None:
    from tests.learning.world import World, fixed

    home = World(tmp_path)
    home.session(("user", "Mend it. From now on always use zirconium bolts in the oven door."), *fixed())
    home.learn()
    brief = spoken(home.bench, ask("prompts/get", name="memory"))[0]["result"]["messages"][0]["content"]["text"]
    line = next(each for each in brief.split("\n") if "zirconium" in each and "memory://" in each)
    address = line.rpartition("[")[2].rstrip("]")
    found = spoken(home.bench, ask("tools/call", name="forget_memory", arguments={"memory": address}))[0]
    assert found["result"]["isError"] is False and "Forgotten" in found["result"]["content"][0]["text"]
    assert "zirconium" not in home.text("memory_summary.md")
    gone = spoken(home.bench, ask("tools/call", name="forget_memory", arguments={"memory": "memory://root#7"}))[0]
    assert gone["result"]["isError"] is True
