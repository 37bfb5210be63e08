"""`play` and `report`: the player's page, served to a browser or kept in one file."""

from __future__ import annotations

import base64
import json as jsons
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    time and on the body, sizes and errors of all files. Other formats than .kine play too.

    Examples:
    kinepack play walk.kine
    kinepack play walk.kine --reference walk.bvh
    kinepack play small.kine large.kine --reference walk.bvh --no-browser --port 8000
    """
    from kinepack.cli.play_server import HOST, make_server

    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps, mesh=mesh)
    pages = assets()
    with progress("Reading"):
        paths = served(files, reference, reading, pages)
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
    """
    from kinepack.container.writer import write_atomically

    check_output(output, *HTML)
    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps, mesh=mesh)
    with progress("Writing the page"):
        page = standalone(files, reference, reading, assets())
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


def served(
    files: Sequence[str], reference: str | None, reading: Reading, pages: Mapping[str, bytes]
) -> dict[str, Served]:
    """Every path of the server."""
    from kinepack.cli.play_server import Served
    from kinepack.container.source import BytesSource

    paths = {f"/{name}": Served(ASSETS[name], BytesSource(data)) for name, data in pages.items()}
    paths["/"] = paths["/index.html"]
    session: dict[str, Any] = {"items": [], "reference": None, "skeleton": None}

    def add(place: str, path: str) -> dict[str, str]:
        paths[path] = Served(KINE_TYPE, source_of(place, reading))
        return {"name": Path(place).name, "url": path[1:]}

    for number, place in enumerate(files):
        session["items"].append(add(place, f"/files/{number}.kine"))
    if reference is not None:
        session["reference"] = add(reference, "/files/reference.kine")
    if reading.skeleton_ref is not None:
        session["skeleton"] = add(str(reading.skeleton_ref), "/files/skeleton.kine")
    session["title"] = f"{session['items'][0]['name']} – Kinepack"
    paths["/session.json"] = Served("application/json", BytesSource(jsons.dumps(session).encode()))
    return paths


def source_of(place: str, reading: Reading) -> ByteSource:
    """A `.kine` file where it is; anything else as lossless .kine bytes."""
    from kinepack.container.source import BytesSource, open_source

    if is_kine(place):
        source = open_source(place)
        if not source.size:
            raise UsageError(f"{place} is empty")
        return source
    from kinepack.api import compress

    return BytesSource(compress(reading.read_all(place), "raw"))


def standalone(files: Sequence[str], reference: str | None, reading: Reading, pages: Mapping[str, bytes]) -> str:
    """The page with its script, style and files inside."""

    def item(place: str) -> dict[str, str]:
        source = source_of(place, reading)
        try:
            data = source.read_at(0, source.size)
        finally:
            source.close()
        return {"name": Path(place).name, "base64": base64.b64encode(data).decode()}

    session = {
        "title": f"{Path(files[0]).name} – Kinepack",
        "items": [item(place) for place in files],
        "reference": item(reference) if reference is not None else None,
        "skeleton": item(str(reading.skeleton_ref)) if reading.skeleton_ref is not None else None,
    }
    script = pages["player.js"].decode()
    parts = {
        r'<link rel="stylesheet"[^>]*>': f"<style>{pages['style.css'].decode()}</style>",
        r'<script type="module" src="player.js"></script>': (
            f'<script type="application/json" id="session">{_inside(jsons.dumps(session))}</script>'
            f'<script type="module">{_inside(script)}</script>'
        ),
    }
    page = pages["index.html"].decode()
    for pattern, text in parts.items():
        page = re.sub(pattern, lambda _, text=text: text, page, count=1)  # type: ignore[misc]
    return page


def _inside(text: str) -> str:
    """Text that cannot end the script element it stands in."""
    return re.sub(r"<(?=/script|!--)", r"\\u003c", text, flags=re.IGNORECASE)
