"""`batch`: many files at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinepack.cli import console
from kinepack.cli import options as o
from kinepack.cli.console import emit_json, number, say
from kinepack.errors import KinepackError, UsageError

if TYPE_CHECKING:
    from kinepack.batch import Status, Summary

SHOWN_REJECTED = 10
_WHERE = "Where it runs"

Sources = Annotated[
    list[str],
    typer.Argument(metavar="SRC...", help="Files, folders, globs, zips or URLs.", show_default=False),
]
Dest = Annotated[str, typer.Argument(metavar="DEST", help="A folder, or one library.kine.", show_default=False)]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A running Dask scheduler, such as tcp://10.0.0.1:8786.",
        show_default=False,
        rich_help_panel=_WHERE,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "-j",
        metavar="N",
        min=0,
        help="Processes on this machine; 0 works in this one. By default one per core.",
        show_default=False,
        rich_help_panel=_WHERE,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", help="Label the clips of a library; repeat.", show_default=False),
]


class SetAside(KinepackError):
    """Some inputs of a batch were bad; all the others are done."""

    exit_code = 8


def batch(
    sources: Sources,
    dest: Dest,
    codec: o.CodecSpec = None,
    target: o.TargetText = None,
    max_bytes: o.MaxBytes = None,
    skeleton: o.SkeletonFile = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
    label: Labels = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    json: o.Json = False,
) -> None:
    """Compress every motion and mesh file under SRC.

    DEST is a folder that gets a .kine file for each, or a library that gets them all. Every output is decoded and
    checked before it counts. Kill it at any time and run it again: what is finished is not done again. Bad files are
    set aside in a list with the reason (exit code 8).

    Examples:
    kinepack batch . packed --workers 0
    kinepack batch 'walk.*' motions.kine --target 'joint_rms<=0.1' --workers 2
    kinepack batch . motions.kine --codec delta-lzma:segment_s=1 --label subject=02 --workers 0 --json
    """
    from kinepack.batch import BatchSettings, run_batch

    if scheduler is not None and workers is not None:
        raise UsageError("a scheduler has its own workers", hint="leave --workers away")
    settings = BatchSettings(codec, target, max_bytes, skeleton, unit_cm, fps, mesh)
    with _bar() as watch:
        summary = run_batch(
            sources, dest, settings, scheduler=scheduler, workers=workers, labels=parse_labels(label), watch=watch
        )
    if json:
        emit_json(summary.to_dict())
    else:
        _tell(summary, dest)
    if summary.rejected:
        count = len(summary.rejected)
        hint = f"the reasons are in {summary.rejected_list}"
        raise SetAside(f"{count} of {summary.inputs} inputs were set aside", hint=hint)


def parse_labels(texts: list[str] | None) -> dict[str, str]:
    """`key=value` texts as labels."""
    labels = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{text!r} is not a label", hint="write it like subject=02")
        labels[key.strip()] = value.strip()
    return labels


def _tell(summary: Summary, dest: str) -> None:
    for row in summary.rejected[:SHOWN_REJECTED]:
        say(f"{row['input']}: {row['error']}", label="lost")
    if len(summary.rejected) > SHOWN_REJECTED:
        say(f"and {len(summary.rejected) - SHOWN_REJECTED} more", label="lost")
    counts = f"{summary.made:,} made, {summary.skipped:,} done before, {len(summary.rejected):,} set aside"
    sizes = f"{summary.raw_bytes:,} raw bytes to {summary.kine_bytes:,}"
    ratio = number(summary.to_dict()["ratio"])
    say(f"{dest}: {counts}; {sizes}, ratio {ratio}, {summary.seconds:.1f} s")


@contextmanager
def _bar() -> Iterator[Callable[[Status], None] | None]:
    """A bar by bytes with rate, remaining time and errors so far, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    counts = TextColumn("{task.fields[counts]}")
    columns = (BarColumn(), counts, DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console.words(), transient=True, redirect_stdout=False, redirect_stderr=False)
    with bar:
        task: Any = bar.add_task("batch", total=None, counts="")

        def watch(status: Status) -> None:
            failed = f", [red]{status.failed} set aside[/red]" if status.failed else ""
            counts = f"{status.done:,}/{status.inputs:,}{failed}"
            bar.update(task, total=status.total_bytes, completed=status.done_bytes, counts=counts)

        yield watch
