"""Kinepack makes animation small, keeps it faithful, and plays it anywhere."""

from kinepack.api import compare, compress, convert, decompress, info, open, read, read_all, write
from kinepack.codecs.base import CODECS, Codec
from kinepack.errors import KinepackError
from kinepack.evaluate import Result, curve, evaluate
from kinepack.formats.base import FORMATS
from kinepack.library import Library
from kinepack.limits import Limits
from kinepack.metrics.base import METRICS
from kinepack.model import Channel, Clip, Joint, MeshSequence, Skeleton
from kinepack.reader import Reader
from kinepack.version import VERSION as __version__

__all__ = [
    "CODECS",
    "FORMATS",
    "METRICS",
    "Channel",
    "Clip",
    "Codec",
    "Joint",
    "KinepackError",
    "Library",
    "Limits",
    "MeshSequence",
    "Reader",
    "Result",
    "Skeleton",
    "__version__",
    "compare",
    "compress",
    "convert",
    "curve",
    "decompress",
    "evaluate",
    "info",
    "open",
    "read",
    "read_all",
    "write",
]
