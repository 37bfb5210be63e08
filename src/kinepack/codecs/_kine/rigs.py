"""Rigs that the lossless prior of `kine` knows, told by the names of their channels."""

from __future__ import annotations

import zlib

from kinepack.model import Skeleton

NO_RIG, AMC = 0, 1
AMC_CHANNELS = 62
AMC_NAMES = 0xC6FEF55B
"""CRC-32 of the names and kinds of channels that most AMC files share."""


def rig_number(skeleton: Skeleton) -> int:
    """Which known rig a skeleton is."""
    return AMC if len(skeleton.channels) == AMC_CHANNELS and channel_names(skeleton) == AMC_NAMES else NO_RIG


def channel_names(skeleton: Skeleton) -> int:
    names = [f"{skeleton.joints[c.joint].name if c.joint >= 0 else ''} {c.kind}" for c in skeleton.channels]
    return zlib.crc32("\n".join(names).encode())
