"""Metrics: registered pure functions with unit and direction."""

from kinepack.metrics.base import METRICS, Metric
from kinepack.metrics.joints import joint_error, shell_error
from kinepack.metrics.measure import measure_all, metrics_for
from kinepack.metrics.meshes import d_f
from kinepack.metrics.rate import bits_per_value, bpvf, kbit_per_s

__all__ = [
    "METRICS",
    "Metric",
    "bits_per_value",
    "bpvf",
    "d_f",
    "joint_error",
    "kbit_per_s",
    "measure_all",
    "metrics_for",
    "shell_error",
]
