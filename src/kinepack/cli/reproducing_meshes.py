"""`reproduce cpca`: the tables of Sattler 2005 in shape, on other sequences."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from kinepack.cli.console import emit_json, emit_table, number, progress


def reproduce_cpca(folder: Path, *, json: bool) -> None:
    from kinepack.reproduce.cpca import TABLE_2, figures

    found = []
    with progress("Measuring", printing=json) as step:
        for figure in figures(folder, step):
            found.append(figure)
            if json:
                emit_json(dataclasses.asdict(figure))
    if json:
        return
    published = [
        (name, *map(str, (k, c, star or "-")), number(size), number(error)) for name, size, error, star, c, k in TABLE_2
    ]
    heads = ("sequence", "k", "c", "c*", "bpvf", "d_a %")
    emit_table(heads, published, title="Table 2 as published, 18 bits in some rows and 32 in others", left=1)
    for table in dict.fromkeys(figure.table for figure in found):
        own = [f for f in found if f.table == table]
        lines = [(f.sequence, f.settings, *map(number, (f.bpvf, f.d_a, f.encode_s, f.decode_fps))) for f in own]
        heads = ("sequence", "codec", "bpvf", "d_a %", "encode s", "decode fps")
        emit_table(heads, lines, title=f"{table}, ours; 18 bits unless q_c or q_w says otherwise", left=2)
