"""Native and WebAssembly kernels leave the same bytes in every buffer, floats included."""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from parity_jobs import Job, Outcome, Scratch, Size, run_native, run_wasm

from kinepack._kernels._binding import ffi, lib
from kinepack._kernels._faces import FACE_POLICIES, partners
from kinepack._kernels._kine import Coefficients, SegmentModel, kine_encode
from kinepack._kernels._mesh import mesh_influence, mesh_predictors, mesh_quantize
from kinepack.codecs._kine.analysis import analyse, quantise
from kinepack.codecs._kine.synthesis import Synthesis, segment_models
from kinepack.codecs.kine import BUDGETS
from kinepack.entropy.kine_exact_prior import exact_prior
from kinepack.entropy.models import BinaryModel, IntegerModel
from kinepack.samples import fish
from kinepack.testing import awkward_clips
from kinepack.transforms.mesh_weights import AFFINITY, differences, hierarchy_of, level_steps

BUILD = Path(__file__).parents[2] / "kernels" / "build_wasm.py"
RNG = np.random.default_rng(20)


@pytest.fixture(scope="session")
def wasm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("the ziglang package is not installed")
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    module = tmp_path_factory.mktemp("wasm") / "kernels.wasm"
    subprocess.run([sys.executable, str(BUILD), str(module)], check=True)
    return module


def encoder_jobs() -> list[Job]:
    """Every encoder on random input, with one to three contexts."""
    jobs, out = [], np.zeros(4000, np.uint8)
    values = np.rint(RNG.standard_cauchy(300) * 4).clip(-(2**31), 2**31 - 1).astype(np.int32)
    bits = (RNG.random(500) < 0.1).astype(np.uint8)
    for inputs in (1, 2, 3):
        contexts = RNG.integers(0, 5, (500, inputs)).astype(np.int32)
        bins = int(lib.kp_integer_bins(6))
        states, weights = BinaryModel().states(5), np.full(5 * inputs, 30000, np.int32)
        jobs.append(Job("kp_encode_bits", (bits, 500, contexts, inputs, states, 5, weights, 5, 18, out, 4000, Size())))
        states, weights = IntegerModel(escape=6).states(5), np.full(bins * inputs, 30000, np.int32)
        model = (states, 5, weights, 6, 4, 18)
        jobs.append(
            Job("kp_encode_integers", (values, 300, contexts, inputs, *model, out, 4000, Size())),
        )
    symbols, contexts = RNG.integers(0, 77, 400).astype(np.uint16), RNG.integers(0, 3, 400).astype(np.int32)
    tables = np.zeros(3 * 78, np.uint32)
    jobs.append(
        Job("kp_encode_symbols", (symbols, 400, contexts, 3, 77, 40, 1000, tables, out, 4000, Size())),
    )
    words, widths = RNG.integers(0, 2**32, 200).astype(np.uint32), RNG.integers(0, 33, 200).astype(np.uint8)
    words = (words.astype(np.uint64) & ((np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1))).astype(np.uint32)
    jobs.append(Job("kp_pack_bits", (words, 200, widths, 0, out, 4000, Size())))
    jobs.append(Job("kp_pack_bits", (words, 200, None, 32, out, 4000, Size())))
    longs = RNG.integers(0, 2**63, 100).astype(np.uint64) >> RNG.integers(0, 63, 100).astype(np.uint64)
    jobs.append(Job("kp_encode_varints", (longs, 100, out, 4000, Size())))
    return jobs


def decoder_jobs() -> list[Job]:
    """Every decoder on random bytes, long enough to reach the end and too short."""
    jobs = []
    for size in (0, 1, 3, 40, 700):
        data = RNG.integers(0, 256, size).astype(np.uint8)
        for inputs in (1, 2, 3):
            contexts = RNG.integers(0, 5, (500, inputs)).astype(np.int32)
            states, weights = BinaryModel().states(5), np.full(5 * inputs, 30000, np.int32)
            bits = np.zeros(500, np.uint8)
            jobs.append(Job("kp_decode_bits", (data, size, bits, 500, contexts, inputs, states, 5, weights, 5, 18)))
            states = IntegerModel(escape=6).states(5)
            weights = np.full(states.shape[1] * inputs, 30000, np.int32)
            model = (states, 5, weights, 6, 4, 18)
            integers = np.zeros(300, np.int32)
            jobs.append(Job("kp_decode_integers", (data, size, integers, 300, contexts, inputs, *model)))
        symbols, tables = np.zeros(300, np.uint16), np.zeros(78, np.uint32)
        jobs.append(Job("kp_decode_symbols", (data, size, symbols, 300, None, 1, 77, 40, 1000, tables)))
        jobs.append(Job("kp_unpack_bits", (data, size, np.zeros(90, np.uint32), 90, None, 31)))
        jobs.append(Job("kp_decode_varints", (data, size, np.zeros(90, np.uint64), 90, Size())))
    return jobs


def kinematics_jobs() -> list[Job]:
    frames, joints, channels = 20, 40, 60
    values = RNG.normal(0, 100, (frames, channels))
    parents = np.array([-1] + [int(RNG.integers(0, j)) for j in range(1, joints)], np.int32)
    axis_channel = RNG.integers(-1, channels, (joints, 3)).astype(np.int32)
    trans_channel = RNG.integers(-1, channels, (joints, 3)).astype(np.int32)
    axis_id = RNG.integers(0, 3, (joints, 3)).astype(np.int32)
    frame, rest = np.linalg.qr(RNG.normal(size=(2, joints, 3, 3)))[0]
    rotations, moves = RNG.normal(size=(frames, joints, 9)), RNG.normal(size=(frames, joints, 3))
    angles = np.concatenate([RNG.uniform(-1e6, 1e6, 2000), np.arange(-50, 50) * (math.pi / 4), [0.0, -0.0]])
    columns = np.arange(channels, dtype=np.int32)
    jacobian = np.zeros((frames, joints, 3, channels))
    turns = (values, math.pi / 180, axis_channel, axis_id, frame)
    globals_ = (np.zeros_like(rotations), np.zeros_like(moves), np.zeros_like(moves))
    pose = (rotations, moves, moves + 2)
    asked = (columns, channels, np.zeros(9 * joints), jacobian)
    return [
        Job("kp_sincos", (angles, len(angles), np.zeros_like(angles), np.zeros_like(angles))),
        Job("kp_local_rotations", (frames, joints, channels, *turns, rest, np.zeros_like(rotations))),
        Job(
            "kp_forward_kinematics",
            (frames, joints, parents, rotations, moves, moves + 1, moves[0].copy(), *globals_),
        ),
        Job(
            "kp_jacobian",
            (frames, joints, channels, parents, *turns, trans_channel, *pose, *asked),
        ),
    ]


def lifting_jobs() -> list[Job]:
    jobs = []
    for rows in (1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 97):
        floats = RNG.normal(size=(rows, 3))
        whole = RNG.integers(-(2**31), 2**31, (rows, 3)).astype(np.int32)
        for levels in (0, 1, 3, 7):
            for wavelet in (lib.KP_CUBIC, lib.KP_CDF53, lib.KP_CDF97):
                arguments = (floats, rows, 3, levels, wavelet, np.zeros_like(floats))
                jobs += [Job("kp_lifting_forward", arguments), Job("kp_lifting_inverse", arguments)]
            arguments = (whole, rows, 3, levels, np.zeros_like(whole))
            jobs += [Job("kp_lifting_forward_int", arguments), Job("kp_lifting_inverse_int", arguments)]
    return jobs


def kine_jobs() -> list[Job]:
    """The clip codec from levels to channels, on a coded clip and on noise, in all its versions."""
    clip, jobs = awkward_clips()["prime-length"], list[Job]()
    for ends in (True, False):
        analysis = analyse(clip, 0.05, points="joints", budget=BUDGETS["fast"])
        (model,) = segment_models(clip.skeleton, analysis.setup, ends=ends)
        for _, (coefficients,) in quantise(analysis, [model], 60):
            jobs += _segment_jobs(coefficients, model)
    synthesis = Synthesis(clip.skeleton, analysis.setup)
    tables, frames, channels = synthesis.tables, len(coefficients.levels), clip.values.shape[1]
    prediction, longest = synthesis.prediction, int(coefficients.lengths.max())
    scratch = np.zeros(2 * longest + 3 + (longest + 1) // 2 * (2 + longest))
    tracks = np.zeros((len(synthesis.places) + len(synthesis.still), frames))
    levels = (coefficients.levels, *coefficients.levels.shape, coefficients.lengths, len(coefficients.lengths))
    numbers = (synthesis.steps, synthesis.moving_offsets, *prediction, synthesis.places)
    for bent, first in ((0, 0), (1, 0), (1, frames // 2)):
        jobs.append(Job("kp_kine_synthesise", (*levels, *numbers, bent, first, frames, scratch, len(scratch), tracks)))
    turned, values = RNG.normal(0, 2, tracks.shape), np.zeros((frames, channels))
    for form in range(5):
        turns = tables.turns.copy()
        turns[:, 0] = form
        for continuous in (0, 1):
            shape = (frames, frames, channels, turns, tables.rests, len(turns), tables.plain, tables.scales)
            rest = (len(tables.plain), tables.per_angle, continuous, values)
            jobs.append(Job("kp_kine_pose", (turned, *shape, *rest)))
    angles = RNG.normal(0, 300, (frames, channels))
    branches = np.array([[0, frames // 2, 3, 0, 1, 2, 3, -1, 5], [2, frames, 1, 3, 0, 0, -7, 0, 0]], np.int32)
    jobs.append(Job("kp_kine_branches", (angles, frames, channels, branches, 2, 57.29577951308232)))
    return jobs


def _segment_jobs(coefficients: Coefficients, model: SegmentModel) -> list[Job]:
    frames, tracks = coefficients.levels.shape
    states, weights = model.prior.states.copy(), model.prior.weights.copy()
    shared = (model.classes, model.unit, model.quality, model.prior.model, int(model.ends), states, weights)
    logs, runs, out = np.zeros(frames * tracks, np.uint8), np.zeros(3 * tracks, np.int32), np.zeros(9000, np.uint8)
    levels = (coefficients.levels, frames, tracks, coefficients.lengths, len(coefficients.lengths))
    jobs = [Job("kp_kine_encode", (*levels, *shared, logs, runs, out, len(out), Size()))]
    data = np.frombuffer(kine_encode(coefficients, model), np.uint8)
    for bytes_ in (data, RNG.integers(0, 256, 400).astype(np.uint8)):
        room = (np.zeros((frames, tracks), np.int32), frames, tracks, np.zeros(frames, np.uint32), frames, Size())
        jobs.append(Job("kp_kine_decode", (bytes_, len(bytes_), *room, *shared, logs, runs)))
    return jobs


def exact_jobs() -> list[Job]:
    """Lossless numbers of `kine`, and their decoding from noise."""
    frames, channels = 40, 3
    numbers = np.cumsum(RNG.integers(-900, 900, (frames, channels)), axis=0)
    digits, scales = np.array([0, 6, 0], np.uint8), np.array([9, 9, 9], np.int8)
    room = Scratch(int(lib.kp_kine_numbers_room(ffi.from_buffer("uint8_t[]", digits), channels)))
    out = np.zeros(4000, np.uint8)
    decimals, roles = np.array([3, 4, 3], np.uint8), np.array([31, 32, 34], np.uint8)
    prior = np.frombuffer(exact_prior(), np.uint8)
    shape = (frames, channels, digits, scales, decimals, roles, prior, room)
    noise = RNG.integers(0, 256, 500).astype(np.uint8)
    return [
        Job("kp_kine_numbers_encode", (numbers, *shape, out, len(out), Size())),
        Job("kp_kine_numbers_decode", (noise, len(noise), np.zeros_like(numbers), *shape)),
    ]


def mesh_jobs() -> list[Job]:
    """The kernels of `kine-mesh`, encoder's and decoder's, on a closed mesh with fins."""
    mesh = fish()
    count = mesh.vertices.shape[1]
    tree = hierarchy_of(mesh.faces, count)
    edges = np.unique(np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0).astype(np.uint32)
    shape = (tree.starts, tree.refs, tree.rings)
    wanted, steps = RNG.normal(0, 6, count), level_steps()
    features = RNG.normal(0, 20, (4, count))
    predictors = mesh_predictors(tree, features, AFFINITY)
    levels = mesh_quantize(tree, predictors, steps=steps, rounding=0.45, wanted=wanted)[0]
    influence = mesh_influence(tree, predictors)
    columns = (influence.starts, influence.rows[: influence.starts[-1]], influence.weights[: influence.starts[-1]])
    descent = (*columns, np.zeros(count, np.uint8), 0.14, 3, wanted, levels, np.zeros(count), np.zeros(count))
    shares = RNG.integers(0, 17, (2, count)).astype(np.int32)
    sizes = (np.zeros(count, np.uint32), np.zeros(count + 1, np.uint32), np.zeros(18 * count, np.uint32))
    scratch = (np.zeros(25 * count + 1 + 6 * len(edges), np.uint32), np.zeros(2 * count, np.uint8))
    rows = (*(np.zeros(40 * count, kind) for kind in (np.uint32, np.float32)), np.zeros(count, np.float32))
    touched = (np.zeros(count, np.uint32), np.zeros(count + 1, np.uint32))
    heights = (*shape, tree.levels)
    return [
        Job("kp_mesh_hierarchy", (edges, len(edges), count, *scratch, *sizes, tree.rings * 0, tree.levels * 0)),
        Job("kp_mesh_predictors", (count, *shape, features, 4, 0.3, 2.0, 0.5, np.zeros_like(predictors))),
        Job("kp_mesh_quantize", (count, *heights, predictors, steps, 0.45, wanted, levels * 0, np.zeros(count))),
        Job("kp_mesh_synthesise", (count, *heights, predictors, steps, levels, np.zeros(count))),
        Job("kp_mesh_influence", (count, *shape[:2], predictors, touched[1], *rows, *touched, *rows[:2])),
        Job("kp_mesh_descend", (count, *heights, predictors, steps, *descent)),
        Job("kp_mesh_sum", (count, *shape, 2, 16, differences(tree, shares))),
        *entropy_jobs(np.stack([levels, levels // 2, levels * 40]), heights, count),
    ]


def entropy_jobs(levels: np.ndarray, heights: tuple[np.ndarray, ...], count: int) -> list[Job]:  # type: ignore[type-arg]
    """Levels of a mesh both ways, and random bytes read as such."""
    models = (np.zeros(31000, np.uint32), np.zeros(3000, np.int32), np.zeros(count, np.uint16))
    encode = Job(
        "kp_mesh_encode", (levels, count, len(levels), *heights, *models, np.zeros(9000, np.uint8), 9000, Size())
    )
    status, buffers = run_native(encode)
    assert status == 0
    data = np.frombuffer(buffers[-2], np.uint8)[: int.from_bytes(buffers[-1], "little")].copy()
    random = RNG.integers(0, 256, 700).astype(np.uint8)
    decode = [
        Job("kp_mesh_decode", (source, len(source), levels * 0, count, len(levels), *heights, *models))
        for source in (data, data[:90].copy(), random)
    ]
    return [encode, *decode]


def face_jobs() -> list[Job]:
    """Connectivity under each policy, there and back, and from random bytes."""
    mesh = fish()
    faces, count, jobs = mesh.faces, mesh.vertices.shape[1], []
    sizes = [ffi.new("size_t *") for _ in range(2)]
    lib.kp_faces_scratch(len(faces), count, *sizes)
    scratch = (np.zeros(sizes[0][0], np.uint32), np.zeros(3 * len(faces), np.uint64), np.zeros(sizes[1][0], np.uint8))
    given = (partners(faces), np.zeros(3 * len(faces), np.uint32), np.zeros(len(faces), np.uint8), faces * 0)
    for policy in FACE_POLICIES:
        out = (np.zeros(40000, np.uint8), 40000, Size())
        encode = Job("kp_faces_encode", (faces, len(faces), count, policy, *given, *scratch, *out))
        buffers = run_native(encode)[1]
        data = np.frombuffer(buffers[-2], np.uint8)[: int.from_bytes(buffers[-1], "little")].copy()
        jobs.append(encode)
        for source in (data, data[:50].copy(), RNG.integers(0, 256, 300).astype(np.uint8)):
            tail = (faces * 0, len(faces), count, policy, *scratch)
            jobs.append(Job("kp_faces_decode", (source, len(source), *tail)))
    return jobs


def assert_same(job: Job, native: Outcome, wasm: Outcome) -> None:
    assert native[0] == wasm[0], job.function
    assert native[1] == wasm[1], job.function


@pytest.mark.parametrize(
    "make",
    [encoder_jobs, decoder_jobs, kinematics_jobs, lifting_jobs, kine_jobs, exact_jobs, mesh_jobs, face_jobs],
)
def test_native_and_wasm_leave_the_same_bytes(wasm: Path, tmp_path: Path, make: object) -> None:
    assert callable(make)
    jobs: list[Job] = make()
    for job, outcome in zip(jobs, run_wasm(wasm, jobs, tmp_path), strict=True):
        assert_same(job, run_native(job), outcome)


def test_wasm_has_no_imports(wasm: Path) -> None:
    script = "const m=new WebAssembly.Module(require('fs').readFileSync(process.argv[1]));"
    script += "process.stdout.write(String(WebAssembly.Module.imports(m).length))"
    ran = subprocess.run(["node", "-e", script, str(wasm)], check=True, capture_output=True, text=True)
    assert ran.stdout == "0"
