"""The `kinepack` command: `main` is its entry point."""

from __future__ import annotations


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    import os
    import warnings

    from kinepack.cli.app import app
    from kinepack.cli.console import ready_streams
    from kinepack.cli.guard import explain, explain_usage, silence_stdout

    ready_streams()
    if not os.environ.get("KINEPACK_DEBUG"):
        warnings.simplefilter("ignore")  # a library's warning is no message to the user of a tool
    try:
        raise SystemExit(app(prog_name="kinepack", standalone_mode=False))
    except OSError as error:  # not of a command, which is guarded: the help has nowhere to go
        silence_stdout()
        raise SystemExit(explain(error)) from None
    except Exception as error:  # typer's own: a word on the command line is wrong
        raise SystemExit(explain_usage(error)) from None


__all__ = ["main"]
