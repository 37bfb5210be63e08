"""Motions of the DeepMimic and AMP papers as NumPy archives, in metres.

DeepMimic, Y up: `frames` [frames, 44 (humanoid) or 84 (dog)]: seconds to the next frame, root position, root
quaternion (w, x, y, z), then per joint a quaternion (w, x, y, z) or, for hinges, an angle about z; and `fps`,
`loop`. AMP, Z up: `rotations_xyzw` [frames, joints, 4] local, `root_translation`, `parents`, `offsets`,
`joint_names`, `fps`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.archive import claimed_by, load_arrays, number_of, real_array, text_of
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source
from kinepack.formats.guard import frame_time_of, guarded, read_within
from kinepack.formats.text import stem_of
from kinepack.math import rotation
from kinepack.model import Channel, Clip, Joint, Model, Skeleton
from kinepack.model.skeleton import Vector

_Row = tuple[str, int, str, Vector]
"""Name, parent, "ball" | "hinge" | "fixed", offset in metres."""

_HUMANOID: tuple[_Row, ...] = (
    ("root", -1, "ball", (0.0, 0.0, 0.0)),
    ("chest", 0, "ball", (0.0, 0.236151, 0.0)),
    ("neck", 1, "ball", (0.0, 0.223894, 0.0)),
    ("right_hip", 0, "ball", (0.0, 0.0, 0.084887)),
    ("right_knee", 3, "hinge", (0.0, -0.421546, 0.0)),
    ("right_ankle", 4, "ball", (0.0, -0.40987, 0.0)),
    ("right_shoulder", 1, "ball", (-0.02405, 0.2435, 0.18311)),
    ("right_elbow", 6, "hinge", (0.0, -0.274788, 0.0)),
    ("right_wrist", 7, "fixed", (0.0, -0.258947, 0.0)),
    ("left_hip", 0, "ball", (0.0, 0.0, -0.084887)),
    ("left_knee", 9, "hinge", (0.0, -0.421546, 0.0)),
    ("left_ankle", 10, "ball", (0.0, -0.40987, 0.0)),
    ("left_shoulder", 1, "ball", (-0.02405, 0.2435, -0.18311)),
    ("left_elbow", 12, "hinge", (0.0, -0.274788, 0.0)),
    ("left_wrist", 13, "fixed", (0.0, -0.258947, 0.0)),
)
_DOG: tuple[_Row, ...] = (
    ("root", -1, "ball", (0.0, 0.0, 0.0)),
    ("spine0", 0, "ball", (0.0, 0.0, 0.0)),
    ("spine1", 1, "ball", (0.2375, 0.0, 0.0)),
    ("neck", 2, "ball", (0.28135, 0.0, 0.0)),
    ("head", 3, "ball", (0.175, 0.0, 0.0)),
    ("left_shoulder", 2, "ball", (0.304074, -0.109983, -0.106071)),
    ("left_forearm", 5, "hinge", (0.0, -0.19, 0.0)),
    ("left_hand", 6, "ball", (0.0, -0.2225, 0.0)),
    ("left_finger", 7, "ball", (0.0, -0.09, 0.0)),
    ("right_shoulder", 2, "ball", (0.304074, -0.109983, 0.106071)),
    ("right_forearm", 9, "hinge", (0.0, -0.19, 0.0)),
    ("right_hand", 10, "ball", (0.0, -0.2225, 0.0)),
    ("right_finger", 11, "ball", (0.0, -0.09, 0.0)),
    ("left_upper_leg", 0, "ball", (-0.074803, -0.095825, -0.05986)),
    ("left_leg", 13, "hinge", (0.0, -0.2, 0.0)),
    ("left_foot", 14, "ball", (0.0, -0.225, 0.0)),
    ("left_toe", 15, "ball", (0.0, -0.135, 0.0)),
    ("right_upper_leg", 0, "ball", (-0.074803, -0.095825, 0.05986)),
    ("right_leg", 17, "hinge", (0.0, -0.2, 0.0)),
    ("right_foot", 18, "ball", (0.0, -0.225, 0.0)),
    ("right_toe", 19, "ball", (0.0, -0.135, 0.0)),
    ("tail0", 0, "ball", (-0.086, 0.0, 0.0)),
    ("tail1", 21, "ball", (-0.2, 0.0, 0.0)),
)
_RIGS: Mapping[int, tuple[_Row, ...]] = {44: _HUMANOID, 84: _DOG}
"""By width of `frames`."""
_KINDS = {"ball": ("qw", "qx", "qy", "qz"), "hinge": ("rz",), "fixed": ()}
_MOVE = ("tx", "ty", "tz")
_AMP_KEYS = ("rotations_xyzw", "root_translation", "parents", "offsets", "joint_names", "is_local")
_KEYS = ("frames", "fps", "loop", *_AMP_KEYS)


def read_deepmimic(source: Source, options: ReadOptions) -> list[Model]:
    """One clip of either paper's layout."""
    arrays = load_arrays(read_within(source, options.limits), _KEYS, limits=options.limits)
    clip = _read_frames(arrays, options) if "frames" in arrays else _read_amp(arrays, options)
    options.limits.charge("frames", clip.frames)
    skeleton = clip.skeleton if options.unit_cm is None else clip.skeleton.with_unit(options.unit_cm)
    return [Clip(skeleton, clip.values, clip.frame_time, stem_of(source.name))]


def _read_frames(arrays: Mapping[str, NDArray[Any]], options: ReadOptions) -> Clip:
    frames = real_array(arrays, "frames", ndim=2)
    if frames.shape[1] not in _RIGS or not len(frames):
        raise FormatError(f"array 'frames' is {list(frames.shape)}; known widths: 44 (humanoid), 84 (dog)")
    notes = {"deepmimic.layout": "frames", "deepmimic.last_seconds": repr(_exact(frames[-1, 0]))}
    if "loop" in arrays:
        notes["deepmimic.loop"] = text_of(arrays["loop"], "loop")
    return Clip(_rig(frames.shape[1], notes), frames[:, 1:], _frame_seconds(arrays, frames, options))


def _rig(width: int, notes: Mapping[str, str]) -> Skeleton:
    rows = _RIGS[width]
    joints = tuple(Joint(name, parent, offset, order="zyx") for name, parent, _, offset in rows)
    channels = [Channel(0, kind) for kind in _MOVE]
    channels += [Channel(j, kind) for j, row in enumerate(rows) for kind in _KINDS[row[2]]]
    return Skeleton(joints, tuple(channels), unit_cm=100.0, angle_unit="rad", notes=notes)


def _exact(number: Any) -> float:
    """The decimal that was meant: the shortest one that is this number in its own precision."""
    return float(str(number))


def _frame_seconds(arrays: Mapping[str, NDArray[Any]], frames: NDArray[Any], options: ReadOptions) -> float:
    """The frames' common duration; the last one's is free, since nothing follows it."""
    durations = frames[:-1, 0]
    if len(durations) and durations.min() > 0:
        if np.ptp(durations) > 1e-3 * durations[0]:
            raise FormatError("the frames have different durations")
        return _exact(durations[0])
    if "fps" in arrays:
        return frame_time_of(_exact(arrays["fps"].reshape(-1)[0]) if arrays["fps"].size == 1 else 0.0)
    return frame_time_of(options.fps or 30.0)


def _read_amp(arrays: Mapping[str, NDArray[Any]], options: ReadOptions) -> Clip:
    rotations = real_array(arrays, "rotations_xyzw", ndim=3).astype(np.float64)
    move, parents = real_array(arrays, "root_translation", ndim=2), real_array(arrays, "parents", ndim=1)
    frames, count = rotations.shape[:2]
    options.limits.charge("joints", count)
    offsets = real_array(arrays, "offsets", ndim=2) if "offsets" in arrays else np.zeros((count, 3))
    fitting = move.shape == (frames, 3) and len(parents) == count and offsets.shape == (count, 3)
    if rotations.shape[2] != 4 or not fitting:
        raise FormatError("rotations_xyzw, root_translation, parents and offsets do not fit together")
    names = arrays.get("joint_names", np.array([f"joint{j}" for j in range(count)]))
    if names.shape != (count,):
        raise FormatError(f"there are {count} joints and {names.size} joint names")
    rows = zip(names, parents, offsets, strict=True)
    joints = tuple(Joint(str(n), int(p), (_exact(o[0]), _exact(o[1]), _exact(o[2]))) for n, p, o in rows)
    skeleton = _amp_rig(joints)
    if "is_local" in arrays and not arrays["is_local"].all():
        rotations = _to_local(rotations, skeleton.parents)
    fps = number_of(arrays["fps"], "fps") if "fps" in arrays else options.fps or 30.0
    return Clip(skeleton, np.concatenate([move, rotations.reshape(frames, -1)], axis=1), frame_time_of(fps))


def _amp_rig(joints: tuple[Joint, ...]) -> Skeleton:
    channels = [Channel(0, kind) for kind in _MOVE]
    channels += [Channel(j, kind) for j in range(len(joints)) for kind in ("qx", "qy", "qz", "qw")]
    return Skeleton(joints, tuple(channels), unit_cm=100.0, notes={"deepmimic.layout": "amp"})


def _to_local(rotations: NDArray[Any], parents: NDArray[Any]) -> NDArray[Any]:
    """[frames, joints, 4] world rotations -> rotations relative to the parent."""
    local = rotation.normalize(rotations)
    inverse = rotation.conjugate(local)
    child = np.flatnonzero(parents >= 0)
    result = local.copy()
    result[:, child] = rotation.multiply(inverse[:, parents[child]], local[:, child])
    return result


def deepmimic_arrays(clip: Clip) -> dict[str, Any] | None:
    """The layout that was read; None unless the clip still has the rig of such a file."""
    layout, width = clip.skeleton.notes.get("deepmimic.layout"), len(clip.skeleton.channels) + 1
    if layout == "frames" and width in _RIGS and clip.skeleton == _rig(width, clip.skeleton.notes):
        return _frames_arrays(clip)
    if layout == "amp" and clip.skeleton == _amp_rig(clip.skeleton.joints):
        return _amp_arrays(clip)
    return None


def _frames_arrays(clip: Clip) -> dict[str, Any]:
    notes = clip.skeleton.notes
    seconds = np.full((clip.frames, 1), clip.frame_time)
    seconds[-1] = float(notes.get("deepmimic.last_seconds", clip.frame_time))
    frames = np.concatenate([seconds, clip.values], axis=1).astype(np.float32)
    loop = np.array(notes.get("deepmimic.loop", "none"))
    return {"frames": frames, "loop": loop, "fps": np.float32(clip.fps)}


def _amp_arrays(clip: Clip) -> dict[str, Any]:
    skeleton = clip.skeleton
    return {
        "rotations_xyzw": clip.values[:, 3:].reshape(clip.frames, -1, 4).astype(np.float32),
        "root_translation": clip.values[:, :3].astype(np.float32),
        "parents": skeleton.parents,
        "offsets": skeleton.offsets.astype(np.float32),
        "joint_names": np.array([j.name for j in skeleton.joints]),
        "fps": np.float32(clip.fps),
        "is_local": np.array(True),
    }


FORMATS.add(
    "deepmimic",
    Format(
        id="deepmimic",
        title="DeepMimic and AMP motion (.npz)",
        extensions=(".npz",),
        read=guarded(read_deepmimic),
        write=None,
        holds=(Clip,),
        claims=lambda source: claimed_by("deepmimic", source),
    ),
)
