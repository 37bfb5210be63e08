"""Runs the application under uvicorn: for good in this thread, or in one beside it."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Any

from kinepack.errors import ConfigError, IOFailure
from kinepack.serve.settings import ServeSettings
from kinepack.serve.wire import MAX_PACKET_BYTES

SEND_BUFFER = 512 * 1024
"""Bytes the system keeps for a slow reader, so that we notice one before megabytes are on their way."""
BACKLOG = 512


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "another port: --port 0 takes a free one"
        raise IOFailure(f"cannot listen at {host}:{port}: {error.strerror or error}", hint=hint) from None
    return listener


def url_of(listener: socket.socket, scheme: str = "http") -> str:
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def uvicorn_server(settings: ServeSettings) -> Any:
    """A `uvicorn.Server` that is not started yet."""
    try:
        import uvicorn

        from kinepack.serve.app import create_app
    except ImportError:
        raise ConfigError("the server needs Starlette and uvicorn", hint='pip install "kinepack[serve]"') from None
    config = uvicorn.Config(
        create_app(settings),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,  # answers are validated every time, so that none has an age
        ws_max_size=MAX_PACKET_BYTES,
        ws_per_message_deflate=False,  # segments are compressed already
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        limit_concurrency=2 * settings.max_viewers + 256,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
        lifespan="off",
    )
    return uvicorn.Server(config)


class Running:
    """A server in a thread of its own, for as long as the `with` block lasts."""

    def __init__(self, settings: ServeSettings, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.settings = settings
        self._server = uvicorn_server(settings)
        self._listener = bind(host, port)
        self.url, self.ws_url = url_of(self._listener), url_of(self._listener, "ws")
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._listener.close()
