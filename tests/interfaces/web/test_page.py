"""The page in a real browser: every view, by mouse and by keyboard, wide and narrow, light and dark; nothing of it from elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from tests.interfaces.web.kit import Caller, gateway
from tests.learning.world import World, fixed

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="chromium is not here; scripts/setup.sh dev installs it where it may"),
    pytest.mark.timeout(600),
]
ARTEFACTS = os.environ.get("BYHEART_ARTEFACTS", "")
VIEWS = ("", "brief", "memory", "sessions", "skills", "inbox", "history", "machine", "settings")
PAYLOADS = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "{{ 7*7 }} ${7*7}",
    "javascript:alert(1)",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as found:
        flags = [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ]
        started = found.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield started
        started.close()


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    events = [
        ("user", "Mend the bell. From now on always use zirconium bolts."),
        *fixed(),
        ("user", 'the sign says "from now on always wash your hands before baking"'),
    ]
    found.session(*events)
    found.session(
        ("user", "Bob: always use the big oven"),
        *fixed("Error: door stuck"),
    )
    found.learn()
    Path(found.bench.home, "config.toml").write_text('[recall]\nembedder = "none"\n', encoding="utf-8")
    for text in ("I prefer pnpm", "never push on Fridays"):
        found.bench.remember(text)
    return found


@pytest.fixture
def caller(world: World) -> Iterator[Caller]:
    with gateway(world.bench) as found:
        yield found


@pytest.fixture
def page(browser: Browser, caller: Caller) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1100, "height": 800}, reduced_motion="reduce")
    found = context.new_page()
    found.set_default_timeout(60_000)
    wrong: list[str] = []
    asked: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on(
        "console",
        lambda message: (
            wrong.append(message.text)
            if message.type == "error" and "Failed to load resource" not in message.text
            else None
        ),
    )
    found.on("request", lambda request: asked.append(request.url))
    found.goto(caller.listening.link)
    found.wait_for_url(f"{caller.listening.address}/")
    yield found
    context.close()
    assert wrong == []
    own = (caller.listening.address, "data:")
    assert all(each.startswith(own) for each in asked), "everything comes from here"


def at(caller: Caller, view: str) -> str:
    return f"{caller.listening.address}/{view}"


def shot(page: Page, name: str) -> None:
    if ARTEFACTS:
        os.makedirs(ARTEFACTS, exist_ok=True)
        page.screenshot(path=os.path.join(ARTEFACTS, f"{name}.png"), full_page=True)


def said(page: Page, text: str) -> None:
    expect(page.locator("#said")).to_contain_text(text, timeout=60_000)


def test_every_view_opens_by_keyboard_and_fits_a_narrow_screen(page: Page, caller: Caller) -> None:
    titles = {
        "b": "told",
        "m": "Memory",
        "s": "Sessions",
        "k": "Skills",
        "i": "Inbox",
        "h": "History",
        "e": "Health",
        "g": "Settings",
        "t": "Today",
    }
    for key, title in titles.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.locator("h1")).to_contain_text(title)
    for view in VIEWS:
        page.set_viewport_size({"width": 1100, "height": 800})
        page.goto(at(caller, view))
        shot(page, f"{view or 'today'}-wide")
        page.set_viewport_size({"width": 360, "height": 740})
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, (view, wide)
        shot(page, f"{view or 'today'}-narrow")


def test_search_as_one_types_edit_keep_and_forget_with_a_preview(page: Page, caller: Caller) -> None:
    page.goto(at(caller, "memory"))
    page.keyboard.press("/")
    page.keyboard.type("package manager")
    expect(page.locator("#results .line").first).to_contain_text("I prefer pnpm")
    line = page.locator(".line", has_text="I prefer pnpm").first
    line.get_by_role("button", name="Edit").click()
    page.locator("#ask textarea").fill("I prefer pnpm over npm")
    page.locator("#ask-yes").click()
    said(page, "Saved")
    expect(page.locator("#results")).to_contain_text("pnpm over npm")
    page.locator(".line", has_text="pnpm over npm").first.get_by_role("button", name="Keep").click()
    said(page, "Kept")
    page.locator(".line", has_text="pnpm over npm").first.get_by_role("button", name="Forget").click()
    expect(page.locator("#ask")).to_contain_text("pnpm over npm")
    expect(page.locator("#ask")).to_contain_text("cannot be undone")
    shot(page, "forget-preview")
    page.locator("#ask-yes").click()
    said(page, "Forgotten")
    expect(page.locator("#results")).not_to_contain_text("pnpm over npm")


def test_a_file_that_changed_underneath_is_shown_and_nothing_is_lost(page: Page, caller: Caller) -> None:
    document = caller.api("GET", "/documents/local/memories.md")
    place = Path(document["path"])
    page.goto(at(caller, "memory/file?name=local/memories.md"))
    mine = page.locator("#file-text").input_value() + "\nmine, below the block\n"
    page.locator("#file-text").fill(mine)
    place.write_text(document["text"] + "\ntheirs, below the block\n", encoding="utf-8")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#conflict")).to_be_visible()
    expect(page.locator("#theirs")).to_have_value(re.compile("theirs, below the block"))
    assert page.locator("#file-text").input_value() == mine and "theirs, below" in place.read_text()
    shot(page, "conflict")
    page.locator("#file-text").fill(document["text"] + "\ntheirs, below the block\nmine, below the block\n")
    page.get_by_role("button", name="Save").click()
    said(page, "Saved")
    assert "theirs, below" in place.read_text() and "mine, below" in place.read_text()


def test_inbox_by_keyboard_and_undo(page: Page, caller: Caller) -> None:
    items = caller.api("GET", "/inbox")
    assert items, "something waits"
    page.goto(at(caller, "inbox"))
    for left in range(len(items), 0, -1):
        expect(page.locator(".line")).to_have_count(left)
        page.keyboard.press("j")
        page.keyboard.press("a" if left == len(items) else "r")
        expect(page.locator(".line")).to_have_count(left - 1)
    expect(page.locator("main")).to_contain_text("Inbox is empty")
    before = len(caller.api("GET", "/records?book=profile")["records"])
    page.goto(at(caller, "history"))
    page.locator("button[data-undo]").first.click()
    said(page, "Undone")
    assert len(caller.api("GET", "/records?book=profile")["records"]) == before - 1


def test_page_shows_what_another_process_wrote_without_being_asked(page: Page, caller: Caller, world: World) -> None:
    page.goto(at(caller, "memory"))
    expect(page.locator("#results")).not_to_contain_text("oat milk")
    page.wait_for_timeout(1_500)
    world.bench.remember("I prefer oat milk")
    expect(page.locator("#results")).to_contain_text("oat milk", timeout=60_000)


def test_transcript_is_read_with_what_was_learnt_at_its_turn(page: Page, caller: Caller) -> None:
    page.goto(at(caller, "sessions"))
    page.locator("main .list a", has_text="bell").first.click()
    expect(page.locator(".turn").first).to_contain_text("zirconium")
    expect(page.locator(".learnt").first).to_be_visible()
    shot(page, "session")


def test_settings_are_filtered_changed_and_put_back(page: Page, caller: Caller, world: World) -> None:
    page.goto(at(caller, "settings"))
    page.locator("#filter").fill("profile.bullets")
    line = page.locator('[data-setting="profile.bullets"]')
    expect(line).to_be_visible()
    line.get_by_role("button", name="Change").click()
    page.locator("#ask textarea").fill("99")
    page.locator("#ask-yes").click()
    said(page, "Not done")
    line.get_by_role("button", name="Change").click()
    page.locator("#ask textarea").fill("7")
    page.locator("#ask-yes").click()
    said(page, "Saved")
    assert "bullets = 7" in Path(world.bench.home, "config.toml").read_text()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_show_as_text_in_every_view(page: Page, caller: Caller, world: World, payload: str) -> None:
    place = Path(caller.api("GET", "/documents/local/USER.md")["path"])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"# {payload}\n", encoding="utf-8")
    world.session(
        ("user", f"Look at {payload} and mend it"),
        ("run", "make test", payload, 1),
        began="2026-05-09T10:00:00",
        number=77,
    )
    world.door()
    caller.api("POST", "/records", {"text": f"I prefer tins named {payload} on the shelf"})
    for view in (
        *VIEWS,
        "sessions?query=mend",
        "memory?query=tins",
        "memory/file?name=local/USER.md",
        "sessions/5e550077",
    ):
        page.goto(at(caller, view))
        assert page.title() != "owned", view
        assert page.locator("main script, main img, main [onerror]").count() == 0, view
    page.goto(at(caller, "memory?query=tins"))
    expect(page.locator("#results")).to_contain_text(payload)


def test_ten_thousand_records_open_at_once_and_page_by_page(page: Page, caller: Caller, world: World) -> None:
    place = Path(caller.api("GET", "/documents/local/memories.ndjson")["path"])
    rows = [
        json.dumps({"k": "rule", "t": [f"oven_{n}", "is", "hot"], "w": 1, "n": f"Oven {n} is hot."})
        for n in range(10_000)
    ]
    place.write_text("\n".join(rows) + "\n", encoding="utf-8")
    page.goto(at(caller, "memory?book=rules"))
    expect(page.locator("#results .meta").first).to_contain_text("10,000 records")
    assert page.locator("#results .line").count() == 50
    page.get_by_role("link", name="More").click()
    expect(page.locator("#results .line").first).to_contain_text("Oven 50 is hot")


def test_what_a_page_loads_is_small(page: Page, caller: Caller) -> None:
    sizes = [
        len(caller.ask("GET", path, Accept="text/html").body) for path in ("/", "/static/app.css", "/static/app.js")
    ]
    assert sum(sizes) <= 150_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_for_whoever_cannot_see_or_use_a_mouse(browser: Browser, caller: Caller, scheme: str) -> None:
    axe = os.environ.get("BYHEART_AXE", "") or _axe()
    if not axe:
        pytest.skip("axe-core is not here; scripts/setup.sh dev gets it from npm where it may")
    context = browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce", bypass_csp=True
    )
    page = context.new_page()
    page.goto(caller.listening.link)
    serious: dict[str, list[str]] = {}
    for view in VIEWS:
        page.goto(at(caller, view))
        page.add_script_tag(path=axe)
        try:
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        except Error as error:
            pytest.fail(f"{view}: {error}")
        bad = [
            f"{each['id']}: {each['nodes'][0]['html'][:120]}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        if bad:
            serious[view] = bad
    context.close()
    assert serious == {}


def _axe() -> str:
    path = Path(__file__).parents[3] / ".venv" / "node" / "node_modules" / "axe-core" / "axe.min.js"
    return str(path) if path.exists() else ""


def test_agent_is_switched_off_and_on_and_history_shows_what_was_there(
    page: Page, caller: Caller, world: World
) -> None:
    page.goto(at(caller, "settings"))
    page.get_by_role("button", name="Stop reading claude-code").click()
    said(page, "Saved")
    config = Path(world.bench.home, "config.toml")
    assert "agents" in config.read_text() and "claude-code" not in config.read_text()
    page.goto(at(caller, "settings"))
    page.get_by_role("button", name="Read claude-code").click()
    said(page, "Saved")
    assert "codex" not in config.read_text()
    record = next(each for each in caller.api("GET", "/records")["records"] if "pnpm" in each["text"])
    caller.api("PATCH", f"/records/{record['id']}", {"text": "I prefer bun"})
    page.goto(at(caller, "history"))
    expect(page.locator("del").first).to_contain_text("pnpm")
    expect(page.locator("ins").first).to_contain_text("bun")
