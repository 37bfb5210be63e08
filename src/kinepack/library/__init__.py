"""Motion libraries: many clips in one `.kine` file that can be searched, read at random, and grown."""

from kinepack.library.checking import Fault, verify
from kinepack.library.editing import add, compact, create, remove
from kinepack.library.opened import Library, LibraryClip
from kinepack.library.pieces import Piece, extract, pieces_of
from kinepack.library.windows import Windows

__all__ = [
    "Fault",
    "Library",
    "LibraryClip",
    "Piece",
    "Windows",
    "add",
    "compact",
    "create",
    "extract",
    "pieces_of",
    "remove",
    "verify",
]
