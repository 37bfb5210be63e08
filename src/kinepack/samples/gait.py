"""The plan of the human's motion: where the feet are set, and where that puts the pelvis.

Lengths in units of the rig, times in seconds, headings in degrees from +z towards +x (the person's left).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kinepack.samples.curves import Array, ease, hermite, keyed, lower_envelope, smooth
from kinepack.samples.rig import ANKLE, BALL, HEEL, UNIT_CM

Keys = list[tuple[float, float]]

RATE = 120.0
FRAMES = 900
TIMES = np.arange(FRAMES) / RATE

STEP, SWING = 0.55, 0.43
CROUCH, BOTTOM, TAKEOFF, TOUCHDOWN, ABSORBED, UPRIGHT = 4.95, 5.48, 5.72, 6.20, 6.42, 7.15
GRAVITY = 981 / UNIT_CM
STANDING = 17.0
"""Height of the root over the ground."""

_WALK = (
    # heading, how far the body's middle advances; right foot first
    (-55.0, 5.5),
    (-55.0, 10.5),
    (-55.0, 10.8),
    (-32.0, 10.0),
    (2.0, 9.0),
    (36.0, 9.5),
    (55.0, 10.4),
    (55.0, 1.0),
)
_HOP = 4.0
_TAKEOFF_RISE, _TOUCHDOWN_RISE = 1.2, 0.0
"""Height of the root over standing: it leaves with the legs stretched and lands with the knees bent."""


@dataclass(frozen=True)
class Step:
    """One foot goes through the air from where it stood to `place`."""

    side: int
    lift: float
    land: float
    place: tuple[float, float]
    heading_deg: float
    jump: bool = False


@dataclass(frozen=True)
class Foot:
    """One foot over time: [frames] or [frames, 3]."""

    ankle: Array
    ball: Array
    heading_deg: Array
    pitch_deg: Array
    toe_bend_deg: Array


def forward(heading_deg: Array) -> Array:
    """Unit vectors (x, z) [..., 2]."""
    heading = np.radians(heading_deg)
    return np.stack([np.sin(heading), np.cos(heading)], axis=-1)


def leftward(heading_deg: Array) -> Array:
    """Unit vectors (x, z) [..., 2]."""
    heading = np.radians(heading_deg)
    return np.stack([np.cos(heading), -np.sin(heading)], axis=-1)


def plan() -> list[Step]:
    """Stand, eight steps with a turn in the middle, a jump; the first two entries: where the feet start."""
    steps = [_set(side, -1.0, -1.0, np.zeros(2), _WALK[0][0], 1.4) for side in (0, 1)]
    middle = np.zeros(2)
    for index, (heading, advance) in enumerate(_WALK):
        middle = middle + advance * forward(np.array(heading))
        lift = 0.6 + STEP * index
        last = index == len(_WALK) - 1
        steps.append(_set(1 - index % 2, lift, lift + SWING, middle, heading, 1.4 if last else 0.9))
    landing = middle + _HOP * forward(np.array(_WALK[-1][0]))
    steps += [_set(side, TAKEOFF, TOUCHDOWN, landing, _WALK[-1][0], 1.6, jump=True) for side in (0, 1)]
    return steps


def _set(
    side: int,
    lift: float,
    land: float,
    middle: Array,
    heading: float,
    half_width: float,
    *,
    jump: bool = False,
) -> Step:
    out = half_width if side == 0 else -half_width
    x, z = middle + out * leftward(np.array(heading))
    toe_out = 7.0 if side == 0 else -7.0
    return Step(side, lift, land, (float(x), float(z)), heading + toe_out, jump)


def ballistic() -> Array:
    """Height over the take-off point while in the air, 0 elsewhere; [frames]."""
    since = np.clip(TIMES - TAKEOFF, 0, TOUCHDOWN - TAKEOFF)
    return GRAVITY * since * (TOUCHDOWN - TAKEOFF - since) / 2


def foot(steps: list[Step], side: int) -> Foot:
    """The path of one foot: fixed between steps, rolling over heel and ball, through the air in between."""
    own = [step for step in steps if step.side == side]
    place = np.broadcast_to(np.array(own[0].place), (FRAMES, 2)).copy()
    heading = np.full(FRAMES, own[0].heading_deg)
    lift = np.zeros(FRAMES)
    pitch_keys, bend_keys = [(0.0, 0.0)], [(0.0, 0.0)]
    for before, step in pairwise(own):
        part = ease(TIMES, step.lift, step.land)
        place += part[:, None] * np.subtract(step.place, before.place)
        heading += part * (step.heading_deg - before.heading_deg)
        phase = np.clip((TIMES - step.lift) / (step.land - step.lift), 0, 1)
        lift += (2.2 if step.jump else 1.1) * np.sin(np.pi * phase) ** 2
        reach = float(np.linalg.norm(np.subtract(step.place, before.place)))
        pitch_keys += _pitch_keys(step, reach)
        bend_keys += _bend_keys(step, reach)
    lift += ballistic()
    pitch = keyed(TIMES, pitch_keys, 0.025)
    bend = keyed(TIMES, bend_keys, 0.03)
    ankle, ball = _rolled(place, heading, pitch, lift)
    return Foot(ankle, ball, heading, pitch, bend)


def _push_off_deg(step: Step, reach: float) -> float:
    return 52.0 if step.jump else 14.0 + 1.1 * min(reach, 24.0)


def _pitch_keys(step: Step, reach: float) -> Keys:
    """Pitch in degrees, toes up positive: off the ball before a step, down on the heel (jump: the ball)."""
    off, lift, land = _push_off_deg(step, reach), step.lift, step.land
    if step.jump:
        air = [(lift, -off), (lift + 0.1, -off), (land - 0.12, -24.0), (land - 0.02, -22.0)]
        return [(BOTTOM + 0.06, 0.0), *air, (land + 0.07, 0.0)]
    span = land - lift
    strike = 0.8 * min(reach, 24.0)
    air = [(lift, -off), (lift + 0.15 * span, -off - 8), (lift + 0.7 * span, 4.0), (land, strike)]
    return [(lift - 0.22, 0.0), *air, (land + 0.09, 0.0)]


def _bend_keys(step: Step, reach: float) -> Keys:
    """The toes stay flat on the ground while the heel rises, and straighten in the air; degrees."""
    off, lift, land = _push_off_deg(step, reach), step.lift, step.land
    if step.jump:
        air = [(lift, off), (lift + 0.1, 4.0), (land - 0.1, 6.0), (land - 0.01, 18.0)]
        return [(BOTTOM + 0.06, 0.0), *air, (land + 0.07, 0.0)]
    return [(lift - 0.22, 0.0), (lift, off), (lift + 0.12, 6.0), (land, -4.0), (land + 0.1, 0.0)]


def _rolled(place: Array, heading: Array, pitch: Array, lift: Array) -> tuple[Array, Array]:
    """Ankle and ball [frames, 3] of a foot that turns about its heel (toes up) or its ball (heel up)."""
    pivot = np.where(pitch[:, None] > 0, np.array(HEEL), np.array(BALL))
    angle = np.radians(pitch)
    cos, sin = np.cos(angle), np.sin(angle)
    points = []
    for point in (ANKLE, BALL):
        along, up = (np.array(point) - pivot).T
        flat = place + (pivot[:, 0] + cos * along - sin * up)[:, None] * forward(heading)
        height = pivot[:, 1] + sin * along + cos * up + lift
        points.append(np.stack([flat[:, 0], height, flat[:, 1]], axis=-1))
    return points[0], points[1]


def pelvis_path(steps: list[Step]) -> tuple[Array, Array]:
    """Where the pelvis is over the ground (x, z) [frames, 2], and its heading in degrees [frames]."""
    places = {0: np.array(steps[0].place), 1: np.array(steps[1].place)}
    at, middles, headings = [0.0], [(places[0] + places[1]) / 2], [steps[0].heading_deg - 7.0]
    for step in steps[2:-2]:
        stance = places[1 - step.side]
        swing_middle = (places[step.side] + np.array(step.place)) / 2
        at.append((step.lift + step.land) / 2)
        middles.append(0.62 * stance + 0.38 * swing_middle)
        places[step.side] = np.array(step.place)
        at.append(step.land + (STEP - SWING) / 2)
        middles.append((places[0] + places[1]) / 2)
        headings += [headings[-1], step.heading_deg - (7.0 if step.side == 0 else -7.0)]
    landing = (np.array(steps[-1].place) + np.array(steps[-2].place)) / 2
    ahead = forward(np.array(headings[-1]))
    standing = middles[-1] + 0.9 * ahead
    at += [CROUCH, BOTTOM, TAKEOFF, TOUCHDOWN, ABSORBED, UPRIGHT]
    middles += [standing, standing - 1.6 * ahead, standing + 0.9 * ahead, landing - 0.2 * ahead]
    middles += [landing - 0.9 * ahead, landing + 0.9 * ahead]
    headings += [headings[-1]] * 6
    track = np.array(middles)
    track[: len(middles) - 6] += 0.9 * forward(np.array(headings[: len(middles) - 6]))
    flat = np.stack([np.interp(TIMES, at, track[:, axis]) for axis in (0, 1)], axis=-1)
    turn = np.interp(TIMES, at, np.array(headings))
    return smooth(flat, 0.075, RATE), smooth(turn, 0.16, RATE)


def pelvis_height(hips: Array, ankles: Array, leg: float) -> Array:
    """The root's height [frames]: as high as both legs reach, and the jump's own course.

    `hips` [2, frames, 3] relative to the root, `ankles` [2, frames, 3], `leg` the longest hip-ankle distance.
    """
    away, down = _jump_speeds()
    jump = hermite(
        TIMES,
        [
            (CROUCH, 0.0, 0.0),
            (BOTTOM, -4.0, 0.0),
            (TAKEOFF, _TAKEOFF_RISE, away),
            (TOUCHDOWN, _TOUCHDOWN_RISE, down),
            (ABSORBED, -3.6, 0.0),
            (UPRIGHT, 0.0, 0.0),
        ],
    )
    wanted = STANDING + jump
    across = np.linalg.norm((ankles - hips)[..., [0, 2]], axis=-1)
    reachable = (ankles[..., 1] - hips[..., 1] + np.sqrt(np.maximum(leg**2 - across**2, 0.0))).min(axis=0)
    drop = lower_envelope(np.minimum(reachable - wanted, 0.0), 15)
    return wanted + smooth(drop, 0.04, RATE)


def _jump_speeds() -> tuple[float, float]:
    """Vertical speed of the root at take-off and touchdown: free fall between the two heights."""
    span = TOUCHDOWN - TAKEOFF
    away = (GRAVITY * span**2 / 2 + _TOUCHDOWN_RISE - _TAKEOFF_RISE) / span
    return away, away - GRAVITY * span
