"""What a server is told when it starts: its folder, its token, and every bound it keeps."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class ServeSettings:
    """All of a server's settings; the defaults suit a development machine."""

    root: Path
    """The folder whose `.kine` files are shown."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    """Whoever pushes a live stream or uploads a file must know it."""
    upload: bool = False
    hosts: tuple[str, ...] = LOOPBACK
    """Names that the server answers to, so that no web site can reach it by a name of its own; empty: any."""
    max_upload_bytes: int = 64 << 20
    upload_s: float = 60.0
    """An upload takes no longer than this."""
    max_streams: int = 16
    max_viewers: int = 1000
    """Of all live streams together."""
    queue_packets: int = 32
    """Packets that wait for one viewer; a full queue loses its oldest."""
    queue_bytes: int = 4 << 20
    max_dropped: int = 100
    """A viewer that lost so many packets without once catching up is cut off."""
    stall_s: float = 5.0
    """So is one that took nothing for so long."""
    grace_s: float = 10.0
    """A stream whose source is gone waits so long for it to come back."""
    source_s: float = 30.0
    """A source that sends nothing for so long is gone."""
    download_stall_s: float = 30.0
    """A download that does not move for so long is cut off."""
    max_slow: int = 8
    """Answers that were asked for slowly, all at once: each keeps the server awake for as long as it takes."""
