"""Where output goes: data to stdout, words to stderr, bars to a terminal only."""

from __future__ import annotations

import io
import json
import math
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from kinepack.codecs.base import Progress

PATIENCE_S = 0.7
"""A bar appears only when the work lasts longer than this."""
PIPED_WIDTH = 1000
"""A piped table is as wide as its content: nothing is folded or cut."""
STYLES = {
    "error": "bold red",
    "internal error": "bold red",
    "hint": "cyan",
    "lost": "yellow",
    "coarser": "yellow",
    "note": "yellow",
}


_drawing: list[Console] = []
"""The console of the bar on show: words printed through it go above the bar."""


def ready_streams() -> None:
    """What goes to a closed stream goes nowhere; what a stream cannot encode is written as an escape."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.TextIOWrapper(io.BytesIO()))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def words() -> Console:
    """stderr, made anew so that a redirected stream is honoured."""
    from rich.console import Console

    if _drawing:
        return _drawing[-1]
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str, *, label: str = "") -> None:
    """One line to people."""
    from rich.text import Text

    line = Text(f"{label}: ", style=STYLES[label]) if label else Text()
    line.append(one_line(text), style="default")
    words().print(line)


def complain(message: str, hint: str = "", *, label: str = "error") -> None:
    """`error: …`, and `hint: …` if there is one."""
    say(message, label=label)
    if hint:
        say(hint, label="hint")


def one_line(text: str) -> str:
    return " ".join(text.split())


def emit_json(value: Any) -> None:
    """One line of strict JSON; a number that is not finite is null."""
    any_text = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
    sys.stdout.write(json.dumps(plain(value), allow_nan=False, ensure_ascii=not any_text) + "\n")
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """The value with everything JSON cannot hold replaced."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def emit_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", left: int = 1) -> None:
    """A table on stdout; the first `left` columns hold words, the others numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        style = "cyan" if index == 0 else None
        table.add_column(column, justify="left" if index < left else "right", style=style, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else PIPED_WIDTH, highlight=False)
    with console.capture() as drawn:  # written by us: rich would end the process at a broken pipe
        console.print(table)
    sys.stdout.write(drawn.get())


def number(value: float) -> str:
    """Four significant digits."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


@contextmanager
def progress(title: str, *, printing: bool = False) -> Iterator[Progress]:
    """A transient bar on stderr for work that takes its time; gives the function that moves it.

    There is none while the work is `printing` to the same terminal.
    """
    if not sys.stderr.isatty() or (printing and sys.stdout.isatty()):
        yield lambda fraction: None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    # rich would send what is printed to stdout meanwhile to the bar's stream, that is to stderr.
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=words(), transient=True, redirect_stdout=False, redirect_stderr=False)
    _drawing.append(bar.console)
    task = bar.add_task(title, total=None)
    later = threading.Timer(PATIENCE_S, bar.start)
    later.daemon = True
    later.start()
    try:
        yield lambda fraction: bar.update(task, total=1.0, completed=fraction)
    finally:
        later.cancel()
        later.join()  # it may be starting the bar just now
        bar.stop()
        _drawing.pop()
