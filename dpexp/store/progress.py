"""Progress on stderr: a bar on a terminal, else a plain line now and then, nothing when quiet."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from dpexp.core.terminal import warn


class Progress:
    """Counts work in replicate-steps of one experiment; use as a context manager."""

    def __init__(self, name: str, total: float, quiet: bool) -> None:
        self.name, self.total, self.done = name, max(total, 1.0), 0.0
        self.begin = self.last = time.monotonic()
        self.bar: Any = None
        self.quiet = quiet

    def __enter__(self) -> Progress:
        if not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:3.0f}%"),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
            )
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(self.name, total=self.total, rate="")
        return self

    def advance(self, work: float) -> None:
        """Some work has been done."""
        self.done += work
        now = time.monotonic()
        if self.bar is not None:
            self.bar.update(self.task, advance=work, rate=self.rate(now))
        elif not self.quiet and now - self.last > 5 and self.done < self.total:
            self.last = now
            left = (now - self.begin) * (self.total / self.done - 1)
            warn(f"{self.name}: {self.done / self.total:.0%}, {self.rate(now)}, {duration(left)} left")

    def rate(self, now: float) -> str:
        """Replicate-steps of all settings a second: 27 k steps/s, 140 M steps/s."""
        speed = self.done / max(now - self.begin, 1e-9)
        size, unit = next(((s, u) for s, u in ((1e6, " M"), (1e3, " k")) if speed >= s), (1.0, ""))
        return f"{speed / size:.{0 if speed / size >= 10 else 1}f}{unit} steps/s"

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def duration(seconds: float) -> str:
    """A time in words: 0.4 s, 12 s, 3 min 20 s, 2 h 05 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
