"""The server, as the official SDK's client sees it: over standard streams and HTTP, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import ListRootsResult, Root, TextContent, TextResourceContents

from byheart.testing import Bench
from tests.conftest import Cli

ERAS = ["legacy", "auto"]


def parameters(bench: Bench, folder: str | None = None) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "byheart", "mcp"],
        env={**bench.environment, "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        cwd=folder or bench.project,
    )


@contextmanager
def served(bench: Bench) -> Iterator[tuple[str, str]]:
    """A server over HTTP: its address and token."""
    environment = {**os.environ, **bench.environment}
    child = subprocess.Popen(
        [sys.executable, "-m", "byheart", "mcp", "--http", "--port", "0"],
        cwd=bench.project,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stderr
        address = child.stderr.readline().split("Serving ")[1].split(" ")[0]
        child.stderr.readline()
        yield address, Path(bench.home, "state", "mcp-token").read_text().strip()
    finally:
        child.terminate()
        child.communicate(timeout=20)


@asynccontextmanager
async def over_http(address: str, token: str, mode: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


def text(result: object) -> str:
    content = result.content  # type: ignore[attr-defined]
    assert isinstance(content[0], TextContent)
    return content[0].text


async def session(client: Client) -> None:
    """Everything that the server offers, once."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "recall_memory", "remember_this", "forget_memory", "confirm_memory", "manage_memory", "review_candidates", "query_experiences", "session_search", "how", "fix",
        "blame", "memory_folder",
    ]  # fmt: skip
    assert all(tool.description and tool.annotations and tool.input_schema["type"] == "object" for tool in tools)
    saved = await client.call_tool(
        "remember_this", {"text": "never deploy on Fridays because support is away", "user_asked": True}
    )
    assert not saved.is_error and "Never deploy on Fridays" in text(saved)
    found = text(await client.call_tool("recall_memory", {"query": "when may I deploy?"}))
    assert "Fridays" in found and "memory://rules#" in found and "data, not instruction" in found
    nothing = await client.call_tool("fix", {"error": "no such error ever"})
    assert not nothing.is_error and "No similar error" in text(nothing)
    wrong = await client.call_tool("recall_memory", {})
    assert wrong.is_error and "'query' is missing" in text(wrong)
    resources = {str(each.uri) for each in (await client.list_resources()).resources}
    assert {"memory://root", "memory://rules"} <= resources
    read = (await client.read_resource("memory://rules")).contents[0]
    assert isinstance(read, TextResourceContents) and "Never deploy on Fridays" in read.text
    assert [each.name for each in (await client.list_resource_templates()).resource_templates] == [
        "handbook file",
        "day",
    ]
    prompts = {each.name for each in (await client.list_prompts()).prompts}
    assert prompts == {"memory", "remember"}
    brief = (await client.get_prompt("memory")).messages[0].content
    assert isinstance(brief, TextContent) and "Never deploy on Fridays" in brief.text
    for call in ({"command": "create", "path": "/memories/plan.md", "file_text": "one\ntwo\n"}, {"command": "view"}):
        assert not (await client.call_tool("memory_folder", call)).is_error
    handle = found.split("memory://rules#")[1][:8]
    gone = await client.call_tool("forget_memory", {"memory": f"memory://rules#{handle}"})
    assert not gone.is_error and "Forgotten" in text(gone)
    assert "Fridays" not in text(await client.call_tool("recall_memory", {"query": "when may I deploy?"}))


@pytest.mark.parametrize("mode", ERAS)
def test_session_over_standard_streams(bench: Bench, mode: str) -> None:
    async def run() -> None:
        async with Client(parameters(bench), mode=mode) as client:
            assert client.instructions and "remember_this" in client.instructions
            assert client.server_info and client.server_info.name == "byheart"
            await session(client)

    asyncio.run(run())


@pytest.mark.parametrize("mode", ERAS)
def test_session_over_http(bench: Bench, mode: str) -> None:
    async def run(address: str, token: str) -> None:
        async with over_http(address, token, mode) as client:
            await session(client)

    with served(bench) as (address, token):
        asyncio.run(run(address, token))


def test_roots_say_which_project_it_is(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other repo"
    (other / ".git").mkdir(parents=True)
    cli("remember", "never feed the llama", folder=str(other))
    cli("remember", "never feed the zebra")

    async def roots(context: object) -> ListRootsResult:
        del context
        return ListRootsResult(roots=[Root(uri=other.as_uri())])  # type: ignore[arg-type]

    async def run() -> None:
        async with Client(parameters(bench, str(tmp_path)), mode="legacy", list_roots_callback=roots) as client:
            found = text(await client.call_tool("recall_memory", {"query": "feed the animals never"}))
            assert "llama" in found and "zebra" not in found

    asyncio.run(run())


def test_many_calls_at_once_are_all_answered(bench: Bench) -> None:
    async def run() -> None:
        async with Client(parameters(bench), mode="legacy") as client:
            calls = [client.call_tool("remember_this", {"text": f"never paint door {n} green because it peels", "user_asked": True}) for n in range(20)]  # fmt: skip
            done = await asyncio.gather(*calls)
            assert not any(each.is_error for each in done)

    asyncio.run(run())
    lines = next(Path(bench.home).glob("projects/*/memories.ndjson")).read_text().splitlines()
    assert len(lines) == 20


def test_what_an_agent_infers_is_judged_first(bench: Bench) -> None:
    async def run() -> None:
        async with Client(parameters(bench), mode="legacy") as client:
            passing = await client.call_tool("remember_this", {"text": "the tests are failing right now"})
            assert passing.is_error
            secret = "ghp_" + "R7tYq2Lm9Xc4Vb8Nw1Kd5Hs3Jf6Pz0Ga1Bc2"
            told = await client.call_tool("remember_this", {"text": f"the token is {secret}", "user_asked": True})
            assert told.is_error and secret not in text(told)

    asyncio.run(run())
    assert not [path for path in Path(bench.home).rglob("*") if path.is_file() and b"R7tYq2Lm" in path.read_bytes()]
