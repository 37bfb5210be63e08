"""What every file format provides, and how a format reaches the files beside the one it was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, Protocol

from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Model
from kinepack.registry import Registry


class Source(Protocol):
    """A file with its neighbours: a path on disk, an fsspec URL, a member of a zip."""

    @property
    def name(self) -> str:
        """File name with its extension, no folder; a folder's own name for a folder."""

    def read(self) -> bytes:
        """The whole content; IOFailure if it is a folder or cannot be read."""

    def neighbours(self) -> Sequence[str]:
        """Sorted names of the files in the same folder (for a folder: of the files in it)."""

    def neighbour(self, name: str) -> bytes:
        """The content of one of them."""


@dataclass(frozen=True)
class ReadOptions:
    """What a file does not say of itself."""

    skeleton: bytes | None = None
    """Content of the ASF for an AMC that has none beside it."""
    unit_cm: float | None = None
    """Centimetres per unit, in place of the format's own."""
    fps: float | None = None
    """Frames per second where the file has none (AMC) or has keys at any time (glTF)."""
    mesh: bool = False
    """Bake a skinned or morphed glTF to a MeshSequence."""
    masked_bap: Literal["hold", "zero"] = "hold"
    """What a BAP that is masked off in a frame does."""
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class WriteOptions:
    """Choices that a format leaves open."""

    bap_mapping: Literal["relabel", "true"] = "relabel"
    """How CMU degrees of freedom become BAPs: by name, or by decomposing about the BAP axes."""


@dataclass(frozen=True)
class Written:
    """Files by name (the first is the one asked for), and what the format could not hold, a line each."""

    files: Mapping[str, bytes]
    lost: Sequence[str] = field(default=())


Reader = Callable[[Source, ReadOptions], list[Model]]
Writer = Callable[[Sequence[Model], str, WriteOptions], Written]


@dataclass(frozen=True)
class Format:
    """One file format. `write` gets the models, the stem of the file name ("run" of "run.bvh") and options."""

    id: str
    title: str
    extensions: tuple[str, ...]
    read: Reader
    write: Writer | None
    holds: tuple[type, ...]
    """Clip, MeshSequence or both."""
    several: bool = False
    """Whether one file can hold more than one model."""
    claims: Callable[[Source], bool] = lambda source: True
    """Asked where formats share an extension (.npz): is this file mine?"""


FORMATS: Registry[Format] = Registry("format", "kinepack.formats")


def extension_of(name: str) -> str:
    """Lower-case extension with its dot."""
    return PurePosixPath(name).suffix.lower()


def formats_for(name: str) -> list[Format]:
    """The formats that use a file name's extension."""
    extension = extension_of(name)
    return [FORMATS[key] for key in FORMATS if extension in FORMATS[key].extensions]
