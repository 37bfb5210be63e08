"""The papers' CMU clips, found by frame count and description: the papers name no ids."""

from __future__ import annotations

import os
from pathlib import Path

from kinepack.api import read
from kinepack.errors import UsageError
from kinepack.model import Clip

CMU = {
    "jog": "16_46",
    "run-leap": "49_04",
    "stride": "08_05",
    "walk": "02_01",
    "jump": "13_39",
    "basketball": "06_04",
    "forward-jump": "13_11",
    "dance": "05_03",
    "play_violin": "79_17",
    "sword play": "02_07",
    "fancy foot": "85_04",
    "exercise": "14_14",
    "walk, climb": "01_07",
}
"""Name in the BAP papers -> CMU clip."""


def data_folder(given: Path | None = None) -> Path:
    """The folder of motion files: as given, or $KINEPACK_DATA."""
    folder = given or (Path(os.environ["KINEPACK_DATA"]) if os.environ.get("KINEPACK_DATA") else None)
    if folder is None or not folder.is_dir():
        raise UsageError("where are the CMU files?", hint="pass --data FOLDER or set KINEPACK_DATA")
    return folder


def paper_clip(name: str, folder: Path) -> Clip:
    """A clip by its name in the papers, from the AMC files anywhere under the folder."""
    wanted = f"{CMU[name]}.amc"
    found = sorted(path for path in folder.rglob("*") if path.name.lower() == wanted)
    if not found:
        raise UsageError(f"{folder} has no {wanted}", hint="the clips are at mocap.cs.cmu.edu")
    clip = read(found[0])
    if not isinstance(clip, Clip):
        raise UsageError(f"{found[0]} is not a motion")
    return clip
