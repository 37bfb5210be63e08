"""AMASS and other SMPL motions: `poses` [frames, 3 x joints] rotation vectors, `trans` [frames, 3], a rate.

The body model's own joint places depend on `betas` and on files that may not be passed on; the rest offsets
here are a round, average person of the same proportions: positions are approximate, the motion itself is exact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.archive import claimed_by, load_arrays, number_of, real_array, text_of
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source
from kinepack.formats.guard import frame_time_of, guarded, read_within
from kinepack.formats.text import stem_of
from kinepack.model import Channel, Clip, Joint, Model, Skeleton
from kinepack.model.skeleton import Vector

_BODY: tuple[tuple[str, str, Vector], ...] = (
    ("pelvis", "", (0.0, -0.24, 0.03)),
    ("left_hip", "pelvis", (0.06, -0.09, -0.01)),
    ("right_hip", "pelvis", (-0.06, -0.09, -0.01)),
    ("spine1", "pelvis", (0.0, 0.11, -0.03)),
    ("left_knee", "left_hip", (0.04, -0.38, 0.0)),
    ("right_knee", "right_hip", (-0.04, -0.38, 0.0)),
    ("spine2", "spine1", (0.0, 0.14, 0.0)),
    ("left_ankle", "left_knee", (-0.01, -0.4, -0.04)),
    ("right_ankle", "right_knee", (0.01, -0.4, -0.04)),
    ("spine3", "spine2", (0.0, 0.05, 0.03)),
    ("left_foot", "left_ankle", (0.04, -0.06, 0.12)),
    ("right_foot", "right_ankle", (-0.04, -0.06, 0.12)),
    ("neck", "spine3", (0.0, 0.21, -0.03)),
    ("left_collar", "spine3", (0.07, 0.11, -0.02)),
    ("right_collar", "spine3", (-0.07, 0.11, -0.02)),
    ("head", "neck", (0.0, 0.09, 0.05)),
    ("left_shoulder", "left_collar", (0.12, 0.04, -0.02)),
    ("right_shoulder", "right_collar", (-0.12, 0.04, -0.02)),
    ("left_elbow", "left_shoulder", (0.26, -0.01, -0.02)),
    ("right_elbow", "right_shoulder", (-0.26, -0.01, -0.02)),
    ("left_wrist", "left_elbow", (0.25, 0.01, 0.0)),
    ("right_wrist", "right_elbow", (-0.25, 0.01, 0.0)),
)
_HANDS: tuple[tuple[str, str, Vector], ...] = (
    ("left_hand", "left_wrist", (0.08, -0.01, -0.01)),
    ("right_hand", "right_wrist", (-0.08, -0.01, -0.01)),
)
_FACE: tuple[tuple[str, str, Vector], ...] = (
    ("jaw", "head", (0.0, 0.0, 0.02)),
    ("left_eye", "head", (0.03, 0.05, 0.08)),
    ("right_eye", "head", (-0.03, 0.05, 0.08)),
)
_LEFT_FINGERS: tuple[tuple[str, tuple[Vector, Vector, Vector]], ...] = (
    ("index", ((0.1, 0.0, 0.02), (0.03, 0.0, 0.0), (0.02, 0.0, 0.0))),
    ("middle", ((0.11, 0.0, 0.0), (0.03, 0.0, 0.0), (0.02, 0.0, 0.0))),
    ("pinky", ((0.08, -0.01, -0.04), (0.02, 0.0, 0.0), (0.02, 0.0, 0.0))),
    ("ring", ((0.09, 0.0, -0.02), (0.03, 0.0, 0.0), (0.02, 0.0, 0.0))),
    ("thumb", ((0.04, -0.01, 0.03), (0.02, 0.0, 0.02), (0.02, 0.0, 0.01))),
)


def _fingers() -> tuple[tuple[str, str, Vector], ...]:
    rows: list[tuple[str, str, Vector]] = []
    for side, mirror in (("left", 1.0), ("right", -1.0)):
        for finger, bones in _LEFT_FINGERS:
            parent = f"{side}_wrist"
            for number, (x, y, z) in enumerate(bones, start=1):
                rows.append((f"{side}_{finger}{number}", parent, (mirror * x, y, z)))
                parent = f"{side}_{finger}{number}"
    return tuple(rows)


_MODELS: Mapping[int, tuple[str, tuple[tuple[str, str, Vector], ...]]] = {
    66: ("SMPL body", _BODY),
    72: ("SMPL", _BODY + _HANDS),
    156: ("SMPL-H", _BODY + _fingers()),
    165: ("SMPL-X", _BODY + _FACE + _fingers()),
}
"""By width of `poses`."""
_RATES = ("mocap_framerate", "mocap_frame_rate")


def smpl_skeleton(width: int, notes: Mapping[str, str] | None = None) -> Skeleton:
    """The rig whose `poses` rows have `width` numbers: root translation, then a rotation vector per joint."""
    if width not in _MODELS:
        known = ", ".join(f"{w} ({name})" for w, (name, _) in _MODELS.items())
        raise FormatError(f"poses have {width} numbers a frame; known are {known}")
    rows = _MODELS[width][1]
    index = {name: i for i, (name, _, _) in enumerate(rows)}
    joints = tuple(Joint(name, index.get(parent, -1), offset) for name, parent, offset in rows)
    channels = [Channel(0, kind) for kind in ("tx", "ty", "tz")]
    channels += [Channel(joint, kind) for joint in range(len(joints)) for kind in ("vx", "vy", "vz")]
    # SMPL moves the whole rest body by `trans`: the pelvis stands at its rest place plus the translation.
    return Skeleton(joints, tuple(channels), 100.0, angle_unit="rad", translation="add", notes=notes or {})


def read_amass(source: Source, options: ReadOptions) -> list[Model]:
    """One clip; rate, betas and gender are kept in the rig's notes. Soft-tissue `dmpls` are left out."""
    data = read_within(source, options.limits)
    arrays = load_arrays(data, ("poses", "trans", *_RATES, "betas"), limits=options.limits)
    arrays |= _optional(data, "gender", options)
    poses, trans = real_array(arrays, "poses", ndim=2), real_array(arrays, "trans", ndim=2)
    if trans.shape != (len(poses), 3):
        raise FormatError(f"array 'trans' should be [{len(poses)}, 3], not {list(trans.shape)}")
    options.limits.charge("frames", len(poses))
    rate_key = next((key for key in _RATES if key in arrays), "")
    if not rate_key and options.fps is None:
        raise FormatError("the archive has no frame rate", hint="give one, such as --fps 120")
    rate = number_of(arrays[rate_key], rate_key) if rate_key else float(options.fps or 0)
    skeleton = smpl_skeleton(poses.shape[1], _notes(arrays, rate_key or _RATES[0], rate))
    if options.unit_cm is not None:
        skeleton = skeleton.with_unit(options.unit_cm)
    return [Clip(skeleton, np.concatenate([trans, poses], axis=1), frame_time_of(rate), stem_of(source.name))]


def _optional(data: bytes, key: str, options: ReadOptions) -> dict[str, NDArray[Any]]:
    """Some archives pickle their texts; a text that is only a remark is not worth refusing the file for."""
    try:
        return load_arrays(data, (key,), limits=options.limits)
    except FormatError:
        return {}


def _notes(arrays: Mapping[str, NDArray[Any]], rate_key: str, rate: float) -> dict[str, str]:
    dtype = str(arrays["poses"].dtype.name)
    notes = {"amass.rate": repr(rate), "amass.rate_key": rate_key, "amass.dtype": dtype}
    if "betas" in arrays and arrays["betas"].dtype.kind in "fiu":
        notes["amass.betas"] = json.dumps([float(b) for b in arrays["betas"].reshape(-1)[:1000]])
    if "gender" in arrays and arrays["gender"].dtype.kind in "US" and arrays["gender"].size == 1:
        notes["amass.gender"] = text_of(arrays["gender"], "gender")
    return notes


def amass_arrays(clip: Clip) -> dict[str, Any] | None:
    """The keys that were read; None unless the clip still has the rig that reading gives."""
    notes, width = clip.skeleton.notes, len(clip.skeleton.channels) - 3
    if "amass.rate" not in notes or width not in _MODELS or clip.skeleton != smpl_skeleton(width, notes):
        return None
    rate = float(notes["amass.rate"])
    values = clip.values
    if notes.get("amass.dtype") == "float32" and np.array_equal(values.astype(np.float32), values):
        values = values.astype(np.float32)
    return {
        "trans": values[:, :3],
        "gender": np.array(notes.get("amass.gender", "neutral")),
        notes.get("amass.rate_key", _RATES[0]): np.float64(rate if 1 / rate == clip.frame_time else clip.fps),
        "betas": np.array(json.loads(notes.get("amass.betas", "[]")), np.float64),
        "poses": values[:, 3:],
    }


FORMATS.add(
    "amass",
    Format(
        id="amass",
        title="AMASS / SMPL motion (.npz)",
        extensions=(".npz",),
        read=guarded(read_amass),
        write=None,
        holds=(Clip,),
        claims=lambda source: claimed_by("amass", source),
    ),
)
