"""Progress: the step that a command is at, on stderr, once it has been silent for two seconds.

On a terminal it is one line, which is erased before anything else is printed. Elsewhere it is a plain line now and
then. A command that answers at once shows nothing.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dpexp.core.terminal import compiling, listening, plain, warn
from dpexp.core.text import duration

PATIENCE_S = 2.0
"""of silence before the first word"""
LINES_S = 5.0
"""between two lines, where there is no terminal"""
ERASE = "\r\x1b[2K"


class _Steps:
    """The step that a command is at, as listeners hear of it, and as it is shown."""

    def __init__(self) -> None:
        self.step, self.compiles, self.visible, self.silent_since = "", False, False, time.monotonic()
        self.lock, self.ended = threading.RLock(), threading.Event()

    def update(self, step: str | None) -> None:
        """A step begins; None: something else is printed now, and the line goes."""
        with self.lock:
            if not step:
                self._draw("")
                self.silent_since = time.monotonic()
            self.step = self.step if step is None else step

    def compile(self, busy: bool) -> None:
        self.compiles = busy

    def watch(self, command: str) -> None:
        """Show the step until the command has ended."""
        begin, last_line = time.monotonic(), 0.0
        while not self.ended.wait(max(PATIENCE_S / 8, 0.01)):
            with self.lock, suppress(ValueError):  # of a closed stderr
                now = time.monotonic()
                if self.ended.is_set() or not self.step or now - self.silent_since < PATIENCE_S:
                    continue
                words = f"{command}: {plain(self.step)}{' (compiling)' if self.compiles else ''}"
                words += f", {duration(now - begin)} so far"
                if sys.stderr.isatty():
                    # a line that wraps could not be erased
                    self._draw(words[: shutil.get_terminal_size().columns - 1])
                elif now - last_line >= LINES_S:
                    last_line = now
                    warn(words)

    def _draw(self, words: str) -> None:
        if words or self.visible:
            with suppress(OSError, ValueError):  # nobody reads a closed stderr
                print(end=ERASE + words, file=sys.stderr, flush=True)
        self.visible = bool(words)


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
            with steps.lock:
                steps.ended.set()
                steps.update(None)
