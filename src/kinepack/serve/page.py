"""The catalogue as a page: no script, no font, no request to any other host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote, urlencode

from kinepack.serve.catalogue import Entry
from kinepack.serve.hub import Channel

PER_PAGE = 60
ENERGY_LINK = ' <a href="/energy/">Compare their energy of reception</a>'

STYLE = """
:root { color-scheme: light dark;
  --paper: #fff; --ink: #1c2024; --soft: #5d6670; --line: #dde1e5; --card: #f6f8f9; --accent: #c92a2a; --hover: #fff; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171a; --ink: #e8ebed; --soft: #a2abb3; --line: #333a41; --card: #1c2125; --accent: #ff8787;
  --hover: #22282d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
header, main, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; flex-wrap: wrap; align-items: end; gap: .75rem 1.5rem; padding-top: 2rem; padding-bottom: 1rem;
  border-bottom: 3px solid var(--accent); }
header div { flex: 1 1 16rem; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .75rem; font-size: 1.15rem; }
header p, footer, .facts, .none { margin: .2rem 0 0; color: var(--soft); font-size: .9rem; }
form { display: flex; gap: .5rem; flex: 0 1 20rem; }
input, button { font: inherit; padding: .45rem .8rem; border-radius: .5rem; border: 1px solid var(--line);
  background: var(--card); color: inherit; min-width: 0; }
input { flex: 1; } button { cursor: pointer; }
ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 15.5rem), 1fr)); }
li { display: flex; flex-direction: column; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem; overflow: hidden; position: relative; }
li:hover { background: var(--hover); border-color: var(--accent); }
li img { display: block; width: 100%; height: auto; aspect-ratio: 8 / 5; border-bottom: 1px solid var(--line); }
.text { padding: .7rem .9rem .8rem; flex: 1; }
h3 { margin: 0; font-size: 1rem; line-height: 1.35; overflow-wrap: anywhere; }
h3 a { color: inherit; text-decoration: none; } h3 a::after { content: ""; position: absolute; inset: 0; }
a:focus-visible, input:focus-visible, button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
h3 a:focus-visible { outline: none; } li:focus-within { outline: 3px solid var(--accent); outline-offset: 1px; }
.folder { color: var(--soft); font-weight: 400; }
.facts { font-variant-numeric: tabular-nums; line-height: 1.4; }
.tags { margin: .5rem 0 0; display: flex; flex-wrap: wrap; gap: .35rem; font-size: .78rem; }
.tags span { padding: .05rem .5rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--soft); }
.tags .strong { color: var(--accent); border-color: currentColor; }
.problem { color: var(--accent); }
.dot { display: inline-block; width: .6rem; height: .6rem; border-radius: 50%; background: var(--accent);
  margin-right: .45rem; }
.none { padding: 2.5rem 0; } code { font-size: .95em; }
nav { display: flex; gap: 1rem; justify-content: center; align-items: center; margin: 1.5rem 0; }
nav a, .none a, footer a { color: var(--accent); }
footer { margin: 0 auto; padding: 2rem 1.25rem 2.5rem; }
@media (max-width: 36rem) {
  header { padding-top: 1.25rem; } h1 { font-size: 1.4rem; } form { flex: 1 1 100%; }
  .files li { flex-direction: row; } .files li img { width: 38%; border: 0; border-right: 1px solid var(--line);
    aspect-ratio: auto; object-fit: contain; padding: .3rem; } .files .text { width: 62%; } }
""".lstrip()


@dataclass(frozen=True)
class View:
    """What of the catalogue is shown."""

    words: str = ""
    page: int = 1
    player: bool = False
    """Whether a card leads to the player, or to the file."""


def catalogue_page(folder: str, entries: Sequence[Entry], live: Sequence[Channel], view: View) -> str:
    """The whole HTML document."""
    found = [entry for entry in entries if view.words.lower() in f"{entry.path} {entry.name} {entry.codec}".lower()]
    pages = max(1, -(-len(found) // PER_PAGE))
    number = min(max(view.page, 1), pages)
    shown = found[(number - 1) * PER_PAGE : number * PER_PAGE]
    body = _live(live, view.player) + _files(shown, view, any_files=bool(entries)) + _pages(number, pages, view)
    title = escape(folder)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{title} · Kinepack</title>\n<link rel="stylesheet" href="/style.css">\n'
        '<link rel="icon" href="/icon.svg" type="image/svg+xml">\n</head>\n<body>\n'
        f"<header><div><h1>{title}</h1><p>{escape(_summary(entries, live))}</p></div>{_search(view)}</header>\n"
        f"<main>{body}</main>\n"
        "<footer>Ratio: float32 numbers of the animation over the bytes of the file."
        f"{ENERGY_LINK if view.player and entries else ''}</footer>\n</body>\n</html>\n"
    )


def _summary(entries: Sequence[Entry], live: Sequence[Channel]) -> str:
    total = sum(entry.bytes for entry in entries)
    length = sum(entry.duration_s for entry in entries)
    parts = [_count(len(entries), "file"), size_text(total), f"{duration_text(length)} of motion"]
    return " · ".join(parts[: 3 if entries else 1] + ([_count(len(live), "live stream")] if live else []))


def _search(view: View) -> str:
    words = escape(view.words, quote=True)
    return (
        '<form action="/" method="get" role="search">'
        f'<input type="search" name="q" value="{words}" placeholder="Find a file" aria-label="Find a file">'
        "<button>Find</button></form>"
    )


def _live(live: Sequence[Channel], player: bool) -> str:
    if not live:
        return ""
    return f"<section><h2>Live</h2><ul>{''.join(_stream(channel, player) for channel in live)}</ul></section>"


def _stream(channel: Channel, player: bool) -> str:
    assert channel.about
    title = f'<span class="dot"></span>{escape(channel.name)}'
    name = f'<a href="/watch/{quote(channel.name)}/">{title}</a>' if player else title
    rate = f"{1 / channel.about.frame_time:.4g} Hz · {_count(len(channel.viewers), 'viewer')}"
    waiting = "" if channel.has_source else '<span class="strong">source away</span>'
    return (
        f'<li><div class="text"><h3>{name}</h3><p class="facts">{rate}</p>'
        f'<p class="tags"><span>{escape(channel.about.codec)}</span>{waiting}</p></div></li>'
    )


def _files(shown: Sequence[Entry], view: View, *, any_files: bool) -> str:
    if not any_files:
        return (
            '<p class="none">There is no .kine file in this folder yet. Make one with '
            "<code>kinepack compress walk.bvh -o walk.kine</code>.</p>"
        )
    if not shown:
        return f'<p class="none">No file matches “{escape(view.words)}”. <a href="/">Show all</a></p>'
    return f'<section><h2>Files</h2><ul class="files">{"".join(_card(entry, view) for entry in shown)}</ul></section>'


def _card(entry: Entry, view: View) -> str:
    folder, _, name = entry.path.rpartition("/")
    place = quote(entry.path)
    playable = view.player and entry.kind in ("clip", "mesh")
    target = f"/player/{place}/" if playable else f"/files/{place}"
    stem = escape(name.removesuffix(".kine"))
    title = f'<span class="folder">{escape(folder)}/</span>{stem}' if folder else stem
    picture = f'<img src="/thumbs/{place}" alt="" width="320" height="200" loading="lazy">'
    return (
        f'<li>{picture}<div class="text"><h3><a href="{escape(target)}">{title}</a></h3>'
        f'<p class="facts">{_facts(entry)}</p>{_tags(entry)}</div></li>'
    )


def _facts(entry: Entry) -> str:
    if entry.problem:
        return f'<span class="problem">{escape(entry.problem)}</span>'
    if entry.kind == "skeleton":
        return f"Skeleton that other files refer to · {size_text(entry.bytes)}"
    rate = f"{entry.fps:.4g} Hz"
    return f"{duration_text(entry.duration_s)} at {rate} · {size_text(entry.bytes)}"


def _tags(entry: Entry) -> str:
    tags = [f"<span>{escape(entry.codec)}</span>"] if entry.codec else []
    if entry.ratio:
        tags.append(f'<span class="strong">{entry.ratio:.3g} : 1</span>')
    if entry.kind == "mesh":
        tags.append(f"<span>{entry.numbers_per_frame // 3:,} vertices</span>")
    if entry.clips > 1:
        tags.append(f"<span>{entry.clips:,} clips</span>")
    if entry.layers > 1:
        tags.append(f"<span>{entry.layers} layers</span>")
    return f'<p class="tags">{"".join(tags)}</p>' if tags else ""


def _pages(number: int, pages: int, view: View) -> str:
    if pages == 1:
        return ""

    def link(page: int, text: str) -> str:
        words = {"q": view.words} if view.words else {}
        return f'<a href="/?{escape(urlencode({**words, "page": page}))}">{text}</a>' if 1 <= page <= pages else ""

    return f"<nav>{link(number - 1, 'Previous')}<span>{number} of {pages}</span>{link(number + 1, 'Next')}</nav>"


def _count(amount: int, noun: str) -> str:
    return f"{amount:,} {noun}" + ("" if amount == 1 else "s")


def size_text(size: int) -> str:
    for unit, power in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= power:
            return f"{size / power:.3g} {unit}"
    return f"{size} bytes"


def duration_text(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="17" cy="5.5" r="3.5" fill="#e03131"/>'
    '<path d="M16 10l-2 9-5 9M14 19l7 3-1 7M8 17l5-5 5 1 4 4" fill="none" stroke="#e03131" stroke-width="3" '
    'stroke-linecap="round" stroke-linejoin="round"/></svg>'
)
