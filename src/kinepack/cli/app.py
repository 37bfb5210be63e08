"""The command line put together: which commands there are, in which order, under which heading."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from kinepack.cli import (
    batching,
    demo,
    libraries,
    listing,
    looking,
    measuring,
    packing,
    playing,
    reproducing,
    searching,
    segmenting,
    serving,
    turning,
)
from kinepack.cli.guard import guarded

PANELS: dict[str, Sequence[Callable[..., None]]] = {
    "Files": (packing.compress, packing.decompress, looking.info, turning.convert),
    "Playing": (playing.play, playing.report, segmenting.segment),
    "Measuring": (looking.compare, measuring.evaluate, measuring.curve, searching.search, reproducing.reproduce),
    "Libraries": (batching.batch, libraries.stats),
    "Streaming": (serving.serve, serving.live),
    "Trying out": (demo.demo, turning.sample),
    "What there is": (listing.codecs, listing.metrics, listing.formats),
}
GROUPS: dict[str, Sequence[Callable[..., None]]] = {"library": libraries.COMMANDS}
"""Commands of two words, under the heading of `GROUP_PANEL`."""
GROUP_PANEL = "Libraries"
EXAMPLES = "Examples:"
EXIT_CODES = {
    0: "done",
    2: "the command line makes no sense",
    3: "a source file is not what its format says, or a format cannot hold the content",
    4: "a .kine file is damaged",
    5: "a file asks for more than the limits allow",
    6: "no setting meets the target",
    7: "a file cannot be read or written",
    8: "some inputs of a batch were set aside, all others are done",
    70: "a bug of ours",
    71: "out of memory",
    130: "interrupted",
}


def split_help(command: Callable[..., None]) -> tuple[str, list[str]]:
    """A command's docstring as its text and its examples."""
    text, _, examples = (inspect.getdoc(command) or "").partition(EXAMPLES)
    return text.strip(), [line.strip() for line in examples.splitlines() if line.strip()]


def _show_version(wanted: bool) -> None:
    if wanted:
        from kinepack.version import VERSION

        typer.echo(f"kinepack {VERSION}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Makes animation small, keeps it faithful, plays it anywhere.

    Skeletal motion and mesh animation, in and out of BVH, AMC, BAP, glTF, NumPy and mesh files.

    Examples:
    kinepack demo
    kinepack sample human -o walk.bvh
    kinepack compress walk.bvh -o walk.kine --target 'joint_rms<=0.1'
    kinepack compare walk.bvh walk.kine
    """


def _epilog(examples: Sequence[str]) -> str:
    return "\b\n" + "\n".join(["[bold]Examples[/bold]", *(escape(example) for example in examples)])


def _texts(command: Callable[..., None]) -> dict[str, Any]:
    text, examples = split_help(command)
    return {"help": escape(text), "epilog": _epilog(examples)}


def _build() -> typer.Typer:
    root = typer.Typer(
        name="kinepack",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        **_texts(_root),
    )
    root.callback()(_root)
    for panel, commands in PANELS.items():
        for command in commands:
            root.command(rich_help_panel=panel, no_args_is_help=False, **_texts(command))(guarded(command))
    for name, commands in GROUPS.items():
        root.add_typer(_group(name, commands), name=name, rich_help_panel=GROUP_PANEL)
    return root


def word(command: Callable[..., None]) -> str:
    """What a command is called: `list_` is `list`, which as a function would hide Python's own."""
    return command.__name__.rstrip("_")


def _group(name: str, commands: Sequence[Callable[..., None]]) -> typer.Typer:
    words = ", ".join(word(command) for command in commands)
    group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help=f"Change and look into a {name}: {words}.")
    for command in commands:
        group.command(word(command), no_args_is_help=False, **_texts(command))(guarded(command))
    return group


app = _build()
