"""`demo`: every codec on the embedded animations, as a table and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kinepack.cli import options as o
from kinepack.cli.console import progress, say
from kinepack.cli.measuring import HTML
from kinepack.cli.places import check_output
from kinepack.cli.rows import emit_row, emit_rows
from kinepack.errors import ConfigError, TargetUnreachable, UnsupportedContent

if TYPE_CHECKING:
    from kinepack.codecs.base import Codec
    from kinepack.evaluate import Result
    from kinepack.model import Model
    from kinepack.report import Comparison

TARGETS = {"Clip": ("joint_rms<=0.1", "joint_rms<=1"), "MeshSequence": ("kg<=0.1", "kg<=1")}
"""Errors at which the default codec and the baseline are compared; the others run with their defaults."""

BASELINE = "delta-lzma"

LEFT_OUT = (ConfigError, TargetUnreachable, UnsupportedContent)
"""An optional package is missing, or the codec cannot do this one thing."""

Job = tuple["Model", "Codec", "str | None"]


def demo(output: o.ReportOutput = Path("out/report.html"), json: o.Json = False) -> None:
    """Try every codec on two embedded animations.

    Prints a table of sizes, errors and times, and writes a page with plots that needs nothing else.

    Examples:
    kinepack demo
    kinepack demo -o report.html --json
    """
    from kinepack import samples

    output.parent.mkdir(parents=True, exist_ok=True)
    check_output(output, *HTML)
    with progress("Making the animations"):
        models: list[Model] = [samples.human(), samples.fish()]
    rows = _measure(list(_jobs(models)), json=json)
    if not json:
        emit_rows(rows)
    _write_page(rows, models, output)


def _jobs(models: Sequence[Model]) -> Iterator[Job]:
    from kinepack.api import DEFAULT_CODECS
    from kinepack.codecs.base import CODECS

    for model in models:
        matched = {BASELINE, DEFAULT_CODECS[type(model)]}
        for codec in (CODECS[name]() for name in CODECS):
            if isinstance(model, codec.sources):
                targets = TARGETS[type(model).__name__] if codec.id in matched else ()
                yield from ((model, codec, target) for target in (None, *targets))


def _measure(jobs: Sequence[Job], *, json: bool) -> list[Result]:
    from kinepack.evaluate import evaluate

    rows = []
    with progress("Compressing", printing=json) as step:
        for done, (model, codec, target) in enumerate(jobs, 1):
            try:
                rows.append(evaluate(model, codec, target=target))
            except LEFT_OUT as error:  # the other codecs still show
                say(
                    f"{codec.id} with {target or 'its defaults'} is left out: {error.message} {error.hint}",
                    label="note",
                )
                continue
            if json:
                emit_row(rows[-1])
            step(done / len(jobs))
    return rows


def _write_page(rows: Sequence[Result], models: Sequence[Model], output: Path) -> None:
    from kinepack.container.writer import write_atomically
    from kinepack.report import write_report

    with progress("Drawing"):
        page = write_report(rows, [_comparison(model, rows) for model in models], title="Kinepack demo")
    write_atomically(output, page.encode())
    say(f"{output}: open it in a browser")


def _comparison(model: Model, rows: Sequence[Result]) -> Comparison:
    """Copies by the default codec and the baseline, the worst last: the one the page draws."""
    from kinepack import api
    from kinepack.report import Comparison

    error = TARGETS[type(model).__name__][0].partition("<=")[0]
    shown = {BASELINE, api.DEFAULT_CODECS[type(model)]}
    lossy = [row for row in rows if row.source == model.name and row.codec in shown and row.metrics[error] > 0]
    specs = [f"{row.codec}:{row.settings}".rstrip(":") for row in sorted(lossy, key=lambda row: row.metrics[error])]
    return Comparison(model, {spec: api.decompress(api.compress(model, spec)) for spec in specs})
