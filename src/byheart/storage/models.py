"""Language models behind an address, a command, or the user's own agent."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any

from byheart.domain.learning import NoAnswer, Spent
from byheart.storage import json_client

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from byheart.domain.learning import Headless

_LARGEST = 4_000_000
_MOST_ANSWERED = 8_000
# How long a server is waited for that asks for patience, at most; and what the first wait is without its word.
_PATIENCE, _FIRST_WAIT = 60.0, 1.0


class CommandModel:
    """Runs a command with the question on its standard input. {model} in it stands for the model's name. It runs in byheart's
    own folder, so that a session which it leaves behind is known as byheart's own."""

    def __init__(self, command: str, model: str, folder: str, environment: Mapping[str, str], seconds: float) -> None:
        self._words = [word.replace("{model}", model) for word in shlex.split(command)]
        # Agents' hooks that call byheart know by this that it is byheart that asks.
        self._environment = {**environment, "BYHEART_CHILD": "1"}
        self._folder, self._seconds = folder, seconds
        self.id = f"command:{command}:{model}"
        self.spent = Spent()

    def answer(self, system: str, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """What the command prints. Raises NoAnswer."""
        del schema
        out = _ran(self._words, f"{system}\n\n{prompt}", self._folder, self._environment, self._seconds)
        self.spent.count(len(system) + len(prompt), len(out))
        return out


class AgentModel:
    """Asks the user's own agent, headless: with its own login and none of its hooks, tools, settings or saved sessions, as far as it can do
    without."""

    def __init__(self, headless: Headless, model: str, folder: str, environment: Mapping[str, str], seconds: float) -> None:  # fmt: skip
        self._headless, self._model, self._folder, self._seconds = headless, model, folder, seconds
        self._environment = {**environment, "BYHEART_CHILD": "1"}
        self.id = f"agent:{headless.command[0]}:{model}"
        self.spent = Spent()

    def answer(self, system: str, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """What the agent says. Raises NoAnswer."""
        del schema
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as place:
            out = os.path.join(place, "answer.txt")
            words = [each.replace("{out}", out) for each in self._headless.command]
            words += self._headless.more(self._environment)
            words += [each.replace("{model}", self._model) for each in self._headless.model if self._model]
            told = _ran(
                [*words, *self._headless.last], f"{system}\n\n{prompt}", place, self._environment, self._seconds
            )
            if self._headless.writes:
                try:
                    with open(out, encoding="utf-8", errors="replace") as stream:
                        told = stream.read(_LARGEST)
                except OSError:
                    raise NoAnswer(f"{words[0]!r} wrote no answer", for_this_alone=True) from None
        text, used = _read_agents(told, self._headless.field)
        if used is None:
            self.spent.count(len(system) + len(prompt), len(text))
        else:
            self.spent.add(*used)
        return text


def _read_agents(told: str, field: str) -> tuple[str, tuple[int, int, float] | None]:
    """The answer in what an agent printed, and what it says it used. Raises NoAnswer where it reports an error."""
    if not field:
        return told, None
    try:
        found = json.loads(told)
        text = found[field]
    except (ValueError, LookupError, TypeError):
        raise NoAnswer("the agent did not answer as it was asked to", for_this_alone=True) from None
    if not isinstance(text, str) or found.get("is_error"):
        raise NoAnswer(f"the agent answered with an error: {str(text)[:200]}")
    usage = found.get("usage")
    cost = found.get("total_cost_usd")
    if not isinstance(usage, dict):
        return text, None
    sent = sum(int(usage.get(name) or 0) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))  # fmt: skip
    return text, (sent, int(usage.get("output_tokens") or 0), float(cost) if isinstance(cost, int | float) else 0.0)


def _ran(words: Sequence[str], given: str, folder: str, environment: Mapping[str, str], seconds: float) -> str:
    """What a program prints with this on its standard input. Raises NoAnswer."""
    name = words[0]
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        child = subprocess.Popen(
            words,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise NoAnswer(f"{name!r} could not be started ({error.strerror})") from None
    try:
        out, wrong = child.communicate(given.encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{name!r} did not answer within {seconds:g} seconds") from None
    finally:
        _ended(child)
    if child.returncode != 0:
        told = wrong.decode("utf-8", "replace").strip().split("\n")[-1][:200]
        raise NoAnswer(f"{name!r} ended with {child.returncode}: {told}")
    if len(out) > _LARGEST:
        raise NoAnswer(f"{name!r} answered with more than {_LARGEST:,} bytes", for_this_alone=True)
    return out.decode("utf-8", "replace")


def _ended(child: subprocess.Popen[bytes]) -> None:
    """End a command that is still there, with everything that it started."""
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except OSError:
            child.kill()
        child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream:
            stream.close()


# What a server says where it does not like the question itself; anything else may pass.
_QUESTION = (400, 413, 422)
# Of these, what it says of a field that it does not know.
_UNREADABLE = (400, 422)
# What may be otherwise in a moment.
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)


class _Misunderstood(NoAnswer):
    """The server cannot read the question."""


class EndpointModel:
    """Asks a server in one of three ways: `chat` (Chat Completions, which most servers speak), `responses`, or `anthropic` (Messages). What
    gets here has been cleaned of secrets."""

    def __init__(
        self,
        address: str,
        model: str,
        key: str | None,
        seconds: float,
        *,
        api: str = "chat",
        retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._address, self._model, self._key, self._seconds = address.rstrip("/"), model, key, seconds
        self._api, self._retries, self._sleep = api, retries, sleep
        # A server that does not know schemas is asked without from then on.
        self._knows_schemas = True
        self.id = f"endpoint:{address}:{model}" if api == "chat" else f"endpoint:{api}:{address}:{model}"
        self.spent = Spent()

    def answer(self, system: str, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """What the model says. Raises NoAnswer."""
        for is_last in (False, True):
            with_schema = schema if self._knows_schemas else None
            path, body, headers = _WAYS[self._api](self._model, system, prompt, with_schema, self._key)
            try:
                told = self._asked(f"{self._address}{path}", body, headers)
                break
            except _Misunderstood:
                if is_last or with_schema is None:
                    raise
                self._knows_schemas = False
        text = _text_of(self._api, told)
        # An answer without a text is paid for as well.
        self._count(told, len(system) + len(prompt), len(text or ""))
        if text is None:
            raise NoAnswer(f"{self._address}{path} did not answer as a {self._api} server does")
        if not text:
            raise NoAnswer(f"{self._address}{path} answered without a text", for_this_alone=True)
        return text

    def _asked(self, url: str, body: object, headers: Mapping[str, str]) -> Any:
        """The server's answer; asked again after a while where it says that it is busy."""
        for attempt in range(self._retries + 1):
            wait = _FIRST_WAIT * 2**attempt * (0.5 + random.random())  # noqa: S311 - only spreads who asks when
            try:
                return json_client.post(url, body, headers, seconds=self._seconds, largest=_LARGEST)
            except json_client.BadStatus as error:
                if error.code not in _AGAIN or attempt == self._retries or (error.wait or 0) > _PATIENCE:
                    kind = _Misunderstood if error.code in _UNREADABLE else NoAnswer
                    raise kind(f"{url} answered {error}", for_this_alone=error.code in _QUESTION) from None
                self._sleep(min(_PATIENCE, error.wait if error.wait is not None else wait))
            except json_client.TooLarge as error:
                raise NoAnswer(f"{url} {error}", for_this_alone=True) from None
            except json.JSONDecodeError:
                raise NoAnswer(f"{url} did not answer as a {self._api} server does") from None
            except (OSError, ValueError) as error:
                raise NoAnswer(f"{url} did not answer ({str(error)[:120]})") from None
        raise AssertionError("unreachable")

    def _count(self, told: Any, sent: int, got: int) -> None:
        usage = told.get("usage") if isinstance(told, dict) else None
        names = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
        found = [next((usage[name] for name in pair if isinstance(usage.get(name), int)), None) for pair in names] if isinstance(usage, dict) else [None, None]  # fmt: skip
        if found[0] is None or found[1] is None:
            self.spent.count(sent, got)
        else:
            self.spent.add(found[0], found[1], 0.0)


_Way = tuple[str, dict[str, Any], dict[str, str]]


def _chat(model: str, system: str, prompt: str, schema: Mapping[str, Any] | None, key: str | None) -> _Way:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": False}
    if schema:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return "/chat/completions", body, _bearer(key)


def _responses(model: str, system: str, prompt: str, schema: Mapping[str, Any] | None, key: str | None) -> _Way:
    body: dict[str, Any] = {"model": model, "instructions": system, "input": prompt, "store": False}
    if schema:
        body["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": schema}}
    return "/responses", body, _bearer(key)


def _anthropic(model: str, system: str, prompt: str, schema: Mapping[str, Any] | None, key: str | None) -> _Way:
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": _MOST_ANSWERED,
        "messages": [{"role": "user", "content": prompt}],
    } | ({"system": system} if system else {})
    if schema:
        body["tools"] = [{"name": "answer", "description": "Give the answer.", "input_schema": schema}]
        body["tool_choice"] = {"type": "tool", "name": "answer"}
    return "/messages", body, {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}


def _bearer(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


_WAYS: Mapping[str, Callable[[str, str, str, Mapping[str, Any] | None, str | None], _Way]] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
}


def _text_of(api: str, told: Any) -> str | None:
    """The text of an answer; None where it is none of this kind of server's."""
    try:
        if api == "chat":
            text = told["choices"][0]["message"]["content"]
            return text if isinstance(text, str) else ""
        if api == "responses":
            parts = [part for each in told["output"] if each.get("type") == "message" for part in each["content"]]
            return "".join(part.get("text", "") for part in parts if part.get("type") == "output_text")
        blocks = told["content"]
        used = next((block["input"] for block in blocks if block.get("type") == "tool_use"), None)
        if used is not None:
            return json.dumps(used, ensure_ascii=False)
        return "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    except (LookupError, TypeError, AttributeError):
        return None
