"""Progress: the step that a command is at, on stderr, once it has been silent for two seconds.

On a terminal it is one line, which is rewritten and which goes before anything else is printed. Elsewhere it is a plain
line now and then. A command that answers at once shows nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any

from dpexp.core.terminal import compiling, listening, plain
from dpexp.core.text import duration

PATIENCE_S = 2.0
"""of silence before the first word"""
LINES_S = 5.0
"""between two lines that say different things, where there is no terminal"""
STILL_S = 30.0
"""between two lines that say the same"""
TICK_S = 0.25
KNOWN_FROM = 0.05
"""share of a series that is done from which the time left is shown: before, it is no more than a guess"""


class ProgressLine:
    """Shows the steps that are told while it is entered."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.step = "at work"
        self.done: float | None = None
        self.begin = self.silent_since = self.series_since = time.monotonic()
        self.last: tuple[str, float] | None = None
        """the step that the last line had, and when that was"""
        self.drawn = self.is_compiling = False
        self.compiling_since = self.begin
        self.lock = threading.RLock()
        self.over = threading.Event()
        # A thread of its own: the work may be inside compiled code for minutes.
        self.thread = threading.Thread(target=self._watch, daemon=True)
        # A dumb terminal has no way back to the beginning of a line.
        self.rewritten = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.open = listening(self.told), compiling.listening(self.compiling)

    def __enter__(self) -> ProgressLine:
        for one in self.open:
            one.__enter__()
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.over.set()
        self.thread.join()
        with self.lock:
            self._erase()
        for one in self.open:
            one.__exit__(kind, error, at)

    def told(self, step: str | None, done: float | None) -> None:
        """A step begins; None: something else is printed now, so that it is not silent any more."""
        with self.lock:
            now = time.monotonic()
            if step is None:
                self._erase()
                self.silent_since = now
                return
            # A new series, of which the pace is not known yet.
            if done == 0.0:
                self.series_since = now
            self.step, self.done = step, done
            if not step:
                self._erase()

    def compiling(self, busy: bool) -> None:
        """A compilation begins or has ended. Its time is no step of a series, so that the time left ignores it."""
        with self.lock:
            now = time.monotonic()
            if busy:
                self.compiling_since = now
            else:
                # Only the part of the compilation that lies in this series.
                self.series_since += now - max(self.series_since, self.compiling_since)
            self.is_compiling = busy

    def line(self, now: float) -> str:
        """What is shown: the command, its step, and the time left, or else the time that it has taken."""
        step = f"{self.step} (compiling)" if self.is_compiling else self.step
        if self.done is not None and self.done > KNOWN_FROM:
            took = now - self.series_since
            return f"{self.command}: {step}, {duration(took * (1 / self.done - 1))} left"
        return f"{self.command}: {step}, {duration(now - self.begin)} so far"

    def _watch(self) -> None:
        while not self.over.wait(TICK_S):
            with self.lock:
                now = time.monotonic()
                if self.step and now - self.silent_since >= PATIENCE_S:
                    self._rewrite(now) if self.rewritten else self._say(now)

    def _rewrite(self, now: float) -> None:
        width = shutil.get_terminal_size().columns
        self._write(f"\r\x1b[2K{plain(self.line(now))[: max(width - 1, 1)]}")
        self.drawn = True

    def _say(self, now: float) -> None:
        if self.last is not None:
            step, when = self.last
            if now - when < (STILL_S if step == self.step else LINES_S):
                return
        self.last = self.step, now
        self._write(f"{plain(self.line(now))}\n")

    def _erase(self) -> None:
        if self.drawn:
            self._write("\r\x1b[2K")
            self.drawn = False

    def _write(self, text: str) -> None:
        """To stderr as it is now; where nobody can read it, nothing is said."""
        try:
            encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
            sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stderr.flush()
        except (OSError, ValueError):  # closed
            self.over.set()


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
