"""One declaration drives validation and the command line's text."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kinepack.codecs.base import codec_from_spec
from kinepack.errors import ConfigError, UnknownCodec
from kinepack.params import from_text, param, quality_axis, to_text, validate


@dataclass(frozen=True)
class Settings:
    bits: int = param(8, "bits an index", low=1, high=16, quality="higher")
    rate: float = param(0.5, "a rate", low=0.0, high=1.0)
    mode: str = param("fast", "which way", choices=("fast", "best"))
    loop: bool = param(False, "close the loop")

    def __post_init__(self) -> None:
        validate(self)


def test_text_round_trip() -> None:
    settings = from_text(Settings, {"bits": "12", "rate": "0.25", "mode": "best", "loop": "on"})
    assert settings == Settings(12, 0.25, "best", True)
    assert to_text(settings) == "bits=12,rate=0.25,mode=best,loop=on"
    assert to_text(Settings()) == ""
    assert quality_axis(Settings) == "bits"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"bits": "0"}, "out of range"),
        ({"bits": "x"}, "whole number"),
        ({"bits": "1.5"}, "whole number"),
        ({"rate": "nan"}, "out of range"),
        ({"mode": "slow"}, "not one of"),
        ({"loop": "maybe"}, "on or off"),
        ({"bit": "3"}, "no setting"),
    ],
)
def test_bad_settings_say_what_is_wrong(given: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        from_text(Settings, given)


def test_unknown_codecs_get_near_matches() -> None:
    with pytest.raises(UnknownCodec) as caught:
        codec_from_spec("delta-lzm")
    assert "delta-lzma" in caught.value.hint
