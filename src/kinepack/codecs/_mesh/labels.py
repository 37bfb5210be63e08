"""Cluster numbers of vertices: five bits each (Eq. 3), or told from a neighbour where it is in the same cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs._mesh.fixed_point import Parts, block
from kinepack.entropy.bit_io import pack_bits, unpack_bits
from kinepack.entropy.models import SymbolModel
from kinepack.entropy.range_coder import decode_bits, decode_symbols, encode_bits, encode_symbols
from kinepack.errors import Corrupt, Truncated

Index = NDArray[np.int32]


def index_bits(clusters: int) -> int:
    """Five, as in Eq. 3, or as many as more than 32 clusters need."""
    return max(5, (clusters - 1).bit_length())


def encode_plain(index: Index, clusters: int) -> bytes:
    return pack_bits(index.astype(np.uint32), index_bits(clusters))


def decode_plain(data: bytes, count: int, clusters: int) -> Index:
    if len(data) != -(-count * index_bits(clusters) // 8):
        raise Truncated("the cluster index is not of its size")
    return _checked(unpack_bits(data, count, index_bits(clusters)).astype(np.int32), clusters)


def references(faces: NDArray[np.int32], vertices: int) -> Index:
    """[V] the neighbour of highest number below the vertex's own, or -1."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = np.concatenate([edges, edges[:, ::-1]])
    edges = edges[edges[:, 1] < edges[:, 0]]
    nearest = np.full(vertices, -1, np.int32)
    np.maximum.at(nearest, edges[:, 0], edges[:, 1])
    return nearest


def encode_by_neighbours(index: Index, faces: NDArray[np.int32], clusters: int) -> bytes:
    """A bit for each vertex with a reference (is the cluster the same?), then the clusters that are not told so."""
    nearest = references(faces, len(index))
    same = (nearest >= 0) & (index == index[nearest])
    told = encode_symbols(index[~same].astype(np.uint16), model=SymbolModel(alphabet=clusters))
    return block(encode_bits(same[nearest >= 0].astype(np.uint8))) + told


def decode_by_neighbours(data: bytes, faces: NDArray[np.int32], vertices: int, clusters: int) -> Index:
    """Inverse of `encode_by_neighbours`."""
    parts = Parts(data)
    flags = parts.block()
    nearest = references(faces, vertices)
    same = np.zeros(vertices, bool)
    same[nearest >= 0] = decode_bits(flags, int((nearest >= 0).sum()))
    told = decode_symbols(data[parts.at :], int((~same).sum()), model=SymbolModel(alphabet=clusters))
    index = np.full(vertices, -1, np.int32)
    index[~same] = told
    pending = np.flatnonzero(same)
    source = nearest.copy()
    while len(pending):  # each round halves the distance to a vertex that was told
        index[pending] = index[source[pending]]
        source[pending] = np.where(index[pending] < 0, source[source[pending]], source[pending])
        pending = pending[index[pending] < 0]
    return _checked(index, clusters)


def _checked(index: Index, clusters: int) -> Index:
    if index.size and not 0 <= index.min() <= index.max() < clusters:
        raise Corrupt("a vertex names a cluster that does not exist")
    return index
