"""Clips and meshes to GLB files that any viewer shows and that read back to the same numbers in float32."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UnsupportedContent
from kinepack.formats.base import Written
from kinepack.formats.gltf_builder import INDICES, VERTICES, Builder
from kinepack.formats.gltf_nodes import local_matrix
from kinepack.formats.gltf_read import HELPER, KINDS
from kinepack.math import rotation
from kinepack.math.rig import scaled, to_plain, to_quaternions
from kinepack.model import Clip, Joint, MeshSequence, Model, Skeleton

Array = NDArray[np.float64]

MANY_TARGETS = 256
MOST_FRAMES = 10_000
"""Weights are frames x targets numbers, so a mesh sequence grows with the square of its length."""
_OCTAHEDRON = np.array([[0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 5, 2], [1, 3, 2], [1, 4, 3], [1, 5, 4], [1, 2, 5]])
_BALL_METRES = 0.02


def write_models(models: Sequence[Model], name: str) -> Written:
    """Several clips of one skeleton, or one mesh sequence; as text if the name ends in .gltf, else as GLB."""
    clips = [model for model in models if isinstance(model, Clip)]
    meshes = [model for model in models if isinstance(model, MeshSequence)]
    if len(meshes) == 1 and not clips:
        builder, lost = _built_mesh(meshes[0])
    elif clips and not meshes:
        builder, lost = _built_clips(clips)
    else:
        raise UnsupportedContent("a glTF file holds clips of one skeleton, or one mesh sequence")
    return Written({name: builder.text() if name.endswith(".gltf") else builder.glb()}, lost)


# Clips.


def _built_clips(clips: Sequence[Clip]) -> tuple[Builder, list[str]]:
    plain = [_with_quaternions(to_plain(clip)) for clip in clips]
    metres = [scaled(clip, 100.0) for clip in plain]
    skeleton = metres[0].skeleton
    if any(clip.skeleton.joints != skeleton.joints or clip.unit_cm != 100.0 for clip in metres):
        raise UnsupportedContent("the clips have different skeletons", hint="write a file for each skeleton")
    if len({clip.unit_cm for clip in clips}) > 1:
        raise UnsupportedContent("the clips have different units of length")
    if not skeleton.joints:
        raise UnsupportedContent("glTF moves joints, and the clip has none")
    builder = Builder({"unit_cm": clips[0].unit_cm})
    _add_joints(builder, skeleton)
    _add_bones(builder, skeleton)
    for clip in metres:
        _add_animation(builder, clip)
    return builder, _lost(skeleton, clips)


def _with_quaternions(clip: Clip) -> Clip:
    """The clip turned by quaternions; one that is already keeps its numbers and their signs."""
    return to_quaternions(clip) if len(clip.skeleton.select("rv")) else clip


def _lost(skeleton: Skeleton, clips: Sequence[Clip]) -> list[str]:
    sites = sum(len(joint.end_sites) for joint in skeleton.joints)
    channels = [channel for clip in clips for channel in clip.skeleton.channels]
    scalars = len({channel.name for channel in channels if channel.kind == "scalar"})
    lost = [f"{sites} end sites: shown as bones, but glTF has only joints"] if sites else []
    lost += [f"{scalars} scalar channels: glTF has no place for them"] if scalars else []
    lost += ["ranges of channels"] if any(channel.limit for channel in channels) else []
    return lost


def _add_joints(builder: Builder, skeleton: Skeleton) -> None:
    """Node i is joint i; glTF wants one root over all joints of a skin, so several get a helper above them."""
    children: list[list[int]] = [[] for _ in skeleton.joints]
    for index, joint in enumerate(skeleton.joints):
        if joint.parent >= 0:
            children[joint.parent].append(index)
    for joint, below in zip(skeleton.joints, children, strict=True):
        builder.node(name=joint.name, children=below, **_rest_fields(joint))
    roots = [index for index, joint in enumerate(skeleton.joints) if joint.parent < 0]
    if len(roots) > 1:
        roots = [builder.node(name="roots", children=roots, extras={"kinepack": HELPER})]
    builder.show(roots[0])


def _rest_fields(joint: Joint) -> dict[str, Any]:
    """T, R and S where they are not the identity."""
    fields: dict[str, Any] = {}
    if any(joint.offset):
        fields["translation"] = list(joint.offset)
    if joint.rest != (0.0, 0.0, 0.0, 1.0):
        fields["rotation"] = rotation.normalize(joint.rest).clip(-1.0, 1.0).tolist()
    if joint.rest_scale != (1.0, 1.0, 1.0):
        fields["scale"] = list(joint.rest_scale)
    return fields


def _add_animation(builder: Builder, clip: Clip) -> None:
    animation = builder.animation(clip.name, clip.frames, clip.frame_time)
    times = builder.times(clip.frames, clip.frame_time)
    for joint in range(len(clip.skeleton.joints)):
        for path, values in _tracks(clip, joint):
            output = builder.array(values, "VEC4" if path == "rotation" else "VEC3")
            builder.track(animation, joint, path, times, output)
    if not animation.channels:
        raise UnsupportedContent("glTF moves joints, and the clip's channels move none")


def _tracks(clip: Clip, joint: int) -> Iterator[tuple[str, Array]]:
    """path, [frames, 3 or 4] of what moves; a part that has no channel keeps its rest value."""
    own, node = clip.skeleton.channels_of(joint), clip.skeleton.joints[joint]
    rest = {"translation": node.offset, "rotation": node.rest, "scale": node.rest_scale}
    for path, kinds in KINDS.items():
        if any(kind in own for kind in kinds):
            values = np.tile(np.array(rest[path], float), (clip.frames, 1))
            for position, kind in enumerate(kinds):
                if kind in own:
                    values[:, position] = clip.values[:, own[kind]]
            yield path, rotation.normalize(values) if path == "rotation" else values


# Something to see: an octahedron along each bone, bound to the joint it starts at.


def _add_bones(builder: Builder, skeleton: Skeleton) -> None:
    places = _rest_matrices(skeleton)
    bones = list(_bones(skeleton, places)) or [(0, places[0, :3, 3], places[0, :3, 3])]
    points = np.concatenate([_octahedron(start, end) for _, start, end in bones])
    owner = np.repeat([joint for joint, _, _ in bones], 6)
    narrow = len(skeleton.joints) <= 256
    joints = np.zeros((len(points), 4), np.uint8 if narrow else np.uint16)
    joints[:, 0] = owner
    weights = np.zeros((len(points), 4), np.float32)
    weights[:, 0] = 1.0
    corners = (_OCTAHEDRON + 6 * np.arange(len(bones))[:, None, None]).reshape(-1)
    attributes = builder.library.Attributes(
        POSITION=builder.array(points, "VEC3", target=VERTICES, bounds=True),
        JOINTS_0=builder.array(joints, "VEC4", target=VERTICES),
        WEIGHTS_0=builder.array(weights, "VEC4", target=VERTICES),
    )
    indices = builder.array(corners.astype(np.uint32), "SCALAR", target=INDICES)
    mesh = builder.mesh(builder.library.Primitive(attributes=attributes, indices=indices), name="bones")
    inverse = builder.array(_bind_matrices(places), "MAT4")
    joint_nodes = list(range(len(skeleton.joints)))
    builder.gltf.skins.append(builder.library.Skin(joints=joint_nodes, inverseBindMatrices=inverse))
    builder.show(builder.node(name="bones", mesh=mesh, skin=0, extras={"kinepack": HELPER}))


def _rest_matrices(skeleton: Skeleton) -> Array:
    """[joints, 4, 4] global, at rest."""
    result = np.empty((len(skeleton.joints), 4, 4))
    for index, joint in enumerate(skeleton.joints):
        turn = rotation.normalize(joint.rest)
        local = local_matrix(np.array(joint.offset), turn, np.array(joint.rest_scale))
        result[index] = local if joint.parent < 0 else result[joint.parent] @ local
    return result


def _bones(skeleton: Skeleton, places: Array) -> Iterator[tuple[int, Array, Array]]:
    """Joint, start and end of every bone with a length."""
    for index, joint in enumerate(skeleton.joints):
        ends = [(joint.parent, places[index, :3, 3])] if joint.parent >= 0 else []
        ends += [(index, places[index, :3, :3] @ site + places[index, :3, 3]) for site in joint.end_sites]
        for owner, end in ends:
            if np.linalg.norm(end - places[owner, :3, 3]) > 1e-6:
                yield owner, places[owner, :3, 3], end


def _octahedron(start: Array, end: Array) -> Array:
    """[6, 3] both ends, then four points around the bone near its start; a small ball for no length."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length == 0:
        arms = _BALL_METRES * np.concatenate([np.eye(3), -np.eye(3)])
        return np.asarray(start + arms[[1, 4, 0, 2, 3, 5]])
    side = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    side *= 0.08 * length / np.linalg.norm(side)
    other = np.cross(along / length, side)
    middle = start + 0.15 * along
    return np.stack([start, end, middle + side, middle + other, middle - side, middle - other])


def _bind_matrices(places: Array) -> NDArray[np.float32]:
    """[joints, 16] inverse rest matrices in glTF's column order; a joint scaled to nothing gets the identity."""
    result = np.tile(np.eye(4), (len(places), 1, 1))
    for index, place in enumerate(places):
        if abs(np.linalg.det(place[:3, :3])) > 1e-12:
            result[index] = np.linalg.inv(place)
    result[:, 3] = (0.0, 0.0, 0.0, 1.0)
    return result.transpose(0, 2, 1).reshape(-1, 16).astype(np.float32)


# Meshes.


def _built_mesh(mesh: MeshSequence) -> tuple[Builder, list[str]]:
    """Frame 0 is the mesh, each later frame a morph target, and the weights fade from one to the next."""
    if mesh.frames > MOST_FRAMES:
        raise UnsupportedContent(f"{mesh.frames:,} frames are too many morph targets", hint="write mesh npz or pc2")
    builder = Builder({"unit_cm": mesh.unit_cm, "mesh": True})
    metres = mesh.unit_cm / 100
    with np.errstate(over="ignore", invalid="ignore"):  # the builder refuses what is not finite
        vertices = (mesh.vertices.astype(np.float64) * metres).astype(np.float32)
        shifts = vertices[1:] - vertices[0] if mesh.frames > 1 else np.zeros_like(vertices)
    attributes = builder.library.Attributes
    primitive = builder.library.Primitive(
        attributes=attributes(POSITION=_vertex_array(builder, vertices[0])),
        targets=[attributes(POSITION=_vertex_array(builder, shift)) for shift in shifts],
        mode=4 if len(mesh.faces) else 0,
    )
    if len(mesh.faces):
        corners = mesh.faces.astype(np.uint32).reshape(-1)
        primitive.indices = builder.array(corners, "SCALAR", target=INDICES)
    index = builder.mesh(primitive, name=mesh.name or None, weights=[0.0] * len(shifts))
    node = builder.node(mesh=index, name=mesh.name or None)
    builder.show(node)
    weights = np.zeros((mesh.frames, len(shifts)), np.float32)
    weights[np.arange(1, mesh.frames), np.arange(mesh.frames - 1)] = 1.0
    animation = builder.animation(mesh.name, mesh.frames, mesh.frame_time)
    times = builder.times(mesh.frames, mesh.frame_time)
    builder.track(animation, node, "weights", times, builder.array(weights, "SCALAR"))
    return builder, _mesh_lost(mesh)


def _vertex_array(builder: Builder, values: NDArray[Any]) -> int:
    return builder.array(values, "VEC3", target=VERTICES, bounds=True)


def _mesh_lost(mesh: MeshSequence) -> list[str]:
    if mesh.frames <= MANY_TARGETS:
        return []
    megabytes = mesh.frames * (mesh.vertices[0].nbytes + 4 * mesh.frames) / 1e6
    return [f"nothing, but {mesh.frames:,} morph targets take {megabytes:,.0f} MB and few viewers show so many"]
