"""`evaluate` and `curve`: Result rows of codecs on files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kinepack.cli import options as o
from kinepack.cli.console import progress, say
from kinepack.cli.places import Reading, check_output
from kinepack.cli.rows import emit_row, emit_rows

if TYPE_CHECKING:
    from kinepack.codecs.base import Codec
    from kinepack.evaluate import Result
    from kinepack.model import Model

HTML = (".html", ".htm")


def evaluate(
    sources: o.Inputs,
    codec: o.CodecSpecs = None,
    target: o.TargetText = None,
    max_bytes: o.MaxBytes = None,
    skeleton: o.SkeletonFile = None,
    skeleton_ref: o.SkeletonFrom = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
    json: o.Json = False,
) -> None:
    """Measure codecs on files: size, error, time.

    Every codec runs on every clip. With --json each result is one line, printed as soon as it is known.

    Examples:
    kinepack evaluate walk.bvh
    kinepack evaluate walk.bvh fish.npz --codec delta-lzma --codec raw
    kinepack evaluate walk.bvh --codec delta-lzma --target 'joint_rms<=0.1' --json
    """
    from kinepack.evaluate import evaluate as measure
    from kinepack.fit import Target

    chosen = _codecs(codec)
    wish = Target.parse(target) if target is not None else None
    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps, mesh=mesh)

    def results(step: Callable[[float], None]) -> Iterator[Result]:
        for number, source in enumerate(sources):
            for model in reading.read_all(source):
                for one in chosen or [_default(model)]:
                    yield measure(model, one, target=wish, max_bytes=max_bytes)
            step((number + 1) / len(sources))

    _collect(results, json=json)


def curve(
    source: o.Input,
    codec: o.CodecSpecs = None,
    points: o.Points = 9,
    output: o.HtmlOutput = None,
    clip: o.ClipName = None,
    skeleton: o.SkeletonFile = None,
    skeleton_ref: o.SkeletonFrom = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
    json: o.Json = False,
) -> None:
    """Draw error over size along each codec's quality setting.

    A codec without one gives a single point.

    Examples:
    kinepack curve walk.bvh --codec delta-lzma -o curve.html
    kinepack curve walk.bvh --codec delta-lzma --codec zstd-float --points 3 --json
    """
    from kinepack.evaluate import curve as measure

    if output is not None:
        check_output(output, *HTML)
    chosen = _codecs(codec)
    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps, mesh=mesh)
    with progress("Reading"):
        model = reading.read(source, clip)
    chosen = chosen or [_default(model)]
    rows = _collect(lambda step: measure(model, chosen, points=points, progress=step), json=json)
    if output is not None:
        _write_page(rows, output, title=f"{model.name or Path(source).stem}: error over size")


def _codecs(specs: Sequence[str] | None) -> list[Codec]:
    """Read before any file is, so that a misspelt codec is told at once."""
    from kinepack.codecs.base import codec_from_spec

    return [codec_from_spec(spec) for spec in specs or ()]


def _default(model: Model) -> Codec:
    from kinepack.api import DEFAULT_CODECS
    from kinepack.codecs.base import codec_from_spec

    return codec_from_spec(DEFAULT_CODECS[type(model)])


def _collect(results: Callable[[Callable[[float], None]], Iterator[Result]], *, json: bool) -> list[Result]:
    """Runs the measurements; prints rows as they come, or a table at the end."""
    rows = []
    with progress("Measuring", printing=json) as step:
        for row in results(step):
            rows.append(row)
            if json:
                emit_row(row)
    if not json:
        emit_rows(rows)
    return rows


def _write_page(rows: Sequence[Result], output: Path, *, title: str) -> None:
    from kinepack.container.writer import write_atomically
    from kinepack.report import curve_report

    with progress("Drawing"):
        write_atomically(output, curve_report(rows, title).encode())
    say(f"{output}: {len(rows)} measurements")
