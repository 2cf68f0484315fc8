"""byheart serve, open and view: memory in a browser."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, Environment
from byheart.interfaces.cli import common, group
from byheart.storage import cards
from byheart.text.deferred import module

if TYPE_CHECKING:
    from byheart.app import gateway, gateway_rows
    from byheart.interfaces.web import pages, server
else:
    gateway = module("byheart.app.gateway")
    gateway_rows = module("byheart.app.gateway_rows")
    pages = module("byheart.interfaces.web.pages")
    server = module("byheart.interfaces.web.server")


@click.command(epilog=common.examples("byheart serve", "byheart serve --port 7411"))
@click.option("--port", type=click.IntRange(0, 65_535), default=0, show_default="a free one", help="Port to listen on.")
@group.json_option
def serve(port: int, as_object: bool) -> None:
    """Serve memory on this machine: web page, API, journal RPC and MCP.

    Reachable from this machine only. The printed link works once; programs read their token from the printed file.
    """
    listening, path = _started(port)
    if as_object:
        common.put({"address": listening.address, "link": listening.link, "tokens": path})
    else:
        common.say(f"Open: {listening.link}")
        common.note(f"Tokens for programs: {path}")
        common.note("Stop with Ctrl-C")
    _serve(listening, path)


@click.command("open", epilog=common.examples("byheart open"))
@click.option("--port", type=click.IntRange(0, 65_535), default=0, show_default="a free one", help="Port to listen on.")
def open_(port: int) -> None:
    """Open memory in your browser: today, the brief, memory, sessions, inbox, history."""
    listening, path = _started(port)
    common.say(f"Opening {listening.address} (if no browser appears: {listening.link})")
    common.note("Stop with Ctrl-C")
    click.launch(listening.link)
    _serve(listening, path)


def _serve(listening: server.Listening, path: str) -> None:
    """Serve until somebody ends it, by Ctrl-C or by a signal, and take the tokens away that are this server's."""

    def end(number: int, frame: object) -> None:
        del number, frame
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    try:
        listening.run()
    finally:
        if (cards.read_object(path) or {}).get("pid") == os.getpid():
            os.unlink(path)


def _started(port: int) -> tuple[server.Listening, str]:
    # Commands do without, since they live for a moment; a server does not.
    gc.enable()
    around = common.surroundings()
    try:
        listening = server.Listening(around.folder, port=port, environment=dict(around.environment))
    except OSError as error:
        raise Environment(f"port {port} is not available ({error.strerror}). Choose another with --port") from None
    return listening, listening.note(around.home)


@click.command(epilog=common.examples("byheart view --html memory.html"))
@click.option("--html", "path", required=True, metavar="FILE", help="File to write; it must not exist.")
@group.json_option
def view(path: str, as_object: bool) -> None:
    """Write all of this project's memory to one HTML page, to read offline or share."""
    opened = common.opened(upkeep=False)
    around = common.surroundings()
    door = gateway.Gateway(around.folder, around.environment, around.flags)
    found = gateway_rows.plain(
        {
            "here": opened.project.name,
            "told": door.brief()["told"],
            "records": door.records(most=100_000)["records"],
            "documents": door.shareable(),
            "skills": door.skills(),
        }
    )
    with open(os.path.join(os.path.dirname(pages.__file__), "static", "app.css"), encoding="utf-8") as stream:
        css = stream.read()
    text = pages.rendered("whole.html", **found, css=css, made=time.strftime("%Y-%m-%d %H:%M"))
    target = os.path.abspath(os.path.expanduser(path))
    if os.path.basename(target) in ("", ".", ".."):
        raise BadInput(f"{path!r} is not a file name")
    opened.write_new(Place(os.path.dirname(target), os.path.basename(target)), text)
    if as_object:
        common.put({"written": target, "bytes": len(text.encode())})
    else:
        common.say(f"Written to {json.dumps(target)[1:-1]} ({len(text.encode()):,} bytes)")
