"""The file format: sizes, random access, damage, references, remote reads."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinepack
from kinepack.codecs.base import CODECS
from kinepack.container.clip import ClipRecord, SegmentEntry, check_of, pack_clip, placed, unpack_clip
from kinepack.container.layout import ByteReader, ByteWriter, Tag
from kinepack.errors import (
    BitstreamError,
    ConfigError,
    Corrupt,
    LimitExceeded,
    TargetUnreachable,
    UnsupportedVersion,
    UsageError,
)
from kinepack.limits import Limits
from kinepack.model import Clip
from kinepack.reader import Loss
from kinepack.testing import awkward_clips, awkward_meshes

CLIP = awkward_clips()["prime-length"]


@given(st.floats(min_value=1e-12, max_value=1e6) | st.integers(1, 10**6).map(lambda n: 1 / n))
def test_frame_times_survive_exactly(value: float) -> None:
    out = ByteWriter()
    out.frame_time(value)
    assert ByteReader(bytes(out.data)).frame_time() == value


@given(st.integers(0, 2**64 - 1))
def test_varints_survive(value: int) -> None:
    out = ByteWriter()
    out.varint(value)
    assert ByteReader(bytes(out.data)).varint() == value


@pytest.mark.parametrize("codec", list(CODECS))
def test_overhead_of_a_one_segment_clip_is_at_most_64_bytes(codec: str) -> None:
    if not issubclass(Clip, CODECS[codec].sources):
        pytest.skip("a mesh codec")
    try:
        data = kinepack.compress(CLIP, codec, target="joint_rms<=0.1")
    except (ConfigError, TargetUnreachable):  # no quality setting, or none this fine
        data = kinepack.compress(CLIP, codec)
    sizes = kinepack.info(data)
    if sizes["clips"][0]["segments"] == 1:
        assert sizes["motion_bytes"] - sizes["clips"][0]["payload_bytes"] <= 64


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 9000)), min_size=1, max_size=40), st.integers(1, 3))
def test_indexes_survive(runs: list[tuple[int, int]], layers: int) -> None:
    sizes = [size + layer for _, size in runs for layer in range(layers)]
    lengths = [frames for frames, _ in runs]
    entries, by_layer = (placed(lengths, sizes, by_layer=choice) for choice in (False, True))
    plain = tuple(dataclasses.replace(e, offset=sum(sizes[:n]), crc=n) for n, e in enumerate(entries))
    for segments in (entries, by_layer, plain):
        record = ClipRecord("", "raw", 1, "", sum(frames for frames, _ in runs), 0.1, 0, b"", segments)
        assert unpack_clip(pack_clip(record), tag=record.tag) == record


def test_lower_layers_lie_before_higher_ones() -> None:
    """Whoever reads a file from its front has the whole clip in its lowest layer first."""
    with kinepack.open(kinepack.compress(CLIP, "kine:layers=3,segment_s=0.3")) as file:
        record = file[0].record
    assert record.tag == Tag.LAYERED_CLIP and {s.layer for s in record.segments} == {0, 1, 2}
    lying = sorted(record.segments, key=lambda s: s.offset)
    assert [s.layer for s in lying] == sorted(s.layer for s in lying)
    assert [s.first for s in lying if s.layer == 1] == sorted({s.first for s in lying})


def test_every_wrong_byte_of_a_segment_is_found() -> None:
    for size in (0, 1, 60, 4095, 4096, 5000):
        data = bytes(range(256)) * 20
        entry = SegmentEntry(0, 1, 0, size, 0)
        stored = data[:size] + check_of(data[:size])
        assert entry.is_whole(stored) and len(stored) == entry.stored
        for at in (*range(0, len(stored), 97), *range(max(0, size - 2), len(stored))):
            assert not entry.is_whole(stored[:at] + bytes([stored[at] ^ 0x55]) + stored[at + 1 :])


def test_an_index_is_charged_before_it_is_read() -> None:
    with kinepack.open(kinepack.compress(CLIP, "raw:segment_s=0.1")) as file:
        body = pack_clip(file[0].record)
    with pytest.raises(LimitExceeded):
        unpack_clip(body, Limits(segments=5))


def test_sizes_add_up() -> None:
    data = kinepack.compress(CLIP, "raw")
    sizes = kinepack.info(data)
    assert sizes["file_bytes"] == len(data) == sizes["skeleton_bytes"] + sizes["motion_bytes"]


def test_several_clips_share_a_skeleton() -> None:
    clips = [c for c in awkward_clips().values() if c.skeleton == CLIP.skeleton]
    data = kinepack.compress(clips, "raw")
    with kinepack.open(data) as file:
        assert list(file) == [c.name for c in clips]
        assert len(file.container.statics) == 1
        for clip in clips:
            assert file[clip.name].decode() == clip


def test_clips_and_meshes_in_one_file() -> None:
    models = [CLIP, awkward_meshes()["wave"]]
    with kinepack.open(kinepack.compress(models, "raw")) as file:
        assert [file[number].decode() for number in range(2)] == models


def test_time_windows() -> None:
    with kinepack.open(kinepack.compress(CLIP, "raw:segment_s=0.1")) as file:
        assert file[0].decode_time(-1, float("inf")).frames == CLIP.frames
        for begin, end in ((float("nan"), 1.0), (0.0, float("nan")), (2.0, 1.0)):
            with pytest.raises(UsageError, match="no part"):
                file[0].decode_time(begin, end)
        part = file[0].decode_time(60 * CLIP.frame_time, 90 * CLIP.frame_time)
        assert part.frames == 30
        assert isinstance(part, Clip)
        assert np.array_equal(part.values, CLIP.values[60:90])


def damaged(data: bytes, first: int, layer: int = 0) -> bytes:
    with kinepack.open(data) as file:
        entry = next(s for s in file[0].record.segments if (s.first, s.layer) == (first, layer))
        at = file.container.clip(0).data_at + entry.offset
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_a_damaged_segment_is_reported_and_the_others_decode() -> None:
    data = damaged(kinepack.compress(CLIP, "raw:segment_s=0.1"), 24)
    with kinepack.open(data) as file:
        clip = file[0]
        assert [entry.first for entry, _ in clip.damage()] == [24]
        with pytest.raises(Corrupt, match=r"frames 24\.\.35"):
            clip.decode()
        assert isinstance(good := clip.decode(36), Clip)
        assert np.array_equal(good.values, CLIP.values[36:])
        saved = clip.salvage()
        assert isinstance(saved, Clip)
        assert np.array_equal(saved.values[:24], CLIP.values[:24])
        assert np.array_equal(saved.values[24:36], np.repeat(CLIP.values[23:24], 12, axis=0))


def test_salvage_tells_coarser_frames_from_lost_ones() -> None:
    data = kinepack.compress(CLIP, "kine:layers=3,segment_s=0.1,effort=fast")
    with kinepack.open(data) as file:
        runs = [s for s in file[0].record.segments if s.layer == 0]
        whole, coarse = file[0].decode(), file[0].decode(layers=1)
    assert isinstance(whole, Clip) and isinstance(coarse, Clip) and len(runs) > 4
    for at, layer in ((1, 1), (1, 2), (2, 1), (3, 0), (3, 2)):
        data = damaged(data, runs[at].first, layer)
    coarser = Loss("coarser", runs[1].first, runs[1].frames + runs[2].frames)
    lost = Loss("lost", runs[3].first, runs[3].frames)
    a, b, c = runs[1].first, runs[3].first, runs[4].first
    with kinepack.open(data) as file:
        assert file[0].losses() == file[0].losses(layers=2) == [coarser, lost]
        assert file[0].losses(layers=1) == [lost]
        saved, saved_coarse = file[0].salvage(), file[0].salvage(layers=1)
    assert isinstance(saved, Clip) and isinstance(saved_coarse, Clip)
    assert np.array_equal(saved.values[:a], whole.values[:a])
    assert np.array_equal(saved.values[a:b], coarse.values[a:b])
    assert np.array_equal(saved.values[b:c], np.repeat(coarse.values[b - 1 : b], c - b, axis=0))
    assert np.array_equal(saved.values[c:], whole.values[c:])
    assert np.array_equal(saved_coarse.values[:b], coarse.values[:b])


def test_a_file_cut_short_gives_the_segments_before_the_cut() -> None:
    data = kinepack.compress(CLIP, "raw:segment_s=0.1")[:-100]
    with kinepack.open(data) as file:
        assert file[0].decode(0, 120).frames == 120
        with pytest.raises(BitstreamError):
            file[0].decode()


def test_skeleton_kept_in_another_file(tmp_path: Path) -> None:
    shared = tmp_path / "skeleton.kine"
    data = kinepack.compress(CLIP, "raw", skeleton_ref=shared)
    assert kinepack.info(data, skeleton=shared)["skeleton_bytes"] == 0
    assert kinepack.decompress(data, skeleton=shared) == CLIP
    with pytest.raises(UsageError, match="another file"):
        kinepack.decompress(data)
    with pytest.raises(UsageError, match="another skeleton"):
        kinepack.compress(awkward_clips()["one-joint"], "raw", skeleton_ref=shared)


def test_newer_files_are_refused_by_name() -> None:
    data = bytearray(kinepack.compress(CLIP, "raw"))
    data[4] = 9
    with pytest.raises(UnsupportedVersion, match="version 9"):
        kinepack.open(bytes(data))


def test_limits_hold_before_allocation() -> None:
    data = kinepack.compress(CLIP, "raw")
    with pytest.raises(LimitExceeded):
        kinepack.decompress(data, limits=Limits(frames=100))
    with pytest.raises(LimitExceeded):
        kinepack.decompress(data, limits=Limits(values=1000))


class RangeHandler(http.server.SimpleHTTPRequestHandler):
    """Answers single byte ranges and counts what it sends."""

    sent = 0

    def do_GET(self) -> None:
        data = Path(self.translate_path(self.path)).read_bytes()
        first, last = (int(n) for n in self.headers["Range"].removeprefix("bytes=").split("-"))
        part = data[first : last + 1]
        RangeHandler.sent += len(part)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    handler = functools.partial(RangeHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}", tmp_path
        running.shutdown()


def test_http_ranges_read_only_what_is_needed(server: tuple[str, Path]) -> None:
    url, folder = server
    long = Clip(CLIP.skeleton, np.tile(CLIP.values, (40, 1)), CLIP.frame_time, "long")
    (folder / "long.kine").write_bytes(data := kinepack.compress(long, "raw"))
    RangeHandler.sent = 0
    with kinepack.open(f"{url}/long.kine") as file:
        part = file["long"].decode(5000, 5010)
    assert isinstance(part, Clip) and np.array_equal(part.values, long.values[5000:5010])
    assert RangeHandler.sent < len(data) / 10


def test_fsspec_urls() -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://clip.kine", "wb") as file:
        file.write(kinepack.compress(CLIP, "raw"))
    assert kinepack.decompress("memory://clip.kine") == CLIP
