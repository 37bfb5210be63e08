"""Rotations in four spellings, for arrays of any leading shape `[...]`.

Angles are radians. A quaternion is (x, y, z, w). A matrix acts on column vectors. An Euler order is a matrix
product read left to right: "zyx" with angles (a, b, c) is Rz(a) Ry(b) Rx(c); one or two axes are allowed.
Every quaternion argument may have any length but zero unless said otherwise; zero stands for no rotation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinepack.errors import UsageError

Array = NDArray[np.float64]

IDENTITY = (0.0, 0.0, 0.0, 1.0)
_AXES = {"x": 0, "y": 1, "z": 2}


def _floats(values: ArrayLike) -> Array:
    return np.asarray(values, np.float64)


def axes_of(order: str) -> tuple[int, ...]:
    """Axis numbers of an order of one to three different letters; raises UsageError on anything else."""
    axes = tuple(_AXES.get(letter, -1) for letter in order.lower())
    if not 1 <= len(axes) <= 3 or -1 in axes or len(set(axes)) != len(axes):
        raise UsageError(f"{order!r} is not a rotation order", hint='use one to three of x, y and z, such as "zyx"')
    return axes


# Euler angles and matrices.


def axis_matrix(axis: int, angle: ArrayLike) -> Array:
    """[...] angles about coordinate axis 0, 1 or 2 -> [..., 3, 3]."""
    angle = _floats(angle)
    after, before = (axis + 1) % 3, (axis + 2) % 3
    result = np.zeros((*angle.shape, 3, 3))
    result[..., axis, axis] = 1.0
    result[..., after, after] = result[..., before, before] = np.cos(angle)
    sine = np.sin(angle)
    result[..., before, after], result[..., after, before] = sine, -sine
    return result


def euler_to_matrix(angles: ArrayLike, order: str) -> Array:
    """[..., len(order)] -> [..., 3, 3]."""
    angles, axes = _floats(angles), axes_of(order)
    if angles.shape[-1:] != (len(axes),):
        raise UsageError(f"order {order!r} needs {len(axes)} angles, not {list(angles.shape)}")
    result = axis_matrix(axes[0], angles[..., 0])
    for position, axis in enumerate(axes[1:], 1):
        result = result @ axis_matrix(axis, angles[..., position])
    return result


def matrix_to_euler(matrix: ArrayLike, order: str) -> Array:
    """[..., 3, 3] -> [..., len(order)] in (-π, π]; with three axes the middle angle is in [-π/2, π/2].

    At gimbal lock the first angle takes what rounding leaves of it and the last one makes up for it, so the
    product is always the matrix given. With one or two axes a matrix outside their reach loses the rest.
    """
    matrix, axes = _floats(matrix), axes_of(order)
    if len(axes) == 1:
        return _angle_in_plane(matrix, axes[0])[..., None]
    if len(axes) == 2:
        return _two_angles(matrix, *axes)
    i, j, k = axes
    sign = _parity(i, j)
    first = np.arctan2(-sign * matrix[..., j, k], matrix[..., k, k])
    rest = axis_matrix(i, -first) @ matrix
    middle = np.arctan2(sign * rest[..., i, k], rest[..., k, k])
    last = np.arctan2(sign * rest[..., j, i], rest[..., j, j])
    return np.stack([first, middle, last], axis=-1)


def _parity(i: int, j: int) -> float:
    """+1 if axis j follows axis i in x, y, z, x, …"""
    return 1.0 if (i + 1) % 3 == j else -1.0


def _angle_in_plane(matrix: Array, axis: int) -> Array:
    after, before = (axis + 1) % 3, (axis + 2) % 3
    sine = matrix[..., before, after] - matrix[..., after, before]
    return np.arctan2(sine, matrix[..., after, after] + matrix[..., before, before])


def _two_angles(matrix: Array, i: int, j: int) -> Array:
    """Ri(a) Rj(b): column j depends on a alone, row i on b alone, so there is no gimbal lock."""
    k, sign = 3 - i - j, _parity(i, j)
    first = np.arctan2(sign * matrix[..., k, j], matrix[..., j, j])
    second = np.arctan2(sign * matrix[..., i, k], matrix[..., i, i])
    return np.stack([first, second], axis=-1)


def unwrap_euler(angles: ArrayLike) -> Array:
    """[frames, ..., 3] -> the same rotations without jumps along the first axis.

    (a, b, c) and (a + π, π - b, c + π) are one rotation for every order of three different axes. Each frame
    takes the one nearer to the frame before, then whole turns. Angles of one or two axes only have whole
    turns.
    """
    angles = _floats(angles)
    if angles.shape[-1] == 3 and len(angles) > 1:
        twin = np.stack([angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi], axis=-1)
        stay = (wrap(angles[1:] - angles[:-1]) ** 2).sum(-1)
        leave = (wrap(twin[1:] - angles[:-1]) ** 2).sum(-1)
        # Distances between twins equal those between originals, so the choice is a parity of "leave" votes.
        odd = np.cumsum(leave < stay, axis=0) % 2 == 1
        angles = np.concatenate([angles[:1], np.where(odd[..., None], twin[1:], angles[1:])])
    return np.unwrap(angles, axis=0)


def wrap(angle: ArrayLike) -> Array:
    """The same angle in [-π, π)."""
    return np.asarray((_floats(angle) + np.pi) % (2 * np.pi) - np.pi)


# Quaternions.


def normalize(quaternion: ArrayLike) -> Array:
    """[..., 4] -> unit length; a zero quaternion becomes the identity."""
    quaternion = _floats(quaternion)
    # Scaling by the largest part first keeps tiny and huge quaternions from under- and overflowing.
    largest = np.abs(quaternion).max(axis=-1, keepdims=True)
    scaled = quaternion / np.where(largest > 0, largest, 1.0)
    scaled = np.where(largest > 0, scaled, np.array(IDENTITY))
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def conjugate(quaternion: ArrayLike) -> Array:
    """[..., 4] -> the inverse rotation."""
    return np.asarray(_floats(quaternion) * np.array([-1.0, -1.0, -1.0, 1.0]))


def multiply(left: ArrayLike, right: ArrayLike) -> Array:
    """[..., 4] x [..., 4]: the rotation `right` first, then `left`, as the product of their matrices."""
    left, right = _floats(left), _floats(right)
    ax, ay, az, aw = (left[..., i] for i in range(4))
    bx, by, bz, bw = (right[..., i] for i in range(4))
    result = np.empty(np.broadcast_shapes(left.shape, right.shape))
    result[..., 0] = aw * bx + ax * bw + ay * bz - az * by
    result[..., 1] = aw * by - ax * bz + ay * bw + az * bx
    result[..., 2] = aw * bz + ax * by - ay * bx + az * bw
    result[..., 3] = aw * bw - ax * bx - ay * by - az * bz
    return result


def continuous(quaternion: ArrayLike) -> Array:
    """[frames, ..., 4] -> signs flipped so that neighbours along the first axis have a dot product >= 0."""
    quaternion = _floats(quaternion)
    away = (quaternion[1:] * quaternion[:-1]).sum(-1) < 0
    odd = np.cumsum(away, axis=0) % 2 == 1
    return np.concatenate([quaternion[:1], np.where(odd[..., None], -quaternion[1:], quaternion[1:])])


def slerp(start: ArrayLike, end: ArrayLike, amount: ArrayLike) -> Array:
    """[..., 4], [..., 4], [...] in 0..1 -> [..., 4]: constant speed along the shorter arc."""
    start, end, amount = normalize(start), normalize(end), _floats(amount)[..., None]
    step = quaternion_to_rotvec(multiply(conjugate(start), end))
    return normalize(multiply(start, rotvec_to_quaternion(step * amount)))


def quaternion_to_matrix(quaternion: ArrayLike) -> Array:
    """[..., 4] -> [..., 3, 3]."""
    x, y, z, w = np.moveaxis(normalize(quaternion), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def matrix_to_quaternion(matrix: ArrayLike) -> Array:
    """[..., 3, 3] -> [..., 4] with w >= 0.

    The symmetric matrix 4 q qᵀ is linear in the rotation matrix; its column with the largest diagonal entry
    is q without cancellation, whatever the angle (Shepperd 1978).
    """
    m = _floats(matrix)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    outer = np.empty((*m.shape[:-2], 4, 4))
    for row, value in enumerate([1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz]):
        outer[..., row, row] = value
    for a, b in ((0, 1), (0, 2), (1, 2)):
        outer[..., a, b] = outer[..., b, a] = m[..., a, b] + m[..., b, a]
    for a, (b, c) in enumerate([(1, 2), (2, 0), (0, 1)]):
        outer[..., a, 3] = outer[..., 3, a] = m[..., c, b] - m[..., b, c]
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    column = np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :]
    return normalize(np.where(column[..., 3:] < 0, -column, column))


def euler_to_quaternion(angles: ArrayLike, order: str) -> Array:
    """[..., len(order)] -> [..., 4]."""
    angles, axes = _floats(angles), axes_of(order)
    sines, cosines = np.sin(angles / 2), np.cos(angles / 2)
    result: Array | None = None
    for position, axis in enumerate(axes):
        turn = np.zeros((*angles.shape[:-1], 4))
        turn[..., axis], turn[..., 3] = sines[..., position], cosines[..., position]
        result = turn if result is None else multiply(result, turn)
    return np.tile(IDENTITY, (*angles.shape[:-1], 1)) if result is None else result


def quaternion_to_euler(quaternion: ArrayLike, order: str) -> Array:
    """[..., 4] -> [..., len(order)], as `matrix_to_euler`."""
    return matrix_to_euler(quaternion_to_matrix(quaternion), order)


# Rotation vectors: axis times angle.


def rotvec_to_quaternion(vector: ArrayLike) -> Array:
    """[..., 3] -> [..., 4]."""
    vector = _floats(vector)
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([vector * 0.5 * np.sinc(angle / (2 * np.pi)), np.cos(angle / 2)], axis=-1)


def quaternion_to_rotvec(quaternion: ArrayLike) -> Array:
    """[..., 4] -> [..., 3] of length 0..π."""
    quaternion = normalize(quaternion)
    return unwound_rotvec(np.where(quaternion[..., 3:] < 0, -quaternion, quaternion))


def unwound_rotvec(quaternion: ArrayLike) -> Array:
    """[..., 4] of unit length -> [..., 3] of length 0..2π, longer than π where w < 0."""
    quaternion = _floats(quaternion)
    axis, w = quaternion[..., :3], quaternion[..., 3:]
    sine = np.linalg.norm(axis, axis=-1, keepdims=True)
    tiny = sine < 1e-150  # there the angle is twice the sine to all digits, and the quotient would be 0 / 0
    return np.asarray(axis * np.where(tiny, 2.0, 2 * np.arctan2(sine, w) / np.where(tiny, 1.0, sine)))


def rotvec_to_matrix(vector: ArrayLike) -> Array:
    """[..., 3] -> [..., 3, 3]."""
    return quaternion_to_matrix(rotvec_to_quaternion(vector))


def matrix_to_rotvec(matrix: ArrayLike) -> Array:
    """[..., 3, 3] -> [..., 3] of length 0..π."""
    return quaternion_to_rotvec(matrix_to_quaternion(matrix))


def angle_between(left: ArrayLike, right: ArrayLike) -> Array:
    """[..., 3, 3] x [..., 3, 3] -> [...] geodesic angle in 0..π."""
    relative = np.swapaxes(_floats(left), -1, -2) @ _floats(right)
    return np.asarray(np.linalg.norm(matrix_to_rotvec(relative), axis=-1))


# Derivatives, for Jacobians: the angular velocity ω, in the frame rotated into, per unit of each number.


def rotvec_rates(vector: ArrayLike) -> Array:
    """[..., 3] -> [..., 3 numbers, 3]: row k is ω of d/dv_k, the left Jacobian of SO(3)."""
    vector = _floats(vector)
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    cross = cross_matrix(vector)
    small = angle < 1e-3  # series to the terms that still show in double precision
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    second = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    jacobian = np.eye(3) + first * cross + second * (cross @ cross)
    return np.swapaxes(jacobian, -1, -2)


def quaternion_rates(quaternion: ArrayLike) -> Array:
    """[..., 4] of any length -> [..., 4 numbers, 3]: row k is ω of d/dq_k of the normalised quaternion."""
    quaternion = _floats(quaternion)
    length = np.linalg.norm(quaternion, axis=-1)[..., None, None]
    unit = normalize(quaternion)
    along = np.eye(4) - unit[..., :, None] * unit[..., None, :]
    spin = 2 * multiply(along, conjugate(unit)[..., None, :])[..., :3]
    return np.asarray(spin / np.where(length > 0, length, 1.0))


def cross_matrix(vector: ArrayLike) -> Array:
    """[..., 3] -> [..., 3, 3] with cross_matrix(v) @ u = v x u."""
    vector = _floats(vector)
    result: NDArray[Any] = np.zeros((*vector.shape[:-1], 3, 3))
    for a, (b, c) in enumerate([(1, 2), (2, 0), (0, 1)]):
        result[..., c, b], result[..., b, c] = vector[..., a], -vector[..., a]
    return result
