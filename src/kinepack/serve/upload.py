"""`PUT /files/NAME.kine`: only where uploads were asked for, only with the token, only what is a whole `.kine` file."""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import replace
from pathlib import Path

from anyio import to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from kinepack.container.writer import write_atomically
from kinepack.errors import KinepackError
from kinepack.limits import Limits
from kinepack.reader import Reader
from kinepack.serve.paths import OutsidePath, split_path
from kinepack.serve.settings import ServeSettings

NAME = re.compile(r"[\w][\w .()+-]{0,120}\.kine", re.ASCII)
LIMITS = Limits(joints=20_000, channels=100_000, frames=5_000_000, vertices=2_000_000, faces=4_000_000, clips=20_000)
AT_ONCE = 2


class Uploads:
    """Takes files into the folder, a few at a time."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self._free = AT_ONCE

    async def put(self, request: Request) -> Response:
        """201, or the reason why not."""
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        if not self._free:
            return _say(503, "Other uploads are under way.", {"Retry-After": "5"})
        self._free -= 1
        try:
            return await asyncio.wait_for(self._take(request), self.settings.upload_s)
        except TimeoutError:
            return _say(408, "The upload took too long.")
        except ClientDisconnect:
            return _say(400, "The upload broke off.")
        finally:
            self._free += 1

    def _refusal(self, request: Request) -> Response | None:
        if not self.settings.upload:
            return _say(405, "This server takes no uploads.", {"Allow": "GET, HEAD"})
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secrets.compare_digest(
            given.strip().encode(), self.settings.token.encode()
        ):
            return _say(401, "The token is missing or wrong.", {"WWW-Authenticate": "Bearer"})
        name = request.path_params["path"]
        try:
            split_path(name)
        except OutsidePath:
            return _say(400, "This is not a name for a file.")
        if not NAME.fullmatch(name):
            return _say(400, "A name has plain letters and ends in .kine.")
        length = request.headers.get("content-length", "")
        if not length.isdecimal():
            return _say(411, "Say how long the file is.")
        return self._too_large() if int(length) > self.settings.max_upload_bytes else None

    async def _take(self, request: Request) -> Response:
        data = bytearray()
        async for chunk in request.stream():
            data += chunk
            if len(data) > self.settings.max_upload_bytes:
                return self._too_large()
        path = self.settings.root / request.path_params["path"]
        try:
            return await to_thread.run_sync(_keep, path, bytes(data))
        except KinepackError as error:
            return _say(422, f"This is not a whole .kine file: {error.message}")

    def _too_large(self) -> Response:
        return _say(413, f"At most {self.settings.max_upload_bytes:,} bytes.")


def _keep(path: Path, data: bytes) -> Response:
    check_whole(data)
    if path.exists() or path.is_symlink():
        return _say(409, "There is a file of this name.")
    write_atomically(path, data)
    return _say(201, "Kept.", {"Location": f"/files/{path.name.replace(' ', '%20')}"})


def check_whole(data: bytes) -> None:
    """Raises unless the bytes are a `.kine` file with every checksum right and every codec known. Decodes nothing."""
    with Reader(data, limits=replace(LIMITS, bytes=max(len(data), 1))) as file:
        for number in range(len(file)):
            clip = file[number]
            assert clip.codec and clip.layout
            entry = file.container.clip(number)
            for segment in entry.record.segments:
                file.container.segment(entry, segment)


def _say(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    closing = {"Connection": "close"} if status in (400, 401, 408, 411, 413) else {}
    return PlainTextResponse(text + "\n", status, headers={**closing, **(headers or {})})
