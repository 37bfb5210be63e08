"""The reference page of the command line, made from the commands themselves: `python -m kinepack.cli.docs`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import typer

from kinepack.cli.app import EXIT_CODES, GROUP_PANEL, GROUPS, PANELS, app, split_help, word

HEAD = """\
# Command line

Data goes to stdout, words to stderr; `--json` prints what a program can read. `kinepack COMMAND --help` says the
same as this page, which is made by `python -m kinepack.cli.docs > docs/cli.md`.

Errors are one line, `error: …`, mostly with a `hint: …` after it. `KINEPACK_DEBUG=1` shows the traceback as well.
"""


def page() -> str:
    """The whole page as Markdown."""
    known: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    parts = [HEAD, "## Exit codes\n", _table(("code", "meaning"), ((str(c), t) for c, t in EXIT_CODES.items()))]
    for panel, commands in PANELS.items():
        parts.append(f"## {panel}\n")
        for command in commands:
            parts += _section(command, word(command), known[word(command)])
        for group, members in GROUPS.items() if panel == GROUP_PANEL else ():
            for command in members:
                name = word(command)
                parts += _section(command, f"{group} {name}", known[group].commands[name])
    return "\n".join(parts)


def _section(command: Callable[..., None], name: str, parsed: Any) -> list[str]:
    text, examples = split_help(command)
    shown = "```sh\n" + "\n".join(examples) + "\n```\n"
    return [f"### `kinepack {name}`\n", text + "\n", _parameters(parsed), shown]


def _parameters(command: Any) -> str:
    shown = (p for p in command.params if not getattr(p, "hidden", False) and p.name != "help")
    return _table(("parameter", "what"), ((_name(p), _meaning(p)) for p in shown))


def _name(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{param.metavar}`"
    flags = " ".join(f"`{option}`" for option in sorted(param.opts, key=len))
    return f"{flags} `{_escape(param.metavar)}`" if param.metavar else flags


def _meaning(param: Any) -> str:
    needed = param.required and param.param_type_name == "option"
    default = (
        param.default if not (param.required or param.default in (None, False) or param.show_default is False) else None
    )
    notes = ["required"] * needed + ([f"default {getattr(default, 'value', default)}"] if default is not None else [])
    return _escape(param.help or "") + (f" ({', '.join(notes)})" if notes else "")


def _table(head: tuple[str, str], rows: Iterator[tuple[str, str]]) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return re.sub(r"\|", r"\\|", text)


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
