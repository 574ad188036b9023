"""Progress: the step that a command is at, on stderr, once it has been silent for two seconds.

On a terminal it is one line of rich, which goes before anything else is printed. Elsewhere it is a plain line now and
then. A command that answers at once shows nothing.
"""

from __future__ import annotations

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


class _Steps:
    """The step that a command is at, as listeners hear of it, and as it is shown."""

    def __init__(self) -> None:
        self.step, self.compiles, self.share = "", False, 0.0
        self.silent_since = time.monotonic()
        self.bar: Progress | None = None
        self.lock, self.ended = threading.RLock(), threading.Event()

    def update(self, step: str | None, share: float | None) -> None:
        """A step begins, of whose series a share is done; None: something else is printed now, and the line goes."""
        with self.lock:
            if not step:
                if self.bar is not None:
                    self.bar.stop()
                self.bar, self.silent_since = None, time.monotonic()
            if step is not None:
                self.step, self.share = step, share or 0.0

    def compile(self, busy: bool) -> None:
        self.compiles = busy

    def watch(self, command: str) -> None:
        """Show the step until the command has ended."""
        begin, last_line = time.monotonic(), 0.0
        while not self.ended.wait(max(PATIENCE_S / 8, 0.01)):
            with self.lock, suppress(OSError, ValueError):  # nobody reads a closed stderr
                if self.ended.is_set() or not self.step or time.monotonic() - self.silent_since < PATIENCE_S:
                    continue
                words = f"{command}: {plain(self.step)}{' (compiling)' if self.compiles else ''}"
                if sys.stderr.isatty():
                    self.bar = self.bar or _bar()
                    self.bar.update(self.bar.task_ids[0], description=words, completed=self.share)
                elif time.monotonic() - last_line >= LINES_S:
                    last_line = time.monotonic()
                    warn(f"{words}, {duration(last_line - begin)} so far")


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), TimeElapsedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("", total=1.0)
    bar.start()
    return bar


@contextmanager
def progress(command: str) -> Iterator[None]:
    """Show the steps of a command inside the `with` block."""
    steps = _Steps()
    with listening(steps.update), compiling.listening(steps.compile):
        # in a thread: the work may be inside compiled code for minutes
        threading.Thread(target=steps.watch, args=(command,), daemon=True).start()
        try:
            yield
        finally:
            with steps.lock, suppress(OSError, ValueError):
                steps.ended.set()
                steps.update(None, None)
