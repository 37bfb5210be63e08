"""Tables 1 and 2 of 000 and Table 1 of 004 as printed (Chattopadhyay, Bhandarkar, Li). KB, mJ, giga-cycles."""

from __future__ import annotations

from typing import NamedTuple


class Throughput(NamedTuple):
    """A row of Table 1 of 000; energies are (MPEG-4, sparsed-indexed) at 128 kbit/s, 1 and 4 Mbit/s."""

    mpeg4: float
    indexed: float
    sparsed: float
    mj_128k: tuple[float, float]
    mj_1m: tuple[float, float]
    mj_4m: tuple[float, float]


class Matched(NamedTuple):
    """A row of Table 2 of 000."""

    frames: int
    original: float
    mpeg4: float
    gcycles: float
    f: float
    indexed: float
    indexed_def: float
    sparsed: float
    sparsed_def: float


class Sparsed(NamedTuple):
    """A row of Table 1 of 004."""

    frames: int
    coded: float
    sparsed: float
    ratio: float
    decode_gcycles: float
    decode_sparsed_gcycles: float


TABLE_1_000 = {
    "jog": Throughput(28, 10.9, 6.8, (2913, 1259), (1002, 796), (798, 746)),
    "walk": Throughput(73, 24, 14.6, (7534, 2977), (2551, 1982), (2018, 1875)),
    "dance": Throughput(92, 29.82, 18.1, (9504, 3742), (3225, 2505), (2552, 2372)),
    "basketball": Throughput(84, 27.41, 18.0, (8676, 3528), (2943, 2299), (2329, 2168)),
    "sword play": Throughput(465, 147, 100.9, (48344, 19947), (16607, 13058), (13207, 12320)),
    "run-leap": Throughput(50, 18.2, 12.2, (5246, 2298), (1834, 1465), (1468, 1376)),
    "play_violin": Throughput(162, 53.31, 34.8, (16948, 7030), (5892, 4652), (4707, 4397)),
    "forward-jump": Throughput(86, 28.61, 18.9, (8934, 3702), (3064, 2410), (2436, 2272)),
    "jump": Throughput(72, 24.55, 16.1, (7499, 3138), (2585, 2040), (2058, 1922)),
    "stride": Throughput(59, 21.19, 12.8, (6200, 2598), (2174, 1723), (1742, 1630)),
}
TABLE_2_000 = {
    "jog": Matched(136, 33, 28, 0.65, 0.85, 27.74, 1.19, 18.99, 1.49),
    "run-leap": Matched(251, 61, 50, 0.93, 0.82, 47.5, 0.29, 28.55, 0.45),
    "stride": Matched(298, 72, 59, 1.23, 0.82, 47.29, 1.08, 29.67, 1.97),
    "walk": Matched(343, 83, 73, 1.34, 0.88, 69.13, 0.15, 45.91, 0.17),
    "jump": Matched(351, 85, 72, 1.35, 0.85, 62.47, 0.14, 41.95, 0.25),
    "basketball": Matched(396, 96, 84, 1.44, 0.88, 79.48, 0.23, 53.84, 0.42),
    "forward-jump": Matched(415, 101, 86, 1.56, 0.86, 85.22, 0.33, 55.71, 0.34),
    "dance": Matched(434, 106, 92, 1.68, 0.87, 86.9, 11.16, 58.93, 14.09),
    "play_violin": Matched(804, 195, 162, 2.89, 0.83, 159.17, 0.78, 104.81, 1.23),
    "sword play": Matched(2251, 545, 465, 8.49, 0.85, 450.93, 1.45, 315.58, 2.49),
}
TABLE_1_004 = {
    "walk": Sparsed(343, 83, 63, 0.759, 0.928, 0.756),
    "dance": Sparsed(434, 104, 73, 0.702, 1.169, 0.859),
    "sword play": Sparsed(2251, 515, 386, 0.750, 5.981, 4.503),
    "fancy foot": Sparsed(2555, 586, 448, 0.765, 6.841, 4.538),
    "exercise": Sparsed(4653, 1024, 743, 0.726, 11.928, 8.697),
    "walk, climb": Sparsed(4839, 1082, 776, 0.717, 13.166, 8.972),
}
