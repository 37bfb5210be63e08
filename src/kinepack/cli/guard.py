"""What stands between a command and the shell: every failure is one line, a hint and an exit code."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec

import typer

from kinepack.cli.console import complain
from kinepack.errors import IOFailure, KinepackError

P = ParamSpec("P")

INTERNAL, NO_MEMORY, INTERRUPTED, BROKEN_PIPE = 70, 71, 130, 141
"""Exit codes beside those of the error classes: sysexits' EX_SOFTWARE and EX_OSERR, 128 + the signals' numbers."""


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command with its exceptions turned into messages and exit codes."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()  # so that a broken pipe is met here and not at the interpreter's end
        except (Exception, KeyboardInterrupt) as error:
            # typer's own ways out (usage errors, Exit) know how to show themselves.
            if type(error).__module__.partition(".")[0] in ("typer", "click"):
                raise
            code = explain(error)
        else:
            return
        raise typer.Exit(code)

    return run


def explain(error: BaseException) -> int:
    """Says what happened, in the user's words, and returns the exit code."""
    if os.environ.get("KINEPACK_DEBUG") and not isinstance(error, (BrokenPipeError, KeyboardInterrupt)):
        raise error
    if isinstance(error, KinepackError):
        complain(error.message, error.hint)
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        silence_stdout()
        return BROKEN_PIPE
    if isinstance(error, MemoryError):
        complain("not enough memory", "work on fewer frames, or on a machine with more memory")
        return NO_MEMORY
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        complain(f"{place}{error.strerror or error}")
        return IOFailure.exit_code
    complain(f"{type(error).__name__}: {error}", "this is a bug; KINEPACK_DEBUG=1 shows where", label="internal error")
    return INTERNAL


def explain_usage(error: Any) -> int:
    """One line for an option or argument that is unknown, missing or of the wrong kind."""
    if not hasattr(error, "format_message"):
        return explain(error)
    if type(error).__name__ == "NoArgsIsHelpError":  # no command at all: the help is the answer
        error.show()
        return int(error.exit_code)
    command = error.ctx.command_path if getattr(error, "ctx", None) else "kinepack"
    complain(error.format_message().rstrip("."), f"{command} --help")
    return int(error.exit_code)


def silence_stdout() -> None:
    """The reader is gone: what is still buffered must not raise again when Python closes stdout."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # stdout is not a real file
        return
