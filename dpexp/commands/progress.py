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
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import wraps
from types import TracebackType
from typing import Any

from dpexp.core.terminal import compiling, listening, plain
from dpexp.core.text import duration

PATIENCE_S = 2.0
"""of silence before the first word"""
LINES_S = 5.0
"""between two lines, where there is no terminal"""
CLEAR = "\r\x1b[2K"


class ProgressLine:
    """Shows the steps of a command while it is entered."""

    def __init__(self, command: str) -> None:
        self.command, self.step = command, "at work"
        self.done: float | None = None
        self.compiles = self.shown = False
        self.begin = self.series_begin = self.silent_since = time.monotonic()
        self.last_line = 0.0
        self.lock, self.ended, self.listeners = threading.RLock(), threading.Event(), ExitStack()

    def __enter__(self) -> ProgressLine:
        self.listeners.enter_context(listening(self.update))
        self.listeners.enter_context(compiling.listening(self._compiling))
        # in a thread: the work may be inside compiled code for minutes
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.listeners.close()
        with self.lock:
            self.ended.set()
            self._clear()

    def update(self, step: str | None, done: float | None) -> None:
        """A step begins, of which a share is done; None: something else is printed now."""
        with self.lock:
            now = time.monotonic()
            if not step:
                self._clear()
                self.silent_since = now
            if step is not None:
                self.step, self.done = step, done
                # a series begins: its pace is not known yet
                self.series_begin = now if done == 0.0 else self.series_begin
            if self.shown:
                self._draw()

    def _compiling(self, busy: bool) -> None:
        with self.lock:
            self.compiles = busy
            if self.shown:
                self._draw()

    def _watch(self) -> None:
        while not self.ended.wait(max(PATIENCE_S / 8, 0.01)):
            with self.lock:
                silent = time.monotonic() - self.silent_since
                if not self.ended.is_set() and (
                    self._on_terminal() if self.shown else self.step and silent >= PATIENCE_S
                ):
                    self.shown = True
                    self._draw()

    @staticmethod
    def _on_terminal() -> bool:
        """Whether a line can be drawn again; a dumb terminal has no way back to its beginning."""
        with suppress(ValueError):
            return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        return False

    def _draw(self) -> None:
        step = f"{self.command}: {self.step}{' (compiling)' if self.compiles else ''}"
        words = plain(step).encode(getattr(sys.stderr, "encoding", None) or "utf-8", "backslashreplace").decode("utf-8")
        now = time.monotonic()
        if self._on_terminal():
            left = f", {duration((now - self.series_begin) * (1 / self.done - 1))} left" if self.done else ""
            words = f"{words}, {duration(now - self.begin)} so far{left}"
            self._write(CLEAR + words[: shutil.get_terminal_size().columns - 1])
        elif now - self.last_line >= LINES_S:
            self.last_line = now
            self._write(f"{words}, {duration(now - self.begin)} so far\n")

    def _clear(self) -> None:
        if self.shown and self._on_terminal():
            self._write(CLEAR)
        self.shown = False

    @staticmethod
    def _write(text: str) -> None:
        # nobody reads a closed stderr
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


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
