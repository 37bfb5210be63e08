"""The two WebSocket doors: `/push/NAME` for a source that knows the token, `/live/NAME` for viewers."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from kinepack.serve.hub import Channel, Hub, Refused, Viewer
from kinepack.serve.security import abort
from kinepack.serve.wire import ASK_HELLO, Close

CLOSING_S = 1.0
"""A peer that does not take its close frame in this time is dropped without."""
GONE = (WebSocketDisconnect, RuntimeError, OSError)
"""What a send or a receive raises once the peer has left."""


async def view(socket: WebSocket) -> None:
    """Sends a stream to one viewer. Nothing that it does, or leaves undone, holds up another."""
    hub: Hub = socket.app.state.hub
    await socket.accept()
    try:
        channel, viewer = hub.join(socket.path_params["name"])
    except Refused as refused:
        await _close(socket, refused)
        return
    jobs = (_feed(socket, viewer), _listen(socket, channel, viewer), _cut(viewer))
    work = [asyncio.create_task(job) for job in jobs]
    try:
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hub.part(channel, viewer)
        for task in work:
            task.cancel()
    verdicts = [task.result() for task in done if not task.exception()]
    await _close(socket, next((v for v in verdicts if v), None))


async def push(socket: WebSocket) -> None:
    """Takes a stream from its source."""
    hub: Hub = socket.app.state.hub
    await socket.accept()
    try:
        _check_token(socket, hub.settings.token)
        channel = hub.open(socket.path_params["name"])
    except Refused as refused:
        await _close(socket, refused)
        return
    verdict: Refused | None = None
    try:
        verdict = await _take(socket, channel, hub.settings.source_s)
    except Refused as refused:
        verdict = refused
    finally:
        hub.leave(channel, ended=verdict is not None and verdict.code == 1000)
        asyncio.get_running_loop().call_later(hub.settings.grace_s + 0.1, hub.sweep)
    await _close(socket, verdict)


async def _take(socket: WebSocket, channel: Channel, patience_s: float) -> Refused | None:
    """Packets until the source ends its stream (1000) or is gone (None)."""
    while True:
        try:
            message: dict[str, Any] = dict(await asyncio.wait_for(socket.receive(), patience_s))
        except TimeoutError:
            return Refused(Close.TOO_SLOW, "the source sends nothing")
        if message["type"] != "websocket.receive":
            return None
        data = message.get("bytes")
        if data is None:
            raise Refused(Close.BAD_PACKET, "packets are binary messages")
        if not channel.take(data):
            return Refused(1000, "the stream has ended")


async def _feed(socket: WebSocket, viewer: Viewer) -> Refused | None:
    while True:
        mail = await viewer.next()
        if mail.close:
            return mail.close
        try:
            await socket.send_bytes(mail.packet)
        except GONE:
            return None
        viewer.sent()


async def _listen(socket: WebSocket, channel: Channel, viewer: Viewer) -> Refused | None:
    """A viewer may ask for the hello again, and has nothing else to say."""
    while True:
        try:
            message = await socket.receive()
        except GONE:
            return None
        if message["type"] != "websocket.receive":
            return None
        if message.get("text") != ASK_HELLO:
            return Refused(Close.BAD_PACKET, "viewers have nothing to send")
        viewer.greet_again(channel.hello)


async def _cut(viewer: Viewer) -> Refused | None:
    await viewer.cut.wait()
    return viewer.verdict


def _check_token(socket: WebSocket, token: str) -> None:
    scheme, _, given = socket.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secrets.compare_digest(given.strip().encode(), token.encode()):
        raise Refused(Close.NO_TOKEN, "the token is missing or wrong")


async def _close(socket: WebSocket, verdict: Refused | None) -> None:
    """Says why, if the peer still listens; a peer that does not take even that is dropped."""
    if verdict is None:
        return
    try:
        with suppress(*GONE):
            await asyncio.wait_for(socket.close(verdict.code, verdict.reason[:120]), CLOSING_S)
    except TimeoutError:
        await abort(socket.scope)
