"""Who is let in: loopback names, our own origin, with the token; bounded bodies, rates and waits; nobody gets a traceback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from byheart.interfaces.web.guard import LARGEST_BODY, Keys
from byheart.testing import Bench
from tests.interfaces.web.kit import Caller, gateway


@pytest.fixture
def caller(bench: Bench) -> Iterator[Caller]:
    with gateway(bench) as found:
        yield found


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "localhost", "127.0.0.1:1", "127.0.0.1:99999@evil", "[::1]"]
)
def test_other_hosts_are_turned_away(caller: Caller, host: str) -> None:
    answer = caller.ask("GET", "/api/v1/today", Host=host)
    assert answer.status == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_other_origins_are_turned_away(caller: Caller, origin: str) -> None:
    assert caller.ask("GET", "/api/v1/today", Origin=origin).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_from_other_sites_are_turned_away(caller: Caller, site: str) -> None:
    assert caller.ask("GET", "/", Sec_Fetch_Site=site).status == 403


@pytest.mark.parametrize("authorization", ["", "Bearer wrong", "Basic eDp5", "Bearer "])
@pytest.mark.parametrize(
    "path", ["/", "/api/v1/records", "/rpc", "/mcp", "/status", "/api/v1/openapi.json", "/api/v1/events"]
)
def test_nothing_without_the_token(caller: Caller, path: str, authorization: str) -> None:
    method = "POST" if path in ("/rpc", "/mcp") else "GET"
    answer = caller.ask(method, path, {} if method == "POST" else None, Authorization=authorization)
    assert answer.status == 401 and answer.headers["www-authenticate"] == "Bearer"


def test_health_needs_no_token_and_tells_nothing(caller: Caller) -> None:
    answer = caller.ask("GET", "/health", Authorization="")
    assert answer.status == 200 and set(answer.json) == {"ok", "name", "version"}


def test_login_link_works_once_and_gives_a_session_that_scripts_cannot_read(caller: Caller) -> None:
    path = caller.listening.link.partition(str(caller.listening.port))[2]
    first = caller.ask("GET", path, Authorization="")
    assert first.status == 200 and b"refresh" in first.body
    cookie = first.headers["set-cookie"]
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().casefold() for part in cookie.split(";")}
    assert caller.ask("GET", path, Authorization="").status == 401
    value = cookie.partition(";")[0]
    assert caller.ask("GET", "/", Authorization="", Cookie=value).status == 200
    assert caller.ask("GET", "/", Authorization="", Cookie=f"{caller.listening.keys.cookie}=stale").status == 401


def test_write_with_a_cookie_must_come_from_this_page(caller: Caller) -> None:
    cookie = f"{caller.listening.keys.cookie}={caller.listening.keys.begin(caller.listening.keys.login)}"
    told = {"text": "I prefer pnpm"}
    own = f"http://127.0.0.1:{caller.listening.port}"
    assert caller.ask("POST", "/api/v1/records", told, Authorization="", Cookie=cookie).status == 403
    assert caller.ask("POST", "/api/v1/records", told, Authorization="", Cookie=cookie, Origin=own).status == 200


def test_a_token_without_rights_may_not_change_settings(caller: Caller) -> None:
    caller.token = caller.listening.keys.local
    assert caller.ask("PUT", "/api/v1/settings/profile.bullets", {"value": "3"}).status == 403
    assert caller.ask("GET", "/api/v1/settings").status == 200


@pytest.mark.parametrize("path", ["/", "/api/v1/records", "/static/app.js", "/nowhere", "/health"])
def test_every_answer_has_its_headers(caller: Caller, path: str) -> None:
    headers = caller.ask("GET", path).headers
    assert (
        "default-src 'none'" in headers["content-security-policy"]
        and "unsafe" not in headers["content-security-policy"]
    )
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../guard.py",
        "/static/..%2fguard.py",
        "/static/app.css%00",
        "/static/%2e%2e/server.py",
        "/static//etc/passwd",
    ],
)
def test_static_files_are_those_and_no_others(caller: Caller, path: str) -> None:
    assert caller.ask("GET", path).status in (400, 404)


def test_large_bodies_are_refused_by_their_length_and_without_one(caller: Caller) -> None:
    assert caller.ask("POST", "/api/v1/records", b"{}", Content_Length=str(LARGEST_BODY + 1)).status == 413
    head = f"POST /api/v1/records HTTP/1.1\r\nHost: 127.0.0.1:{caller.listening.port}\r\nAuthorization: Bearer {caller.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"  # fmt: skip
    chunk = b"%x\r\n" % 1_000_000 + b"x" * 1_000_000 + b"\r\n"
    try:
        answer = caller.raw(head.encode() + chunk * 6)
    except ConnectionError:
        # It hung up on us in the middle, which is an answer too.
        return
    assert b" 413 " in answer.split(b"\r\n")[0]


def test_too_many_requests_are_told_to_wait() -> None:
    from byheart.interfaces.web.guard import Guard

    now = [0.0]
    guard = Guard(None, Keys(7411), lambda: 1, clock=lambda: now[0])  # type: ignore[arg-type]
    taken = sum(guard._has_room("one") for _ in range(1_000))
    assert taken == 400
    assert guard._has_room("another")
    now[0] += 1
    assert sum(guard._has_room("one") for _ in range(1_000)) == 100


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /rpc HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    ],
)
def test_nonsense_gets_an_answer_or_a_closed_line_and_the_server_lives(caller: Caller, content: bytes) -> None:
    try:
        answer = caller.raw(content)
    except ConnectionError:
        answer = b""
    assert b"Traceback" not in answer
    assert caller.ask("GET", "/health").status == 200


def test_many_clients_at_once_lose_no_write(caller: Caller) -> None:
    """60 clients, 8 writes each: every write that was acknowledged is there."""
    acknowledged: list[str] = []
    lock = threading.Lock()

    def write(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", caller.listening.port, timeout=60)
        for turn in range(8):
            text = f"never touch oven {number} on day {turn}"
            headers = {"Authorization": f"Bearer {caller.token}", "Content-Type": "application/json"}
            connection.request("POST", "/api/v1/records", f'{{"text": "{text}"}}', headers)
            found = connection.getresponse()
            found.read()
            assert found.status in (200, 429, 503), found.status
            if found.status == 200:
                with lock:
                    acknowledged.append(text)
        connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(60)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    total, start, texts = 1, 0, set[str]()
    while start < total:
        page = caller.api("GET", f"/records?book=rules&start={start}&most=500")
        total, start = page["total"], start + 500
        texts |= {row["text"].casefold().rstrip(".") for row in page["records"]}
    assert acknowledged and set(acknowledged) <= texts


def test_refusals_of_the_rpc_have_its_form(caller: Caller) -> None:
    answer = caller.ask("POST", "/rpc", {"version": "2.0", "method": "memory.listLogs"}, Authorization="")
    assert answer.status == 401
    assert answer.json["ok"] is False and answer.json["auditId"] and answer.json["error"]["code"] == "UNAUTHORIZED"


def test_two_servers_have_cookies_of_their_own() -> None:
    assert Keys(7411).cookie != Keys(7412).cookie
