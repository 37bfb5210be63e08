"""The whole of Kinepack in eight verbs: read, write, compress, open, decompress, compare, info, convert."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kinepack.codecs.base import Codec, Layout, Progress, Stream, Topology, codec_from_spec, layout_of, matrix_of
from kinepack.container.static import digest_of, pack_mesh, pack_skeleton
from kinepack.container.writer import CodedClip, CodedSegment, write_atomically, write_container, write_static
from kinepack.errors import ConfigError, FormatError, UnsupportedContent, UsageError
from kinepack.fit import Probe, Target, fit_best
from kinepack.formats.base import Format, ReadOptions, Source, WriteOptions, formats_for
from kinepack.formats.source import source_of
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.metrics.base import METRICS
from kinepack.metrics.measure import measure_all, promised
from kinepack.model import Clip, MeshSequence, Model, Skeleton
from kinepack.reader import Reader, read_statics

DEFAULT_CODECS: dict[type, str] = {Clip: "kine", MeshSequence: "kine-mesh"}
KINE = ".kine"
DEFAULT_OPTIONS = WriteOptions()
Place = str | Path


def read(
    path: Place,
    *,
    clip: str | int = 0,
    skeleton: Place | None = None,
    unit_cm: float | None = None,
    fps: float | None = None,
    mesh: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Model:
    """The motion or mesh sequence in a file of any known format (also `.kine`).

    `clip` picks one of several by name or number, `skeleton` is the ASF of an AMC, `unit_cm` sets the centimetres
    per unit, `fps` the rate where the file has none, `mesh` bakes a glTF scene to a mesh sequence.
    """
    models = read_all(path, skeleton=skeleton, unit_cm=unit_cm, fps=fps, mesh=mesh, limits=limits)
    if isinstance(clip, int):
        if not 0 <= clip < len(models):
            raise UsageError(f"{path} has {len(models)} clips, no number {clip}")
        return models[clip]
    for model in models:
        if model.name == clip:
            return model
    raise UsageError(f"{path} has no clip {clip!r}", hint="clips: " + ", ".join(m.name for m in models))


def read_all(
    path: Place,
    *,
    skeleton: Place | None = None,
    unit_cm: float | None = None,
    fps: float | None = None,
    mesh: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Model]:
    """Every clip of a file."""
    if str(path).lower().endswith(KINE):
        with Reader(path, skeleton=skeleton, limits=limits) as file:
            return [_in_unit(clip.decode(), unit_cm) for clip in file.clips()]
    source = source_of(path)
    beside = source_of(skeleton).read() if skeleton is not None else None
    options = ReadOptions(skeleton=beside, unit_cm=unit_cm, fps=fps, mesh=mesh, limits=limits)
    return read_source(source, options)


def _in_unit(model: Model, unit_cm: float | None) -> Model:
    """The model with `unit_cm`, if given, in place of its own unit."""
    if unit_cm is None:
        return model
    if isinstance(model, Clip):
        return dataclasses.replace(model, skeleton=model.skeleton.with_unit(unit_cm))
    return dataclasses.replace(model, unit_cm=float(unit_cm))


def read_source(source: Source, options: ReadOptions) -> list[Model]:
    """Every clip of a file whose bytes come from anywhere."""
    try:
        return _format_of(source).read(source, options)
    except FormatError as error:
        raise error.in_file(source.name) from None
    except UsageError as error:  # the model refused what the format read
        raise FormatError(error.message, file=source.name, hint=error.hint) from None


def write(models: Model | Sequence[Model], path: Place, options: WriteOptions = DEFAULT_OPTIONS) -> list[str]:
    """Writes a file in the format of its extension; returns what that format could not hold, a line each."""
    path = Path(path)
    several = [models] if isinstance(models, (Clip, MeshSequence)) else list(models)
    chosen = _writer_for(path, several)
    assert chosen.write is not None
    written = chosen.write(several, path.stem, options)
    for name, data in written.files.items():
        write_atomically(path.parent / name, data)
    return list(written.lost)


def convert(source: Place, target: Place, *, options: WriteOptions = DEFAULT_OPTIONS, **how: Any) -> list[str]:
    """From one format to another; returns what was lost."""
    if str(target).lower().endswith(KINE):
        raise UsageError("a .kine file is made by compress", hint="kinepack compress IN -o OUT.kine")
    models = read_all(source, **how)
    chosen = _writer_for(Path(target), models[:1])
    if len(models) > 1 and not chosen.several:
        lost = [f"{len(models) - 1} of {len(models)} clips: {chosen.title} holds one"]
        return lost + write(models[:1], target, options)
    return write(models, target, options)


def compress(
    source: Model | Place | Sequence[Model],
    codec: str | Codec | None = None,
    *,
    target: str | Target | Sequence[Target] | None = None,
    max_bytes: int | None = None,
    skeleton_ref: Place | None = None,
    progress: Progress | None = None,
    **how: Any,
) -> bytes:
    """The bytes of a `.kine` file.

    `target` ("joint_rms<=0.1") finds the smallest file that keeps the error, `max_bytes` the best file that fits;
    several clips share the bytes by their raw sizes. Several targets ("joint_rms<=0.1,0.3,1") put as many qualities
    of every clip into the file, each under its name and target.
    With `skeleton_ref` the skeleton is not stored but referred to by hash in that file, which is made if missing.
    Other keywords go to `read` when the source is a path.
    """
    models = qualities(_models(source, how), targets := _targets(target))
    if max_bytes is not None and len(targets) > 1:
        raise UsageError("a byte budget is for one quality, not for several")
    coded = []
    for number, model in enumerate(models):
        part = _part(progress, number, len(models))
        chosen = codec_from_spec(codec or DEFAULT_CODECS[type(model)])
        wish = targets[number % len(targets)]
        coded.append(_encode(model, chosen, wish, _share(max_bytes, model, models), skeleton_ref, part))
    return write_container(coded)


def qualities(models: Sequence[Model], targets: Sequence[Target | None]) -> list[Model]:
    """Each model once for each target, named after it where there are several."""
    if len(targets) == 1:
        return list(models)
    return [dataclasses.replace(m, name=f"{m.name} {target}".strip()) for m in models for target in targets]


def _targets(target: str | Target | Sequence[Target] | None) -> Sequence[Target | None]:
    if isinstance(target, str):
        return Target.parse_several(target)
    return [target] if target is None or isinstance(target, Target) else target


def open(place: Place | bytes, *, skeleton: Place | bytes | None = None, limits: Limits = DEFAULT_LIMITS) -> Reader:
    """A `.kine` file by path, bytes, http(s) URL (by ranges) or any fsspec URL."""
    return Reader(place, skeleton=skeleton, limits=limits)


def decompress(
    place: Place | bytes,
    *,
    clip: str | int = 0,
    skeleton: Place | bytes | None = None,
    layers: int | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Model:
    """One whole clip of a `.kine` file, from its lowest `layers` quality layers (all by default)."""
    with Reader(place, skeleton=skeleton, limits=limits) as file:
        return file[clip].decode(layers=layers)


def compare(original: Model | Place, copy: Model | Place) -> dict[str, float]:
    """Every metric that applies to the two."""
    a = original if isinstance(original, (Clip, MeshSequence)) else read(original)
    b = copy if isinstance(copy, (Clip, MeshSequence)) else read(copy)
    return measure_all(a, b)


def info(place: Place | bytes, *, skeleton: Place | bytes | None = None) -> dict[str, Any]:
    """Sizes and contents of a `.kine` file, without decoding it."""
    with Reader(place, skeleton=skeleton) as file:
        return file.info()


def _encode(
    model: Model,
    codec: Codec,
    target: Target | None,
    max_bytes: int | None,
    skeleton_ref: Place | None,
    progress: Progress | None,
) -> CodedClip:
    if not isinstance(model, codec.sources):
        kinds = " or ".join(t.__name__ for t in codec.sources)
        raise ConfigError(f"{codec.id} compresses {kinds}, not {type(model).__name__}", hint="kinepack codecs")
    if target and not isinstance(model, METRICS[target.metric].source):
        raise ConfigError(f"{target.metric} does not apply to a {type(model).__name__}", hint="kinepack metrics")
    external = skeleton_ref is not None
    pack = (lambda layout: _refer(Path(skeleton_ref), layout)) if skeleton_ref is not None else _pack_static
    static_of = _once(pack, layout_of(model))
    if target is None and max_bytes is None:
        stream = codec.encode(model, progress)
        return _coded(codec, stream, static_of(stream.layout), external)

    error_of = promised(target.metric, model) if target else None

    def probe(candidate: Codec) -> Probe:
        stream = candidate.encode(model)
        error = error_of(candidate.decode(stream)) if error_of else 0.0
        coded = _coded(candidate, stream, static_of(stream.layout), external)
        return Probe(len(write_container([coded])), error, coded)

    choices = codec.for_metric(target.metric) if target else [codec]
    best: CodedClip = fit_best(choices, probe, target=target, max_bytes=max_bytes, step=progress)[1].result
    return best


def _once(pack: Callable[[Layout], bytes], layout: Layout) -> Callable[[Layout], bytes]:
    """`pack` that works once for all streams with the source's layout; a codec may have put a mesh's faces in order."""
    packed: list[bytes] = []

    def static_of(own: Layout) -> bytes:
        if isinstance(own, Topology) and isinstance(layout, Topology) and own.faces is not layout.faces:
            return pack(own)
        if not packed:
            packed.append(pack(layout))
        return packed[0]

    return static_of


def _share(max_bytes: int | None, model: Model, models: Sequence[Model]) -> int | None:
    """The part of a file's bytes that one of its clips may use."""
    if max_bytes is None or len(models) == 1:
        return max_bytes
    contents = sum(len(m.name.encode()) + 12 for m in models)
    return int((max_bytes - contents) * matrix_of(model).size / sum(matrix_of(m).size for m in models))


def _coded(codec: Codec, stream: Stream, static: bytes, external: bool) -> CodedClip:
    segments = [CodedSegment(s.first, s.frames, s.layer, s.data) for s in stream.segments]
    return CodedClip(
        stream.name,
        codec.id,
        codec.version,
        codec.told_settings,
        stream.frames,
        stream.frame_time,
        static,
        stream.setup,
        segments,
        external,
    )


def _pack_static(layout: Layout) -> bytes:
    if isinstance(layout, Skeleton):
        return pack_skeleton(layout)
    return pack_mesh(layout.faces, layout.vertices, layout.unit_cm)


def _refer(place: Path, layout: Layout) -> bytes:
    """Digest of a layout that is kept in `place`, which is made if it is missing."""
    digest = digest_of(layout if isinstance(layout, Skeleton) else (layout.faces, layout.vertices, layout.unit_cm))
    if not place.exists():
        write_atomically(place, write_static(_pack_static(layout)))
    elif digest not in read_statics(place):
        raise UsageError(f"{place} holds another skeleton than the clip's", hint="leave --skeleton-ref away")
    return digest


def _models(source: Model | Place | Sequence[Model], how: dict[str, Any]) -> list[Model]:
    if isinstance(source, (str, Path)):
        return read_all(source, **how)
    if how:
        raise UsageError(f"{', '.join(how)} only makes sense for a path")
    return [source] if isinstance(source, (Clip, MeshSequence)) else list(source)


def _part(progress: Progress | None, number: int, total: int) -> Callable[[float], None] | None:
    """The share of one clip in the progress of several."""
    return (lambda fraction: progress((number + fraction) / total)) if progress else None


def _format_of(source: Source) -> Format:
    candidates = formats_for(source.name) or formats_in_folder(source)
    for candidate in candidates:
        if len(candidates) == 1 or candidate.claims(source):
            return candidate
    known = "kinepack formats lists those it knows"
    raise UnsupportedContent("not a format that Kinepack reads", hint=known)


def formats_in_folder(source: Source) -> list[Format]:
    """A folder has the format of the files in it; a file, which is among its neighbours, has its own."""
    if source.name in source.neighbours():
        return []
    return next((found for name in source.neighbours() if (found := formats_for(name))), [])


def _writer_for(path: Path, models: Sequence[Model]) -> Format:
    candidates = [f for f in formats_for(path.name) if f.write is not None]
    for candidate in candidates:
        if models and all(isinstance(m, candidate.holds) for m in models):
            return candidate
    kind = "mesh sequence" if models and isinstance(models[0], MeshSequence) else "clip"
    reason = f"{path.suffix} cannot hold a {kind}" if candidates else f"no format writes {path.suffix or path.name!r}"
    raise UnsupportedContent(reason, hint="the formats are listed by: kinepack formats")
