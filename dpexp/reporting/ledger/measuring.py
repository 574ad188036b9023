"""What a piece of work costs: its time, and the most memory that the process had while it ran."""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_FORGET_PEAK = "5"
"""what Linux is told so that the peak begins anew"""


class Cost(NamedTuple):
    """Seconds of a clock and of processors, and mebibytes of memory."""

    wall_s: float
    cpu_s: float
    memory_mb: float


class Meter:
    """Measures what is done inside its `with` block; not to be nested, since a process has one peak of memory."""

    cost = Cost(0.0, 0.0, 0.0)

    def __enter__(self) -> Self:
        with suppress(OSError):
            _RESET.write_text(_FORGET_PEAK)
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cost = Cost(time.perf_counter() - self._wall, time.process_time() - self._cpu, peak_mb())


def cost_apart(work: Callable[[], object]) -> Cost:
    """What some work costs in a process of its own, so that one piece of work leaves nothing behind for the next.

    The memory counts that of this process too, of which the new one is a copy: call it from one that has done little.
    Its outcome is dropped. Raises RuntimeError where it fails.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with Meter() as meter:
                work()
            os.write(writing, json.dumps(meter.cost).encode())
        finally:
            os._exit(0)  # nothing that this process prepared for its end may happen twice
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        told = answer.read()
    os.waitpid(child, 0)
    if not told:
        raise RuntimeError("what was to be measured failed")
    return Cost(*json.loads(told))


def peak_mb() -> float:
    """The most memory of this process since it began, or on Linux since a Meter began; in MiB."""
    with suppress(OSError):
        if found := re.search(r"VmHWM:\s*(\d+) kB", _STATUS.read_text()):
            return int(found[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
