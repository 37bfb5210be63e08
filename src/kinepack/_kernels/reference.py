"""Every kernel again in plain Python and numpy: slow, readable, and the oracle of the parity tests."""

from __future__ import annotations

from kinepack._kernels.reference_bits import decode_varints, encode_varints, pack_bits, unpack_bits
from kinepack._kernels.reference_coders import (
    decode_bits,
    decode_integers,
    decode_symbols,
    encode_bits,
    encode_integers,
    encode_symbols,
)
from kinepack._kernels.reference_kinematics import forward_kinematics, jacobian, local_rotations
from kinepack._kernels.reference_lifting import (
    lifting_forward,
    lifting_forward_int,
    lifting_inverse,
    lifting_inverse_int,
)
from kinepack._kernels.reference_mesh import (
    mesh_decode,
    mesh_encode,
    mesh_hierarchy,
    mesh_predictors,
    mesh_sum,
    mesh_synthesise,
)

__all__ = [
    "decode_bits",
    "decode_integers",
    "decode_symbols",
    "decode_varints",
    "encode_bits",
    "encode_integers",
    "encode_symbols",
    "encode_varints",
    "forward_kinematics",
    "jacobian",
    "lifting_forward",
    "lifting_forward_int",
    "lifting_inverse",
    "lifting_inverse_int",
    "local_rotations",
    "mesh_decode",
    "mesh_encode",
    "mesh_hierarchy",
    "mesh_predictors",
    "mesh_sum",
    "mesh_synthesise",
    "pack_bits",
    "unpack_bits",
]
