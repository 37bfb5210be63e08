"""Principal components of poses: a mean pose and the directions in which poses differ most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PoseBasis:
    """An affine space of poses."""

    mean: Array
    """[signals]"""
    axes: Array
    """[signals, components] orthonormal columns, the most variable first."""

    def forward(self, poses: Array) -> Array:
        """[frames, components] of poses [frames, signals]."""
        return np.asarray((poses - self.mean) @ self.axes)

    def inverse(self, reduced: Array) -> Array:
        """The mirror of `forward`, but for what lies outside the space."""
        return np.asarray(reduced @ self.axes.T + self.mean)


def principal_basis(poses: Array, components: int) -> PoseBasis:
    """Eigenvectors of the covariance matrix of poses [frames, signals] with the largest eigenvalues."""
    mean = poses.mean(axis=0)
    centred = poses - mean
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :components]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] if axes.size else np.ones(axes.shape[1])
    return PoseBasis(mean, axes * np.where(largest < 0, -1.0, 1.0))
