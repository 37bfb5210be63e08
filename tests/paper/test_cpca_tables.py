"""The claims of Sattler 2005 on the shared sequences, and the sizes that kine-mesh promises."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import pytest

import kinepack
from conftest import ROOT
from kinepack.codecs.base import codec_from_spec
from kinepack.metrics.base import METRICS
from kinepack.metrics.rate import bpvf
from kinepack.model import MeshSequence
from kinepack.reproduce.cpca import measure

FOLDER = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data")) / "mesh"
BEATEN = {
    "horse_gallop": "k=1,c=14",
    "dembones_bone": "k=2,c=4",
    "morphstress_individuals": "k=2,c=6",
    "cesiumman_walk": "k=4,c=8",
    "cloth_flag_synth": "k=1,c=14",
    "mit_jumping_15fps": "k=2,c=10",
}
"""Sequences where clustered PCA wins. Three short ones made of a few morph targets suit PCA of frames better."""
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no mesh sequences: set KINEPACK_DATA")


@lru_cache
def sequence(name: str) -> MeshSequence:
    mesh = kinepack.read(FOLDER / f"{name}.npz")
    assert isinstance(mesh, MeshSequence)
    return mesh


@pytest.mark.parametrize("name", list(BEATEN))
def test_clustered_pca_beats_pca_and_linear_prediction_at_equal_error(name: str) -> None:
    """Section 4.4: at the rivals' error, or better, fewer bits."""
    mesh = sequence(name)
    ours = measure("", mesh, f"mesh-cpca:{BEATEN[name]},starts=1")
    for codec in ("mesh-pca", "mesh-pca-lpc"):
        rival = measure("", mesh, f"{codec}:c=6")
        assert ours.d_a <= rival.d_a
        assert ours.bpvf < rival.bpvf


@pytest.mark.parametrize("name", ["cow_idle", "horse_gallop"])
def test_eighteen_bits_are_visually_lossless(name: str) -> None:
    """Section 3.5: against 32 bits, no vertex moves by more than a thousandth of the diagonal."""
    mesh = sequence(name)
    codecs = [codec_from_spec(f"mesh-cpca:k=4,c=8,starts=1,q_c={q},q_w={q}") for q in (32, 18)]
    fine, coarse = (codec.decode(codec.encode(mesh)) for codec in codecs)
    assert METRICS["vertex_max"].measure(fine, coarse) < 0.1


@pytest.mark.parametrize("bits", ["q_c", "q_w"])
def test_error_falls_with_the_bits_of_components_and_of_weights(bits: str) -> None:
    """Figure 6, where components need more bits than weights; with one range for each kind both need about as many."""
    mesh = sequence("cow_idle")
    errors = [measure("", mesh, f"mesh-cpca:k=5,c=10,{bits}={q},starts=1").d_a for q in (10, 12, 14, 16)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize(("kg", "most"), [(1.0, 0.50), (0.5, 0.90)])
def test_jumping_whole_file(kg: float, most: float) -> None:
    mesh = sequence("mit_jumping_15fps")
    data = kinepack.compress(mesh, "kine-mesh", target=f"kg<={kg}")
    assert METRICS["kg"].measure(mesh, kinepack.decompress(data)) <= kg
    assert bpvf(len(data), mesh) <= most
