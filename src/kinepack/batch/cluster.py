"""Units of work on Dask: a cluster of this machine's processes, or any scheduler by its address."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

from kinepack.batch.inputs import Input
from kinepack.batch.work import BatchSettings, Outcome, process
from kinepack.errors import ConfigError, IOFailure

UNIT_BYTES = 1 << 19
UNIT_FILES = 8
"""Small files share a unit, so that a unit's overhead does not matter; more would lose more to a crash."""
AHEAD = 3
"""Units handed out for each thread of the cluster: enough to keep it busy, few enough to keep memory small."""
ANY_PORT = "127.0.0.1:0"
"""For Dask's status page: its own port may be taken by another cluster, which is no reason to complain."""
PATIENCE_S = 60
"""How long a scheduler may have no worker."""

Unit = tuple[Input, ...]


def units_of(inputs: Sequence[Input]) -> list[Unit]:
    """Inputs by bytes, the largest first: a giant starts at once and the small ones fill the gaps."""
    units: list[Unit] = []
    open_unit: list[Input] = []
    for item in sorted(inputs, key=lambda item: (-item.size, item.name)):
        if open_unit and (len(open_unit) == UNIT_FILES or sum(i.size for i in open_unit) + item.size > UNIT_BYTES):
            units.append(tuple(open_unit))
            open_unit = []
        open_unit.append(item)
    return [*units, tuple(open_unit)] if open_unit else units


def outcomes(
    inputs: Sequence[Input], settings: BatchSettings, *, scheduler: str | None = None, workers: int | None = None
) -> Iterator[Outcome]:
    """What becomes of every input, as it is done; `workers=0` works in this process, without Dask."""
    units = units_of(inputs)
    if workers == 0 and scheduler is None:
        for unit in units:
            for item in unit:
                yield from process([item], settings)
        return
    if not units:
        return
    with _client(scheduler, workers, len(units)) as client:
        yield from _over(client, units, settings)


@contextlib.contextmanager
def _client(scheduler: str | None, workers: int | None, units: int) -> Iterator[Any]:
    distributed = _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a worker's death is ours to tell
    with contextlib.ExitStack() as stack:
        try:
            if scheduler is None:
                count = min(workers or _cores(), units)
                cluster = distributed.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    dashboard_address=ANY_PORT,
                    silence_logs=logging.CRITICAL,
                )
                client = distributed.Client(stack.enter_context(cluster))
            else:
                client = distributed.Client(scheduler, timeout=10)
            stack.enter_context(client)
            client.wait_for_workers(1, timeout=PATIENCE_S)
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            where = scheduler or "the local cluster"
            hint = "start one with: dask scheduler, then: dask worker ADDRESS" if scheduler else ""
            raise IOFailure(f"cannot reach {where}: {error or type(error).__name__}", hint=hint) from None
        yield client


def _over(client: Any, units: list[Unit], settings: BatchSettings) -> Iterator[Outcome]:
    """Hands out units as workers become free. A unit whose worker dies is tried again, then input by input."""
    distributed = _distributed()
    waiting = list(reversed(units))
    pending: dict[Any, Unit] = {}
    done = distributed.as_completed()

    def hand_out() -> None:
        room = AHEAD * max(1, sum(client.nthreads().values()))
        while waiting and len(pending) < room:
            unit = waiting.pop()
            future = client.submit(process, unit, settings, pure=False, priority=len(waiting))
            pending[future] = unit
            done.add(future)

    hand_out()
    while pending:
        future = next(done)
        unit = pending.pop(future)
        yield from _collect(future, unit, waiting)
        hand_out()


def _collect(future: Any, unit: Unit, waiting: list[Unit]) -> list[Outcome]:
    """The outcomes of a unit, or its inputs put back one by one if it took its workers down."""
    try:
        result: list[Outcome] = future.result()
        return result
    except _distributed().KilledWorker:
        if len(unit) > 1:
            waiting.extend((item,) for item in unit)
            return []
        return [Outcome(unit[0].name, error="every worker that tried it died", hint="it may need more memory")]
    except (ImportError, AttributeError) as error:
        raise IOFailure(f"the workers cannot run Kinepack: {error}", hint="install the same version there") from None
    except Exception as error:  # the cluster itself failed: what is done is kept
        reason = f"{type(error).__name__}: {error}"
        raise IOFailure(f"the cluster failed: {reason}", hint="run again to go on where it stopped") from None
    finally:
        future.release()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        hint = 'pip install "kinepack[batch]", or --workers 0 to work in one process'
        raise ConfigError("running on several workers needs Dask", hint=hint) from None
    return distributed
