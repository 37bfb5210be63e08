"""What every registered codec must do with every awkward source it accepts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinepack
from conftest import ROOT
from kinepack.codecs.base import CODECS, Codec, codec_from_spec, matrix_of
from kinepack.errors import ConfigError
from kinepack.model import Clip, MeshSequence, Model
from kinepack.params import params_of
from kinepack.testing import awkward_clips, awkward_meshes, surface

SOURCES: dict[str, Model] = {
    **{f"clip-{name}": clip for name, clip in awkward_clips().items()},
    **{f"mesh-{name}": mesh for name, mesh in awkward_meshes().items()},
}
CASES = [
    pytest.param(id, name, id=f"{id}-{name}")
    for id in CODECS
    for name, source in SOURCES.items()
    if isinstance(source, CODECS[id].sources)
]


def encoded(id: str, name: str) -> tuple[Codec, bytes, Model]:
    codec = codec_from_spec(id)
    try:
        return codec, kinepack.compress(SOURCES[name], codec), SOURCES[name]
    except ConfigError as error:
        pytest.skip(f"refused with a reason: {error}")


@pytest.mark.parametrize(("id", "name"), CASES)
def test_decodes_to_the_same_layout(id: str, name: str) -> None:
    codec, data, source = encoded(id, name)
    copy = kinepack.decompress(data)
    assert type(copy) is type(source)
    assert (copy.frames, copy.frame_time, copy.name) == (source.frames, source.frame_time, source.name)
    if isinstance(copy, Clip) and isinstance(source, Clip):
        assert copy.skeleton == source.skeleton
    if isinstance(copy, MeshSequence) and isinstance(source, MeshSequence):
        assert surface(copy) == surface(source)
    if codec.lossless:
        assert np.array_equal(matrix_of(copy), matrix_of(source))
        assert not isinstance(copy, MeshSequence) or np.array_equal(copy.faces, source.faces)  # type: ignore[union-attr]


@pytest.mark.parametrize(("id", "name"), [case for case in CASES if CODECS[case.values[0]].lossless_with])
def test_the_setting_that_promises_no_loss_keeps_it(id: str, name: str) -> None:
    _, data, source = encoded(f"{id}:{CODECS[id].lossless_with}", name)
    assert np.array_equal(matrix_of(kinepack.decompress(data)), matrix_of(source))


@pytest.mark.parametrize(("id", "name"), CASES)
def test_a_window_is_a_slice_of_the_whole(id: str, name: str) -> None:
    _, data, source = encoded(id, name)
    with kinepack.open(data) as file:
        whole = matrix_of(file[0].decode())
        for start, stop in {(0, 1), (source.frames // 3, source.frames // 3 + 1), (source.frames // 2, source.frames)}:
            assert np.array_equal(matrix_of(file[0].decode(start, stop)), whole[start:stop])


@pytest.mark.parametrize(("id", "name"), CASES)
def test_encoding_is_deterministic_and_leaves_the_source_alone(id: str, name: str) -> None:
    codec, data, source = encoded(id, name)
    before = matrix_of(source).copy()
    assert kinepack.compress(source, codec) == data
    assert np.array_equal(matrix_of(source), before)


@pytest.mark.parametrize("id", list(CODECS))
def test_settings_are_declared_and_survive_text_and_pickle(id: str) -> None:
    codec = codec_from_spec(id)
    assert pickle.loads(pickle.dumps(codec)) == codec
    assert codec_from_spec(codec.spec) == codec
    assert codec.title and codec.version >= 1
    assert all(declared.help for declared in params_of(codec).values())


@pytest.mark.parametrize("id", list(CODECS))
def test_has_a_docs_page(id: str) -> None:
    assert (ROOT / "docs" / "codecs" / f"{id}.md").is_file(), f"write docs/codecs/{id}.md"
