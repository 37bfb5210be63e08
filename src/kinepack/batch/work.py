"""What a worker does: read, compress, decode, verify. It writes nothing, so its death costs nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kinepack.api import DEFAULT_CODECS, read_source
from kinepack.batch.inputs import Input
from kinepack.codecs.base import codec_from_spec
from kinepack.errors import KinepackError, UsageError
from kinepack.fit import Target
from kinepack.formats.base import ReadOptions, Source
from kinepack.formats.source import source_of
from kinepack.library.making import make


@dataclass(frozen=True)
class BatchSettings:
    """What is done to every input; with the input's content this decides whether it is already done."""

    codec: str | None = None
    target: str | None = None
    max_bytes: int | None = None
    skeleton: str | None = None
    """Place of the ASF for AMCs that have none beside them."""
    unit_cm: float | None = None
    fps: float | None = None
    mesh: bool = False

    def check(self) -> None:
        """Raises now what would otherwise be raised for every input."""
        if self.codec is not None:
            codec_from_spec(self.codec)
        if self.target is not None:
            Target.parse(self.target)
        if self.max_bytes is not None and self.max_bytes < 1:
            raise UsageError("a file needs at least one byte")

    def text(self) -> str:
        """Everything that decides an output's bytes but its source: settings, and the codecs' versions."""
        specs = [self.codec] if self.codec is not None else sorted(set(DEFAULT_CODECS.values()))
        codecs = [codec_from_spec(spec) for spec in specs]
        facts = {
            "codec": [f"{c.spec} v{c.version}" for c in codecs],
            "target": self.target,
            "max_bytes": self.max_bytes,
            "unit_cm": self.unit_cm,
            "fps": self.fps,
            "mesh": self.mesh,
        }
        return json.dumps(facts, sort_keys=True)


@dataclass(frozen=True)
class Outcome:
    """What became of one input: bytes, or the reason why not."""

    name: str
    data: bytes = b""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Content of every file that was read, by name."""
    stats: Sequence[Mapping[str, float]] = ()
    clips: Sequence[str] = ()
    """Names of the clips in the file."""
    encode_s: float = 0.0
    decode_s: float = 0.0
    raw_bytes: int = 0
    error: str = ""
    hint: str = ""


class RecordedSource:
    """A source that remembers the content of all that was read through it."""

    def __init__(self, inner: Source) -> None:
        self._inner = inner
        self.hashes: dict[str, str] = {}

    @property
    def name(self) -> str:
        return self._inner.name

    def read(self) -> bytes:
        return self._noted(self._inner.name, self._inner.read())

    def neighbours(self) -> Sequence[str]:
        return self._inner.neighbours()

    def neighbour(self, name: str) -> bytes:
        return self._noted(name, self._inner.neighbour(name))

    def _noted(self, name: str, data: bytes) -> bytes:
        self.hashes[name] = digest(data)
        return data


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def key_of(settings: BatchSettings, hashes: Mapping[str, str]) -> str:
    """Identity of a source's content and the settings together."""
    return digest(json.dumps([settings.text(), sorted(hashes.items())]).encode())[:32]


SKELETON = "--skeleton"
"""Stands for the skeleton named in the settings among the hashed files."""


def current_hashes(place: str, names: Sequence[str], settings: BatchSettings) -> dict[str, str]:
    """The content, now, of the files that were read when an input was compressed."""
    source = source_of(place)
    found = {}
    for name in names:
        if name == SKELETON:
            found[name] = digest(source_of(settings.skeleton or "").read())
        else:
            found[name] = digest(source.read() if name == source.name else source.neighbour(name))
    return found


def process(inputs: Sequence[Input], settings: BatchSettings) -> list[Outcome]:
    """One unit of work: every input to verified bytes or to an error, none of which stops the others."""
    return [_process_one(item, settings) for item in inputs]


def _process_one(item: Input, settings: BatchSettings) -> Outcome:
    try:
        return _compress(item, settings)
    except KinepackError as error:
        return Outcome(item.name, error=error.message, hint=error.hint)
    except MemoryError:
        return Outcome(item.name, error="not enough memory", hint="give it fewer workers, or a larger machine")
    except Exception as error:  # one input must not stop a thousand others; the list tells what happened
        return Outcome(item.name, error=f"internal error: {type(error).__name__}: {error}", hint="this is a bug")


def _compress(item: Input, settings: BatchSettings) -> Outcome:
    source = RecordedSource(source_of(item.place))
    skeleton = source_of(settings.skeleton).read() if settings.skeleton is not None else None
    options = ReadOptions(skeleton=skeleton, unit_cm=settings.unit_cm, fps=settings.fps, mesh=settings.mesh)
    models = read_source(source, options)
    hashes = dict(source.hashes)
    if skeleton is not None:
        hashes[SKELETON] = digest(skeleton)
    target = Target.parse(settings.target) if settings.target is not None else None
    made = make(models, settings.codec, target=target, max_bytes=settings.max_bytes)
    raw: Any = sum(model.values.size if hasattr(model, "values") else model.vertices.size for model in models) * 4
    names = [model.name for model in models]
    return Outcome(item.name, made.data, hashes, made.stats, names, made.encode_s, made.decode_s, int(raw))
