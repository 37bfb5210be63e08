"""`reproduce cpca`: the tables of Sattler 2005 in shape, on other sequences."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from kinepack.cli.console import emit_json, emit_table, number, progress

if TYPE_CHECKING:
    from kinepack.reproduce.cpca import Figure

PARTS = ("connectivity", "basis", "weights", "means", "index")


def reproduce_cpca(folder: Path, *, json: bool) -> list[Figure]:
    from kinepack.reproduce.cpca import TABLE_2, figures

    found = []
    with progress("Measuring", printing=json) as step:
        for figure in figures(folder, step):
            found.append(figure)
            if json:
                emit_json(dataclasses.asdict(figure))
    if json:
        return found
    published = [
        (name, *map(str, (k, c, star or "-")), number(size), number(error)) for name, size, error, star, c, k in TABLE_2
    ]
    heads = ("sequence", "k", "c", "c*", "bpvf", "d_a %")
    emit_table(heads, published, title="Table 2 as published, 18 bits in some rows and 32 in others", left=1)
    for table in dict.fromkeys(figure.table for figure in found):
        own = [f for f in found if f.table == table]
        measured = [
            (f.sequence, f.settings, *map(number, (f.bpvf, f.d_a, f.kg, f.encode_s, f.decode_fps))) for f in own
        ]
        measured_heads = ("sequence", "codec", "bpvf", "d_a %", "KG %", "encode s", "decode fps")
        emit_table(measured_heads, measured, title=f"{table}, ours", left=2)
    split = [f for f in found if f.table == "Tables 2 and 3"]
    terms = [(f.sequence, f.described, *(number(f.parts.get(part, 0.0)) for part in PARTS)) for f in split]
    emit_table(("sequence", "codec", *PARTS), terms, title="The terms of Eq. 3 to 5, bits per vertex and frame", left=2)
    return found
