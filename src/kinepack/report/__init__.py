"""Reports: one HTML text that needs nothing else, made from Result rows and, for the pictures, the models."""

from kinepack.report.html import Comparison, curve_report, write_report
from kinepack.report.picture import overlay_png
from kinepack.report.plots import error_over_time_svg, rate_distortion_svg, sizes_svg

__all__ = [
    "Comparison",
    "curve_report",
    "error_over_time_svg",
    "overlay_png",
    "rate_distortion_svg",
    "sizes_svg",
    "write_report",
]
