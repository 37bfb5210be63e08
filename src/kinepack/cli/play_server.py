"""A small server for the player's page: files in memory or anywhere, by ranges, to this machine only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kinepack.container.source import ByteSource
from kinepack.errors import IOFailure, KinepackError

HOST = "127.0.0.1"
PIECE = 1 << 16
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
NOTHING = "default-src 'none'"
"""The policy of what is no page. Over a slow line every byte before a file's first counts."""
PAGE = "text/html"
PAGE_HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True)
class Served:
    """What one path answers with."""

    kind: str
    """Media type."""
    source: ByteSource


def make_server(paths: Mapping[str, Served], port: int) -> ThreadingHTTPServer:
    """A server of `paths`, not started; `port` 0 takes any free one."""
    handler = type("Handler", (_Handler,), {"paths": paths})
    try:
        return _Server((HOST, port), handler)
    except OSError as error:
        raise IOFailure(
            f"cannot listen on port {port}: {error.strerror or error}", hint="name another with --port"
        ) from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    paths: Mapping[str, Served] = {}

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not reported."""

    def _answer(self, *, body: bool) -> None:
        served = self.paths.get(self.path.partition("?")[0])
        # Only names of this machine: a page elsewhere whose host name was bent to 127.0.0.1 gets nothing.
        if self.headers.get("Host", "").partition(":")[0] not in (HOST, "localhost"):
            self._refuse(HTTPStatus.FORBIDDEN)
        elif served is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            self._send(served, body=body)

    def _send(self, served: Served, *, body: bool) -> None:
        size = served.source.size
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        start, stop = _span(asked, size) if asked else (0, size)
        if asked and start >= stop:
            self._refuse(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, {"Content-Range": f"bytes */{size}"})
            return
        headers = {"Content-Type": served.kind, "Cache-Control": "no-cache"}
        if served.kind.startswith(PAGE):
            headers |= PAGE_HEADERS
        headers |= {"Content-Range": f"bytes {start}-{stop - 1}/{size}"} if asked else {"Accept-Ranges": "bytes"}
        self._head(HTTPStatus.PARTIAL_CONTENT if asked else HTTPStatus.OK, stop - start, headers)
        try:
            for at in range(start, stop if body else start, PIECE):
                self.wfile.write(served.source.read_at(at, min(PIECE, stop - at)))
        except (KinepackError, OSError):
            self.close_connection = True

    def _refuse(self, status: HTTPStatus, headers: Mapping[str, str] | None = None) -> None:
        self._head(status, 0, headers or {})

    def _head(self, status: HTTPStatus, size: int, headers: Mapping[str, str]) -> None:
        self.send_response_only(status)
        fixed = {
            "Content-Length": str(size),
            "Content-Security-Policy": NOTHING,
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in {**fixed, **headers}.items():
            self.send_header(name, value)
        self.end_headers()


def _span(asked: re.Match[str], size: int) -> tuple[int, int]:
    """First byte and the byte after the last; empty where the range lies outside."""
    first, last = asked.groups()
    if not first:
        return (max(0, size - int(last)), size) if last and int(last) else (size, size)
    return int(first), min(size, int(last) + 1 if last else size)
