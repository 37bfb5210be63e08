"""The frame of a report page: its head, its style, its order. No script, no font, no request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark;
  --paper: #fff; --ink: #1c2024; --soft: #5d6670; --line: #d5dade; --card: #f6f8f9; --accent: #c92a2a; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171a; --ink: #e8ebed; --soft: #a2abb3; --line: #3a424a; --card: #1c2125; --accent: #ff8787; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main, header, footer { max-width: 70rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2rem; border-bottom: 3px solid var(--accent); }
h1 { margin: 0; font-size: 1.8rem; line-height: 1.2; }
h2 { margin: 2.2rem 0 0; font-size: 1.35rem; }
header p, .facts, figcaption, footer { color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; }
.facts { margin: .2rem 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
thead th { vertical-align: bottom; color: var(--soft); font-weight: 600; }
thead small { display: block; font-weight: 400; }
tbody th, thead th:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
.settings-second :is(th, td):nth-child(2) { text-align: left; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem;
  margin: 1rem 0; }
.plots figure:last-child:nth-child(odd) { grid-column: 1 / -1; }
figure { margin: 0; padding: .8rem; background: var(--card); border-radius: .6rem; }
figure svg { display: block; width: 100%; height: auto; max-width: 40rem; margin: 0 auto; }
figcaption { margin-top: .4rem; }
.strip { margin: 1.2rem 0; }
.strip img { display: block; width: 100%; min-width: 36rem; height: auto; }
details { margin: .8rem 0; }
summary { cursor: pointer; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; }
dt { font-weight: 600; } dd { margin: 0; color: var(--soft); }
pre { overflow-x: auto; padding: .8rem; background: var(--card); border-radius: .6rem; font-size: .8rem; }
footer { padding: 2rem 1rem; }
@media print { details { display: none; } }
"""
SIZES = (
    "Bytes are all bytes of the file but those of the skeleton or the connectivity. Ratio: raw bytes over motion bytes."
)


def page(title: str, summary: str, sections: Sequence[str], *, note: str = "") -> str:
    """A whole HTML document; `summary` and `sections` are HTML, `title` and the `note` at its end plain text."""
    footer = f"<footer>{escape(note)}</footer>\n" if note else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1><p>{summary}</p></header>\n<main>\n"
        + "\n".join(sections)
        + f"\n</main>\n{footer}</body>\n</html>\n"
    )
