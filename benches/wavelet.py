"""The wavelet family on the paper's two clips: sizes at its distortions, times, seeking: `python benches/wavelet.py`.

Prints a table and replaces benches/results/wavelet.jsonl. Times are processor seconds, the best of several runs.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from kinepack.codecs.base import Codec, Stream, codec_from_spec
from kinepack.evaluate import commit, evaluate, machine
from kinepack.metrics.base import METRICS
from kinepack.model import Clip
from kinepack.reproduce.wavelet import cmu_clip
from kinepack.reproduce.wavelet_published import CLIPS, TABLE_1

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data")) / "asfamc"
ROWS = ROOT / "benches" / "results" / "wavelet.jsonl"
SPECS = (
    "wavelet:ratio=30",
    "wavelet:ratio=30,gzip=off",
    "wavelet-optimized:ratio=30",
    "wavelet-optimized:ratio=30,search=annealing",
    "wavelet-ik:ratio=30",
    "wavelet-ik:ratio=30,solver=ccd",
    "wavelet-quaternion:ratio=30",
    "pca",
)
LENGTHS = (1, 4, 16)
"""The long clip this many times over, to see that a second costs the same in all of them."""


def main() -> None:
    rows = []
    for name, id in CLIPS.items():
        clip = cmu_clip(id, DATA)
        rows += [timing(clip, spec) for spec in SPECS]
        rows += [size(clip, codec, row.e_x) for row in TABLE_1[name] for codec in ("wavelet", "wavelet-optimized")]
    rows += [seeking(cmu_clip(CLIPS["jumping"], DATA), times) for times in LENGTHS]
    ROWS.write_text("".join(json.dumps({**row, "commit": commit(), "machine": machine()}) + "\n" for row in rows))


def timing(clip: Clip, spec: str) -> dict[str, object]:
    """Encode, decode, and decode of one second; decoding without container."""
    codec = codec_from_spec(spec)
    encode_s = best(lambda: codec.encode(clip), runs=1 if "annealing" in spec else 3)
    stream = codec.encode(clip)
    decode_s, second_s = decode_times(codec, stream, clip)
    copy = codec.decode(stream)
    row: dict[str, object] = {
        "bench": "time",
        "clip": clip.name,
        "frames": clip.frames,
        "codec": spec,
        "bytes": stream.payload_bytes,
        "e_x": METRICS["e_x"].measure(clip, copy),
        "foot_slide": METRICS["foot_slide"].measure(clip, copy),
        "encode_s": encode_s,
        "decode_frames_per_s": clip.frames / decode_s,
        "second_us": 1e6 * second_s,
    }
    print(
        f"{clip.name:6} {spec:46} {row['bytes']:7} B  e_x {row['e_x']:6.3f}  encode {encode_s:7.3f} s  "
        f"decode {row['decode_frames_per_s']:10,.0f} frames/s  one second {row['second_us']:7.0f} us"
    )
    return row


def size(clip: Clip, codec: str, e_x: float) -> dict[str, object]:
    """File without skeleton at a distortion of Table 1."""
    found = evaluate(clip, codec, target=f"e_x<={e_x:g}")
    print(f"{clip.name:6} {codec:20} e_x <= {e_x:<5g} {found.motion_bytes / 1024:8.2f} KB  {found.ratio:6.1f}:1")
    return {"bench": "size", "clip": clip.name, "codec": codec, "target_e_x": e_x, **found.to_dict()}


def seeking(clip: Clip, times: int) -> dict[str, object]:
    """One second out of ever longer clips."""
    import numpy as np

    long = clip.with_values(np.tile(clip.values, (times, 1)))
    codec = codec_from_spec("wavelet:ratio=30,gzip=off")
    decode_s, second_s = decode_times(codec, codec.encode(long), long)
    print(f"{long.frames:7,} frames: all {1e3 * decode_s:8.2f} ms, one second {1e6 * second_s:6.0f} us")
    return {"bench": "seek", "frames": long.frames, "decode_s": decode_s, "second_us": 1e6 * second_s}


def decode_times(codec: Codec, stream: Stream, clip: Clip) -> tuple[float, float]:
    middle, second = clip.frames // 2, round(clip.fps)
    window = (middle, min(middle + second, clip.frames))
    return best(lambda: codec.decode(stream), runs=15), best(lambda: codec.decode(stream, window), runs=15)


def best(work: Callable[[], object], *, runs: int) -> float:
    """Processor seconds, which other programs on the machine do not lengthen much."""
    spent = []
    for _ in range(runs):
        begin = time.process_time()
        work()
        spent.append(time.process_time() - begin)
    return min(spent)


if __name__ == "__main__":
    main()
