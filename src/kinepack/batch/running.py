"""A batch from its sources to its summary: what is done is skipped, what fails is set aside, the rest is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kinepack.batch.cluster import outcomes
from kinepack.batch.destination import Destination, destination_of
from kinepack.batch.inputs import Input, find_inputs
from kinepack.batch.journal import Journal
from kinepack.batch.work import BatchSettings, Outcome, current_hashes, digest, key_of
from kinepack.errors import KinepackError, UsageError


@dataclass
class Status:
    """How far a batch is."""

    inputs: int = 0
    total_bytes: int = 0
    done: int = 0
    done_bytes: int = 0
    skipped: int = 0
    failed: int = 0


Watch = Callable[[Status], None]


@dataclass(frozen=True)
class Summary:
    """What a batch came to."""

    inputs: int
    made: int
    skipped: int
    rejected: list[dict[str, str]] = field(default_factory=list)
    rejected_list: str = ""
    """The file that has them, if there are any."""
    source_bytes: int = 0
    raw_bytes: int = 0
    """Frames x numbers x float32 of all finished inputs."""
    kine_bytes: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "ratio": self.raw_bytes / self.kine_bytes if self.kine_bytes else 0.0}


def run_batch(
    sources: Sequence[str],
    dest: str,
    settings: BatchSettings | None = None,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    labels: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Summary:
    """Compresses every motion or mesh file under the sources into a folder, or into one library (`*.kine`).

    May be killed at any moment and run again: finished inputs are known by their content and the settings.
    """
    settings, labels, begin = settings or BatchSettings(), labels or {}, time.perf_counter()
    settings.check()
    place = destination_of(dest)
    inputs = find_inputs(sources, beside=place.folder)
    if not inputs:
        raise UsageError("no motion or mesh file under the sources", hint="kinepack formats lists what is known")
    place.open()
    with Journal(place.journal_path) as journal:
        open_inputs = [item for item in inputs if not _is_done(item, journal, place, settings)]
        status = _status(inputs, open_inputs)
        if watch:
            watch(status)
        rejected = []
        by_name = {item.name: item for item in inputs}
        for outcome in _outcomes(open_inputs, settings, scheduler, workers):
            item = by_name[outcome.name]
            if outcome.error:
                rejected.append({"input": item.place, "error": outcome.error, "hint": outcome.hint})
            else:
                _keep(item, outcome, settings, place, journal)
            _advance(status, item, failed=bool(outcome.error))
            if watch:
                watch(status)
        rejected.sort(key=lambda row: row["input"])
        lost = {row["input"] for row in rejected}
        rows = {i.name: journal.rows[i.name] for i in inputs if i.place not in lost}
        place.finish(rows, labels)
        place.reject(rejected)
    return _summary(inputs, open_inputs, rejected, rows, place, time.perf_counter() - begin)


def _outcomes(
    inputs: Sequence[Input], settings: BatchSettings, scheduler: str | None, workers: int | None
) -> Iterator[Outcome]:
    return outcomes(inputs, settings, scheduler=scheduler, workers=workers)


def _is_done(item: Input, journal: Journal, place: Destination, settings: BatchSettings) -> bool:
    """Whether the same content was finished with the same settings, and the output is still there."""
    row = journal.rows.get(item.name)
    if row is None or row.get("input") != item.place or not isinstance(row.get("hashes"), dict):
        return False
    try:
        hashes = current_hashes(item.place, list(row["hashes"]), settings)
    except (KinepackError, OSError):
        return False
    return key_of(settings, hashes) == row.get("key") and place.holds(row)


def _keep(item: Input, outcome: Outcome, settings: BatchSettings, place: Destination, journal: Journal) -> None:
    """Output first, then its row: a row never tells of a file that is not there."""
    place.store(item.name, outcome.data)
    names = [item.name] if len(outcome.clips) == 1 else _clip_names(item.name, outcome.clips)
    journal.append(
        {
            "name": item.name,
            "input": item.place,
            "key": key_of(settings, outcome.hashes),
            "hashes": dict(outcome.hashes),
            "sha256": digest(outcome.data),
            "library_names": names,
            "stats": [dict(stats) for stats in outcome.stats],
            "source_bytes": item.size,
            "raw_bytes": outcome.raw_bytes,
            "bytes": len(outcome.data),
            "encode_s": round(outcome.encode_s, 4),
            "decode_s": round(outcome.decode_s, 4),
        }
    )


def _clip_names(name: str, clips: Sequence[str]) -> list[str]:
    """Names for the clips of a file that has several; a name that is missing or there twice gets its number."""
    plain = [clip or str(number) for number, clip in enumerate(clips)]
    return [f"{name}/{clip}" if plain.count(clip) == 1 else f"{name}/{clip}.{n}" for n, clip in enumerate(plain)]


def _status(inputs: Sequence[Input], open_inputs: Sequence[Input]) -> Status:
    total, left = sum(i.size for i in inputs), sum(i.size for i in open_inputs)
    skipped = len(inputs) - len(open_inputs)
    return Status(len(inputs), total, skipped, total - left, skipped)


def _advance(status: Status, item: Input, *, failed: bool) -> None:
    status.done += 1
    status.done_bytes += item.size
    status.failed += failed


def _summary(
    inputs: Sequence[Input],
    open_inputs: Sequence[Input],
    rejected: list[dict[str, str]],
    rows: Mapping[str, Mapping[str, Any]],
    place: Destination,
    seconds: float,
) -> Summary:
    return Summary(
        inputs=len(inputs),
        made=len(open_inputs) - len(rejected),
        skipped=len(inputs) - len(open_inputs),
        rejected=rejected,
        rejected_list=str(place.rejected_path) if rejected else "",
        source_bytes=sum(i.size for i in inputs),
        raw_bytes=sum(int(row["raw_bytes"]) for row in rows.values()),
        kine_bytes=sum(int(row["bytes"]) for row in rows.values()),
        seconds=seconds,
    )
