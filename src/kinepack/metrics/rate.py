"""Sizes in the field's units: functions of a byte count and the source, not of a copy, so not metrics."""

from __future__ import annotations

from kinepack.model import Clip, MeshSequence


def bpvf(size_bytes: int, sequence: MeshSequence) -> float:
    """Bits per vertex and frame."""
    return 8 * size_bytes / (sequence.frames * int(sequence.vertices.shape[1]))


def kbit_per_s(size_bytes: int, source: Clip | MeshSequence) -> float:
    """Thousand bits a second of playing time."""
    return 8 * size_bytes / 1000 / source.duration


def bits_per_value(size_bytes: int, source: Clip | MeshSequence) -> float:
    """Bits per scalar: frames x channels, or frames x vertices x 3; 0 for a clip without channels."""
    values = source.values.size if isinstance(source, Clip) else source.vertices.size
    return 8 * size_bytes / values if values else 0.0
