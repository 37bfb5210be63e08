"""`reproduce`: the papers' tables beside our figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinepack.cli import options as o
from kinepack.cli.console import emit_json, emit_table, number, progress, say
from kinepack.cli.places import check_output

if TYPE_CHECKING:
    from kinepack.reproduce.bap import Cell

HTML = (".html", ".htm")
Step = Callable[[float], None]

Paper = Annotated[str, typer.Argument(metavar="bap|cpca|wavelet", help="Which papers.", show_default=False)]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="The CMU files; by default $KINEPACK_DATA.", show_default=False),
]
Count = Annotated[bool, typer.Option("--count", help="Count executed instructions of the decoders (needs valgrind).")]
Figures = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE.html", help="Draw the papers' figures too.", show_default=False),
]


def reproduce(
    paper: Paper, data: Data = None, count: Count = False, output: Figures = None, json: o.Json = False
) -> None:
    """Print a paper's tables beside our figures on the same clips: published, ours, and why they differ.

    bap: Tables 1 and 2 of "Model Dependent Power Aware Compression Algorithms" and Table 1 of "BAP Sparsing".
    cpca: the shape of Tables 2 and 3 and Figures 1, 4 to 7, 9 and 10 of "Simple and efficient compression of animation
    sequences", on the mesh sequences in the data folder.
    wavelet: Tables 1 and 2, Figure 2 and sections 6.2 and 6.3 of "Adapting Wavelet Compression to Human Motion
    Capture Clips".

    Examples:
    kinepack reproduce bap --data cmu/
    kinepack reproduce bap --data cmu/ --count -o figures.html
    kinepack reproduce cpca --data meshes/ -o figures.html
    kinepack reproduce wavelet --data cmu/ -o figures.html
    """
    from kinepack.errors import UsageError
    from kinepack.reproduce.clips import data_folder

    if paper not in ("bap", "cpca", "wavelet"):
        raise UsageError(f"there is nothing to reproduce under {paper!r}", hint="there are: bap, cpca, wavelet")
    if output is not None:
        check_output(output, *HTML)
    if paper == "bap":
        _bap(data_folder(data), count=count, output=output, json=json)
    else:
        (_wavelet if paper == "wavelet" else _cpca)(data_folder(data), output=output, json=json)


def _bap(folder: Path, *, count: bool, output: Path | None, json: bool) -> None:
    from kinepack.reproduce.bap import cells, reason
    from kinepack.reproduce.bap_figures import figures_page

    _measure(lambda step: cells(folder, count=count, progress=step), reason, json=json)
    if output is not None:
        _draw(output, lambda step: figures_page(folder, step))


def _cpca(folder: Path, *, output: Path | None, json: bool) -> None:
    from kinepack.cli.reproducing_meshes import reproduce_cpca
    from kinepack.reproduce.cpca_figures import figures_page

    found = reproduce_cpca(folder, json=json)
    if output is not None:
        _draw(output, lambda step: figures_page(found, folder, step))


def _wavelet(folder: Path, *, output: Path | None, json: bool) -> None:
    from kinepack.reproduce.wavelet import cells, reason
    from kinepack.reproduce.wavelet_figures import figures_page

    found = _measure(lambda step: cells(folder, progress=step), reason, json=json)
    if output is not None:
        _draw(output, lambda step: figures_page(found, folder, step))


def _measure(cells: Callable[[Step], Iterable[Cell]], reason: Callable[[str], str], *, json: bool) -> list[Cell]:
    with progress("Measuring", printing=json) as step:
        found = []
        for cell in cells(step):
            found.append(cell)
            if json:
                emit_json(dataclasses.asdict(cell))
    if not json:
        _emit(found, reason)
    return found


def _emit(found: Sequence[Cell], reason: Callable[[str], str]) -> None:
    """A table per clip and figure, then the reasons."""
    for table in dict.fromkeys(cell.table for cell in found):
        own = [cell for cell in found if cell.table == table]
        lines = [(c.clip, c.column, _cell(c.published), _cell(c.ours), c.unit, _off(c)) for c in own]
        emit_table(("clip", "figure", "published", "ours", "unit", "difference"), lines, title=table, left=2)
    columns = dict.fromkeys(cell.column if reason(cell.column) else cell.column.partition(",")[0] for cell in found)
    reasons = dict.fromkeys(reason(column) for column in columns if reason(column))
    shown = [(next(c for c in columns if reason(c) == text), text) for text in reasons]
    emit_table(("figure", "how ours is made, and why it differs"), shown, left=2)


def _cell(value: float | None) -> str:
    return "" if value is None else number(value)


def _off(cell: Cell) -> str:
    if not cell.published or cell.ours is None:
        return ""
    return f"{100 * (cell.ours / cell.published - 1):+.1f} %"


def _draw(output: Path, figures_page: Callable[[Step], str]) -> None:
    from kinepack.container.writer import write_atomically

    with progress("Drawing") as step:
        write_atomically(output, figures_page(step).encode())
    say(f"{output}: the figures")
