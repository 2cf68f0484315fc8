"""The journal's RPC, as a client would write it that has read only what seed 004's gateway promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from byheart.testing import Bench
from tests.interfaces.web.kit import Answer, Caller, gateway

WRONG = "path must be MEMORY.md or memory/YYYY-MM-DD.md"


@pytest.fixture
def caller(bench: Bench) -> Iterator[Caller]:
    bench.memory.journal().append({"category": "decision", "text": "Chose Postgres over SQLite"})
    with gateway(bench) as found:
        yield found


def call(caller: Caller, method: str, **params: Any) -> Answer:
    return caller.ask("POST", "/rpc", {"id": "7", "version": "2.0", "method": method, "params": params})


def result(caller: Caller, method: str, **params: Any) -> Any:
    answer = call(caller, method, **params)
    assert answer.status == 200 and answer.json["ok"] is True and answer.json["id"] == "7" and answer.json["auditId"]
    return answer.json["result"]


def test_logs_are_listed_newest_first_and_read(caller: Caller) -> None:
    files = result(caller, "memory.listLogs")["files"]
    assert files[0] == {"name": "MEMORY.md", "path": "MEMORY.md"} and files[1]["path"].startswith("memory/")
    assert "Chose Postgres" in result(caller, "memory.getFile", path="MEMORY.md")["content"]
    assert result(caller, "memory.getFile", path="memory/1999-01-01.md") == {
        "path": "memory/1999-01-01.md",
        "content": "",
    }


def test_a_file_is_written(caller: Caller, bench: Bench) -> None:
    text = result(caller, "memory.getFile", path="MEMORY.md")["content"] + "\n# A note of mine\n"
    assert result(caller, "memory.writeFile", path="MEMORY.md", content=text) == {"ok": True}
    assert result(caller, "memory.getFile", path="MEMORY.md")["content"] == text
    assert result(caller, "memory.writeFile", path="memory/2026-01-02.md", content="# Memory\n") == {"ok": True}
    assert [hit.record.text for hit in bench.memory.journal().listing()] == ["Chose Postgres over SQLite"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "memory.md",
        "USER.md",
        "../MEMORY.md",
        "memory/../MEMORY.md",
        "memory/2026-1-2.md",
        "memory/2026-01-02.md/..",
        "/etc/passwd",
        "MEMORY.md\x00",
        "memory/2026-01-02.md\n",
        5,
        None,
    ],
)
@pytest.mark.parametrize("method", ["memory.getFile", "memory.writeFile"])
def test_every_other_path_is_rejected(caller: Caller, method: str, path: object) -> None:
    answer = call(caller, method, path=path, content="x")
    assert answer.status == 400 and answer.json["ok"] is False and answer.json["error"]["message"] == WRONG


def test_a_secret_is_not_written(caller: Caller) -> None:
    token = "ghp_" + "R7tYq2Lm9Xc4Vb8Nw1Kd5Hs3Jf6Pz0Ga1Bc2"
    answer = call(caller, "memory.writeFile", path="memory/2026-01-02.md", content=f"token {token}\n")
    assert answer.status == 400 and token.encode() not in answer.body
    assert result(caller, "memory.getFile", path="memory/2026-01-02.md")["content"] == ""


@pytest.mark.parametrize(
    "body",
    [
        [],
        "x",
        {},
        {"version": "1.0", "method": "memory.listLogs"},
        {"version": "2.0"},
        {"version": "2.0", "method": "memory.eat"},
        {"version": "2.0", "method": "memory.listLogs", "params": []},
    ],
)
def test_what_is_no_call_is_said_so(caller: Caller, body: object) -> None:
    answer = caller.ask("POST", "/rpc", body)
    assert (
        answer.status == 400
        and answer.json["ok"] is False
        and answer.json["auditId"]
        and answer.json["error"]["message"]
    )


def test_roles_and_tokens(caller: Caller) -> None:
    caller.token = caller.listening.keys.local
    assert result(caller, "memory.listLogs")
    assert call(caller, "config.patch", patch={"profile": {"bullets": 3}}).status == 403
    caller.token = "wrong"
    assert call(caller, "memory.listLogs").status == 401


def test_substrate_and_config(caller: Caller) -> None:
    assert result(caller, "substrate.update", key="user", content="# Ana\n") == {"ok": True}
    assert result(caller, "substrate.get", key="user")["content"] == "# Ana\n"
    assert any(each["key"] == "user" and each["present"] for each in result(caller, "substrate.list")["files"])
    assert call(caller, "substrate.get", key="passwd").status == 400
    assert result(caller, "config.patch", patch={"profile": {"bullets": 3}}) == {"profile.bullets": 3}
    assert result(caller, "config.get")["config"]["profile.bullets"] == 3
    assert result(caller, "config.reload") == {"ok": True}


def test_status_and_health(caller: Caller) -> None:
    assert caller.ask("GET", "/health").json["ok"] is True
    assert caller.ask("GET", "/status").json["projects"][0]["current"] is True
