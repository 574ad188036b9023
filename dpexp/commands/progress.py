"""Progress: the step that a command is at, on stderr, once it has been silent for two seconds.

On a terminal it is one line that is drawn again, and that goes before anything else is printed. Elsewhere it is a plain
line now and then. A command that answers at once shows nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dpexp.core.terminal import compiling, listening, plain
from dpexp.core.text import duration

PATIENCE_S = 2.0
"""of silence before the first word"""
LINES_S = 5.0
"""between two lines, where there is no terminal"""
CLEAR = "\r\x1b[2K"


class _Line:
    """The step that a command is at, as listeners hear of it, and as it is drawn."""

    def __init__(self, command: str) -> None:
        self.command, self.step, self.compiles = command, "at work", False
        self.done: float | None = None
        self.begin = self.series_begin = self.silent_since = time.monotonic()
        self.last_line, self.shown = 0.0, False
        self.lock, self.ended = threading.RLock(), threading.Event()

    def update(self, step: str | None, done: float | None) -> None:
        """A step begins, of which a share is done; None: something else is printed now."""
        with self.lock:
            if not step:
                self.clear()
            if step is not None:
                self.step, self.done = step, done
                # a series begins: its pace is not known yet
                self.series_begin = time.monotonic() if done == 0.0 else self.series_begin

    def compiling(self, busy: bool) -> None:
        """A compilation begins or has ended."""
        self.compiles = busy

    def watch(self) -> None:
        """Draw until the command has ended."""
        while not self.ended.wait(max(PATIENCE_S / 8, 0.01)):
            with self.lock:
                silent = time.monotonic() - self.silent_since
                if not self.ended.is_set() and self.step and silent >= PATIENCE_S:
                    self._draw(time.monotonic())

    def clear(self) -> None:
        """Take the line away, and be silent for a while."""
        if self.shown:
            _write(CLEAR)
        self.shown, self.silent_since = False, time.monotonic()

    def _draw(self, now: float) -> None:
        step = f"{self.command}: {self.step}{' (compiling)' if self.compiles else ''}"
        words = plain(step).encode(getattr(sys.stderr, "encoding", None) or "utf-8", "backslashreplace").decode("utf-8")
        words += f", {duration(now - self.begin)} so far"
        if _on_terminal():
            left = f", {duration((now - self.series_begin) * (1 / self.done - 1))} left" if self.done else ""
            _write(CLEAR + f"{words}{left}"[: shutil.get_terminal_size().columns - 1])
            self.shown = True
        elif now - self.last_line >= LINES_S:
            self.last_line = now
            _write(f"{words}\n")


@contextmanager
def progress(command: str) -> Iterator[None]:
    """Show the steps of a command inside the `with` block."""
    line = _Line(command)
    with listening(line.update), compiling.listening(line.compiling):
        # in a thread: the work may be inside compiled code for minutes
        threading.Thread(target=line.watch, daemon=True).start()
        try:
            yield
        finally:
            with line.lock:
                line.ended.set()
                line.clear()


def _on_terminal() -> bool:
    """Whether a line can be drawn again; a dumb terminal has no way back to its beginning."""
    with suppress(ValueError):
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return False


def _write(text: str) -> None:
    # nobody reads a closed stderr
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
