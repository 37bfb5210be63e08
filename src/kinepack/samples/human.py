"""A person who stands, walks, turns and jumps: 7.5 s at 120 Hz on the papers' skeleton, feet planted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinepack.math.rotation import wrap
from kinepack.model import Clip, Skeleton
from kinepack.samples import gait, rig
from kinepack.samples.curves import Array, keyed, noise, rotation, smooth, zyx_angles_deg
from kinepack.samples.gait import (
    ABSORBED,
    BOTTOM,
    CROUCH,
    FRAMES,
    RATE,
    TAKEOFF,
    TIMES,
    TOUCHDOWN,
    UPRIGHT,
    Foot,
)

_DECIMALS = 4  # as motion capture files have; also hides the last bits in which machines' sines differ
_STRIDE = 12.0


def human() -> Clip:
    """900 frames of 62 channels: a walk with a turn to the left, then a jump on both feet."""
    skeleton = rig.skeleton()
    steps = gait.plan()
    feet = [gait.foot(steps, side) for side in (0, 1)]
    swing = _arm_swing(steps, feet)
    angles: dict[str, Array] = {}
    root, pelvis = _root(skeleton, steps, feet, swing)
    for side, foot in enumerate(feet):
        angles |= _leg(skeleton, "lr"[side], foot, root, pelvis)
    angles |= _trunk(steps, swing)
    for side in (0, 1):
        angles |= _arm(side, swing)
    angles["root"] = np.concatenate([root, zyx_angles_deg(pelvis)], axis=-1)
    values = _channels(skeleton, angles)
    values += _tremor(skeleton)
    return Clip(skeleton, np.round(values, _DECIMALS), 1 / RATE, "human")


def _arm_swing(steps: list[gait.Step], feet: list[Foot]) -> Array:
    """How far the right foot was ahead a moment ago, in strides: the left arm follows it; [frames]."""
    ahead = gait.forward(gait.pelvis_path(steps)[1])
    apart = ((feet[1].ankle - feet[0].ankle)[:, [0, 2]] * ahead).sum(axis=-1) / _STRIDE
    lagged = np.concatenate([np.zeros(6), apart[:-6]])
    return smooth(lagged, 0.09, RATE)


def _sway(seed: int, amplitude: float, seconds: float) -> Array:
    """Slow aimless movement of about `amplitude`; [frames]."""
    wander = smooth(noise(seed, (FRAMES,)), seconds, RATE)
    return amplitude * wander / max(float(wander.std()), 1e-9)


def _root(skeleton: Skeleton, steps: list[gait.Step], feet: list[Foot], swing: Array) -> tuple[Array, Array]:
    """The root's position [frames, 3] and rotation [frames, 3, 3]."""
    flat, heading = gait.pelvis_path(steps)
    moving = keyed(TIMES, [(0.5, 0), (0.9, 1), (4.6, 1), (4.9, 0)], 0.1)
    lean = keyed(
        TIMES,
        [
            (CROUCH, 0),
            (BOTTOM, 26),
            (TAKEOFF, 4),
            (TAKEOFF + 0.2, 2),
            (TOUCHDOWN, 8),
            (ABSORBED, 20),
            (UPRIGHT, 0),
        ],
        0.05,
    )
    turning = np.gradient(heading, 1 / RATE)
    yaw = heading - 5.0 * swing + _sway(11, 0.6, 0.3)
    pitch = 1.5 + 2.5 * moving + lean + _sway(12, 0.4, 0.25)
    roll = -0.035 * turning + 2.6 * moving * _stance_side(steps) + _sway(13, 0.35, 0.25)
    pelvis = rotation(1, yaw) @ rotation(2, roll) @ rotation(0, pitch)
    hips = np.stack([pelvis @ np.array(skeleton.tips[skeleton.index(s + "hipjoint")]) for s in "lr"])
    hips[..., [0, 2]] += flat
    length = skeleton.bone_lengths[skeleton.index("lfemur")] + skeleton.bone_lengths[skeleton.index("ltibia")]
    height = gait.pelvis_height(hips, np.stack([f.ankle for f in feet]), 0.996 * float(length))
    return np.stack([flat[:, 0], height, flat[:, 1]], axis=-1), pelvis


def _stance_side(steps: list[gait.Step]) -> Array:
    """+1 while only the left foot carries, -1 on the right foot, softened; [frames]."""
    side = np.zeros(FRAMES)
    for step in steps[2:-2]:
        side[(step.lift <= TIMES) & (step.land >= TIMES)] = 1.0 if step.side == 1 else -1.0
    return smooth(side, 0.08, RATE)


def _unit(vectors: Array) -> Array:
    result: Array = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return result


def _frame(along: Array, ahead: Array) -> Array:
    """Rotations [..., 3, 3]; columns: `along`, the part of `ahead` across it, and their cross product."""
    first = _unit(along)
    second = _unit(ahead - (ahead * first).sum(axis=-1, keepdims=True) * first)
    return np.stack([first, second, np.cross(first, second)], axis=-1)


def _axis_frame(skeleton: Skeleton, joint: str) -> Array:
    """C of a joint: the constant frame its angles are measured in; [3, 3]."""
    x, y, z = skeleton.joints[skeleton.index(joint)].axis_deg
    return rotation(2, z) @ rotation(1, y) @ rotation(0, x)


def _leg(skeleton: Skeleton, side: str, foot: Foot, root: Array, pelvis: Array) -> dict[str, Array]:
    """Angles that put the ankle and the ball of a foot exactly where the plan wants them."""
    bones = {name: skeleton.index(side + name) for name in ("hipjoint", "femur", "tibia", "foot")}
    thigh, shin = skeleton.bone_lengths[bones["femur"]], skeleton.bone_lengths[bones["tibia"]]
    inverse = np.swapaxes(pelvis, -1, -2)
    target = (inverse @ (foot.ankle - root)[..., None])[..., 0] - skeleton.tips[bones["hipjoint"]]
    reach = np.clip(np.linalg.norm(target, axis=-1), 1.0, (thigh + shin) * 0.9999)
    knee = np.degrees(np.pi - np.arccos((thigh**2 + shin**2 - reach**2) / (2 * thigh * shin)))

    frame = _axis_frame(skeleton, side + "femur")
    bend = frame @ rotation(0, knee) @ frame.T
    rest = skeleton.tips[bones["femur"]] + (bend @ skeleton.tips[bones["tibia"]][:, None])[..., 0]
    flat = gait.forward(foot.heading_deg)
    knees_ahead = np.stack([flat[:, 0], np.zeros(FRAMES), flat[:, 1]], axis=-1)
    ahead = (inverse @ knees_ahead[..., None])[..., 0]
    hip = _frame(target, ahead) @ np.swapaxes(_frame(rest, np.broadcast_to([0.0, 0.0, 1.0], rest.shape)), -1, -2)

    shin_global = pelvis @ hip @ bend
    toward = (np.swapaxes(shin_global, -1, -2) @ _unit(foot.ball - foot.ankle)[..., None])[..., 0]
    return {
        side + "femur": zyx_angles_deg(frame.T @ hip @ frame),
        side + "tibia": knee[:, None],
        side + "foot": _aim(_axis_frame(skeleton, side + "foot"), skeleton.tips[bones["foot"]], toward),
        side + "toes": -foot.toe_bend_deg[:, None],
    }


def _aim(frame: Array, rest: Array, toward: Array) -> Array:
    """(rx, rz) [frames, 2] such that Rz Rx, in the joint's frame, turns `rest` to the directions `toward`."""
    start = frame.T @ _unit(rest)
    goal = toward @ frame
    # Rx alone sets the z part of the result: y sin(rx) + z cos(rx); Rz then turns it into place.
    span, phase = np.hypot(start[1], start[2]), np.arctan2(start[1], start[2])
    offset = np.arccos(np.clip(goal[:, 2] / span, -1, 1))
    candidates = np.stack([phase + offset, phase - offset])
    rx = np.take_along_axis(candidates, np.abs(candidates).argmin(axis=0)[None], axis=0)[0]
    middle_y = start[1] * np.cos(rx) - start[2] * np.sin(rx)
    rz = np.arctan2(goal[:, 1], goal[:, 0]) - np.arctan2(middle_y, start[0])
    angles: Array = np.degrees(np.stack([rx, wrap(rz)], axis=-1))
    return angles


def _trunk(steps: list[gait.Step], swing: Array) -> dict[str, Array]:
    """Shoulders turn against the hips, the chest breathes, the head looks ahead into the turn."""
    heading = gait.pelvis_path(steps)[1]
    turning = np.gradient(heading, 1 / RATE)
    look = smooth(np.concatenate([turning[40:], np.zeros(40)]), 0.15, RATE) * 0.28
    breath = np.sin(2 * np.pi * 0.28 * TIMES)
    crouch = keyed(
        TIMES,
        [(CROUCH, 0), (BOTTOM, 1), (TAKEOFF, -0.25), (TAKEOFF + 0.24, 0), (ABSORBED, 0.8), (UPRIGHT, 0)],
        0.06,
    )
    bank = -0.02 * turning
    share = {"lowerback": 0.35, "upperback": 0.35, "thorax": 0.3}
    result = {}
    for order, (name, part) in enumerate(share.items()):
        pitch = part * (24 * crouch - 2.0) + (0.7 * breath if name == "thorax" else 0) + _sway(20 + order, 0.25, 0.2)
        yaw = part * 11 * swing + 0.1 * look + _sway(30 + order, 0.3, 0.25)
        roll = part * bank + _sway(40 + order, 0.25, 0.25)
        result[name] = np.stack([pitch, yaw, roll], axis=-1)
    for order, name in enumerate(("lowerneck", "upperneck", "head")):
        pitch = (12.0, -8.0, -3.0)[order] - 9 * crouch - 0.3 * breath + _sway(50 + order, 0.4, 0.25)
        yaw = 0.3 * look - 2.0 * swing + _sway(60 + order, 0.8, 0.35)
        roll = -0.25 * bank + _sway(70 + order, 0.4, 0.3)
        result[name] = np.stack([pitch, yaw, roll], axis=-1)
    return result


def _arm(side: int, swing: Array) -> dict[str, Array]:
    """One arm: swings against the leg of its side, and throws itself up in the jump."""
    name, sign, seed = "lr"[side], (1.0, -1.0)[side], 100 * (side + 1)
    phase = sign * swing
    throw = keyed(
        TIMES,
        [
            *[(CROUCH, 0), (BOTTOM - 0.05, -52), (TAKEOFF + 0.02, 128), (TAKEOFF + 0.18, 138)],
            *[(TOUCHDOWN, 62), (ABSORBED, 30), (ABSORBED + 0.2, 18), (UPRIGHT, 0)],
        ],
        0.055,
    )
    raised = np.clip(throw, 0, None) / 130
    forward = 4 + 23 * phase + throw + _sway(seed, 0.8, 0.25)
    down = 79 - 12 * np.clip(-throw, 0, None) / 52 - 4 * raised + _sway(seed + 1, 0.6, 0.3)
    twist = sign * (12 + 10 * raised) + _sway(seed + 2, 1.2, 0.3)
    elbow = 20 + 14 * np.clip(phase + 0.2, 0, None) + 26 * np.abs(throw) / 130 + _sway(seed + 3, 0.9, 0.2)
    curl = 22 + _sway(seed + 4, 1.5, 0.4)
    hand = np.stack([6 - 6 * phase + _sway(seed + 5, 1.2, 0.2), sign * 4 + _sway(seed + 6, 1.0, 0.25)], axis=-1)
    thumb = np.stack([12 + _sway(seed + 7, 0.8, 0.4), sign * 15 + _sway(seed + 8, 0.8, 0.4)], axis=-1)
    shrug = sign * (2 + 14 * raised) + sign * 0.5 * np.sin(2 * np.pi * 0.28 * TIMES)
    return {
        name + "clavicle": np.stack([-sign * (2.5 * phase) + _sway(seed + 9, 0.4, 0.3), shrug], axis=-1),
        name + "humerus": np.stack([forward, twist, -sign * down], axis=-1),
        name + "radius": elbow[:, None],
        name + "wrist": (sign * (35 + 4 * phase) + _sway(seed + 10, 1.5, 0.3))[:, None],
        name + "hand": hand,
        name + "fingers": curl[:, None],
        name + "thumb": thumb,
    }


def _channels(skeleton: Skeleton, angles: Mapping[str, Array]) -> Array:
    """[frames, channels] from each joint's columns, which are in the order of its channels."""
    parts = [angles[joint.name] for joint in skeleton.joints if skeleton.channels_of(skeleton.index(joint.name))]
    return np.concatenate(parts, axis=-1)


def _tremor(skeleton: Skeleton) -> Array:
    """What a capture system adds: a little noise, mostly slower than 10 Hz; [frames, channels]."""
    shape = (FRAMES, len(skeleton.channels))
    slow, fast = smooth(noise(7, shape), 0.02, RATE), noise(8, shape)
    size = np.full(len(skeleton.channels), 0.10)
    size[:3] = 0.004
    for index, channel in enumerate(skeleton.channels):
        below_pelvis = skeleton.joints[channel.joint].name[1:] in ("femur", "tibia", "foot", "toes")
        if index >= 3 and (below_pelvis or channel.joint == 0):
            size[index] = 0.03  # a leg's length magnifies it; more would make planted feet slide
    return size * (slow + 0.08 * fast)
