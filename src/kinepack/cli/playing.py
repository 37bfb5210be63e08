"""`play` and `report`: the player's page, served to a browser or kept in one file."""

from __future__ import annotations

import base64
import hashlib
import json as jsons
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from kinepack.cli import options as o
from kinepack.cli.console import progress, say
from kinepack.cli.places import Reading, check_output, is_kine
from kinepack.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from kinepack.cli.play_server import Served
    from kinepack.container.source import ByteSource

ASSETS = {"index.html": "text/html; charset=utf-8", "player.js": "text/javascript", "style.css": "text/css"}
KINE_TYPE = "application/octet-stream"
HTML = (".html", ".htm")


def play(
    files: o.PlayFiles,
    reference: o.Reference = None,
    target: o.Qualities = None,
    codec: o.CodecSpec = None,
    port: o.Port = 0,
    browser: o.Browser = True,
    skeleton_ref: o.SkeletonFrom = None,
    skeleton: o.SkeletonFile = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
) -> None:
    """Play files in the browser.

    Opens a page from this machine only: orbit, scrub, original and copy over each other or side by side, error over
    time and on the body, sizes and errors of all files. Other formats than .kine play too; with --target or --codec
    they are compressed first, and compared with what they were.

    Examples:
    kinepack play walk.kine
    kinepack play walk.kine --reference walk.bvh
    kinepack play walk.bvh --target 'joint_rms<=0.1,0.3,1,3'
    kinepack play small.kine large.kine --reference walk.bvh --no-browser --port 8000
    """
    from kinepack.cli.play_server import HOST, make_server

    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps, mesh=mesh)
    pages = assets()
    with progress("Reading") as step:
        paths = served(show_of(files, reference, reading, Making(codec, target), step), pages)
    with make_server(paths, port) as server:
        address = f"http://{HOST}:{server.server_address[1]}/"
        say(f"playing at {address} (end with Ctrl-C)")
        if browser:
            import webbrowser

            webbrowser.open(address)
        server.serve_forever()


def report(
    files: o.PlayFiles,
    output: o.PageOutput,
    reference: o.Reference = None,
    target: o.Qualities = None,
    codec: o.CodecSpec = None,
    skeleton_ref: o.SkeletonFrom = None,
    skeleton: o.SkeletonFile = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
) -> None:
    """Write one page that plays files anywhere, to mail to a colleague.

    The page holds the player and the files themselves; it asks nothing of any server.

    Examples:
    kinepack report walk.kine --reference walk.bvh -o report.html
    kinepack report walk.bvh --target 'joint_rms<=0.1,0.3,1,3' -o report.html
    """
    from kinepack.container.writer import write_atomically

    check_output(output, *HTML)
    pages = assets()
    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps, mesh=mesh)
    with progress("Writing the page") as step:
        page = standalone(show_of(files, reference, reading, Making(codec, target), step), pages)
    write_atomically(output, page.encode())
    say(f"{output}: {output.stat().st_size:,} bytes")


def assets() -> dict[str, bytes]:
    """The built page."""
    folder = resources.files("kinepack") / "web_assets"
    found = {name: folder / name for name in ASSETS}
    if not all(file.is_file() for file in found.values()):
        raise ConfigError(
            "the player was not built into this installation",
            hint="build it with npm present: make player, then install again",
        )
    return {name: file.read_bytes() for name, file in found.items()}


@dataclass(frozen=True)
class Making:
    """How files of other formats become .kine: as they are, or compressed."""

    codec: str | None = None
    target: str | None = None

    @property
    def lossy(self) -> bool:
        return self.codec is not None or self.target is not None


@dataclass(frozen=True)
class Show:
    """What a page shows: places and what their bytes come from."""

    items: list[tuple[str, ByteSource]]
    reference: tuple[str, ByteSource] | None = None
    skeleton: tuple[str, ByteSource] | None = None


def show_of(
    files: Sequence[str],
    reference: str | None,
    reading: Reading,
    making: Making = Making(),
    step: Callable[[float], None] | None = None,
) -> Show:
    """The files; a file that is compressed here is its own original where no other is named."""
    compressed = [place for place in files if making.lossy and not is_kine(place)]
    original = reference or (compressed[0] if compressed else None)
    plain = Making()
    ref = reading.skeleton_ref
    return Show(
        [(Path(place).name, source_of(place, reading, making, step)) for place in files],
        (Path(original).name, source_of(original, reading, plain)) if original is not None else None,
        (ref.name, source_of(str(ref), reading, plain)) if ref is not None else None,
    )


def source_of(place: str, reading: Reading, making: Making, step: Callable[[float], None] | None = None) -> ByteSource:
    """A `.kine` file where it is; anything else made into .kine bytes."""
    from kinepack.container.source import BytesSource, open_source

    if is_kine(place):
        source = open_source(place)
        if not source.size:
            raise UsageError(f"{place} is empty")
        return source
    from kinepack.api import compress

    models = reading.read_all(place)
    if not making.lossy:
        return BytesSource(compress(models, "raw"))
    return BytesSource(compress(models, making.codec, target=making.target, progress=step))


def served(show: Show, pages: Mapping[str, bytes]) -> dict[str, Served]:
    """Every path of the server."""
    from kinepack.cli.play_server import Served
    from kinepack.container.source import BytesSource

    paths = {f"/{name}": Served(ASSETS[name], BytesSource(data)) for name, data in pages.items()}
    paths["/"] = paths["/index.html"]

    def add(item: tuple[str, ByteSource], path: str) -> dict[str, str]:
        paths[path] = Served(KINE_TYPE, item[1])
        return {"name": item[0], "url": path[1:]}

    session = {
        "title": _title(show),
        "items": [add(item, f"/files/{number}.kine") for number, item in enumerate(show.items)],
        "reference": add(show.reference, "/files/reference.kine") if show.reference else None,
        "skeleton": add(show.skeleton, "/files/skeleton.kine") if show.skeleton else None,
    }
    paths["/session.json"] = Served("application/json", BytesSource(jsons.dumps(session).encode()))
    return paths


def _title(show: Show) -> str:
    return f"{show.items[0][0]} – Kinepack"


def standalone(show: Show, pages: Mapping[str, bytes]) -> str:
    """The page with its script, style and files inside."""

    def inside(item: tuple[str, ByteSource]) -> dict[str, str]:
        name, source = item
        try:
            data = source.read_at(0, source.size)
        finally:
            source.close()
        return {"name": name, "base64": base64.b64encode(data).decode()}

    session = {
        "title": _title(show),
        "items": [inside(item) for item in show.items],
        "reference": inside(show.reference) if show.reference else None,
        "skeleton": inside(show.skeleton) if show.skeleton else None,
    }
    script, style = _inside(pages["player.js"].decode()), pages["style.css"].decode()
    allowed = f"script-src {_digest(script)} 'wasm-unsafe-eval'; style-src {_digest(style)}; img-src data:"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    parts = {
        "<head>": f'<head><meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<link rel="stylesheet" href="style.css" />': f"<style>{style}</style>",
        '<script type="module" src="player.js"></script>': (
            f'<script type="application/json" id="session">{_inside(jsons.dumps(session))}</script>'
            f'<script type="module">{script}</script>'
        ),
    }
    page = pages["index.html"].decode()
    for place, text in parts.items():
        if place not in page:
            raise ConfigError(f"the built player has no {place}", hint="build it again: make player")
        page = page.replace(place, text, 1)
    return page


def _digest(text: str) -> str:
    """How a content security policy names a text inside the page: only what we wrote runs."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inside(text: str) -> str:
    """Text that cannot end the script element it stands in."""
    return re.sub(r"<(?=/script|!--)", r"\\u003c", text, flags=re.IGNORECASE)
