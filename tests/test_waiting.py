"""Nothing that takes long is silent: a command says the step it is at, on stderr, and nowhere where it may not."""

from __future__ import annotations

import io
import json
import re
import sys
import time

import pytest

from dpexp.commands import waiting
from dpexp.core.steps import each, finished, tell
from dpexp.core.terminal import note, say
from dpexp.engine import compiling
from tests.conftest import call


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def hasty(monkeypatch):
    """Patience of a hundredth of a second."""
    for name, value in (("PATIENCE_S", 0.01), ("LINES_S", 0.0), ("TICK_S", 0.005)):
        monkeypatch.setattr(waiting, name, value)


def until(condition):
    """Wait for the thread that shows progress; it is given long, for a busy machine."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "progress was not shown"
        time.sleep(0.005)


def test_steps_are_lines_where_there_is_no_terminal(hasty, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting.Waiting("plot"):
        until(lambda: "plot: at work" in stream.getvalue())
        for name in each(["one", "two\x1b[2J"], "figure", str):
            until(lambda name=name: f"figure {1 + (name != 'one')} of 2: {name[:3]}" in stream.getvalue())
    lines = stream.getvalue().splitlines()
    assert [re.sub(r"[\d.]+ s so far", "T", line) for line in lines] == [
        "plot: at work, T", "plot: figure 1 of 2: one, T", "plot: figure 2 of 2: two\\x1b[2J, T",
    ]  # fmt: skip
    assert "\r" not in stream.getvalue()


def test_the_same_step_is_not_said_again_and_again(hasty, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting.Waiting("claims"):
        until(stream.getvalue)
        time.sleep(0.2)
    assert len(stream.getvalue().splitlines()) == 1
    monkeypatch.setattr(waiting, "STILL_S", 0.02)
    with waiting.Waiting("claims"):
        until(lambda: len(stream.getvalue().splitlines()) > 3)


def test_on_a_terminal_one_line_is_rewritten_and_goes_before_anything_is_printed(hasty, monkeypatch, capsys):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    with waiting.Waiting("advise"):
        tell("trial 1 of 3, with very many users")
        until(lambda: "trial 1" in stream.getvalue())
        say("the result")
        assert stream.getvalue().endswith("\r\x1b[2K"), "the line is still there when the result is printed"
    assert stream.getvalue().endswith("\x1b[2K")
    assert "\n" not in stream.getvalue()
    shown = stream.getvalue().split("\r\x1b[2K")
    assert max(map(len, shown)) == 29
    assert capsys.readouterr().out == "the result\n"
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    with waiting.Waiting("advise"):
        until(stream.getvalue)
    assert "\r" not in stream.getvalue()


def test_who_is_quick_or_speaks_shows_nothing(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(waiting, "TICK_S", 0.005)
    with waiting.Waiting("table"):
        tell("table 1 of 9: rates")
        time.sleep(0.1)
    assert not stream.getvalue()
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.3)
    with waiting.Waiting("claims"):
        for _ in range(20):
            note("a line of its own")
            time.sleep(0.02)
        tell("")
        time.sleep(0.4)
    assert set(stream.getvalue().splitlines()) == {"a line of its own"}


def test_time_left_is_said_only_of_steps_that_take_alike():
    shown = waiting.Waiting("advise")
    shown.told("trial 1 of 3: 0 of 8 done", 0.0)
    begin = shown.series_since
    assert shown.line(begin + 4).startswith("advise: trial 1 of 3: 0 of 8 done, 4.")
    assert "so far" in shown.line(begin + 4)
    shown.told("trial 1 of 3: 2 of 8 done", 0.25)
    assert shown.line(begin + 4) == "advise: trial 1 of 3: 2 of 8 done, 12 s left"
    shown.compiling(True)
    assert "(compiling)" in shown.line(begin + 4)
    shown.told("refining", None)
    assert "left" not in shown.line(begin + 4)


def test_compilations_and_results_of_workers_are_heard(hasty, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting.Waiting("fit"):
        compiling.tell(True)
        until(lambda: "(compiling)" in stream.getvalue())
        compiling.tell(False)
        assert list(finished(iter("ab"), 2, "figures")) == ["a", "b"]
        until(lambda: "figures: 2 of 2 done" in stream.getvalue())
    assert not compiling._LISTENERS._called
    tell("nobody listens")


MECHANISM = ("--mechanism", "sampled-gaussian", "sampling_probability=0.01", "steps=1000")


@pytest.fixture
def at_once(monkeypatch):
    """No patience at all: every step is a line before the next begins."""
    monkeypatch.setattr(waiting.Waiting, "_watch", lambda self: None)
    told = waiting.Waiting.told

    def every(self, step, done):
        told(self, step, done)
        if step:
            self._write(f"{self.line(time.monotonic())}\n")

    monkeypatch.setattr(waiting.Waiting, "told", every)


COMMANDS = [
    (("privacy", *MECHANISM, "noise_multiplier=1"), "privacy: analysis 1 of "),
    (("calibrate", *MECHANISM, "--target", "eps=1"), "calibrate: value 2 of noise_multiplier: "),
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


def test_figures_say_which_is_drawn_and_a_page_what_it_is_at(at_once, config, tmp_path):
    home = tmp_path / "r"
    call("run", config, "--results", home, "-q")
    assert "plot: drawing small" in call("plot", "small", "--results", home, "--format", "svg").stderr
    told = call("report", home).stderr
    for step in ("experiment 1 of 1: small", "figure 1 of 1: small", "putting the page together"):
        assert f"report: {step}" in told


@pytest.mark.slow
def test_advice_says_which_trial_it_is_at(at_once):
    told = call("advise", "huber-linear", "-n", 1000, "--replicates", 8).stderr
    assert "advise: trial 3 of 3, 1,000 users, groups of replicates: 0 of 1 done" in told


def test_a_plug_in_is_tried_step_by_step(at_once, tmp_path):
    file = tmp_path / "quick.py"
    file.write_text(
        "from dpexp.plugins import Plugin\nfrom dpexp.algorithms.schedules import Power\n\n"
        "class Quick(Power):\n    name: str = 'quick'\n\nPLUGIN = Plugin(schedules={'quick': Quick})\n"
    )
    said = call("check", file).stderr
    assert re.search(r"^check: 1 of \d+, \w+ [\w-]+: ", said, re.MULTILINE), said


def test_a_run_has_a_bar_of_its_own(at_once, config, tmp_path):
    assert "run: " not in call("run", config, "--results", tmp_path / "r").stderr
