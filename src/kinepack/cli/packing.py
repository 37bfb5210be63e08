"""`compress` and `decompress`."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinepack.cli import options as o
from kinepack.cli.console import emit_json, number, progress, say
from kinepack.cli.places import KINE, Reading, check_format_output, check_kine_input, check_output, pick
from kinepack.errors import UsageError

if TYPE_CHECKING:
    from kinepack.model import Model
    from kinepack.reader import ClipReader


def compress(
    source: o.Input,
    output: o.KineOutput,
    codec: o.CodecSpec = None,
    target: o.Qualities = None,
    max_bytes: o.MaxBytes = None,
    skeleton: o.SkeletonFile = None,
    skeleton_ref: o.SkeletonRef = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
    json: o.Json = False,
) -> None:
    """Make a motion or mesh file small.

    Reads any known format, writes a .kine file, then decodes it again and reports size and error.

    Examples:
    kinepack compress walk.bvh -o walk.kine
    kinepack compress walk.amc -o walk.kine --target 'joint_rms<=0.1'
    kinepack compress walk.bvh -o walk.kine --codec kine:layers=3
    kinepack compress walk.bvh -o walk.kine --codec kine:exact=on
    kinepack compress fish.npz -o fish.kine --codec delta-lzma:step=0.5 --json
    kinepack compress walk.bvh -o walk.kine --max-bytes 20000
    kinepack compress walk.bvh -o walk.kine --codec delta-lzma --target 'joint_rms<=0.1,0.3,1'
    """
    from kinepack.api import qualities
    from kinepack.codecs.base import codec_from_spec
    from kinepack.fit import Target

    check_output(output, KINE)
    chosen = codec_from_spec(codec) if codec is not None else None
    wishes = Target.parse_several(target) if target is not None else None
    with progress("Reading"):
        models = Reading(skeleton=skeleton, unit_cm=unit_cm, fps=fps, mesh=mesh).read_all(source)
    encode_s = _write_kine(models, output, chosen, target=wishes, max_bytes=max_bytes, skeleton_ref=skeleton_ref)
    with progress("Checking"):
        facts = summary(str(output), qualities(models, wishes or [None]), skeleton_ref=skeleton_ref)
    facts["encode_s"] = encode_s
    if json:
        emit_json(facts)
        return
    say(_one_liner(facts))
    if wishes and len(wishes) > 1:
        for clip in facts["clips"]:
            say(f"{clip['name']}: {clip['payload_bytes']:,} bytes, {_errors(clip['metrics'])}")


def _write_kine(models: Sequence[Model], output: Path, codec: Any, **how: Any) -> float:
    """Compresses and writes; returns the seconds that compressing took."""
    from kinepack import api
    from kinepack.container.writer import write_atomically

    with progress("Compressing") as step:
        begin = time.perf_counter()
        data = api.compress(models, codec, progress=step, **how)
        encode_s = time.perf_counter() - begin
    write_atomically(output, data)
    return encode_s


def summary(place: str, originals: Sequence[Model] | None, *, skeleton_ref: Path | None = None) -> dict[str, Any]:
    """Sizes, contents and (given the originals) errors of a .kine file, as `--json` prints them."""
    from kinepack import api

    with api.open(place, skeleton=skeleton_ref) as file:
        sizes = file.info()
        clips = sizes.pop("clips")
        begin = time.perf_counter()
        copies = [clip.decode() for clip in file.clips()] if originals is not None else []
        decode_s = time.perf_counter() - begin
    facts = {"file": place, **sizes, **_shared(clips), "frames": sum(c["frames"] for c in clips), "clips": clips}
    facts["metrics"] = {}
    if originals is not None:
        facts["metrics"] = _measure(originals, copies, clips)
        facts["decode_s"] = decode_s
    return facts


def _shared(clips: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Codec and settings, where all clips agree."""
    pairs = {(clip["codec"], clip["settings"]) for clip in clips}
    codec, settings = pairs.pop() if len(pairs) == 1 else ("", "")
    return {"codec": codec, "settings": settings}


def _measure(originals: Sequence[Model], copies: Sequence[Model], clips: list[dict[str, Any]]) -> dict[str, float]:
    """Each clip's metrics into its own entry; returns the worst over all clips."""
    from kinepack.metrics.base import METRICS
    from kinepack.metrics.measure import measure_all

    if len(originals) != len(copies):
        raise UsageError(f"the file has {len(copies)} clips and the original {len(originals)}")
    worst: dict[str, float] = {}
    for original, copy, clip in zip(originals, copies, clips, strict=True):
        clip["metrics"] = measure_all(original, copy)
        for name, value in clip["metrics"].items():
            pick_worse = max if METRICS[name].better == "lower" else min
            worst[name] = pick_worse(worst.get(name, value), value)
    return worst


def _one_liner(facts: dict[str, Any]) -> str:
    size = f"{facts['file_bytes']:,} bytes, ratio {number(facts['ratio'])}"
    return f"{facts['file']}: " + ", ".join(filter(None, [size, _errors(facts["metrics"])]))


def _errors(metrics: dict[str, float]) -> str:
    from kinepack.metrics.base import METRICS

    shown = [name for name in ("joint_rms", "joint_max", "kg", "vertex_max") if name in metrics]
    return ", ".join(f"{name} {number(metrics[name])} {METRICS[name].unit}".strip() for name in shown)


def decompress(
    source: o.KineInput,
    output: o.Output,
    clip: o.ClipName = None,
    start: o.Start = None,
    stop: o.Stop = None,
    begin: o.From = None,
    end: o.To = None,
    skeleton_ref: o.SkeletonFrom = None,
    layers: o.Layers = None,
    salvage: o.Salvage = False,
    bap_mapping: o.Mapping = o.BapMapping.relabel,
    json: o.Json = False,
) -> None:
    """Turn a .kine file back into a motion or mesh file.

    The output's extension picks the format. An AMC gets its ASF written beside it. Of a part, only its bytes are read.

    Examples:
    kinepack decompress walk.kine -o copy.bvh
    kinepack decompress walk.kine -o part.glb --from 0.5 --to 0.9
    kinepack decompress walk.kine -o rough.bvh --layers 1
    kinepack decompress walk.kine -o saved.amc --salvage
    """
    from kinepack import api

    check_kine_input(source)
    check_format_output(output)
    part = Part(start, stop, begin, end)
    with progress("Decompressing"), api.open(source, skeleton=skeleton_ref) as file:
        models = [part.decode(c, salvage=salvage, layers=layers) for c in pick(file, clip)]
    write_models(models, output, bap_mapping, json=json)


@dataclass(frozen=True)
class Part:
    """A stretch of a clip: frames, or seconds, or (all None) everything."""

    start: int | None
    stop: int | None
    begin: float | None
    end: float | None

    def __post_init__(self) -> None:
        if (self.start, self.stop) != (None, None) and (self.begin, self.end) != (None, None):
            raise UsageError("a part is given in frames or in seconds, not both", hint="--start/--stop or --from/--to")
        if self.end is not None and self.end <= (self.begin or 0):
            raise UsageError(f"--to {self.end:g} is not after --from {self.begin or 0:g}")

    def window(self, frames: int, frame_time: float) -> tuple[int, int]:
        """First frame and the frame after the last: a part in seconds has every frame it touches."""
        from kinepack.reader import frames_between

        start, stop = self.start or 0, frames if self.stop is None else self.stop
        if (self.begin, self.end) != (None, None):
            end = math.inf if self.end is None else self.end
            start, stop = frames_between(self.begin or 0.0, end, frames=frames, frame_time=frame_time)
        if not 0 <= start < stop <= frames:
            raise UsageError(
                f"frames {start} to {stop} are not inside the clip's {frames}",
                hint=f"it lasts {frames * frame_time:.4g} s",
            )
        return start, stop

    def decode(self, clip: ClipReader, *, salvage: bool, layers: int | None = None) -> Model:
        start, stop = self.window(clip.frames, clip.frame_time)
        if not salvage:
            return clip.decode(start, stop, layers=layers)
        _tell_losses(clip, layers)
        return clip.salvage(layers).slice(start, stop)


LOSSES = {"lost": "a good frame is held", "coarser": "finer layers are damaged"}


def _tell_losses(clip: ClipReader, layers: int | None) -> None:
    for loss in clip.losses(layers):
        frames = f"frames {loss.first} to {loss.first + loss.frames - 1} of {clip.name!r}"
        say(f"{frames}: {LOSSES[loss.kind]}", label=loss.kind)


def write_models(models: Sequence[Model], output: Path, mapping: o.BapMapping, *, json: bool) -> None:
    """Writes as many of the clips as the format holds, and says what was written and what was lost."""
    from kinepack import api
    from kinepack.formats.base import WriteOptions, formats_for

    kept, lost = models, []
    if len(models) > 1 and not any(f.several and f.write for f in formats_for(output.name)):
        kept = models[:1]
        lost = [f"{len(models) - 1} of {len(models)} clips: {output.suffix} holds one (--clip NAME picks it)"]
    with progress("Writing"):
        lost += api.write(kept, output, WriteOptions(bap_mapping=mapping.value))
    for line in lost:
        say(line, label="lost")
    frames = sum(model.frames for model in kept)
    if json:
        emit_json({"file": str(output), "clips": len(kept), "frames": frames, "lost": lost})
    else:
        place = output if output.exists() else output.with_stem(f"{output.stem}_*")  # a file for each frame
        say(f"{place}: {frames:,} frames")
