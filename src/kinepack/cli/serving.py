"""`serve` and `live`: a folder over HTTP, frames over WebSocket."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinepack.cli import options as o
from kinepack.cli.console import emit_json, progress, say
from kinepack.cli.places import Reading
from kinepack.errors import IOFailure, UsageError

if TYPE_CHECKING:
    from kinepack.model import Model
    from kinepack.serve.push import Pushed, SegmentEncoder

TOKEN_VARIABLE = "KINEPACK_TOKEN"
STDIN = "-"

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder to show.", show_default=False)]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes any free one.")]
Upload = Annotated[bool, typer.Option("--upload", help="Let those who know the token add files.")]
MaxViewers = Annotated[int, typer.Option("--max-viewers", metavar="N", min=1, help="Of all live streams together.")]
Name = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host", metavar="NAME", help="A further name the server is reached by; repeat.", show_default=False
    ),
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TEXT", envvar=TOKEN_VARIABLE, help="The server's secret.", show_default=False),
]
LiveSource = Annotated[
    str, typer.Argument(metavar="SOURCE", help="A motion file to replay, or - for stdin.", show_default=False)
]
To = Annotated[str, typer.Option("--to", metavar="ws://HOST:PORT", help="The server.", show_default=False)]
StreamName = Annotated[str, typer.Option("--name", metavar="NAME", help="What viewers ask for.", show_default=False)]
Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="HZ", min=0.1, max=10_000, help="Frames per second.", show_default=False),
]
Latency = Annotated[
    float, typer.Option("--latency", metavar="SECONDS", min=0.001, max=1.0, help="Longest wait for a full segment.")
]
Rig = Annotated[
    str | None,
    typer.Option("--rig", metavar="FILE", help="With stdin: a file with the skeleton.", show_default=False),
]
Loop = Annotated[bool, typer.Option("--loop", help="Begin again at the end of the file.")]


def serve(
    folder: Folder,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    upload: Upload = False,
    max_viewers: MaxViewers = 1000,
    allow_host: Name = None,
    token: Token = None,
    json: o.Json = False,
) -> None:
    """Show a folder of .kine files and live streams to browsers.

    Files are sent by HTTP ranges, live streams over WebSocket. Nothing outside the folder is shown, links are not
    followed. Pushing a stream and uploading need the token that is printed at the start.

    Examples:
    kinepack serve clips
    kinepack serve clips --port 9000 --upload
    """
    import dataclasses

    from kinepack.serve.run import bind, url_of, uvicorn_server
    from kinepack.serve.settings import LOOPBACK, ServeSettings

    if not folder.is_dir():
        raise IOFailure(f"no such folder: {folder}")
    # Behind a wildcard address any name may be the right one; elsewhere only our own are.
    hosts = () if host in ("0.0.0.0", "::") and not allow_host else (*LOOPBACK, host, *(allow_host or ()))
    settings = ServeSettings(folder, upload=upload, max_viewers=max_viewers, hosts=hosts)
    if token:
        settings = dataclasses.replace(settings, token=token)
    server = uvicorn_server(settings)
    listener = bind(host, port)
    if json:
        emit_json({"url": url_of(listener), "token": settings.token})
    else:
        say(f"{folder} at {url_of(listener)}")
        say(f"token: {settings.token}")
    with suppress(KeyboardInterrupt):  # how a server is meant to end
        server.run(sockets=[listener])


def live(
    source: LiveSource,
    to: To,
    name: StreamName,
    codec: o.CodecSpec = None,
    rate: Rate = None,
    latency: Latency = 0.1,
    rig: Rig = None,
    loop: Loop = False,
    token: Token = None,
    skeleton: o.SkeletonFile = None,
    clip: o.ClipName = None,
    json: o.Json = False,
) -> None:
    """Push frames to a server as a live stream.

    A file is replayed at its own pace. From stdin each line is a frame: the channels of --rig in their order, apart by
    spaces. The token is the one that `kinepack serve` printed; KINEPACK_TOKEN may hold it.

    Examples:
    kinepack live walk.bvh --to ws://127.0.0.1:8000 --name stage --token SECRET
    kinepack live - --rig walk.bvh --rate 120 --to ws://127.0.0.1:8000 --name stage < frames.txt
    """
    from kinepack.serve.push import FrameQueue, lines_of, push, replayed, segment_frames

    if not token:
        raise UsageError("the server's token is missing", hint=f"--token TEXT, or set {TOKEN_VARIABLE}")
    if source == STDIN and not rig:
        raise UsageError("frames from stdin need a skeleton", hint="--rig FILE names a motion file that has it")
    with progress("Reading"):
        like = Reading(skeleton=skeleton).read(rig if source == STDIN and rig else source, clip)
    encoder = _encoder(like, codec, name, rate)
    count = segment_frames(latency, encoder.like.frame_time)
    frames = FrameQueue(_waiting(count))
    if source == STDIN:
        frames.fill(lines_of(sys.stdin, encoder.width))
    else:
        frames.fill(replayed(like, encoder.like.frame_time, loop=loop))
    place = f"{to.rstrip('/')}/push/{name}"
    say(f"pushing to {place} with {encoder.codec.spec}, {count} frames a segment")
    pushed = push(frames, encoder, place, token=token, latency_s=latency)
    _tell(pushed, encoder, json=json)


def _waiting(count: int) -> int:
    from kinepack.serve.push import SEGMENTS_WAITING

    return SEGMENTS_WAITING * count


def _encoder(like: Model, codec: str | None, name: str, rate: float | None) -> SegmentEncoder:
    from kinepack.codecs.base import codec_from_spec
    from kinepack.serve.push import SegmentEncoder, default_codec

    chosen = codec_from_spec(codec or default_codec(like))
    return SegmentEncoder(like, chosen, name=name, frame_time=1 / rate if rate else like.frame_time)


def _tell(pushed: Pushed, encoder: SegmentEncoder, *, json: bool) -> None:
    seconds = pushed.frames * encoder.like.frame_time
    kbit_per_s = 8e-3 * pushed.bytes / seconds if seconds else 0.0
    if json:
        emit_json({**vars(pushed), "kbit_per_s": kbit_per_s, "codec": encoder.codec.spec})
        return
    lost = f", {pushed.dropped:,} frames given up" if pushed.dropped else ""
    say(f"{pushed.frames:,} frames in {pushed.segments:,} segments, {kbit_per_s:.1f} kbit/s{lost}")
