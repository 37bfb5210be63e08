"""Every option and argument that commands share, declared once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter("should be a positive number")
    return value


def _codec_names(incomplete: str) -> list[str]:
    from kinepack.codecs.base import CODECS

    return [name for name in CODECS if name.startswith(incomplete)]


class BapMapping(StrEnum):
    """How CMU degrees of freedom become BAPs."""

    relabel = "relabel"
    true = "true"


class Sample(StrEnum):
    """The embedded animations."""

    human = "human"
    fish = "fish"


Input = Annotated[str, typer.Argument(metavar="IN", help="A file, a folder of frames, or a URL.", show_default=False)]
Inputs = Annotated[list[str], typer.Argument(metavar="IN...", help="Files to measure.", show_default=False)]
KineInput = Annotated[str, typer.Argument(metavar="IN.kine", help="A .kine file or URL.", show_default=False)]
AnyFile = Annotated[str, typer.Argument(metavar="FILE", help="A .kine file, or any motion file.", show_default=False)]
PlayFiles = Annotated[
    list[str], typer.Argument(metavar="FILE...", help=".kine files, or any motion files.", show_default=False)
]
Original = Annotated[str, typer.Argument(metavar="A", help="The original.", show_default=False)]
Copy = Annotated[str, typer.Argument(metavar="B", help="The copy.", show_default=False)]
ConvertFrom = Annotated[str, typer.Argument(metavar="A", help="What to read.", show_default=False)]
ConvertTo = Annotated[Path, typer.Argument(metavar="B", help="What to write.", show_default=False)]
WhichSample = Annotated[Sample, typer.Argument(metavar="human|fish", help="Which one.", show_default=False)]

_READING = "Reading"
_WRITING = "Writing"
_SIZE = "Quality and size"

KineOutput = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT.kine", help="The file to write.", show_default=False)
]
Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The file to write; its extension is the format.", show_default=False
    ),
]
HtmlOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE.html", help="Write a page with the plots.", show_default=False),
]
ReportOutput = Annotated[Path, typer.Option("--output", "-o", metavar="FILE.html", help="Where the report goes.")]
PageOutput = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE.html", help="The page to write.", show_default=False)
]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on, 0 for any.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")]
Picture = Annotated[
    Path | None,
    typer.Option("--picture", metavar="FILE.png", help="Draw both, one over the other.", show_default=False),
]

CodecSpec = Annotated[
    str | None,
    typer.Option(
        "--codec",
        "-c",
        metavar="ID:KEY=VALUE,...",
        help="How to compress; see: kinepack codecs.",
        show_default=False,
        rich_help_panel=_SIZE,
        autocompletion=_codec_names,
    ),
]
CodecSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--codec",
        "-c",
        metavar="ID:KEY=VALUE,...",
        help="A codec to try; repeat for more.",
        show_default=False,
        rich_help_panel=_SIZE,
        autocompletion=_codec_names,
    ),
]
TargetText = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="METRIC<=VALUE",
        help="Smallest file that keeps this error; see: kinepack metrics.",
        show_default=False,
        rich_help_panel=_SIZE,
    ),
]
Qualities = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="METRIC<=VALUE[,VALUE...]",
        help="Smallest file that keeps this error; several values put as many qualities into it.",
        show_default=False,
        rich_help_panel=_SIZE,
    ),
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        metavar="N",
        min=1,
        help="Best quality in a file of this many bytes.",
        show_default=False,
        rich_help_panel=_SIZE,
    ),
]
Points = Annotated[int, typer.Option("--points", metavar="N", min=2, help="Settings to try per codec.")]

SkeletonFile = Annotated[
    str | None,
    typer.Option(
        "--skeleton",
        metavar="FILE.asf",
        help="The ASF of an AMC that has none beside it.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
SkeletonRef = Annotated[
    Path | None,
    typer.Option(
        "--skeleton-ref",
        metavar="FILE",
        help="Keep the skeleton in this file, not in each .kine; made if missing.",
        show_default=False,
        rich_help_panel=_WRITING,
    ),
]
SkeletonFrom = Annotated[
    Path | None,
    typer.Option(
        "--skeleton-ref",
        metavar="FILE",
        help="The file that keeps a .kine file's skeleton.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
UnitCm = Annotated[
    float | None,
    typer.Option(
        "--unit-cm",
        metavar="X",
        callback=_positive,
        help="Centimetres per unit of length, in place of the file's own.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
Fps = Annotated[
    float | None,
    typer.Option(
        "--fps",
        metavar="X",
        callback=_positive,
        help="Frames per second, where the file does not say.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
Mesh = Annotated[bool, typer.Option("--mesh", help="Bake a glTF scene to a mesh animation.", rich_help_panel=_READING)]
ClipName = Annotated[
    str | None,
    typer.Option("--clip", metavar="NAME", help="One clip of several, by name or number from 0.", show_default=False),
]
Reference = Annotated[
    str | None,
    typer.Option("--reference", metavar="FILE", help="The original: measure the error too.", show_default=False),
]

_PART = "Only a part"
Start = Annotated[
    int | None,
    typer.Option("--start", metavar="FRAME", min=0, help="First frame.", show_default=False, rich_help_panel=_PART),
]
Stop = Annotated[
    int | None,
    typer.Option(
        "--stop", metavar="FRAME", min=1, help="Frame after the last.", show_default=False, rich_help_panel=_PART
    ),
]
From = Annotated[
    float | None,
    typer.Option("--from", metavar="SECONDS", min=0, help="Begin here.", show_default=False, rich_help_panel=_PART),
]
To = Annotated[
    float | None,
    typer.Option("--to", metavar="SECONDS", min=0, help="End here.", show_default=False, rich_help_panel=_PART),
]
Layers = Annotated[
    int | None, typer.Option("--layers", min=1, metavar="N", help="Read the lowest N quality layers only.")
]
Salvage = Annotated[bool, typer.Option("--salvage", help="Play damaged stretches coarser, or hold a good frame.")]
Check = Annotated[bool, typer.Option("--check", help="Decode every segment; exit code 4 if one is damaged.")]
Mapping = Annotated[
    BapMapping,
    typer.Option(
        "--bap-mapping",
        metavar="relabel|true",
        help="BAP files: angles by name, or decomposed about the BAP axes.",
        rich_help_panel=_WRITING,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
