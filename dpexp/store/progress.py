"""Progress on stderr: a bar on a terminal, else a plain line now and then, nothing when quiet.

While the kernels of an experiment are compiled there is no progress to show, so it says "compiling". Of experiments
that are on their way at the same time only the first is shown.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack
from typing import Any

from dpexp.core.terminal import warn
from dpexp.core.text import duration
from dpexp.engine.compiling import listening

PATIENCE = 2.0
"""seconds that a compilation may take before a line says so, where there is no bar"""


_open: list[Progress] = []
"""in the order in which they were opened; the first is shown"""


class Progress:
    """Counts work in replicate-steps of one experiment; use as a context manager."""

    def __init__(self, name: str, total: float, quiet: bool) -> None:
        self.name, self.total, self.done = name, max(total, 1.0), 0.0
        self.begin = self.last = time.monotonic()
        self.before = 0.0
        """what was done before it was shown"""
        self.bar: Any = None
        self.quiet = quiet
        self.compiling_since = 0.0
        self.timer = threading.Timer(0.0, str)  # one that never starts
        self.open = ExitStack()

    @property
    def shown(self) -> bool:
        """Whether it is its turn."""
        return _open[:1] == [self]

    def __enter__(self) -> Progress:
        self.open.enter_context(listening(self.compiling))
        _open.append(self)
        if self.shown:
            self.show()
        return self

    def show(self) -> None:
        """Show what is done, from now on."""
        self.begin = self.last = time.monotonic()
        self.before = self.done
        if not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[share]}"),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
            )
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(self.name, total=self.total, completed=self.done, share=self.share(), rate="")

    def compiling(self, busy: bool) -> None:
        """A compilation begins or has ended. Its time is not work, so the rate and the time that is left ignore it."""
        now = time.monotonic()
        self.timer.cancel()
        if busy:
            self.compiling_since = now
            if self.bar is None and self.shown and not self.quiet:
                self.timer = threading.Timer(PATIENCE, warn, [f"{self.name}: compiling"])
                self.timer.daemon = True
                self.timer.start()
        else:
            self.begin += now - max(self.begin, self.compiling_since)
        if self.bar is not None:
            self.bar.update(self.task, share="compiling" if busy else self.share())

    def share(self) -> str:
        """How much is done: 12%."""
        return f"{self.done / self.total:.0%}"

    def advance(self, work: float) -> None:
        """Some work has been done."""
        self.done += work
        now = time.monotonic()
        if self.bar is not None:
            self.bar.update(self.task, advance=work, share=self.share(), rate=self.rate(now))
        elif self.shown and not self.quiet and now - self.last > 5 and self.done < self.total:
            self.last = now
            left = (now - self.begin) * (self.total - self.done) / (self.done - self.before)
            warn(f"{self.name}: {self.share()}, {self.rate(now)}, {duration(left)} left")

    def rate(self, now: float) -> str:
        """Replicate-steps of all settings a second: 27 k steps/s, 140 M steps/s."""
        speed = (self.done - self.before) / max(now - self.begin, 1e-9)
        size, unit = next(((s, u) for s, u in ((1e6, " M"), (1e3, " k")) if speed >= s), (1.0, ""))
        return f"{speed / size:.{0 if speed / size >= 10 else 1}f}{unit} steps/s"

    def __exit__(self, *exception: object) -> None:
        self.open.close()
        self.timer.cancel()
        if self.bar is not None:
            self.bar.stop()
        was_shown = self.shown
        _open.remove(self)
        if was_shown and _open:
            _open[0].show()
