"""Run by `energy.count_decoding` under callgrind: calls native decoders and nothing else. Imports no numpy."""

from __future__ import annotations

import gc
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def load_native(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("_native", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call_of(native: Any, job: dict[str, Any]) -> Callable[[], int]:
    """The kernel call of a job, with all its buffers made beforehand."""
    lib, new = native.lib, native.ffi.new
    raw = Path(job["file"]).read_bytes()[job.get("skip", 0) :]
    data, size, width = new("uint8_t[]", raw), len(raw), job["width"]
    if job["kernel"] == "float":
        symbols, tables = new("uint16_t[]", 4 * job["frames"] * width), new("uint32_t[257]")
        out = new("float[]", job["frames"] * width)
        return lambda: int(lib.kp_float_frames_decode(data, size, job["frames"], width, symbols, tables, out))
    if job["kernel"] == "fba":
        return fba_call(native, job, data, size)
    table, out = new("float[]", 1 << job["bits"]), new("float[]", (job["rows"] + 1) * width)
    shape = (job["rows"], width, job["fdf"], job["bits"], job["n_d"])
    if job["kernel"] == "indexed":
        return lambda: int(lib.kp_indexed_decode(data, size, *shape, table, out))
    columns = new("uint32_t[]", 2 * width)
    return lambda: int(lib.kp_sparse_indexed_decode(data, size, *shape, job["half"], table, columns, out))


def fba_call(native: Any, job: dict[str, Any], data: Any, size: int) -> Callable[[], int]:
    new, count = native.ffi.new, len(job["columns"])
    groups, steps, columns = (
        new("uint8_t[]", job["groups"]),
        new("int32_t[]", job["steps"]),
        new("int32_t[]", job["columns"]),
    )
    scratch, values = new("uint32_t[]", 3722 * count), new("int32_t[]", job["frames"] * job["width"])
    frames, used, rate = new("size_t *"), new("uint8_t[]", count), new("uint32_t *")
    arguments = (data, size, count, groups, len(job["groups"]), steps, columns, job["width"], scratch, 3722 * count,
                 values, job["frames"], frames, used, rate)  # fmt: skip
    return lambda: int(native.lib.kp_fba_decode(*arguments))


def main(plan_path: str, paths: list[str]) -> int:
    sys.path += paths
    plan = json.loads(Path(plan_path).read_text())
    native = load_native(plan["native"])
    gc.disable()
    calls = [call_of(native, job) for job in plan["jobs"]]
    return max((abs(call()) for _ in range(plan["repeats"]) for call in calls), default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
