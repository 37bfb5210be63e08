"""matplotlib, imported only when something is drawn, and dressed so that a page's colours apply."""

from __future__ import annotations

import hashlib
import io
import re
from typing import Any

from kinepack.errors import ConfigError

PALETTE = ("#2f7ed8", "#e4632d", "#1a9e77", "#a657a8", "#c08a00", "#5c7f99", "#d14470", "#7a8f1f")
"""Readable on white and on near black."""
MARKERS = "osD^vPX*"

# matplotlib wants real colours; these stand for the page's own, which differ between light and dark.
_INK, _FAINT = "#010203", "#040506"
_PAGE_COLOURS = {_INK: "var(--ink)", _FAINT: "var(--line)"}

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "kinepack",
    "font.size": 10.5,
    "text.color": _INK,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def matplotlib() -> Any:
    """The module; ConfigError with the way to get it when it is not installed."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise ConfigError("plots need matplotlib", hint='pip install "kinepack[plot]"') from None
    return matplotlib


def style(*, paper: bool = False) -> Any:
    """Context in which figures are made and saved: for a page with its own colours, or on white `paper`."""
    colours = {_INK: "#222222", _FAINT: "#d5d8dc"} if paper else {}
    return matplotlib().rc_context({key: colours.get(value, value) for key, value in _STYLE.items()})


def figure(width: float, height: float) -> Any:
    """A figure of so many inches, without the global state of pyplot."""
    return matplotlib().figure.Figure(figsize=(width, height), layout="constrained")


def to_svg(drawn: Any, title: str) -> str:
    """The figure as an <svg> element for a page: its own ids, the page's colours, a title for readers."""
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    for colour, page in _PAGE_COLOURS.items():
        text = text.replace(colour, page)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"(font: [\d.]+px )[^;\"]*", r"\1system-ui, sans-serif", text)
    text = _own_ids(text)
    safe = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg \1 role="img" aria-label="{safe}">', text, count=1)


def _own_ids(svg: str) -> str:
    """Ids made different from those of any other figure of the page."""
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = svg.replace("url(#", f"url(#{prefix}-")
    return re.sub(r'(?:xlink:)?href="#', f'href="#{prefix}-', svg)
