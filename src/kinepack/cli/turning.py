"""`convert` and `sample`: from one format to another."""

from __future__ import annotations

from kinepack.cli import options as o
from kinepack.cli.console import emit_json, progress, say
from kinepack.cli.packing import write_models
from kinepack.cli.places import Reading, check_format_output, check_output, is_kine


def convert(
    source: o.ConvertFrom,
    target: o.ConvertTo,
    skeleton: o.SkeletonFile = None,
    skeleton_ref: o.SkeletonFrom = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
    clip: o.ClipName = None,
    bap_mapping: o.Mapping = o.BapMapping.relabel,
    json: o.Json = False,
) -> None:
    """Turn one format into another.

    The extensions pick the formats. What the new one cannot hold is said on stderr.

    Examples:
    kinepack convert walk.amc walk.bvh
    kinepack convert walk.amc walk.bap --bap-mapping true
    kinepack convert fish.npz fish.pc2
    """
    check_format_output(target)
    reading = Reading(skeleton=skeleton, skeleton_ref=skeleton_ref, unit_cm=unit_cm, fps=fps, mesh=mesh)
    with progress("Reading"):
        models = reading.read_all(source) if clip is None else [reading.read(source, clip)]
    write_models(models, target, bap_mapping, json=json)


def sample(which: o.WhichSample, output: o.Output, json: o.Json = False) -> None:
    """Write an embedded animation to a file.

    The human walks, turns and jumps on 31 joints; the fish swims with some 1,000 vertices.

    Examples:
    kinepack sample human -o walk.bvh
    kinepack sample fish -o fish.npz
    """
    from kinepack import api, samples
    from kinepack.container.writer import write_atomically

    if is_kine(output):
        check_output(output)
    else:
        check_format_output(output)
    with progress("Making"):
        model = samples.human() if which is o.Sample.human else samples.fish()
    if not is_kine(output):
        write_models([model], output, o.BapMapping.relabel, json=json)
        return
    data = api.compress(model)
    write_atomically(output, data)
    if json:
        emit_json({"file": str(output), "clips": 1, "frames": model.frames, "lost": [], "file_bytes": len(data)})
        return
    say(f"{output}: {model.frames:,} frames, {len(data):,} bytes")
