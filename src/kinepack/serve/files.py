"""`/files/PATH`: `.kine` files by whole or by range, and the player's own files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from kinepack.serve.paths import KINE, OutsidePath, open_inside
from kinepack.serve.ranges import Unsatisfiable, etag_of, http_date, not_modified, range_of
from kinepack.serve.security import abort, is_gone

CHUNK = 256 * 1024
PACE_S = 0.01
"""Seconds that one piece of a slow answer takes."""
SLOWEST_KBIT_S = 8
PLAYER_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}
PLAYER_PAGE = "index.html"
WEB_ASSETS = Path(__file__).parents[1] / "web_assets"


async def kine_file(request: Request) -> Response:
    """A `.kine` file of the folder; nothing else in it is shown."""
    path = request.path_params["path"]
    if not path.lower().endswith(KINE):
        return refuse_path(path)
    try:
        pace = pace_of(request.query_params.get("kbit"))
    except ValueError:
        return PlainTextResponse(f"kbit is a rate from {SLOWEST_KBIT_S} kbit/s on.\n", 400)
    root = request.app.state.settings.root
    return await answer(request, lambda: open_inside(root, path), "application/octet-stream", pace)


def pace_of(kbit: str | None) -> float | None:
    """Bytes a second of a file that is asked for slowly, `?kbit=128`, so that pages can measure on a weak line."""
    if kbit is None:
        return None
    rate = float(kbit)
    if not SLOWEST_KBIT_S <= rate < float("inf"):
        raise ValueError(kbit)
    return rate * 1024 / 8


async def player_file(request: Request) -> Response:
    """`/player/PATH.kine/`: the built player on one file. Its parts and its session are asked for beside its page."""
    place, _, name = request.path_params["path"].rpartition("/")
    if not place.lower().endswith(KINE):
        return refuse_path(place)
    if name == "session.json":
        item = {"name": place.rpartition("/")[2], "url": f"/files/{quote(place)}"}
        return JSONResponse({"title": f"{item['name']} – Kinepack", "items": [item], "reference": None})
    media = PLAYER_TYPES.get(Path(name or PLAYER_PAGE).suffix.lower())
    if media is None:
        return refuse_path(name)
    return await answer(request, lambda: open_inside(WEB_ASSETS, name or PLAYER_PAGE), media)


def page_file(page: str) -> Callable[[Request], Awaitable[Response]]:
    """A built page with what it asks for beside it."""

    async def part(request: Request) -> Response:
        name = request.path_params["path"] or page
        media = PLAYER_TYPES.get(Path(name).suffix.lower())
        if media is None:
            return refuse_path(name)
        return await answer(request, lambda: open_inside(WEB_ASSETS, name), media)

    return part


def has_player() -> bool:
    return (WEB_ASSETS / PLAYER_PAGE).is_file()


def refuse_path(path: str) -> Response:
    """404; a path that tries to get out also costs its connection."""
    suspicious = ".." in path or "\\" in path or "\0" in path
    headers = {"Connection": "close"} if suspicious else {}
    return PlainTextResponse("There is no such file.\n", 404, headers=headers)


async def answer(request: Request, open_file: Callable[[], int], media: str, pace: float | None = None) -> Response:
    """200, 206, 304 or 416 of the file that `open_file` opens; 404 if it does not."""
    try:
        descriptor = await to_thread.run_sync(open_file)
    except (OutsidePath, OSError, ValueError):
        return refuse_path(request.path_params["path"])
    facts = os.fstat(descriptor)
    etag, modified_s = etag_of(facts.st_mtime_ns, facts.st_size, facts.st_ino), facts.st_mtime
    headers = {
        "ETag": etag,
        "Last-Modified": http_date(modified_s),
        "Cache-Control": "no-cache",
    }
    if not_modified(request.headers, etag, modified_s):
        os.close(descriptor)
        return Response(status_code=304, headers=headers)
    try:
        part = range_of(request.headers, facts.st_size, etag, modified_s) if request.method == "GET" else None
    except Unsatisfiable:
        os.close(descriptor)
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{facts.st_size}"})
    start, stop = part or (0, facts.st_size)
    headers |= {"Content-Type": media, "Content-Length": str(stop - start)}
    headers |= {"Content-Range": f"bytes {start}-{stop - 1}/{facts.st_size}"} if part else {"Accept-Ranges": "bytes"}
    stall_s = request.app.state.settings.download_stall_s
    return FilePart(descriptor, start, stop, 206 if part else 200, headers, stall_s, pace)


class FilePart(Response):
    """Bytes start..stop-1 of an open file, which it closes; a client that stops reading is cut off."""

    def __init__(
        self,
        descriptor: int,
        start: int,
        stop: int,
        status: int,
        headers: dict[str, str],
        stall_s: float,
        pace: float | None,
    ) -> None:
        self.descriptor, self.start, self.stop, self.stall_s, self.pace = descriptor, start, stop, stall_s, pace
        self.status_code, self.background, self.body = status, None, b""
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope["app"].state
        if self.pace and state.slow >= state.settings.max_slow:
            os.close(self.descriptor)
            await PlainTextResponse("Too many slow answers at once.\n", 503)(scope, receive, send)
            return
        state.slow += bool(self.pace)
        try:
            start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await asyncio.wait_for(send(start), self.stall_s)
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body", "body": b""})
                return
            await self._send_body(scope, send)
        except TimeoutError:
            await abort(scope)
        finally:
            state.slow -= bool(self.pace)
            os.close(self.descriptor)

    async def _send_body(self, scope: Scope, send: Send) -> None:
        at, begin = self.start, asyncio.get_running_loop().time()
        size = CHUNK if self.pace is None else max(1, min(CHUNK, int(self.pace * PACE_S)))
        while at < self.stop and not is_gone(scope):
            data = await to_thread.run_sync(self._read, at, min(size, self.stop - at))
            if self.pace:  # by the clock of the whole answer, so that waking late costs nothing
                due = begin + (at + len(data) - self.start) / self.pace
                await asyncio.sleep(due - asyncio.get_running_loop().time())
            if not data:  # cut short while it was read: the client sees a body shorter than announced
                return
            at += len(data)
            message = {"type": "http.response.body", "body": data, "more_body": at < self.stop}
            await asyncio.wait_for(send(message), self.stall_s)
        if self.start == self.stop:
            await send({"type": "http.response.body", "body": b""})

    def _read(self, at: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self.descriptor, size, at)
        os.lseek(self.descriptor, at, os.SEEK_SET)
        return os.read(self.descriptor, size)
