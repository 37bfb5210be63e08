"""`codecs`, `metrics` and `formats`: what there is to name on the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kinepack.cli import options as o
from kinepack.cli.console import emit_json, emit_table

if TYPE_CHECKING:
    from kinepack.codecs.base import Codec
    from kinepack.params import Param

KINDS = {"Clip": "clip", "MeshSequence": "mesh"}


def codecs(json: o.Json = False) -> None:
    """List the codecs and their settings.

    Settings follow the codec's name: --codec delta-lzma:step=0.5,order=1.

    Examples:
    kinepack codecs
    kinepack codecs --json
    """
    from kinepack.codecs.base import CODECS

    found = [_codec(CODECS[name]) for name in CODECS]
    if json:
        emit_json(found)
        return
    rows = [(c["id"], ", ".join(c["sources"]), _lossless(c), c["title"]) for c in found]
    emit_table(("codec", "compresses", "lossless", "how"), rows, left=4)
    for entry in found:
        _show_settings(entry)


def _codec(codec: type[Codec]) -> dict[str, Any]:
    from kinepack.params import params_of

    defaults = {f.name: f.default for f in dataclasses.fields(codec)}
    return {
        "id": codec.id,
        "version": codec.version,
        "title": codec.title,
        "sources": _kinds(codec.sources),
        "lossless": codec.lossless,
        "lossless_with": codec.lossless_with or None,
        "quality_axis": codec.quality_axis() or None,
        "settings": [_setting(name, defaults[name], known) for name, known in params_of(codec).items()],
    }


def _setting(name: str, default: Any, declared: Param) -> dict[str, Any]:
    return {
        "name": name,
        "type": type(default).__name__,
        "default": default,
        "low": declared.low,
        "high": declared.high,
        "choices": list(declared.choices),
        "unit": declared.unit,
        "quality": declared.quality,
        "help": declared.help,
    }


def _lossless(entry: dict[str, Any]) -> str:
    return "yes" if entry["lossless"] else entry["lossless_with"] or ""


def _show_settings(entry: dict[str, Any]) -> None:
    rows = []
    for setting in entry["settings"]:
        mark = " (quality)" if setting["quality"] else ""
        rows.append((setting["name"] + mark, _text(setting["default"]), _range(setting), setting["help"]))
    if rows:
        emit_table((f"{entry['id']} setting", "default", "range", "what"), rows, left=4)


def _range(setting: dict[str, Any]) -> str:
    if setting["choices"]:
        return ", ".join(_text(choice) for choice in setting["choices"])
    if setting["type"] == "bool":
        return "on, off"
    low = "-inf" if setting["low"] is None else f"{setting['low']:g}"
    high = "inf" if setting["high"] is None else f"{setting['high']:g}"
    return "any" if setting["type"] == "str" else f"{low} to {high} {setting['unit']}".rstrip()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def metrics(json: o.Json = False) -> None:
    """List the measures of error.

    Any of them can be a target: --target 'joint_rms<=0.1'.

    Examples:
    kinepack metrics
    kinepack metrics --json
    """
    from kinepack.metrics.base import METRICS

    found = [
        {"id": m.id, "title": m.title, "unit": m.unit, "source": KINDS[m.source.__name__], "better": m.better}
        for m in (METRICS[name] for name in METRICS)
    ]
    if json:
        emit_json(found)
        return
    found.sort(key=lambda m: m["source"])
    rows = [(m["id"], m["source"], m["unit"], m["title"]) for m in found]
    emit_table(("metric", "of a", "unit", "what"), rows, left=4)


def formats(json: o.Json = False) -> None:
    """List the file formats.

    Examples:
    kinepack formats
    kinepack formats --json
    """
    from kinepack.formats.base import FORMATS

    found = [
        {
            "id": f.id,
            "title": f.title,
            "extensions": list(f.extensions),
            "holds": _kinds(f.holds),
            "reads": True,
            "writes": f.write is not None,
            "several_clips": f.several,
        }
        for f in (FORMATS[name] for name in FORMATS)
    ]
    if json:
        emit_json(found)
        return
    rows = [_format_row(entry) for entry in found]
    emit_table(("format", "extensions", "holds", "reads, writes", "what"), rows, left=5)


def _format_row(entry: dict[str, Any]) -> tuple[str, ...]:
    ways = "reads, writes" if entry["writes"] else "reads"
    return (entry["id"], " ".join(entry["extensions"]), ", ".join(entry["holds"]), ways, entry["title"])


def _kinds(types: Iterable[type]) -> list[str]:
    return [KINDS[kind.__name__] for kind in types]
