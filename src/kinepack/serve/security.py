"""What every request passes first: who it is for, where it comes from, and the headers that every answer carries."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kinepack.serve.settings import ServeSettings

_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
PAGE_POLICY = f"{_NOTHING}; img-src 'self'; style-src 'self'"
"""The catalogue has no script at all."""
PLAYER_POLICY = (
    f"{_NOTHING}; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; style-src 'self'"
)
SCRIPTED = ("/player/", "/watch/", "/energy/")
"""Where pages with scripts are."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
FILES = "/files/"
FILE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Motion is no page, so it has no opener and no permissions; over a slow line every byte before its first counts."""
_TRANSPORT = "kinepack.transport"
_NO_LINGER = struct.pack("ii", 1, 0)


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app, self.hosts = app, settings.hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        transport = getattr(getattr(send, "__self__", None), "transport", None)
        scope[_TRANSPORT] = transport
        headers = Headers(scope=scope)
        if scope["type"] == "websocket":
            if self._is_for_us(headers) and _same_origin(headers):
                await self.app(scope, receive, send)
            else:  # before it is accepted: the peer sees 403
                await send({"type": "websocket.close", "code": 1008})
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_dress_for(scope["path"], message["status"]))
            await send(message)

        if self._is_for_us(headers):
            await self.app(scope, receive, dressed)
        else:
            await PlainTextResponse("This server has another name.\n", 421)(scope, receive, dressed)

    def _is_for_us(self, headers: Headers) -> bool:
        return not self.hosts or _host_of("//" + headers.get("host", "")) in self.hosts


async def abort(scope: MutableMapping[str, Any]) -> None:
    """Resets the connection of a request, where the server lets us: what is not sent yet is thrown away."""
    transport = scope.get(_TRANSPORT)
    if transport is None:
        return
    with suppress(OSError, AttributeError):  # else the system would go on sending what it holds
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()
    await asyncio.sleep(0)  # the server learns of it in the loop's next turn


def is_gone(scope: MutableMapping[str, Any]) -> bool:
    """Whether the peer of a request has left, where the server tells; what is sent to it then goes nowhere."""
    transport = scope.get(_TRANSPORT)
    return transport is not None and bool(transport.is_closing())


def _dress_for(path: str, status: int) -> dict[str, str]:
    """The headers that every such answer carries."""
    if path.startswith(FILES) and status < 300:
        return FILE_HEADERS
    return {"Content-Security-Policy": PLAYER_POLICY if path.startswith(SCRIPTED) else PAGE_POLICY, **HEADERS}


def _same_origin(headers: Headers) -> bool:
    """Browsers say which page opens a socket, other programs do not; pages of other sites are turned away."""
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
