"""Bounds on what an untrusted file may ask for, charged before anything is allocated."""

from __future__ import annotations

from dataclasses import dataclass

from kinepack.errors import LimitExceeded


@dataclass(frozen=True)
class Limits:
    """Largest counts a reader or decoder accepts. Raise them for trusted, larger files."""

    joints: int = 10_000
    channels: int = 100_000
    frames: int = 50_000_000
    vertices: int = 50_000_000
    faces: int = 100_000_000
    values: int = 500_000_000
    """Scalars in one decoded array (frames x channels, or frames x vertices x 3)."""
    segments: int = 10_000_000
    clips: int = 1_000_000
    bytes: int = 1 << 34
    """Bytes of one file, chunk or decompressed block."""

    def charge(self, what: str, amount: int) -> int:
        """Returns `amount` if the limit named `what` allows it, else raises LimitExceeded."""
        allowed: int = getattr(self, what)
        if not 0 <= amount <= allowed:
            raise LimitExceeded(
                f"the file declares {amount:,} {what}, the limit is {allowed:,}",
                hint="if you trust the file, pass Limits(...) with a larger bound",
            )
        return amount


DEFAULT_LIMITS = Limits()
