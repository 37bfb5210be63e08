"""Tables 1 and 2 as printed (Beaudoin, Poulin and van de Panne 2007), and the clips they were measured on."""

from __future__ import annotations

from typing import NamedTuple

CLIPS = {"running": "09_01", "jumping": "49_02"}
"""Name in the paper -> CMU clip, found by frame count and description."""


class Sizes(NamedTuple):
    """A row of Table 1: KB after gzip at a distortion e_x in cm."""

    e_x: float
    pca: float
    wavelet: float
    optimized: float


class Effort(NamedTuple):
    """A row of Table 2: milliseconds a frame (2 GHz Athlon 64) and iterations of Algorithm 1."""

    ratio: float
    time_ms: float
    iterations: int


TABLE_1 = {
    "running": (
        Sizes(1.4, 6.02, 1.27, 0.75),
        Sizes(0.96, 6.49, 1.51, 0.94),
        Sizes(0.58, 7.67, 2.31, 1.24),
        Sizes(0.26, 9.42, 3.69, 2.18),
        Sizes(0.08, 11.5, 8.74, 5.08),
    ),
    "jumping": (
        Sizes(0.67, 153, 18.6, 9.97),
        Sizes(0.45, 157, 24.8, 13.5),
        Sizes(0.29, 164, 33.8, 18.4),
        Sizes(0.14, 168, 62.7, 32.9),
        Sizes(0.05, 177, 135, 79.2),
    ),
}
TABLE_2 = {
    "running": (
        Effort(50, 133, 264),
        Effort(40, 214, 415),
        Effort(30, 254, 496),
        Effort(15, 293, 542),
        Effort(7, 327, 669),
    ),
    "jumping": (
        Effort(50, 308, 247),
        Effort(40, 312, 243),
        Effort(30, 391, 311),
        Effort(15, 456, 369),
        Effort(7, 483, 380),
    ),
}
FIGURE_2_CLIPS = (
    "09_01", "49_02", "14_02", "02_01", "02_03", "05_03", "07_05", "08_05", "09_06", "13_11", "13_39", "16_46",
    "35_01", "49_04", "87_03",
)  # fmt: skip
"""The paper does not say which 15 clips it used beside three; these have 136 to 5,423 frames."""
