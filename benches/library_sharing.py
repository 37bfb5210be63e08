"""What clips of one subject can share, measured at equal error: part of `benches/library.py`.

Skeletons are shared by every library. Beyond that: a second-difference coder that goes on from clip to clip with one
LZMA window (the most that shared statistics could give it), and a pose basis (PCA) of the subject instead of the clip.
"""

from __future__ import annotations

import lzma
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import kinepack
from kinepack.codecs.delta_lzma import _filters, _forward, _quantize, _steps
from kinepack.library import create, pieces_of
from kinepack.metrics.base import METRICS
from kinepack.model import Clip
from kinepack.transforms.planes import split_planes

E_X = 0.5
"""Centimetres."""
SUBJECTS = {"02": "asfamc/cmu/02", "09": "asfamc/cmu/09", "13": "asfamc/cmu_recon/13", "49": "asfamc"}


def measure(data: Path) -> list[dict[str, Any]]:
    rows = []
    for subject, folder in SUBJECTS.items():
        clips = [kinepack.read(p) for p in sorted((data / folder).rglob(f"{subject}_*.amc"))]
        for codec in ("delta-lzma", "kine"):
            rows.append(_row(subject, [c for c in clips if isinstance(c, Clip)], codec))
    return rows


def _row(subject: str, clips: list[Clip], codec: str) -> dict[str, Any]:
    files = [kinepack.compress(clip, codec, target=f"e_x<={E_X}") for clip in clips]
    apart = sum(len(file) for file in files)
    motion = sum(kinepack.info(file)["motion_bytes"] for file in files)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.kine"
        create(path, (piece for file in files for piece in pieces_of(file)))
        together = path.stat().st_size
    row: dict[str, Any] = {"part": "sharing", "subject": subject, "clips": len(clips), "codec": codec, "e_x": E_X}
    row |= {"apart_bytes": apart, "library_bytes": together, "saved": 1 - together / apart, "motion_bytes": motion}
    if codec == "delta-lzma":
        row |= _beyond(clips, files, motion)
    print(
        ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
    )
    return row


def _beyond(clips: list[Clip], files: list[bytes], motion: int) -> dict[str, float]:
    """Saved, of the motion bytes, by one LZMA window over all clips; and by a pose basis of all clips."""
    steps = [_step_of(file) for file in files]
    alone = sum(len(_packed([_planes(c, s)])) for c, s in zip(clips, steps, strict=True))
    joined = len(_packed([_planes(c, s) for c, s in zip(clips, steps, strict=True)]))
    own, shared = _pca_bytes(clips)
    return {"lzma_window_saved": 1 - joined / alone, "pca_saved": 1 - shared / own, "pca_bytes": float(shared)}


def _step_of(file: bytes) -> float:
    with kinepack.open(file) as opened:
        return float(opened[0].record.settings.partition("step=")[2].partition(",")[0] or 0.1)


def _planes(clip: Clip, step: float) -> bytes:
    """Channel-major second differences in 16 bits, whatever the clip, so that clips can be joined."""
    differences = _forward(_quantize(clip.values, _steps(clip.skeleton, step)), 2)
    zigzag = (differences << 1) ^ (differences >> 63)
    return bytes(split_planes(np.ascontiguousarray(np.minimum(zigzag.T, 65535).astype("<u2"))))


def _packed(parts: list[bytes]) -> bytes:
    whole = b"".join(parts)
    return lzma.compress(whole, lzma.FORMAT_RAW, filters=_filters(len(whole)))


def _pca_bytes(clips: list[Clip]) -> tuple[int, int]:
    """Bytes at the error with a basis for each clip, and with one for all, which is sent in 16 bits a number."""
    every = np.concatenate([clip.values for clip in clips])
    shared_basis = _basis(every)
    own = sum(_coded(clip, _basis(clip.values), pay_basis=True) for clip in clips)
    shared = sum(_coded(clip, shared_basis, pay_basis=False) for clip in clips)
    return own, shared + _basis_bytes(shared_basis)


def _basis(values: Any) -> tuple[Any, Any]:
    """Mean and principal axes that leave a thousandth of a degree unexplained."""
    mean = values.mean(axis=0)
    _, sizes, axes = np.linalg.svd(values - mean, full_matrices=False)
    return mean, axes[: max(1, int((sizes > 1e-3 * np.sqrt(len(values))).sum()))]


def _basis_bytes(basis: tuple[Any, Any]) -> int:
    return 4 * basis[0].size + 2 * basis[1].size


def _coded(clip: Clip, basis: tuple[Any, Any], *, pay_basis: bool) -> int:
    """Halves the interval of the step until the error fits."""
    mean, axes = basis
    weights = (clip.values - mean) @ axes.T
    low, high, best = 1e-3, 20.0, 0
    for _ in range(12):
        step = (low * high) ** 0.5
        levels = np.round(weights / step).astype(np.int64)
        error = METRICS["e_x"].measure(clip, clip.with_values(mean + (levels * step) @ axes))
        if error <= E_X:
            differences = _forward(levels, 2)
            zigzag = np.minimum(((differences << 1) ^ (differences >> 63)).T, 65535).astype("<u2")
            low, best = step, len(_packed([bytes(split_planes(np.ascontiguousarray(zigzag)))]))
        else:
            high = step
    return best + (_basis_bytes(basis) if pay_basis else 0)
