"""`library …` and `stats`: what is in a library, and changing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinepack.cli import options as o
from kinepack.cli.batching import Labels, parse_labels
from kinepack.cli.console import emit_json, emit_table, number, progress, say
from kinepack.cli.places import KINE, Reading, check_output, is_kine
from kinepack.errors import Corrupt, IOFailure, UsageError

if TYPE_CHECKING:
    from kinepack.library import Library, LibraryClip, Piece

LibraryFile = Annotated[Path, typer.Argument(metavar="LIB.kine", help="The library.", show_default=False)]
LibraryPlace = Annotated[str, typer.Argument(metavar="LIB.kine", help="A library, or its URL.", show_default=False)]
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Motion, mesh or .kine files.", show_default=False)]
Names = Annotated[list[str], typer.Argument(metavar="CLIP...", help="Names of clips.", show_default=False)]
SomeNames = Annotated[
    list[str] | None, typer.Argument(metavar="[CLIP...]", help="Names of clips; all if none.", show_default=False)
]
Replace = Annotated[bool, typer.Option("--replace", help="Take the place of clips of the same name.")]
Wanted = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", help="Only clips with this label; repeat.", show_default=False),
]
MinSeconds = Annotated[float, typer.Option("--min-s", metavar="S", min=0, help="Only clips that last so long.")]
Folder = Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where the files go.")]
Extension = Annotated[str, typer.Option("--as", metavar="EXT", help="Format of the files: kine, bvh, amc, npz, ...")]
Top = Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many worst, slowest and largest clips.")]


def add(
    library: LibraryFile,
    files: Files,
    codec: o.CodecSpec = None,
    target: o.TargetText = None,
    label: Labels = None,
    replace: Replace = False,
    skeleton: o.SkeletonFile = None,
    unit_cm: o.UnitCm = None,
    fps: o.Fps = None,
    mesh: o.Mesh = False,
    json: o.Json = False,
) -> None:
    """Put clips into a library; it is made if it is missing.

    Clips of .kine files go in as they are, other files are compressed and checked first. Readers of the library are not
    disturbed, and never see it half changed.

    Examples:
    kinepack library add motions.kine walk.amc --label subject=02
    kinepack library add new.kine walk.bvh --target 'joint_rms<=0.1' --codec delta-lzma:segment_s=1
    """
    from kinepack.library import add as add_pieces

    check_output(library, KINE)
    reading = Reading(skeleton=skeleton, unit_cm=unit_cm, fps=fps, mesh=mesh)
    labels = parse_labels(label)
    with progress("Adding") as step:
        made = _pieces(files, reading, codec, target, step)
        count = add_pieces(library, (piece.described(labels, {}) for piece in made), replace=replace)
    _done(library, f"{count} added", json=json, added=count)


def _pieces(
    files: Sequence[str], reading: Reading, codec: str | None, target: str | None, step: Callable[[float], None]
) -> Iterator[Piece]:
    from kinepack.codecs.base import codec_from_spec
    from kinepack.fit import Target
    from kinepack.library import pieces_of
    from kinepack.library.making import make

    chosen = codec_from_spec(codec) if codec is not None else None
    wish = Target.parse(target) if target is not None else None
    for done, file in enumerate(files, 1):
        if is_kine(file):
            yield from pieces_of(file)
        else:
            made = make(reading.read_all(file), chosen, target=wish)
            for piece, stats in zip(pieces_of(made.data), made.stats, strict=True):
                named = piece if piece.name else piece.renamed(PurePosixPath(file).stem)
                yield named.described({}, stats)
        step(done / len(files))


def remove(library: LibraryFile, names: Names, json: o.Json = False) -> None:
    """Take clips out of a library.

    Their bytes stay in the file until `kinepack library compact`.

    Examples:
    kinepack library remove motions.kine walk
    """
    from kinepack.library import remove as remove_clips

    remove_clips(library, names)
    _done(library, f"{len(names)} removed", json=json, removed=len(names))


def compact(library: LibraryFile, json: o.Json = False) -> None:
    """Rewrite a library without what nothing refers to any more.

    Examples:
    kinepack library compact motions.kine
    """
    from kinepack.library import compact as compact_library

    with progress("Compacting"):
        saved = compact_library(library)
    _done(library, f"{saved:,} bytes saved", json=json, saved_bytes=saved)


def _done(path: Path, what: str, *, json: bool, **facts: Any) -> None:
    from kinepack.library import Library

    with Library(path) as library:
        clips, size = len(library), library.reader.container.size
    if json:
        emit_json({"file": str(path), **facts, "clips": clips, "file_bytes": size})
    else:
        say(f"{path}: {what}; {clips:,} clips in {size:,} bytes")


def verify(library: LibraryPlace, json: o.Json = False) -> None:
    """Decode everything in a library; exit code 4 if something is damaged.

    Examples:
    kinepack library verify motions.kine
    """
    from kinepack.library import Library
    from kinepack.library import verify as find_faults

    with Library(library) as opened, progress("Checking") as step:
        count, faults = len(opened), find_faults(opened, step)
    if json:
        emit_json({"file": library, "clips": count, "faults": [fault._asdict() for fault in faults]})
    for fault in faults if not json else ():
        say(f"{fault.clip}: {fault.reason}", label="lost")
    if faults:
        bad = len({fault.clip for fault in faults})
        raise Corrupt(f"{bad} of {count} clips are damaged", hint="kinepack library extract saves the others")
    if not json:
        say(f"{library}: all {count:,} clips are whole")


def extract(
    library: LibraryPlace,
    names: SomeNames = None,
    to: Folder = Path(),
    extension: Extension = "kine",
    json: o.Json = False,
) -> None:
    """Write clips of a library to files of their own.

    As .kine nothing is compressed anew; any other format is decoded.

    Examples:
    kinepack library extract motions.kine walk --to out
    kinepack library extract motions.kine --to out --as bvh
    """
    from kinepack.library import Library

    suffix = "." + extension.lower().lstrip(".")
    written: list[str] = []
    lost: dict[str, None] = {}
    with Library(library) as opened, progress("Extracting") as step:
        clips = [opened[name] for name in names] if names else opened.clips()
        for done, clip in enumerate(clips, 1):
            path = _path_below(to, clip.name, suffix)
            lost.update(dict.fromkeys(_extract_one(clip, path)))
            written.append(str(path))
            step(done / len(clips))
    for line in lost:
        say(line, label="lost")
    if json:
        emit_json({"files": written, "lost": list(lost)})
    else:
        say(f"{to}: {len(written):,} files")


def _path_below(folder: Path, name: str, suffix: str) -> Path:
    """Where a clip goes; a name out of a stranger's library must not lead out of the folder."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/").replace(":", "_")).parts if part not in ("..", "/")]
    path = folder.joinpath(*(parts or ["unnamed"]))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IOFailure(f"cannot write to {path.parent}: {error.strerror or error}") from None
    return path.with_name(path.name + suffix)


def _extract_one(clip: LibraryClip, path: Path) -> list[str]:
    """Writes a file; returns what its format could not hold."""
    from kinepack import api
    from kinepack.container.writer import write_atomically
    from kinepack.library import extract as extract_pieces
    from kinepack.library.pieces import piece

    if not is_kine(path):
        return api.write(clip.decode(), path)
    write_atomically(path, extract_pieces(piece(clip.library.reader, clip.number)))
    return []


def list_(library: LibraryPlace, label: Wanted = None, min_s: MinSeconds = 0.0, json: o.Json = False) -> None:
    """List the clips of a library: durations, skeletons, labels, statistics.

    Only the catalogue is read, also over HTTP.

    Examples:
    kinepack library list motions.kine
    kinepack library list motions.kine --label subject=02 --min-s 0.5 --json
    """
    from kinepack.library import Library

    with Library(library) as opened:
        rows = [clip.info() for clip in opened.select(min_s=min_s, labels=parse_labels(label))]
    if json:
        for row in rows:
            emit_json(row)
        return
    columns = ("clip", "labels", "codec", "seconds", "fps", "joints", "bytes", "error")
    emit_table(columns, [_line(row) for row in rows], left=3)


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    labels = ", ".join(f"{key}={value}" for key, value in row["labels"].items())
    error = next((row["stats"][k] for k in ("joint_rms", "vertex_rms") if k in row["stats"]), None)
    numbers = (number(row["duration_s"]), number(row["fps"]), f"{row['joints']:,}", f"{row['bytes']:,}")
    return (row["name"], labels, row["codec"], *numbers, "" if error is None else number(error))


def stats(library: LibraryPlace, output: o.HtmlOutput = None, top: Top = 12, json: o.Json = False) -> None:
    """Tell what compression did to a library; -o writes a catalogue with pictures.

    Sizes, errors (largest and 99th percentile), the worst, slowest and largest clips.

    Examples:
    kinepack stats walk.kine
    kinepack stats walk.kine -o catalogue.html
    """
    from kinepack.container.writer import write_atomically
    from kinepack.library import Library
    from kinepack.report.catalogue import library_facts, library_page

    if output is not None:
        check_output(output, ".html", ".htm")
    with Library(library) as opened, progress("Looking"):
        if not len(opened):
            raise UsageError(f"{library} holds no clip", hint="kinepack library add LIB.kine FILE... adds some")
        times = _times(library, opened)
        facts = library_facts(opened, times, top=top)
        page = library_page(opened, facts, title=Path(library).stem) if output is not None else ""
    if output is not None:
        write_atomically(output, page.encode())
    if json:
        emit_json(facts)
    else:
        _show(facts)
    if output is not None and not json:
        say(f"catalogue: {output}")


def _times(place: str, library: Library) -> dict[str, float]:
    """Seconds that encoding took, by clip, if the batch that made the library left its journal beside it."""
    from kinepack.batch.journal import read_rows

    if "://" in place:
        return {}
    rows = read_rows(Path(place).with_name(f"{Path(place).stem}.batch.jsonl"))
    known = {name: row for row in rows.values() for name in row.get("library_names", ())}
    return {name: float(known[name].get("encode_s", 0.0)) for name in library if name in known}


def _show(facts: dict[str, Any]) -> None:
    totals = facts["totals"]
    emit_table(
        ("what", "value"),
        [
            ("clips", f"{totals['clips']:,}"),
            ("skeletons and meshes", f"{totals['skeletons']:,}"),
            ("duration", f"{number(totals['duration_s'])} s, {totals['frames']:,} frames"),
            ("size", f"{totals['file_bytes']:,} bytes, ratio {number(totals['ratio'])}"),
        ],
    )
    rows = [(e["metric"], number(e["median"]), number(e["p99"]), number(e["max"])) for e in facts["errors"]]
    if rows:
        emit_table(("error", "median clip", "99th percentile", "worst clip"), rows)
    for title in ("worst", "slowest", "largest"):
        lines = [(c["name"], number(c["value"]), c["unit"]) for c in facts[title]]
        if lines:
            emit_table((title, "value", "unit"), lines)


COMMANDS: tuple[Callable[..., None], ...] = (add, remove, compact, verify, extract, list_)
