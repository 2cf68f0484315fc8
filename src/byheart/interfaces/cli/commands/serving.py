"""byheart mcp: memory for agents that speak the Model Context Protocol."""

from __future__ import annotations

import os

import click

from byheart.domain.errors import Environment
from byheart.domain.roots import Place
from byheart.interfaces.cli import common

TOKEN = "mcp-token"


@click.command(epilog=common.examples("byheart mcp", "byheart mcp --http --port 8787", "byheart mcp -C ~/shop"))
@click.option("--http", is_flag=True, help="Serve over HTTP on loopback instead of standard streams.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8787, show_default=True, help="With --http; 0 is any.")
@click.option("--no-token", is_flag=True, help="With --http: answer everybody on this machine.")
@click.option("-C", "folder", metavar="FOLDER", help="The project's folder, where the client names none.")
def mcp(http: bool, port: int, no_token: bool, folder: str | None) -> int:
    """Serve memory to an agent, as tools, resources and prompts.

    byheart install puts this into agents' settings. Over HTTP, a client needs the token in state/mcp-token in byheart's folder,
    as Authorization: Bearer TOKEN.
    """
    if folder is not None:
        common.call.folder = folder
    around = common.surroundings()
    if not http:
        from byheart.interfaces.mcp.stdio import serve

        return serve(around.folder)
    from byheart.interfaces.mcp.http import PATH, Server

    token = "" if no_token else _token(around.home)
    try:
        server = Server("127.0.0.1", port, os.path.realpath(around.folder), token)
    except OSError as error:
        raise Environment(f"port {port} cannot be had: {error.strerror}; name another with --port") from None
    common.note(f"byheart: serving http://127.0.0.1:{server.server_port}{PATH} for {around.folder}")
    if token:
        common.note(f"byheart: the token is in {os.path.join(around.home, 'state', TOKEN)}")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


def _token(home: str) -> str:
    """The token that clients need, made when it is first wanted."""
    import secrets

    from byheart.app.open import disk

    files, place = disk(), Place(home, f"state/{TOKEN}")
    known = files.read(place).text
    if known and known.strip():
        return known.strip()
    made = secrets.token_urlsafe(32)
    files.write(place, f"{made}\n", files.read(place).digest)
    return made
