"""Progress: the step that a command is at, on stderr, once it has been silent for two seconds.

On a terminal it is one line of rich that is drawn again, and that goes before anything else is printed. Elsewhere it is
a plain line now and then. A command that answers at once shows nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dpexp.core.terminal import compiling, listening, plain, warn
from dpexp.core.text import duration

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_S = 2.0
"""of silence before the first word"""
LINES_S = 5.0
"""between two lines, where there is no terminal"""


class _Line:
    """The step that a command is at, as listeners hear of it, and as it is shown."""

    def __init__(self, command: str) -> None:
        self.command, self.step, self.compiles = command, "", False
        self.share: float | None = None
        self.begin = self.silent_since = time.monotonic()
        self.last_line = 0.0
        self.bar: Progress | None = None
        self.lock, self.ended = threading.RLock(), threading.Event()

    def update(self, step: str | None, share: float | None) -> None:
        """A step begins, of whose series a share is done; None: something else is printed now."""
        with self.lock:
            if not step:
                self.clear()
            if step is not None:
                self.step, self.share = step, share

    def compile(self, busy: bool) -> None:
        """A compilation begins or has ended."""
        self.compiles = busy

    def clear(self) -> None:
        """Take the line away, and be silent for a while."""
        if self.bar is not None:
            self.bar.stop()
        self.bar, self.silent_since = None, time.monotonic()

    def watch(self) -> None:
        """Show the step until the command has ended."""
        while not self.ended.wait(max(PATIENCE_S / 8, 0.01)):
            with self.lock, suppress(OSError, ValueError):  # nobody reads a closed stderr
                if not self.ended.is_set() and self.step and time.monotonic() - self.silent_since >= PATIENCE_S:
                    self._show(f"{self.command}: {plain(self.step)}{' (compiling)' if self.compiles else ''}")

    def _show(self, words: str) -> None:
        # a dumb terminal has no way back to the beginning of a line
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            if self.bar is None:
                self.bar = _bar()
            task = self.bar.tasks[0].id
            self.bar.update(task, description=words, completed=self.share or 0, total=self.share and 1)
        elif time.monotonic() - self.last_line >= LINES_S:
            self.last_line = time.monotonic()
            warn(f"{words}, {duration(self.last_line - self.begin)} so far")


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), TimeElapsedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("")
    bar.start()
    return bar


@contextmanager
def progress(command: str) -> Iterator[None]:
    """Show the steps of a command inside the `with` block."""
    line = _Line(command)
    with listening(line.update), compiling.listening(line.compile):
        # in a thread: the work may be inside compiled code for minutes
        threading.Thread(target=line.watch, daemon=True).start()
        try:
            yield
        finally:
            with line.lock, suppress(OSError, ValueError):
                line.ended.set()
                line.clear()
