"""`info` and `compare`: what a file holds, and how two differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinepack.cli import options as o
from kinepack.cli.console import emit_json, emit_table, number, progress, say
from kinepack.cli.packing import summary
from kinepack.cli.places import Reading, check_output, is_kine
from kinepack.errors import Corrupt

if TYPE_CHECKING:
    from kinepack.model import Model


def info(
    file: o.AnyFile,
    check: o.Check = False,
    reference: o.Reference = None,
    skeleton_ref: o.SkeletonFrom = None,
    skeleton: o.SkeletonFile = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    json: o.Json = False,
) -> None:
    """Tell what a file holds.

    Of a .kine file only the index is read, unless --check or --reference asks for more.

    Examples:
    kinepack info walk.kine
    kinepack info walk.kine --json
    kinepack info walk.kine --check
    kinepack info walk.kine --reference walk.bvh
    """
    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps)
    if not is_kine(file):
        _show_source(file, reading, json=json)
        return
    with progress("Reading"):
        originals = reading.read_all(reference) if reference is not None else None
        facts = summary(file, originals, skeleton_ref=skeleton_ref)
    if check:
        with progress("Checking") as step:
            facts["damaged"] = damaged(file, skeleton_ref, step)
    if json:
        emit_json(facts)
    else:
        _show_kine(facts)
    if check:
        _judge(facts)


def damaged(place: str, skeleton_ref: Path | None, step: Any) -> list[dict[str, Any]]:
    """Every segment that fails its checksum or does not decode."""
    from kinepack import api

    found = []
    with api.open(place, skeleton=skeleton_ref) as file:
        for done, clip in enumerate(file.clips(), 1):
            for entry, reason in clip.damage():
                where = {"clip": clip.name, "first": entry.first, "frames": entry.frames, "layer": entry.layer}
                found.append({**where, "reason": reason})
            step(done / len(file))
    return found


def _judge(facts: dict[str, Any]) -> None:
    segments = sum(clip["segments"] for clip in facts["clips"])
    if facts["damaged"]:
        broken = {(d["clip"], d["first"]) for d in facts["damaged"]}  # a segment's layers count once
        raise Corrupt(
            f"{len(broken)} of {segments} segments are damaged",
            hint="kinepack decompress IN.kine -o OUT --salvage keeps the rest",
        )
    say(f"{segments} of {segments} segments are whole")


def _show_kine(facts: dict[str, Any]) -> None:
    rows = [
        ("file", f"{facts['file_bytes']:,} bytes"),
        ("skeleton or mesh", f"{facts['skeleton_bytes']:,} bytes"),
        ("motion", f"{facts['motion_bytes']:,} bytes"),
        ("ratio", f"{number(facts['ratio'])}  ({facts['raw_is']}: {facts['raw_bytes']:,} bytes)"),
    ]
    emit_table(("size", ""), rows, left=2)
    columns = ("clip", "kind", "codec", "frames", "fps", "seconds", "numbers a frame", "segments", "bytes")
    emit_table(columns, [_clip_row(clip) for clip in facts["clips"]], left=3)
    for clip in facts["clips"]:
        if clip.get("crowded_edges"):
            say(f"{clip['name']}: no manifold, {clip['crowded_edges']} edges are told face by face, not by the walk")
    if facts["metrics"]:
        show_metrics(facts["metrics"])
    lines = [
        (f"{d['first']} to {d['first'] + d['frames'] - 1}", str(d["layer"]), d["clip"], d["reason"])
        for d in facts.get("damaged", ())
    ]
    if lines:
        emit_table(("damaged frames", "layer", "clip", "reason"), lines, left=4)


def _clip_row(clip: dict[str, Any]) -> tuple[str, ...]:
    codec = f"{clip['codec']}:{clip['settings']}" if clip["settings"] else clip["codec"]
    numbers = (clip["frames"], clip["fps"], clip["duration_s"], clip["numbers_per_frame"], clip["segments"])
    return (clip["name"], clip["kind"], codec, *(number(n) for n in numbers), f"{clip['payload_bytes']:,}")


def _show_source(place: str, reading: Reading, *, json: bool) -> None:
    with progress("Reading"):
        models = reading.read_all(place)
    clips = [_describe(model) for model in models]
    path = Path(place)
    file_bytes = path.stat().st_size if path.is_file() else None
    if json:
        emit_json({"file": place, "file_bytes": file_bytes, "clips": clips})
        return
    columns = ("clip", "kind", "frames", "fps", "seconds", "numbers a frame", "joints or vertices", "cm a unit")
    keys = ("frames", "fps", "duration_s", "numbers_per_frame", "points", "unit_cm")
    emit_table(columns, [(c["name"], c["kind"], *(number(c[key]) for key in keys)) for c in clips], left=2)


def _describe(model: Model) -> dict[str, Any]:
    from kinepack.codecs.base import layout_of, width_of
    from kinepack.model import Clip

    clip = isinstance(model, Clip)
    return {
        "name": model.name,
        "kind": "clip" if clip else "mesh",
        "frames": model.frames,
        "fps": model.fps,
        "duration_s": model.duration,
        "numbers_per_frame": width_of(layout_of(model)),
        "points": len(model.skeleton.joints) if isinstance(model, Clip) else int(model.vertices.shape[1]),
        "unit_cm": model.unit_cm,
        "raw_bytes": 4 * model.frames * width_of(layout_of(model)),
    }


def compare(
    original: o.Original,
    copy: o.Copy,
    picture: o.Picture = None,
    clip: o.ClipName = None,
    skeleton: o.SkeletonFile = None,
    skeleton_ref: o.SkeletonFrom = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
    json: o.Json = False,
) -> None:
    """Measure how far a copy is from its original.

    Prints every metric that applies; `kinepack metrics` says what they mean.

    Examples:
    kinepack compare walk.bvh walk.kine
    kinepack compare walk.bvh walk.kine --json --picture walk.png
    """
    if picture is not None:
        check_output(picture, ".png")
    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps, mesh=mesh)
    with progress("Comparing"):
        pair = [reading.read(place, clip) for place in (original, copy)]
        values = _measure_pair(pair)
    if picture is not None:
        _draw(pair, picture)
    if json:
        emit_json(values)
    else:
        show_metrics(values)


def _measure_pair(pair: Sequence[Model]) -> dict[str, float]:
    from kinepack import api

    return api.compare(pair[0], pair[1])


def show_metrics(values: dict[str, float]) -> None:
    from kinepack.metrics.base import METRICS

    rows = [(name, number(value), METRICS[name].unit, METRICS[name].title) for name, value in values.items()]
    emit_table(("metric", "value", "unit", "what"), rows, left=4)


def _draw(pair: Sequence[Model], picture: Path) -> None:
    from kinepack.container.writer import write_atomically
    from kinepack.report import overlay_png

    with progress("Drawing"):
        write_atomically(picture, overlay_png(pair[0], pair[1]))
    say(f"{picture}: the original in grey, the copy in red")
