"""The `kinepack` command: `main` is its entry point."""

from __future__ import annotations


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    import os
    import warnings

    from kinepack.cli.app import app

    if not os.environ.get("KINEPACK_DEBUG"):
        warnings.simplefilter("ignore")  # a library's warning is no message to the user of a tool
    app(prog_name="kinepack")


__all__ = ["main"]
