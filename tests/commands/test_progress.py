"""Nothing that takes long is silent: a command says the step it is at, on stderr, and nowhere where it may not."""

from __future__ import annotations

import io
import json
import re
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from dpexp.commands import progress
from dpexp.core.terminal import compiling, each, finished, note, say, tell
from tests.conftest import call


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self):
        return True


class ByHand:
    """In place of the clock and of the pause between two looks at it: time passes when the test says so."""

    def __init__(self):
        self.now, self.is_set = 1000.0, False
        self.waits, self.looks = threading.Semaphore(0), threading.Semaphore(0)

    def monotonic(self):
        return self.now

    def wait(self, seconds):
        """What the thread that shows progress does between two looks."""
        self.waits.release()
        self.looks.acquire()
        return self.is_set

    def set(self):
        self.is_set = True
        self.looks.release()

    def passes(self, seconds):
        """So much time, and the thread has looked once."""
        self.waits.acquire()
        self.now += seconds
        self.looks.release()
        self.waits.acquire()
        self.waits.release()


@pytest.fixture
def entered(monkeypatch):
    """Enters progress of a command, and gives what moves its clock."""

    @contextmanager
    def entered(command):
        clock = ByHand()
        monkeypatch.setattr(progress, "time", clock)
        kinds = SimpleNamespace(Event=lambda: clock, RLock=threading.RLock, Thread=threading.Thread)
        monkeypatch.setattr(progress, "threading", kinds)
        with progress.ProgressLine(command):
            yield clock

    return entered


def test_steps_are_lines_where_there_is_no_terminal(entered, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with entered("plot") as clock:
        for seconds in (2, 29, 1):  # the same step is said again only after long
            clock.passes(seconds)
        for _ in each(["one", "two\x1b[2J"], "figure", str):
            clock.passes(4)
            clock.passes(1)
    assert stream.getvalue().splitlines() == [
        "plot: at work, 2.0 s so far", "plot: at work, 32 s so far", "plot: figure 1 of 2: one, 37 s so far",
        "plot: figure 2 of 2: two\\x1b[2J, 42 s so far",
    ]  # fmt: skip
    assert "\r" not in stream.getvalue()


def test_on_a_terminal_one_line_is_rewritten_and_goes_before_anything_is_printed(entered, monkeypatch, capsys):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    with entered("plot") as clock:
        tell("trial 1 of 3, with very many users")
        clock.passes(2)
        say("the result")
        assert stream.getvalue().endswith("\r\x1b[2K"), "the line is still there when the result is printed"
        clock.passes(2)
    assert stream.getvalue().endswith("\x1b[2K")
    assert "\n" not in stream.getvalue()
    shown = stream.getvalue().split("\r\x1b[2K")
    assert max(map(len, shown)) == 29
    assert capsys.readouterr().out == "the result\n"
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    with entered("plot") as clock:
        clock.passes(2)
    assert stream.getvalue() == "plot: at work, 2.0 s so far\n"


def test_who_is_quick_or_speaks_shows_nothing(entered, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with entered("table") as clock:
        tell("table 1 of 9: rates")
        clock.passes(1.9)
    assert not stream.getvalue()
    with entered("claims") as clock:
        for _ in range(20):
            note("a line of its own")
            clock.passes(1.9)
        tell("")
        clock.passes(100)
    assert set(stream.getvalue().splitlines()) == {"a line of its own"}


def test_time_left_is_said_only_of_steps_that_take_alike():
    shown = progress.ProgressLine("plot")
    shown.told("trial 1 of 3: 0 of 8 done", 0.0)
    begin = shown.series_since
    assert shown.line(begin + 4).startswith("plot: trial 1 of 3: 0 of 8 done, 4.")
    assert "so far" in shown.line(begin + 4)
    shown.told("trial 1 of 3: 2 of 8 done", 0.25)
    assert shown.line(begin + 4) == "plot: trial 1 of 3: 2 of 8 done, 12 s left"
    shown.compiling(True)
    assert "(compiling)" in shown.line(begin + 4)
    shown.told("refining", None)
    assert "left" not in shown.line(begin + 4)


def test_compilations_and_results_of_workers_are_heard(entered, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with entered("fit") as clock:
        compiling.tell(True)
        clock.passes(2)
        assert stream.getvalue() == "fit: at work (compiling), 2.0 s so far\n"
        compiling.tell(False)
        assert list(finished(iter("ab"), 2, "figures")) == ["a", "b"]
        clock.passes(5)
        assert "fit: figures: 2 of 2 done" in stream.getvalue()
    assert not compiling._called
    tell("nobody listens")


MECHANISM = ("--mechanism", "sampled-gaussian", "sampling_probability=0.01", "steps=1000")


@pytest.fixture
def at_once(monkeypatch):
    """No patience at all: every step is a line before the next begins."""
    monkeypatch.setattr(progress.ProgressLine, "_watch", lambda self: None)
    told = progress.ProgressLine.told

    def every(self, step, done):
        told(self, step, done)
        if step:
            self._write(f"{self.line(time.monotonic())}\n")

    monkeypatch.setattr(progress.ProgressLine, "told", every)


COMMANDS = [
    (("privacy", *MECHANISM, "noise_multiplier=1"), "privacy: analysis 1 of "),
    (("calibrate", *MECHANISM, "eps=1"), "calibrate: value 2 of noise_multiplier: "),
    (("table", "sgld_table4"), "table: table 1 of 1: sgld_table4"),
]


@pytest.mark.parametrize(("arguments", "step"), COMMANDS, ids=lambda one: str(one)[:30])
def test_commands_say_their_steps_on_stderr_and_none_with_json(arguments, step, at_once):
    done = call(*arguments)
    assert step in done.stderr, done.stderr
    assert step not in done.stdout
    done = call(*arguments, "--json")
    assert json.loads(done.stdout)
    assert not done.stderr


def test_claims_say_which_is_judged_unless_quiet(at_once, tmp_path):
    claim = "noisy-sgd/theorem-1-3/stops"
    assert f"claims: judging claim 1 of 1: {claim}" in call("claims", claim, "--judge", "--results", tmp_path).stderr
    assert "judging" not in call("claims", claim, "--judge", "-q", "--results", tmp_path).stderr
    assert "judging" not in call("claims", claim, "--judge", "--format", "json", "--results", tmp_path).stderr


@pytest.mark.slow
def test_figures_say_which_is_drawn_and_a_page_what_it_is_at(at_once, config, tmp_path):
    home = tmp_path / "r"
    call("run", config, "--results", home, "-q")
    told = call("report", home).stderr
    for step in ("experiment 1 of 1: small", "figure 1 of 1: small", "putting the page together"):
        assert f"report: {step}" in told
    assert "plot: figure 1 of 1: small" in call("plot", "small", "--results", home, "--format", "png").stderr
    # what is kept is not drawn, and no word is said of it
    assert "figure 1 of 1" not in call("report", home).stderr


def test_a_run_says_how_far_it_is(at_once, config, tmp_path):
    told = call("run", config, "--results", tmp_path / "r").stderr
    assert re.search(r"^run: \w+: \d+%", told, re.MULTILINE), told
    assert "run: " not in call("run", config, "-q", "--force", "--results", tmp_path / "r").stderr


def test_the_time_left_ignores_a_compilation(entered, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with entered("run") as clock:
        tell("x: 0%", 0.0)
        compiling.tell(True)
        clock.passes(30)
        compiling.tell(False)
        clock.passes(10)
        tell("x: 50%", 0.5)
        clock.passes(0)
        assert "x: 0% (compiling)" in stream.getvalue()
        assert "x: 50%, 10 s left" in stream.getvalue()
