"""Libraries: many clips in one file, found by the catalogue, read at random, never half changed."""

from __future__ import annotations

import dataclasses
import json
import pickle
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import kinepack
from kinepack.container.catalogue import BODY_AT, SLOT_BYTES, SLOTS_AT, pack_slot
from kinepack.container.layout import HEADER, Tag, chunk
from kinepack.container.source import BytesSource
from kinepack.errors import BitstreamError, Corrupt, IOFailure, KinepackError, LimitExceeded, UsageError
from kinepack.library import Library, Piece, add, compact, create, extract, pieces_of, remove, verify
from kinepack.library.making import make
from kinepack.limits import Limits
from kinepack.math.kinematics import local_transforms, positions_cm
from kinepack.model import Clip
from kinepack.samples import fish, human
from kinepack.testing import awkward_clips

CODEC = "raw:segment_s=0.5"
WALK = human()


def piece_of(model: kinepack.Clip | kinepack.MeshSequence, name: str, codec: str = CODEC, **labels: str) -> Piece:
    made = make([dataclasses.replace(model, name=name)], codec)
    (piece,) = pieces_of(made.data)
    return piece.described(labels, made.stats[0])


def cuts() -> list[Piece]:
    """Three cuts of one motion with one skeleton, and a clip with another."""
    parts = [piece_of(WALK.slice(a, a + 300), f"walk/{a}", part=str(a)) for a in (0, 300, 600)]
    return [*parts, piece_of(awkward_clips()["prime-length"], "prime")]


@pytest.fixture(scope="module")
def pieces() -> list[Piece]:
    return cuts()


@pytest.fixture
def path(tmp_path: Path, pieces: list[Piece]) -> Path:
    create(tmp_path / "library.kine", pieces)
    return tmp_path / "library.kine"


def test_skeletons_are_stored_once(path: Path) -> None:
    with Library(path) as library:
        assert len(library) == 4 and library.info()["skeletons"] == 2
        assert library["walk/0"].skeleton_id == library["walk/300"].skeleton_id != library["prime"].skeleton_id
        assert library["walk/0"].skeleton == WALK.skeleton


def test_frames_by_name(path: Path) -> None:
    with Library(path) as library:
        part = library["walk/300"][120:240]
        assert isinstance(part, Clip) and np.array_equal(part.values, WALK.values[420:540])
        assert library["300"][5].frames == 1  # the last part of a name is enough where only one clip has it
        assert library[0].name == "walk/0" and library[-1].name == "prime"
        for bad in ("walk/1", "nothing"):
            with pytest.raises(UsageError):
                library[bad]
        with pytest.raises(IndexError):
            library["walk/0"][300]
        with pytest.raises(UsageError):
            library["walk/0"][20:10]


def test_metadata_comes_from_the_catalogue_alone(path: Path) -> None:
    with Library(path) as library:
        library.close()
        with pytest.raises(IOFailure, match="closed"):
            library["walk/600"][250:260]
        assert [c.name for c in library.select(min_s=2.4)] == ["walk/0", "walk/300", "walk/600"]
        assert [c.name for c in library.select(labels={"part": "300"})] == ["walk/300"]
        assert [c.name for c in library.select(lambda c: c.stats["speed_max_cm_s"] > 1e9)] == []
        info = library["walk/0"].info()
        assert (info["duration_s"], info["joints"], info["kind"]) == (2.5, len(WALK.skeleton.joints), "clip")
        assert info["stats"].keys() >= {"joint_rms", "joint_max", "joint_p99", "e_x", "travel_cm"}


def test_extracted_is_what_was_put_in(path: Path, pieces: list[Piece]) -> None:
    original = make([dataclasses.replace(WALK.slice(0, 300), name="walk/0")], CODEC).data
    assert extract(next(p for p in pieces_of(path) if p.name == "walk/0")) == original
    with kinepack.open(path) as file:  # a library is a .kine file as any other
        assert list(file) == [p.name for p in pieces]
        assert file["walk/0"].decode() == kinepack.decompress(original)


def test_growing_is_the_same_as_making(path: Path, pieces: list[Piece], tmp_path: Path) -> None:
    grown = tmp_path / "grown.kine"
    for piece in pieces:
        assert add(grown, [piece]) == 1
    assert len(Library(grown)) == 4 and grown.stat().st_size > path.stat().st_size
    compact(grown)
    assert grown.read_bytes() == path.read_bytes()


def test_remove_and_compact(path: Path) -> None:
    before = path.stat().st_size
    remove(path, ["prime", "walk/0"])
    with Library(path) as library:
        assert list(library) == ["walk/300", "walk/600"]
    assert compact(path) > 0 and path.stat().st_size < before
    with Library(path) as library:
        assert library.info()["skeletons"] == 1
        assert np.array_equal(library["walk/600"][:].values, WALK.values[600:900])  # type: ignore[union-attr]
    with pytest.raises(UsageError):
        remove(path, ["prime"])


def test_names_are_not_taken_twice(path: Path, pieces: list[Piece]) -> None:
    with pytest.raises(UsageError, match="already has"):
        add(path, pieces[:1])
    add(path, [piece_of(WALK.slice(10, 20), "walk/0")], replace=True)
    assert Library(path)["walk/0"].frames == 10


def test_open_readers_see_what_they_opened(path: Path) -> None:
    with Library(path) as before:
        add(path, [piece_of(fish().slice(0, 3), "fish")])
        remove(path, ["walk/0"])
        assert "fish" not in before and before["walk/0"][0:5].frames == 5
    assert "fish" in Library(path) and "walk/0" not in Library(path)


def test_a_writer_that_dies_changes_nothing(path: Path) -> None:
    before = path.read_bytes()

    def dying() -> Iterator[Piece]:
        yield piece_of(WALK.slice(0, 100), "new")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        add(path, dying())
    assert list(Library(path)) == ["walk/0", "walk/300", "walk/600", "prime"]
    assert path.read_bytes()[: len(before)] == before
    add(path, [piece_of(WALK.slice(0, 100), "newer")])
    assert verify(Library(path)) == []


@pytest.mark.parametrize("byte", range(SLOTS_AT, BODY_AT))
def test_a_torn_head_leads_to_the_catalogue_before(path: Path, byte: int) -> None:
    """Every byte of the head may be garbage while it is written: the other slot still counts."""
    add(path, [piece_of(WALK.slice(0, 10), "new")])
    data = bytearray(path.read_bytes())
    data[byte] ^= 0xFF
    second = byte >= SLOTS_AT + SLOT_BYTES  # the slot that `add` filled
    assert len(Library(bytes(data))) == (4 if second else 5)


def test_a_damaged_catalogue_leads_to_the_one_before(path: Path) -> None:
    add(path, [piece_of(WALK.slice(0, 10), "new")])
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    assert len(Library(bytes(data))) == 4
    path.write_bytes(data)
    add(path, [piece_of(WALK.slice(0, 10), "newer")])  # goes behind what might still be saved
    assert path.read_bytes()[BODY_AT : len(data)] == bytes(data[BODY_AT:])


def test_one_writer_at_a_time(path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with path.open("r+b") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        with pytest.raises(IOFailure, match="another process"):
            remove(path, ["prime"])


def test_verify_finds_damage(path: Path) -> None:
    assert verify(Library(path)) == []
    with Library(path) as library:
        entry = library.reader.container.clip(1)
        at = entry.data_at + entry.record.segments[1].offset
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    (fault,) = verify(Library(bytes(data)))
    assert fault.clip == "walk/300" and "frames from 60" in fault.reason


def test_plain_files_are_libraries_too() -> None:
    data = kinepack.compress([WALK.slice(0, 50), fish().slice(0, 3)], "raw")
    with Library(data) as library:
        assert [clip.info()["kind"] for clip in library.clips()] == ["clip", "mesh"]
        assert library[0][10:20].frames == 10
    with pytest.raises(UsageError, match="not a library"):
        remove_from_plain(data)


def remove_from_plain(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.kine"
        path.write_bytes(data)
        remove(path, ["x"])


def test_damaged_libraries_raise_our_errors_only(path: Path) -> None:
    data = path.read_bytes()
    limits = Limits(bytes=1 << 24, clips=1000)
    random = np.random.default_rng(0)
    tail = len(data) - 400
    places = [*range(5, BODY_AT), *range(tail, len(data)), *random.integers(0, len(data), 300).tolist()]
    for place in places:
        bad = bytearray(data)
        bad[place] ^= 1 << int(random.integers(8))
        try:
            library = Library(bytes(bad), limits=limits)
            library.info()
            verify(library)
            library["walk/0"][0:10]
        except KinepackError:
            continue
    for size in (*range(BODY_AT + 10), len(data) // 2, len(data) - 1):
        with pytest.raises(BitstreamError):
            Library(data[:size], limits=limits)


@pytest.mark.parametrize(
    "change",
    [
        {"frames": 299},
        {"frames": 10**30},
        {"frames": -1},
        {"frames": "300"},
        {"frame_time": float("nan")},
        {"frame_time": 10**400},
        {"static": 7},
        {"at": 5},
        {"at": 10**25},
        {"bytes": 0},
        {"stats": {"x": "y"}},
        {"labels": [1]},
        {"name": None},
        {"name": "walk/300"},
        {"frames": True},
    ],
    ids=str,
)
def test_a_catalogue_made_to_deceive(path: Path, change: dict[str, object]) -> None:
    """As if an attacker had made the checksums right."""
    with Library(path) as library:
        catalogue = library.reader.container.catalogue
        assert catalogue is not None
    clips = [dataclasses.asdict(clip) for clip in catalogue.clips]
    plain = {
        "statics": [dataclasses.asdict(s) for s in catalogue.statics],
        "clips": [{**clips[0], **change}, *clips[1:]],
    }
    body = chunk(Tag.CATALOGUE, zlib.compress(json.dumps(plain).encode()))
    data = path.read_bytes()
    slot = pack_slot(len(data), len(body), 9)
    forged = data[:SLOTS_AT] + slot + bytes(SLOT_BYTES) + data[BODY_AT:] + body
    with pytest.raises(KinepackError):
        Library(forged).windows(60, clips=[0])[0]
    for size in range(6):  # a place too small for any chunk
        head = HEADER + data[5:SLOTS_AT] + pack_slot(BODY_AT, size, 9) + bytes(SLOT_BYTES) + data[BODY_AT:]
        with pytest.raises(KinepackError):
            Library(head)


def test_catalogue_cannot_ask_for_too_much(path: Path) -> None:
    with pytest.raises(LimitExceeded):
        Library(path, limits=Limits(clips=3))
    with pytest.raises((LimitExceeded, Corrupt)):
        Library(path, limits=Limits(frames=100))


# Windows.


def test_windows_are_the_frames_they_say(path: Path) -> None:
    library = Library(path)
    windows = library.windows(120, stride=20, seed=3, clips=library.select(min_s=2.4))
    assert len(windows) == 3 * 10
    seen = set()
    for index, window in enumerate(windows):
        place = windows.where(index)
        seen.add(place)
        start = int(place.clip.split("/")[1]) + place.start
        assert window.dtype == np.float32 and window.shape == (120, len(WALK.skeleton.channels))
        assert np.array_equal(window, WALK.values[start : start + 120].astype(np.float32))
    assert len(seen) == len(windows)
    with pytest.raises(IndexError):
        windows[len(windows)]


def test_order_follows_the_seed(path: Path) -> None:
    library = Library(path)
    clips = ["walk/0", "walk/300"]

    def order(**how: object) -> list[object]:
        windows = library.windows(60, stride=10, clips=clips, **how)
        return [windows.where(i) for i in range(len(windows))]

    assert order(seed=1) == order(seed=1) != order(seed=2)
    for shuffle in ("near", "full"):
        assert sorted(order(shuffle=shuffle), key=str) == sorted(order(shuffle="off"), key=str)
    windows = library.windows(60, clips=clips)
    assert len(windows.epoch(1)) == len(windows)
    other = [windows.epoch(1).where(i) for i in range(len(windows))]
    assert other != [windows.where(i) for i in range(len(windows))]


def test_forms(path: Path) -> None:
    library = Library(path)
    forms = ("channels", "quaternions", "6d", "positions")
    windows = library.windows(30, stride=15, clips=["walk/0"], form=forms, shuffle="off")
    window, part = windows[3], WALK.slice(45, 75)
    joints = len(WALK.skeleton.joints)
    assert [window[f].shape[1:] for f in forms] == [(part.values.shape[1],), (joints, 4), (joints, 6), (joints, 3)]
    assert all(window[f].dtype == np.float32 for f in forms)
    np.testing.assert_allclose(window["positions"], positions_cm(part), atol=1e-3)
    rotations = local_transforms(part).rotations
    six = window["6d"].reshape(30, joints, 2, 3)
    np.testing.assert_allclose(six[:, :, 0], rotations[..., 0], atol=1e-6)
    np.testing.assert_allclose(six[:, :, 1], rotations[..., 1], atol=1e-6)
    quaternions = window["quaternions"]
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=-1), 1, atol=1e-6)
    assert ((quaternions[1:] * quaternions[:-1]).sum(-1) >= 0).all()
    batch = next(windows.batches(4))
    assert batch["positions"].shape == (4, 30, joints, 3)
    with pytest.raises(UsageError, match="not a form"):
        library.windows(10, form="euler", clips=["walk/0"])


@pytest.mark.parametrize("form", ["channels", "quaternions", "6d", "positions"])
@pytest.mark.parametrize("fps", [60, 50, 200])
def test_frame_rates(path: Path, form: str, fps: float) -> None:
    library = Library(path)
    windows = library.windows(40, fps=fps, form=form, clips=["walk/0"], shuffle="off")
    exact = library.windows(300, form=form, clips=["walk/0"], shuffle="off")[0]
    assert len(windows) == {60: 3, 50: 3, 200: 12}[fps]
    at = np.arange(40) * 120 / fps
    window = windows[0]
    assert window.shape == (40, *exact.shape[1:])
    whole = at == np.floor(at)
    np.testing.assert_allclose(window[whole], exact[at[whole].astype(int)], atol=1e-4)
    nearest = exact[np.round(at).astype(int)]
    assert np.abs(window - nearest).max() < 10 * np.abs(np.diff(exact, axis=0)).max() + 1e-6


def test_angles_are_mixed_the_short_way_round() -> None:
    clip = awkward_clips()["prime-length"]
    column = int(clip.skeleton.select("r")[0])
    values = np.tile(clip.values[:1], (20, 1))
    values[:, column] = np.where(np.arange(20) % 2, 179.0, -179.0)
    data = kinepack.compress(Clip(clip.skeleton, values, 1 / 30, "turn"), "raw")
    window = Library(data).windows(10, fps=40, shuffle="off")[0]
    assert np.abs(np.abs(window[:, column]) - 180).max() < 1.01


def test_shapes_that_differ_cannot_be_windows(path: Path) -> None:
    add(path, [piece_of(fish(), "fish")])
    with pytest.raises(UsageError, match="shapes"):
        Library(path).windows(10)
    with pytest.raises(UsageError, match="no 6d"):
        Library(path).windows(10, form="6d", clips=["fish"])
    assert Library(path).windows(10, form="positions", clips=["fish"])[0].shape[2] == 3
    assert len(Library(path).windows(10_000, clips=["walk/0"])) == 0
    with pytest.raises(UsageError):
        Library(path).windows(0)


def test_memory_is_bounded(path: Path) -> None:
    library = Library(path, cache_bytes=200_000)
    for _ in library.windows(50, stride=3, clips=library.select(min_s=2.4)):
        assert library.cache.bytes <= 200_000
    assert len(library.cache) > 0


def total(windows: object, indices: range) -> float:
    return float(sum(windows[i].sum(dtype=np.float64) for i in indices))  # type: ignore[index]


def test_threads_and_processes_read_at_once(path: Path) -> None:
    library = Library(path, cache_bytes=100_000)
    windows = library.windows(50, stride=5, clips=library.select(min_s=2.4))
    parts = [range(i, len(windows), 4) for i in range(4)]
    expected = [total(windows, part) for part in parts]
    with ThreadPoolExecutor(4) as threads:
        fresh = Library(path, cache_bytes=100_000).windows(50, stride=5, clips=["walk/0", "walk/300", "walk/600"])
        assert list(threads.map(total, [fresh] * 4, parts)) == expected
    with ProcessPoolExecutor(2) as processes:
        assert list(processes.map(total, [windows] * 4, parts)) == expected


def test_pickled_libraries_open_again(path: Path) -> None:
    library = pickle.loads(pickle.dumps(Library(path)))
    assert library["walk/0"][0:10] == Library(path)["walk/0"][0:10]
    windows = pickle.loads(pickle.dumps(library.windows(60, seed=4, clips=["walk/0"])))
    assert np.array_equal(windows[1], library.windows(60, seed=4, clips=["walk/0"])[1])


def test_torch_is_not_needed(path: Path) -> None:
    code = f"import sys, kinepack; kinepack.Library({str(path)!r}); assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_remote_library_is_read_in_parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    plain = BytesSource.read_at

    def counted(self: BytesSource, offset: int, size: int) -> bytes:
        sent.append(size)
        return plain(self, offset, size)

    many = [piece_of(WALK.slice(a % 300, a % 300 + 600), f"c{a}") for a in range(40)]
    create(path, many)
    monkeypatch.setattr(BytesSource, "read_at", counted)
    library = Library(path.read_bytes())
    assert len(library) == 40 and len(sent) <= 2 and sum(sent) < 64_000
    library["c7"][0:60]
    assert sum(sent) < path.stat().st_size / 20
