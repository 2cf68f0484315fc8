"""Language models behind an address or a command."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from byheart.domain.learning import NoAnswer
from byheart.storage import json_client

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST = 4_000_000


class CommandModel:
    """Runs a command with the question on its standard input. {model} in it stands for the model's name. It runs in byheart's
    own folder, so that a session which it leaves behind is known as byheart's own."""

    def __init__(self, command: str, model: str, folder: str, environment: Mapping[str, str], seconds: float) -> None:
        self._words = [word.replace("{model}", model) for word in shlex.split(command)]
        # Agents' hooks that call byheart know by this that it is byheart that asks.
        self._environment = {**environment, "BYHEART_CHILD": "1"}
        self._folder, self._seconds = folder, seconds
        self.id = f"command:{command}:{model}"

    def answer(self, system: str, prompt: str) -> str:
        """What the command prints. Raises NoAnswer."""
        name = self._words[0]
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        try:
            child = subprocess.Popen(
                self._words,
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise NoAnswer(f"{name!r} could not be started ({error.strerror})") from None
        try:
            out, wrong = child.communicate(f"{system}\n\n{prompt}".encode(), timeout=self._seconds)
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"{name!r} did not answer within {self._seconds:g} seconds") from None
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


class EndpointModel:
    """Asks `<address>/chat/completions`. What gets here has been cleaned of secrets."""

    def __init__(self, address: str, model: str, key: str | None, seconds: float) -> None:
        self._url = f"{address.rstrip('/')}/chat/completions"
        self._model, self._key, self._seconds = model, key, seconds
        self.id = f"endpoint:{address}:{model}"

    def answer(self, system: str, prompt: str) -> str:
        """What the model says. Raises NoAnswer."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        body = {"model": self._model, "messages": messages, "stream": False}
        try:
            told: Any = json_client.post(self._url, body, self._key, seconds=self._seconds, largest=_LARGEST)
        except json_client.BadStatus as error:
            raise NoAnswer(f"{self._url} answered {error}", for_this_alone=error.code in _QUESTION) from None
        except json_client.TooLarge as error:
            raise NoAnswer(f"{self._url} {error}", for_this_alone=True) from None
        except json.JSONDecodeError:
            raise NoAnswer(f"{self._url} did not answer as a chat server does") from None
        except (OSError, ValueError) as error:
            raise NoAnswer(f"{self._url} did not answer ({str(error)[:120]})") from None
        try:
            text = told["choices"][0]["message"]["content"]
        except (LookupError, TypeError):
            raise NoAnswer(f"{self._url} did not answer as a chat server does") from None
        if not isinstance(text, str):
            raise NoAnswer(f"{self._url} answered without a text", for_this_alone=True)
        return text
