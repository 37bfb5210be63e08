"""The lossless container of a Clip as a NumPy archive.

Keys: `values` [frames, channels] float64, `frame_time` float64, `name` text, `skeleton` text (the canonical JSON
of the rig). A clip that came from an AMASS, DeepMimic or AMP archive is written in that layout again, so that the
tools it came from can read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinepack.errors import FormatError, UnsupportedContent
from kinepack.formats.amass import amass_arrays
from kinepack.formats.archive import claimed_by, kind_of, load_arrays, number_of, real_array, save_arrays, text_of
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written
from kinepack.formats.deepmimic import deepmimic_arrays
from kinepack.formats.guard import guarded, read_within
from kinepack.formats.text import BytesSource
from kinepack.model import Clip, Model, Skeleton

_REQUIRED = ("values", "frame_time", "skeleton")
_KNOWN = "known archives: Kinepack clips and meshes, AMASS/SMPL, DeepMimic, AMP; see docs/formats/npz.md"


def read_npz(source: Source, options: ReadOptions) -> list[Model]:
    """One clip, exactly as it was written."""
    arrays = load_arrays(read_within(source, options.limits), (*_REQUIRED, "name"), limits=options.limits)
    for key in _REQUIRED:
        if key not in arrays:
            raise FormatError(f"the archive has no array {key!r}", hint=_KNOWN)
    skeleton = Skeleton.from_json(text_of(arrays["skeleton"], "skeleton"))
    options.limits.charge("joints", len(skeleton.joints))
    options.limits.charge("channels", len(skeleton.channels))
    if options.unit_cm is not None:
        skeleton = skeleton.with_unit(options.unit_cm)
    values = real_array(arrays, "values", ndim=2)
    options.limits.charge("frames", len(values))
    name = text_of(arrays["name"], "name") if "name" in arrays else ""
    return [Clip(skeleton, values, number_of(arrays["frame_time"], "frame_time"), name)]


def write_npz(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """One clip; in the layout it came from if that holds all of it, else in our own, which always does."""
    if len(models) != 1 or not isinstance(models[0], Clip):
        raise UnsupportedContent(f"npz holds exactly one skeletal clip, not {len(models)} models or a mesh")
    clip = models[0]
    foreign = amass_arrays(clip) or deepmimic_arrays(clip)
    content = save_arrays(foreign or clip_arrays(clip))
    lost = _rounded(clip, content, kind_of(foreign), stem) if foreign else []
    return Written({f"{stem}.npz": content}, lost)


def _rounded(clip: Clip, content: bytes, kind: str, stem: str) -> list[str]:
    """What another layout does not give back exactly, found by reading it."""
    (back,) = FORMATS[kind].read(BytesSource(f"{stem}.npz", content), ReadOptions())
    assert isinstance(back, Clip)
    furthest = float(np.abs(back.values - clip.values).max())
    lost = [f"exact values: the {kind} layout rounds them, by {furthest:.1e} at most"] if furthest else []
    if back.frame_time != clip.frame_time:
        lost.append(f"exact frame time: {clip.frame_time!r} s reads back as {back.frame_time!r} s")
    return lost + ([f"the name {clip.name!r}: it reads back as {back.name!r}"] if back.name != clip.name else [])


def clip_arrays(clip: Clip) -> dict[str, Any]:
    """Our own keys."""
    return {
        "values": clip.values,
        "frame_time": np.float64(clip.frame_time),
        "name": np.array(clip.name),
        "skeleton": np.array(clip.skeleton.to_json()),
    }


FORMATS.add(
    "npz",
    Format(
        id="npz",
        title="Kinepack clip as a NumPy archive",
        extensions=(".npz",),
        read=guarded(read_npz),
        write=write_npz,
        holds=(Clip,),
        claims=lambda source: claimed_by("npz", source),
    ),
)
