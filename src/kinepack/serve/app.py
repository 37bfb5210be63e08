"""The application: which address leads where."""

from __future__ import annotations

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from kinepack.serve.catalogue import Catalogue
from kinepack.serve.files import has_player, kine_file, page_file, player_file, refuse_path
from kinepack.serve.hub import Channel, Hub
from kinepack.serve.page import ICON, STYLE, View, catalogue_page
from kinepack.serve.paths import KINE, OutsidePath
from kinepack.serve.security import Guard
from kinepack.serve.settings import ServeSettings
from kinepack.serve.sockets import push, view
from kinepack.serve.upload import Uploads

LONGEST_WORDS = 100
SVG = "image/svg+xml"


def create_app(settings: ServeSettings) -> ASGIApp:
    """The ASGI application of a folder and its live streams."""
    routes: list[BaseRoute] = [
        Route("/", catalogue),
        Route("/catalogue.json", catalogue_json),
        Route("/style.css", style),
        Route("/icon.svg", icon),
        Route("/thumbs/{path:path}", thumb),
        Route("/files/{path:path}", files, methods=["GET", "PUT"]),
        Route("/player/{path:path}", player_file),
        Route("/watch/{name}/{path:path}", page_file("live.html")),
        Route("/energy/{path:path}", page_file("energy.html")),
        WebSocketRoute("/live/{name}", view),
        WebSocketRoute("/push/{name}", push),
    ]
    app = Starlette(routes=routes)
    app.state.settings = settings
    app.state.hub = Hub(settings)
    app.state.catalogue = Catalogue(settings.root)
    app.state.uploads = Uploads(settings)
    app.state.slow = 0
    return Guard(app, settings)  # outside of everything, so that errors pass it too


async def catalogue(request: Request) -> Response:
    """The page."""
    state = request.app.state
    entries = await to_thread.run_sync(state.catalogue.entries)
    page = request.query_params.get("page", "")
    shown = View(
        words=request.query_params.get("q", "").strip()[:LONGEST_WORDS],
        page=int(page) if page.isdecimal() and len(page) < 9 else 1,
        player=has_player(),
    )
    folder = state.settings.root.resolve().name or "Kinepack"
    text = catalogue_page(folder, entries, _on_air(state.hub), shown)
    return HTMLResponse(text, headers={"Cache-Control": "no-cache"})


async def catalogue_json(request: Request) -> Response:
    """The same for programs."""
    state = request.app.state
    entries = await to_thread.run_sync(state.catalogue.entries)
    live = [_stream_facts(channel) for channel in _on_air(state.hub)]
    facts = {"files": [entry.to_dict() for entry in entries], "live": live}
    return JSONResponse(facts, headers={"Cache-Control": "no-cache"})


async def thumb(request: Request) -> Response:
    """A picture of one file."""
    path = request.path_params["path"]
    try:
        if not path.lower().endswith(KINE):
            raise OutsidePath(path)
        drawn, version = await to_thread.run_sync(request.app.state.catalogue.picture, path)
    except (OutsidePath, OSError, ValueError):
        return refuse_path(path)
    headers = {"ETag": f'"{version}"', "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(drawn, media_type=SVG, headers=headers)


async def files(request: Request) -> Response:
    if request.method == "PUT":
        uploads: Uploads = request.app.state.uploads
        return await uploads.put(request)
    return await kine_file(request)


async def style(request: Request) -> Response:
    return Response(STYLE, media_type="text/css")


async def icon(request: Request) -> Response:
    return Response(ICON, media_type=SVG)


def _on_air(hub: Hub) -> list[Channel]:
    hub.sweep()
    return sorted((c for c in hub.channels.values() if c.about), key=lambda c: c.name)


def _stream_facts(channel: Channel) -> dict[str, object]:
    assert channel.about
    return {
        "name": channel.name,
        "codec": channel.about.codec,
        "fps": round(1 / channel.about.frame_time, 6),
        "viewers": len(channel.viewers),
        "segments": channel.segments,
        "bytes": channel.bytes,
        "has_source": channel.has_source,
    }
