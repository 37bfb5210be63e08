"""The cubic interpolating wavelet over a whole clip, undone only where a window needs it.

The transform goes all the way down to one approximation row, so a signal that does not move costs one
coefficient. A frame depends on at most twenty coefficients of every band, so a window's cost grows with its length and
with the logarithm of the clip's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import _wavelet
from kinepack.transforms import lifting

Array = NDArray[np.float64]
Window = tuple[int, int]


def depth(frames: int) -> int:
    """Levels until one row is left."""
    return max(frames - 1, 0).bit_length()


def forward(values: Array) -> Array:
    """Coefficients [frames, signals], widest wavelets first."""
    return np.asarray(lifting.forward(values, "cubic", levels=depth(len(values))))


def inverse(coefficients: Array) -> Array:
    """The mirror of `forward`."""
    return np.asarray(lifting.inverse(coefficients, "cubic", levels=depth(len(coefficients))))


def adjoint(values: Array) -> Array:
    """The transpose of `inverse`: from gradients by samples to gradients by coefficients."""
    return _wavelet.adjoint(values, depth(len(values)))


def ranges(frames: int, window: Window) -> NDArray[np.uint64]:
    """[bands, 2] the rows of each band that the window needs."""
    return _wavelet.window_ranges(frames, depth(frames), window)


def inverse_window(coefficients: Array, frames: int, needed: NDArray[np.uint64], window: Window) -> Array:
    """The window of `inverse`, bit for bit, from the coefficients in `needed`, band after band."""
    return _wavelet.inverse_window(coefficients, frames, depth(frames), needed, window)


def row_levels(frames: int) -> NDArray[np.int64]:
    """[frames] the level of each coefficient row: its wavelet is about 2^level frames wide."""
    levels = depth(frames)
    sizes = lifting.subband_sizes(frames, levels)
    return np.repeat([levels, *range(levels - 1, -1, -1)], sizes)


def row_norms(frames: int) -> Array:
    """[frames] Euclidean norm of each row's wavelet: what makes coefficients of all widths comparable."""
    levels = depth(frames)
    norms = lifting.synthesis_norms(frames, "cubic", levels=levels)
    return np.repeat(norms, lifting.subband_sizes(frames, levels))


def row_gains(frames: int) -> Array:
    """[frames] 2^(-level / 2), by which a quantiser step shrinks with the width of the wavelet."""
    levels = row_levels(frames)
    gains: Array = np.ldexp(np.where(levels % 2, 0.5 * 1.4142135623730951, 1.0), -(levels // 2))
    return gains
