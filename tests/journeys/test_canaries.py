"""No secret reaches a byte of byheart's home: 42 formats in 36 places, each canary another one."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.brief.kit import hook
from tests.learning.world import World, fixed

ALNUM, LOWER, UPPER, HEX = string.ascii_letters + string.digits, string.ascii_lowercase + string.digits, string.ascii_uppercase + string.digits, "0123456789abcdef"  # fmt: skip
B32 = string.ascii_uppercase + "234567"
Dice = random.Random


def made(dice: Dice, alphabet: str, length: int) -> str:
    """Random letters with a digit, a small and a large letter among them where the alphabet has such."""
    while True:
        found = "".join(dice.choice(alphabet) for _ in range(length))
        wanted = [kind for kind in (str.isdigit, str.islower, str.isupper) if any(map(kind, alphabet))]
        if length < 8 or all(any(map(kind, found)) for kind in wanted):
            return found


FORMATS: dict[str, Callable[[Dice], str]] = {
    "github": lambda d: "ghp_" + made(d, ALNUM, 36),
    "github app": lambda d: "ghs_" + made(d, ALNUM, 36),
    "github fine-grained": lambda d: "github_pat_" + made(d, ALNUM, 22) + "_" + made(d, ALNUM, 59),
    "gitlab": lambda d: "glpat-" + made(d, ALNUM, 20),
    "gitlab runner": lambda d: "glrt-" + made(d, ALNUM, 20),
    "aws id": lambda d: "AKIA" + made(d, B32, 16),
    "aws temporary": lambda d: "ASIA" + made(d, B32, 16),
    "google": lambda d: "AIza" + made(d, ALNUM, 35),
    "google oauth": lambda d: "ya29." + made(d, ALNUM, 60),
    "google client": lambda d: "GOCSPX-" + made(d, ALNUM, 28),
    "slack bot": lambda d: "xoxb-" + made(d, string.digits, 12) + "-" + made(d, string.digits, 12) + "-" + made(d, ALNUM, 24),
    "slack app": lambda d: "xapp-1-" + made(d, UPPER, 11) + "-" + made(d, string.digits, 13) + "-" + made(d, HEX, 64),
    "stripe": lambda d: "sk_live_" + made(d, ALNUM, 24),
    "stripe restricted": lambda d: "rk_live_" + made(d, ALNUM, 24),
    "openai": lambda d: "sk-proj-" + made(d, ALNUM, 74),
    "anthropic": lambda d: "sk-ant-api03-" + made(d, ALNUM, 93) + "AA",
    "openrouter": lambda d: "sk-or-v1-" + made(d, HEX, 64),
    "groq": lambda d: "gsk_" + made(d, ALNUM, 52),
    "huggingface": lambda d: "hf_" + made(d, ALNUM, 34),
    "npm": lambda d: "npm_" + made(d, ALNUM, 36),
    "pypi": lambda d: "pypi-AgEIcHlwaS5vcmc" + made(d, ALNUM, 70),
    "docker": lambda d: "dckr_pat_" + made(d, ALNUM, 27),
    "sendgrid": lambda d: "SG." + made(d, ALNUM, 22) + "." + made(d, ALNUM, 43),
    "telegram": lambda d: made(d, "123456789", 9) + ":AA" + made(d, ALNUM, 33),
    "databricks": lambda d: "dapi" + made(d, HEX, 32),
    "digitalocean": lambda d: "dop_v1_" + made(d, HEX, 64),
    "vault": lambda d: "hvs." + made(d, ALNUM, 40),
    "terraform": lambda d: made(d, ALNUM, 14) + ".atlasv1." + made(d, ALNUM, 67),
    "square": lambda d: "sq0csp-" + made(d, ALNUM, 43),
    "shopify": lambda d: "shpat_" + made(d, HEX, 32),
    "new relic": lambda d: "NRAK-" + made(d, UPPER, 27),
    "sentry": lambda d: "sntryu_" + made(d, HEX, 64),
    "linear": lambda d: "lin_api_" + made(d, ALNUM, 40),
    "notion": lambda d: "ntn_" + made(d, ALNUM, 46),
    "figma": lambda d: "figd_" + made(d, ALNUM, 40),
    "postman": lambda d: "PMAK-" + made(d, HEX, 24) + "-" + made(d, HEX, 34),
    "supabase": lambda d: "sbp_" + made(d, HEX, 40),
    "planetscale": lambda d: "pscale_tkn_" + made(d, ALNUM, 43),
    "mongodb atlas": lambda d: "mdb_sa_sk_" + made(d, ALNUM, 40),
    "grafana": lambda d: "glsa_" + made(d, ALNUM, 32) + "_" + made(d, HEX, 8),
    "json web token": lambda d: "eyJhbGciOiJIUzI1NiJ9." + base64.urlsafe_b64encode(b'{"sub":"' + made(d, ALNUM, 30).encode() + b'"}').decode().rstrip("=") + "." + made(d, ALNUM, 43),
    "age": lambda d: "AGE-SECRET-KEY-1" + made(d, UPPER, 58),
}  # fmt: skip
FORMS: dict[str, Callable[[str], str]] = {
    "bare": lambda token: token,
    "assignment": lambda token: f"export API_TOKEN={token}",
    "json": lambda token: f'{{"a": 1, "credential": "{token}", "b": 2}}',
    "percent": lambda token: f"https://x.test/cb?state%3D{token}%26next=1",
    "unicode escape": lambda token: f"value\\u003D{token}\\u0026",
    "colour": lambda token: f"\x1b[1;31m{token}\x1b[0m",
    "sentence": lambda token: f"the token is {token}. Keep it.",
    "header": lambda token: f"curl -H 'Authorization: Bearer {token}' https://x.test",
    "yaml block": lambda token: f"secret: |\n  {token}\nother: 1",
    "base64 of a file": lambda token: base64.encodebytes(f"# settings\nTOKEN={token}\nDEBUG=1\n".encode()).decode(),
    "UTF-16": lambda token: f"TOKEN={token}\n".encode("utf-16-le").decode("latin-1"),
    "url": lambda token: f"git clone https://user:{token}@host.test/a/b.git",
}  # fmt: skip
CHANNELS = ("user", "assistant", "tool")


@pytest.mark.parametrize("part", range(3))
def test_no_canary_is_in_any_byte_of_the_home(tmp_path: Path, part: int) -> None:
    dice = random.Random(part)
    world = World(tmp_path)
    planted: dict[str, str] = {}
    names = list(FORMATS)
    assert len(names) == 42 and len(FORMS) * len(CHANNELS) == 36
    for format_ in names[part::3]:
        events: list[tuple[object, ...]] = [("user", "Mend the oven. From now on always use rye flour.")]
        for form, spelled in FORMS.items():
            for channel in CHANNELS:
                token = FORMATS[format_](dice)
                text = spelled(token)
                planted[token] = f"{format_}, {form}, {channel}"
                if channel == "tool":
                    events.append(("run", f"cat notes-{len(planted)}.txt", text, 0))
                else:
                    events.append((channel, f"Look at this: {text}" if form != "bare" else text))
        world.session(*events, *fixed())
    world.learn()
    hook(world.bench, "session-start")
    world.door()
    stored = b"\x00".join(path.read_bytes() for path in Path(world.bench.home).rglob("*") if path.is_file())
    forms = {
        token: (
            token.encode(),
            base64.b64encode(f"# settings\nTOKEN={token}\n".encode())[24:64],
            f"{token}".encode("utf-16-le"),
        )
        for token in planted
    }
    kept = [planted[token] for token, spelled in forms.items() if any(each in stored for each in spelled)]
    assert kept == []
    assert b"rye flour" in stored
