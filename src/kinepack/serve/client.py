"""Looks on at a live stream: `for window in watch("ws://127.0.0.1:8000/live/stage"): …`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from kinepack.errors import ConfigError, IOFailure
from kinepack.limits import Limits
from kinepack.serve.decoder import LiveWindow, StreamDecoder
from kinepack.serve.wire import ASK_HELLO, LIVE_LIMITS, MAX_PACKET_BYTES, Close

ADDRESS = "write it like ws://127.0.0.1:8000/live/NAME"
FIRST_RETRY_S, LONGEST_RETRY_S = 0.1, 2.0
FINAL = {1000, *Close}
"""Close codes after which trying again does not help."""


def websockets_client() -> Any:
    """The module `websockets.sync.client`; ConfigError with the way to get it when it is not installed."""
    try:
        import websockets.sync.client
    except ImportError:
        raise ConfigError("live streams need websockets", hint='pip install "kinepack[serve]"') from None
    return websockets.sync.client


def watch(
    url: str,
    *,
    retry_s: float = 10.0,
    idle_s: float = 30.0,
    decoder: StreamDecoder | None = None,
    limits: Limits = LIVE_LIMITS,
) -> Iterator[LiveWindow]:
    """Decoded windows of a stream as they come, until it ends.

    A connection that breaks is made again for up to `retry_s` seconds; a stream that sends nothing for `idle_s` seconds
    counts as broken. Give a `decoder` to see what was lost.
    """
    follower = decoder or StreamDecoder(limits)
    pause, patience = FIRST_RETRY_S, time.monotonic() + retry_s
    while not follower.ended:
        try:
            for window in _connection(url, follower, idle_s):
                pause, patience = FIRST_RETRY_S, time.monotonic() + retry_s
                yield window
        except ConnectionError as error:
            if time.monotonic() + pause > patience:
                raise IOFailure(f"cannot watch {url}: {error}") from None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_RETRY_S)


def _connection(url: str, follower: StreamDecoder, idle_s: float) -> Iterator[LiveWindow]:
    """Windows from one connection; ConnectionError if it is worth another try."""
    from websockets.exceptions import ConnectionClosed, InvalidURI, WebSocketException

    try:
        with websockets_client().connect(url, max_size=MAX_PACKET_BYTES, compression=None, close_timeout=1) as socket:
            while not follower.ended:
                window = follower.feed(_binary(socket.recv(timeout=idle_s)))
                if window is not None:
                    yield window
                elif follower.needs_hello:
                    socket.send(ASK_HELLO)
    except InvalidURI:
        raise IOFailure(f"{url} is not the address of a stream", hint=ADDRESS) from None
    except ConnectionClosed as error:
        code, reason = (error.rcvd.code, error.rcvd.reason) if error.rcvd else (1006, "the connection broke")
        if code == 1000:
            follower.ended = True
        elif code in FINAL and code != Close.TOO_SLOW:
            raise IOFailure(f"cannot watch {url}: {reason or code}") from None
        else:
            raise ConnectionError(reason or str(code)) from None
    except (OSError, WebSocketException) as error:
        raise ConnectionError(str(error)) from None


def _binary(message: str | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.encode()
