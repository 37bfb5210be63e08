"""`search`: the settings of sparse-indexing that suit a motion best."""

from __future__ import annotations

import dataclasses
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinepack.cli import options as o
from kinepack.cli.console import emit_json, emit_table, number, progress, say
from kinepack.cli.places import Reading, check_output

if TYPE_CHECKING:
    from kinepack.search import Evaluator, Found, Point

HTML = (".html", ".htm")


class Goal(StrEnum):
    """What is made least."""

    merit = "merit"
    error = "def"


Fraction = Annotated[
    float, typer.Option("--f", metavar="X", min=0.0, max=1.0, help="Largest size, as a share of the original floats.")
]
Which = Annotated[Goal, typer.Option("--goal", metavar="merit|def", help="Least size times DEF, or least DEF.")]
K = Annotated[
    float | None,
    typer.Option("--k", metavar="X", min=0.0, help="Sparseness K, by default from the statistics.", show_default=False),
]
JointCm = Annotated[
    float, typer.Option("--joint-cm", metavar="CM", help="Mean displacement that K is chosen for, without --k.")
]
All = Annotated[bool, typer.Option("--exhaustive", help="Try every FDF at n_d 30 to 120, as the paper does.")]
Surfaces = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE.html", help="Draw DEF and size over FDF and n_d.", show_default=False),
]


def search(
    source: o.Input,
    f: Fraction = 0.87,
    goal: Which = Goal.merit,
    k: K = None,
    joint_cm: JointCm = 0.1,
    exhaustive: All = False,
    output: Surfaces = None,
    clip: o.ClipName = None,
    skeleton: o.SkeletonFile = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    json: o.Json = False,
) -> None:
    """Find the settings of sparse-indexing that suit a motion best.

    FDF and n_d minimise size times displacement error within a share of the original size; K comes from the motion's
    statistics. Prints the codec to compress with. Plots need --exhaustive.

    Examples:
    kinepack search walk.bvh --f 0.5
    kinepack search walk.bvh --f 0.5 --goal def --k 0.1 --json
    """
    from kinepack.errors import UsageError
    from kinepack.model import Clip
    from kinepack.search import Evaluator, choose_k

    if output is not None:
        check_output(output, *HTML)
        if not exhaustive:
            raise UsageError("a surface needs every setting", hint="add --exhaustive")
    with progress("Reading"):
        model = Reading(skeleton=skeleton, unit_cm=unit_cm, fps=fps).read(source, clip)
    if not isinstance(model, Clip):
        raise UsageError("only clips are searched, not meshes")
    chosen = choose_k(model, joint_cm) if k is None else k
    evaluator = Evaluator(model, k=chosen)
    found = _run(evaluator, f=f, goal=goal.value, exhaustive=exhaustive)
    _show(found, evaluator, chosen, json=json)
    if output is not None:
        _draw(found, model.name or Path(source).stem, output)


def _run(evaluator: Evaluator, *, f: float, goal: Any, exhaustive: bool) -> Found:
    from kinepack.search import exhaustive as try_all
    from kinepack.search import fast

    with progress("Searching") as step:
        if not exhaustive:
            return fast(evaluator, f=f, goal=goal, progress=step)
        workers = (os.cpu_count() or 1) if evaluator.clip.frames >= 1000 else 1
        return try_all(evaluator, f=f, goal=goal, workers=min(workers, 8), progress=step)


def _spec(point: Point, k: float) -> str:
    if not k:
        return f"bap-indexing:fdf={point.fdf},n_d={point.n_d}"
    return f"sparse-indexing:k={k:.4g},fdf={point.fdf},n_d={point.n_d}"


def _show(found: Found, evaluator: Evaluator, k: float, *, json: bool) -> None:
    if json:
        for point in found.tried:
            emit_json({**dataclasses.asdict(point), "merit": point.merit, "best": point == found.best})
        return
    best = found.best
    share = best.bytes / evaluator.original_bytes
    cells = (_spec(best, k), f"{best.bytes:,}", f"{share:.3f}", number(best.def_cm), number(best.merit))
    emit_table(("codec", "bytes", "of original", "DEF cm", "merit byte cm"), [cells])
    say(f"{found.evaluations} settings measured")


def _draw(found: Found, name: str, output: Path) -> None:
    from html import escape

    from kinepack.container.writer import write_atomically
    from kinepack.report.page import page
    from kinepack.reproduce.bap_figures import surfaces_svg

    drawn = f"<section><figure>{surfaces_svg(found.tried)}<figcaption>DEF and size.</figcaption></figure></section>"
    best = found.best
    summary = escape(f"Best: FDF {best.fdf}, n_d {best.n_d}: {best.bytes:,} bytes, DEF {best.def_cm:.3g} cm.")
    write_atomically(output, page(f"{name}: settings of sparse-indexing", summary, [drawn]).encode())
    say(f"{output}: {len(found.tried)} settings")
