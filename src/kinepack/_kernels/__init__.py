"""Compiled kernels behind checked numpy functions; `reference` holds the same in plain Python, as the oracle.

Calls release the GIL. Wrong dtypes and shapes raise UsageError, bad streams raise Truncated or Corrupt.
"""

from __future__ import annotations

from kinepack._kernels._binding import Buffer
from kinepack._kernels._bits import decode_varints, encode_varints, pack_bits, unpack_bits
from kinepack._kernels._coders import (
    Mixing,
    decode_bits,
    decode_integers,
    decode_symbols,
    encode_bits,
    encode_integers,
    encode_symbols,
    integer_bins,
)
from kinepack._kernels._kinematics import Globals, forward_kinematics, jacobian, local_rotations, sincos
from kinepack._kernels._lifting import (
    WAVELETS,
    lifting_forward,
    lifting_forward_int,
    lifting_inverse,
    lifting_inverse_int,
)

__all__ = [
    "WAVELETS",
    "Buffer",
    "Globals",
    "Mixing",
    "decode_bits",
    "decode_integers",
    "decode_symbols",
    "decode_varints",
    "encode_bits",
    "encode_integers",
    "encode_symbols",
    "encode_varints",
    "forward_kinematics",
    "integer_bins",
    "jacobian",
    "lifting_forward",
    "lifting_forward_int",
    "lifting_inverse",
    "lifting_inverse_int",
    "local_rotations",
    "pack_bits",
    "sincos",
    "unpack_bits",
]
