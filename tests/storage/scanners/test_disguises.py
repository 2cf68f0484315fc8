"""Secrets in another spelling than their own are found as they are in the clear."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable

import pytest

from byheart.storage.scanners.scanner import RuleScanner
from tests.storage.scanners.test_scanner import TOKENS

SCANNER = RuleScanner()
PLAIN = {
    name: token
    for name, token in TOKENS.items()
    if " " not in token and "\n" not in token and name not in ("url-credentials",)
}
TOKEN = TOKENS["github-token"]
KEY_FILE = "-----BEGIN RSA PRIVATE " + "KEY-----\n" + "MIIEpQIBAAKCAQEA7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5d9fG7hJ9kL1mN3pQ5rS7\n" * 4 + "-----END RSA PRIVATE " + "KEY-----\n"  # fmt: skip

FORMS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 without its end": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64 in lines": lambda text: base64.encodebytes(text.encode()).decode().rstrip("\n"),
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "UTF-16 read as bytes": lambda text: text.encode("utf-16-le").decode("latin-1"),
    "UTF-16 the other way": lambda text: text.encode("utf-16-be").decode("latin-1"),
    "UTF-16 in JSON": lambda text: "".join(f"{each}\\u0000" for each in text),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "inner", [f"GITHUB_TOKEN={TOKEN}\nDEBUG=1\n", KEY_FILE, f"export AWS_ACCESS_KEY_ID={TOKENS['aws-access-key-id']}\n"]
)
def test_file_with_a_secret_in_another_spelling(form: str, inner: str) -> None:
    spelled = FORMS[form](inner)
    found = SCANNER.redacted(f"output:\n{spelled}\ndone")
    assert "[REDACTED:" in found and found.startswith("output:\n") and found.endswith("\ndone")
    assert spelled not in found


@pytest.mark.parametrize("before", ["%3D", "%3A", "%2F", "\\u003D", "\\u003d", "\\x3D", "\\n", "=", "TOKEN", "a", "9", "_", "\x1b[31m", "\x1b[1;31;40m", '"', "(", "「"])  # fmt: skip
@pytest.mark.parametrize(
    "name", ["github-token", "anthropic-key", "stripe-key", "npm-token", "slack-token", "gitlab-token"]
)
def test_token_is_found_behind_any_boundary(name: str, before: str) -> None:
    assert TOKENS[name] not in SCANNER.redacted(f"x {before}{TOKENS[name]} y")


@pytest.mark.parametrize("before", ["%3D", "%2F", "\\u003D", "\\n", "=", "a", "\x1b[31m", '"', "("])
@pytest.mark.parametrize(
    "name", ["aws-access-key-id", "google-api-key", "json-web-token", "databricks-token", "sendgrid-key"]
)
def test_token_without_a_telling_prefix_is_found_behind_escapes(name: str, before: str) -> None:
    assert TOKENS[name] not in SCANNER.redacted(f"x {before}{TOKENS[name]} y")


@pytest.mark.parametrize("joint", ["\n", "\r\n", "\n    ", "\\\n", "\\n"])
@pytest.mark.parametrize("name", ["github-token", "anthropic-key", "openai-key", "pypi-token"])
def test_token_that_is_wrapped_is_found(name: str, joint: str) -> None:
    token = TOKENS[name]
    for at in (len(token) // 2, len(token) - 10):
        found = SCANNER.redacted(f"key:\n{token[:at]}{joint}{token[at:]}\n")
        assert token[:at] not in found and token[at:] not in found


FOLDED = [
    "password: >-\n  {0}\nnext: 1\n",
    "client_secret: |\n    {0}\nnext: 1\n",
    "secret_key: |-\n  {0}\n  {1}\nnext: 1\n",
    "API_KEY={0}\\\n{1}\n",
]


@pytest.mark.parametrize("text", FOLDED)
def test_folded_value_is_found_to_its_end(text: str) -> None:
    rng = random.Random(5)
    first, second = (
        "".join(rng.choice("abcdefghijkmnpqrstuvwxyzABCDEFGH23456789") for _ in range(32)) for _ in range(2)
    )
    found = SCANNER.redacted(text.format(first, second))
    assert first not in found and second not in found
    assert "next: 1" in found or "next" not in text


def test_hashes_ids_and_pictures_are_no_disguise() -> None:
    rng = random.Random(1)
    raw = bytes(rng.randrange(256) for _ in range(3_000))
    text = f"{raw.hex()}\n{base64.b64encode(raw).decode()}\nsrc/components/authentication/middleware/session_controller.py\n{raw[:20].hex()}"
    assert SCANNER.redacted(text) == text


NEXT = [
    "DEBUG=true",
    "hello world",
    "SLACK_TOKEN=abc",
    "other: plain",
    "    indented words",
    "- item",
    "# Title",
    "npm install",
]


@pytest.mark.parametrize("following", NEXT)
@pytest.mark.parametrize("name", ["github-token", "stripe-key", "anthropic-key", "age-secret-key", "sendgrid-key"])
def test_next_line_is_not_swallowed(name: str, following: str) -> None:
    assert SCANNER.redacted(f"SETTING={TOKENS[name]}\n{following}\n").endswith(f"]\n{following}\n")


HARMLESS = [
    "tests/test_password.py::test_hash_roundtrip PASSED",
    "UPDATE users SET password = crypt($1, gen_salt('bf'))",
    "CREATE USER app WITH PASSWORD :'app_password';",
    'password = input("Enter your password: ")',
    "$password = $_POST['password'];",
    '"auth.errors.wrongPassword": "Wrong password"',
    '"forgotPassword": "Forgot password?"',
    "The key fingerprint is SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
    "user@host's password:\ndebug1: Offering public key",
    '{"key": "user:42:profile", "token_count": 512}',
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_developers_write_is_left_alone(text: str) -> None:
    assert SCANNER.redacted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "TWILIO_AUTH_TOKEN%3D{0}%26x=1",
        "password%3D{0}",
        "TWILIO_AUTH_TOKEN\\u003D{0}",
        "https%3A%2F%2Fbob%3A{0}%40host.test%2F",
    ],
)
def test_assignment_is_found_in_an_address(text: str) -> None:
    secret = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
    assert secret not in SCANNER.redacted(f"see {text.format(secret)} now")
