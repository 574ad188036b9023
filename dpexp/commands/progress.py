"""Progress: the step that a command is at, on stderr, once it has been silent for two seconds.

On a terminal it is one line that rich redraws and that goes before anything else is printed. Elsewhere it is a plain
line now and then. A command that answers at once shows nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dpexp.core.terminal import compiling, listening, plain
from dpexp.core.text import duration

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_S = 2.0
"""of silence before the first word"""
LINES_S = 5.0
"""between two lines, where there is no terminal"""


class ProgressLine:
    """Shows the steps of a command while it is entered."""

    def __init__(self, command: str) -> None:
        self.command, self.step = command, "at work"
        self.done: float | None = None
        self.is_compiling = False
        self.begin = self.silent_since = time.monotonic()
        self.last_line = 0.0
        self.shown = False
        self.live: Progress | None = None
        self.lock = threading.RLock()
        self.timer: threading.Timer | None = None
        self.listeners = ExitStack()

    def __enter__(self) -> ProgressLine:
        self.listeners.enter_context(listening(self.update))
        self.listeners.enter_context(compiling.listening(self._compiling))
        self._wait(PATIENCE_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.listeners.close()
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
            self._stop()
            self.timer = None

    def update(self, step: str | None, done: float | None) -> None:
        """A step begins, of which a share is done; None: something else is printed now."""
        with self.lock:
            if not step:
                self._stop()
                self.silent_since = time.monotonic()
            if step is not None:
                self.step, self.done = step, done
            if self.shown:
                self._draw()

    def _compiling(self, busy: bool) -> None:
        with self.lock:
            self.is_compiling = busy
            if self.shown:
                self._draw()

    def _wait(self, seconds: float) -> None:
        """Look again after so many seconds, from a thread: the work may be inside compiled code for minutes."""
        self.timer = threading.Timer(seconds, self._show)
        self.timer.daemon = True
        self.timer.start()

    def _show(self) -> None:
        with self.lock:
            # the command has ended meanwhile
            if self.timer is None:
                return
            silent = time.monotonic() - self.silent_since
            if self.step and not self.shown and silent >= PATIENCE_S:
                self.shown = True
                self._draw()
            self._wait(max(PATIENCE_S - silent, PATIENCE_S / 4))

    def _draw(self) -> None:
        step = f"{self.command}: {self.step}{' (compiling)' if self.is_compiling else ''}"
        words = plain(step).encode(getattr(sys.stderr, "encoding", None) or "utf-8", "backslashreplace").decode("utf-8")
        # nobody reads a closed stderr
        with suppress(OSError, ValueError):
            # a dumb terminal has no way back to the beginning of a line
            if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
                self._redraw(words)
            elif (now := time.monotonic()) - self.last_line >= LINES_S:
                self.last_line = now
                sys.stderr.write(f"{words}, {duration(now - self.begin)} so far\n")
                sys.stderr.flush()

    def _redraw(self, words: str) -> None:
        from rich.console import Console
        from rich.progress import Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        if self.live is None:
            columns = TextColumn("{task.description}", markup=False), TimeElapsedColumn(), TimeRemainingColumn()
            self.live = Progress(*columns, console=Console(file=sys.stderr), transient=True,
                                 redirect_stdout=False, redirect_stderr=False)  # fmt: skip
            self.live.add_task(words, total=None)
            self.live.start()
        task = self.live.tasks[0]
        # a series begins: its pace is not known yet
        if self.done == 0.0:
            self.live.reset(task.id)
        total = None if self.done is None else 1.0
        self.live.update(task.id, description=words, total=total, completed=self.done or 0.0)

    def _stop(self) -> None:
        self.shown = False
        if self.live is not None:
            with suppress(OSError, ValueError):
                self.live.stop()
            self.live = None


def shown(command: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """The body of a command, with progress; without, where its result is one JSON document, or `-q` is given."""

    @wraps(body)
    def patient(**options: Any) -> Any:
        # Who asks for JSON is a program, to which progress says nothing.
        if options.get("as_json") or options.get("quiet") or options.get("form") == "json":
            return body(**options)
        with ProgressLine(command):
            return body(**options)

    return patient
