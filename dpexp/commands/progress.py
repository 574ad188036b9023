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

from dpexp.core.terminal import listening, plain, warn
from dpexp.core.text import duration

if TYPE_CHECKING:
    from rich.live import Live

PATIENCE_S = 2.0
"""of silence before the first word"""
LINES_S = 5.0
"""between two lines, where there is no terminal"""


class _Steps:
    """The step that a command is at, as it is reported, and as it is shown."""

    def __init__(self) -> None:
        self.step, self.silent_since = "", time.monotonic()
        self.line: Live | None = None
        self.lock, self.ended = threading.RLock(), threading.Event()

    def update(self, step: str | None) -> None:
        """A step begins; None: something else is printed now, and the line goes."""
        with self.lock:
            if not step:
                if self.line is not None:
                    self.line.stop()
                self.line, self.silent_since = None, time.monotonic()
            self.step = self.step if step is None else step

    def watch(self, command: str) -> None:
        """Show the step until the command has ended."""
        begin, last_line = time.monotonic(), 0.0
        while not self.ended.wait(max(PATIENCE_S / 8, 0.01)):
            with self.lock, suppress(OSError, ValueError):  # nobody reads a closed stderr
                now = time.monotonic()
                if self.ended.is_set() or not self.step or now - self.silent_since < PATIENCE_S:
                    continue
                words = f"{command}: {plain(self.step)}, {duration(now - begin)} so far"
                if sys.stderr.isatty():
                    self._draw(words)
                elif now - last_line >= LINES_S:
                    last_line = now
                    warn(words)

    def _draw(self, words: str) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if self.line is None:
            # what is printed to stdout stays there
            self.line = Live(console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
            self.line.start()
        self.line.update(Text(words))


@contextmanager
def progress(command: str) -> Iterator[None]:
    """Show the steps of a command inside the `with` block."""
    steps = _Steps()
    with listening(steps.update):
        # in a thread: the work may be inside compiled code for minutes
        threading.Thread(target=steps.watch, args=(command,), daemon=True).start()
        try:
            yield
        finally:
            with steps.lock, suppress(OSError, ValueError):
                steps.ended.set()
                steps.update(None)
