"""An order of triangles that costs next to nothing to store, for those to whom the order means nothing."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._faces import KEPT, WALKS, plain_faces, walk_faces


def cheapest_order(faces: NDArray[np.int32], vertices: int) -> NDArray[np.int32]:
    """The same triangles, same vertices and same sides, in the order (and from the corner) that codes shortest."""
    return _cheapest(np.ascontiguousarray(faces, np.int32).tobytes(), vertices)


def crowded_edges(faces: NDArray[np.int32]) -> int:
    """Edges that two faces or more pass in the same direction: the surface is no oriented manifold there."""
    start, stop = faces.ravel().astype(np.int64), faces[:, [1, 2, 0]].ravel().astype(np.int64)
    span = int(faces.max(initial=0)) + 1
    ahead, times = np.unique((start * span + stop)[start != stop], return_counts=True)
    crowded = ahead[times > 1]
    return len(
        np.unique(np.minimum(crowded // span, crowded % span) * span + np.maximum(crowded // span, crowded % span))
    )


@lru_cache(maxsize=2)
def _cheapest(packed: bytes, vertices: int) -> NDArray[np.int32]:
    """Remembered, as a search over settings asks for the same mesh again and again."""
    faces = np.frombuffer(packed, np.int32).reshape(-1, 3)
    best = min(len(plain_faces(faces)), len(walk_faces(faces, vertices, KEPT)[0])), faces
    for policy in WALKS:
        data, walked = walk_faces(faces, vertices, policy)
        # Edges of three faces may pair otherwise in the new order, which would then not come back.
        if len(data) < best[0] and np.array_equal(walk_faces(walked, vertices, policy)[1], walked):
            best = len(data), walked
    return best[1]
