"""Many files at once: found, compressed on any number of workers, verified, and never done twice."""

from kinepack.batch.inputs import Input, find_inputs
from kinepack.batch.running import Status, Summary, run_batch
from kinepack.batch.work import BatchSettings

__all__ = ["BatchSettings", "Input", "Status", "Summary", "find_inputs", "run_batch"]
