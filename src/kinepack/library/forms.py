"""How a window's numbers are given: channels, quaternions, 6D rotations or positions; and at which frame rate."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import Layout, matrix_of
from kinepack.errors import UsageError
from kinepack.math.kinematics import local_transforms, positions_cm
from kinepack.math.rotation import matrix_to_quaternion
from kinepack.model import Clip, Model, Skeleton

Form = Literal["channels", "quaternions", "6d", "positions"]
FORMS: tuple[str, ...] = get_args(Form)
Floats = NDArray[np.float32]


def check_form(form: str, *, mesh: bool = False) -> None:
    if form not in FORMS:
        raise UsageError(f"{form!r} is not a form of motion", hint=f"there are: {', '.join(FORMS)}")
    if mesh and form in ("quaternions", "6d"):
        raise UsageError(f"a mesh has no {form}", hint="meshes have channels and positions")


def express(model: Model, form: str) -> Floats:
    """[frames, channels], local rotations [frames, joints, 4 (x y z w) or 6], or positions [frames, joints, 3] in cm.

    The 6D form is the first two columns of each rotation matrix, one after the other (Zhou et al. 2019).
    """
    if form == "channels":
        return matrix_of(model).astype(np.float32)
    if not isinstance(model, Clip):
        check_form(form, mesh=True)
        return np.asarray(model.vertices * model.unit_cm, np.float32)
    if form == "positions":
        return positions_cm(model).astype(np.float32)
    rotations = local_transforms(model).rotations
    if form == "quaternions":
        return matrix_to_quaternion(rotations).astype(np.float32)
    columns = np.swapaxes(rotations[..., :2], -1, -2)
    return columns.reshape(*rotations.shape[:2], 6).astype(np.float32)


def smooth_signs(quaternions: Floats) -> Floats:
    """Quaternions [frames, joints, 4] without flips of sign from frame to frame."""
    away = np.einsum("fjk,fjk->fj", quaternions[1:], quaternions[:-1]) < 0
    if away.any():
        quaternions[1:][np.cumsum(away, axis=0) % 2 == 1] *= -1
    return quaternions


def resample(values: Floats, at: NDArray[np.float64], form: str, layout: Layout) -> Floats:
    """The frames at fractional positions: between two frames on a straight line, rotations put right again."""
    low = np.minimum(at.astype(np.intp), len(values) - 1)
    high = np.minimum(low + 1, len(values) - 1)
    share = (at - low).astype(np.float32).reshape(-1, *[1] * (values.ndim - 1))
    first, step = values[low], values[high] - values[low]
    if form == "channels" and isinstance(layout, Skeleton):
        _shorten_turns(first, step, layout)
    result = first + share * step
    if form == "quaternions":
        result /= np.linalg.norm(result, axis=-1, keepdims=True)
    elif form == "6d":
        result = _orthonormal(result)
    elif form == "channels" and isinstance(layout, Skeleton):
        _unit_quaternions(result, layout)
    return np.asarray(result, np.float32)


def _shorten_turns(first: Floats, step: Floats, skeleton: Skeleton) -> None:
    """Angles take the shorter way round; quaternions the nearer of the two that mean the same."""
    turn = 2 * np.pi / skeleton.radians_per_angle
    angles = skeleton.select("r")
    step[:, angles] -= np.round(step[:, angles] / turn) * turn
    parts = _quaternion_columns(skeleton)
    away = np.einsum("fjk,fjk->fj", first[:, parts], first[:, parts] + step[:, parts]) < 0
    step[:, parts] = np.where(away[..., None], -step[:, parts] - 2 * first[:, parts], step[:, parts])


def _unit_quaternions(values: Floats, skeleton: Skeleton) -> None:
    parts = _quaternion_columns(skeleton)
    length = np.linalg.norm(values[:, parts], axis=-1, keepdims=True)
    values[:, parts] /= np.where(length > 0, length, 1)


def _quaternion_columns(skeleton: Skeleton) -> NDArray[np.intp]:
    """[joints with quaternions, 4]"""
    owned = (skeleton.channels_of(joint) for joint in range(len(skeleton.joints)))
    rows: Any = [[own[kind] for kind in ("qx", "qy", "qz", "qw")] for own in owned if "qx" in own]
    return np.array(rows, np.intp).reshape(-1, 4)


def _orthonormal(six: Floats) -> Floats:
    """Gram-Schmidt on the two columns."""
    x, y = six[..., :3], six[..., 3:]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    y = y - (x * y).sum(-1, keepdims=True) * x
    return np.concatenate([x, y / np.linalg.norm(y, axis=-1, keepdims=True)], axis=-1)
