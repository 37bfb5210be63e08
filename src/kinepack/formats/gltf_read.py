"""glTF to clips: one skeleton per file, one clip per animation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import ReadOptions, Source
from kinepack.formats.gltf_animation import Grid, Track, grid_of, sample, tracks_of
from kinepack.formats.gltf_bake import bake
from kinepack.formats.gltf_document import Document, open_document
from kinepack.formats.gltf_nodes import parents_first, rest_of, resting_weights, scene_nodes
from kinepack.formats.text import stem_of
from kinepack.model import Channel, Clip, Joint, MeshSequence, Model, Skeleton

Array = NDArray[np.float64]

KINDS = {
    "translation": ("tx", "ty", "tz"),
    "rotation": ("qx", "qy", "qz", "qw"),
    "scale": ("sx", "sy", "sz"),
}
HELPER = "helper"
"""Marks nodes that Kinepack added and that are no joints."""


def read_gltf(source: Source, options: ReadOptions) -> list[Model]:
    """A clip per animation; a baked mesh per animation where options.mesh or the file's own note asks for it."""
    document = open_document(source, options)
    animations = [(a, tracks_of(document, a)) for a in document.gltf.animations or []]
    animations = [(animation, tracks) for animation, tracks in animations if tracks]
    if not animations:
        raise FormatError("the file has no animation")
    grids = [grid_of(tracks, animation, options) for animation, tracks in animations]
    names = _clip_names(document, [animation for animation, _ in animations], stem_of(source.name))
    unit_cm = _noted_unit(document)
    shown = unit_cm if options.unit_cm is None else options.unit_cm
    if options.mesh or document.ours.get("mesh") is True:
        return _meshes(document, [t for _, t in animations], grids, names, unit_cm / 100, shown)
    rig = _Rig(document, [track for _, tracks in animations for track in tracks])
    skeleton = rig.skeleton(unit_cm, shown)
    return [
        Clip(skeleton, rig.values(tracks, grid, unit_cm), grid.frame_time, name)
        for (_, tracks), grid, name in zip(animations, grids, names, strict=True)
    ]


def _meshes(
    document: Document,
    tracks: list[list[Track]],
    grids: list[Grid],
    names: list[str],
    metres: float,
    unit_cm: float,
) -> list[Model]:
    result: list[Model] = []
    for own, grid, name in zip(tracks, grids, names, strict=True):
        vertices, faces = bake(document, own, grid)
        result.append(MeshSequence((vertices / metres).astype(np.float32), faces, grid.frame_time, name, unit_cm))
    return result


def _noted_unit(document: Document) -> float:
    unit_cm = document.ours.get("unit_cm", 100.0)
    if not isinstance(unit_cm, (int, float)) or not 0 < unit_cm < 1e12:
        raise FormatError(f"the noted unit should be positive, not {unit_cm}")
    return float(unit_cm)


def _clip_names(document: Document, animations: list[Any], stem: str) -> list[str]:
    """The animations' own names; where another writer gave none, the file's, numbered from the second on."""
    if document.ours:
        return [str(a.name or "") for a in animations]
    unnamed = [stem if i == 0 else f"{stem}.{i + 1}" for i in range(len(animations))]
    return [str(a.name) if a.name else other for a, other in zip(animations, unnamed, strict=True)]


class _Rig:
    """Which nodes are joints, what moves them, and the values of a clip."""

    def __init__(self, document: Document, tracks: list[Track]) -> None:
        self._document = document
        self._order = _joint_nodes(document, tracks)
        self._joint_of = {node: joint for joint, node in enumerate(self._order)}
        self._rest = {node: rest_of(document.nodes[node]) for node in self._order}
        self._names = _unique_names(document, self._order)
        widths: dict[tuple[int, str], int] = {}
        for track in tracks:
            key = (track.node, track.path)
            widths[key] = max(widths.get(key, 0), track.values.shape[-1])
        paths = (*KINDS, "weights")
        animated = sorted(widths, key=lambda key: (self._joint_of[key[0]], paths.index(key[1])))
        self._animated = [(node, path, widths[node, path]) for node, path in animated]
        document.limits.charge("channels", sum(width for _, _, width in self._animated))

    def skeleton(self, unit_cm: float, shown_cm: float) -> Skeleton:
        joints = tuple(self._joint(node, unit_cm / 100) for node in self._order)
        channels = [channel for entry in self._animated for channel in self._channels(*entry)]
        return Skeleton(joints, tuple(channels), unit_cm=shown_cm)

    def _joint(self, node: int, metres: float) -> Joint:
        rest = self._rest[node]
        parent = self._document.parents[node]
        while parent >= 0 and parent not in self._joint_of:
            parent = self._document.parents[parent]
        offset = tuple((rest.translation / metres).tolist())
        turn, scale = tuple(rest.rotation.tolist()), tuple(rest.scale.tolist())
        name = self._names[node]
        return Joint(name, self._joint_of.get(parent, -1), offset, rest=turn, rest_scale=scale)

    def _channels(self, node: int, path: str, width: int) -> list[Channel]:
        joint = self._joint_of[node]
        if path == "weights":
            return [Channel(joint, "scalar", f"{self._names[node]}.weight{i}") for i in range(width)]
        return [Channel(joint, kind) for kind in KINDS[path]]

    def values(self, tracks: list[Track], grid: Grid, unit_cm: float) -> Array:
        """[frames, channels]; what this animation leaves alone keeps its rest value."""
        total = sum(width for _, _, width in self._animated)
        self._document.limits.charge("values", grid.frames * total)
        by_key = {(track.node, track.path): track for track in tracks}
        result, at = np.zeros((grid.frames, total)), 0
        for node, path, width in self._animated:
            track = by_key.get((node, path))
            column = self._resting(node, path, width) if track is None else sample(track, grid)
            result[:, at : at + column.shape[-1]] = column / (unit_cm / 100) if path == "translation" else column
            at += width
        return result

    def _resting(self, node: int, path: str, width: int) -> Array:
        if path == "weights":
            return resting_weights(self._document, node, width)
        return np.asarray(getattr(self._rest[node], path))


def _joint_nodes(document: Document, tracks: list[Track]) -> list[int]:
    """Skin joints and animated nodes with their ancestors, or without skins the whole scene; parents first.

    The order is that of the file wherever that has parents before children.
    """
    chosen = {track.node for track in tracks}
    for skin in document.gltf.skins or []:
        for joint in skin.joints or []:
            document.item("nodes", joint)
            chosen.add(joint)
    if not document.gltf.skins:
        chosen |= set(scene_nodes(document))
    for node in list(chosen):
        while (node := document.parents[node]) >= 0 and node not in chosen:
            chosen.add(node)
    chosen = {node for node in chosen if not _is_helper(document.nodes[node])}
    return [node for node in parents_first(document) if node in chosen]


def _is_helper(node: Any) -> bool:
    return isinstance(node.extras, dict) and node.extras.get("kinepack") == HELPER


def _unique_names(document: Document, nodes: list[int]) -> dict[int, str]:
    """The nodes' names; "node<index>" for those without, and "_2", "_3", … after a name that is taken."""
    taken: set[str] = set()
    names = {}
    for node in nodes:
        plain = str(document.nodes[node].name or f"node{node}")
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name)
        names[node] = name
    return names
