"""A development server for `.kine` files and live streams, and the clients of those streams.

`create_app` makes the ASGI application, `Running` runs it in a thread, `kinepack.serve.client.watch` looks on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinepack.serve.settings import ServeSettings

if TYPE_CHECKING:
    from kinepack.serve.app import create_app
    from kinepack.serve.run import Running

__all__ = ["Running", "ServeSettings", "create_app"]


def __getattr__(name: str) -> Any:
    # The server's own dependencies are optional and slow to import: a viewer needs neither.
    if name == "create_app":
        from kinepack.serve.app import create_app

        return create_app
    if name == "Running":
        from kinepack.serve.run import Running

        return Running
    raise AttributeError(name)
