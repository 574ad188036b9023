"""`dpexp check`: a right plug-in passes every check, and each of many wrong ones fails the one that is for it."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.ldp_sgd import update
from dpexp.commands.cli import app
from dpexp.conformance.check_result import carry_out
from dpexp.conformance.problems import furthest
from dpexp.conformance.suite import SUITE, hold, subjects_of
from dpexp.core.errors import UsageError
from dpexp.engine.lanes.elementwise import maximum, minimum
from dpexp.engine.linear.rule import Rule
from dpexp.plugins.loaded import LOADED
from dpexp.plugins.loading import forget, use
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.linear_losses import PinballLinear
from tests.conformance.plugins_to_check import RIGHT, WRONG
from tests.conftest import call, mostly_slow, share, using


def plugin_of(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_a_right_plug_in_passes_every_check(tmp_path, few_problems):
    path = plugin_of(tmp_path, RIGHT)
    with using(path):
        results = list(hold(subjects_of(use(path))))
    assert not [r for r in results if r.outcome == "failed"]
    assert {r.kind for r in results} == {*SUITE} - {"weight"}  # tests/problems/test_weights.py has one
    idle = {(r.kind, r.check) for r in results if r.outcome == "not tried"}
    assert idle == {("problem", "gradient of the sum"), ("problem", "constants of the sum")}


@pytest.mark.parametrize("name", mostly_slow(WRONG))
def test_a_wrong_plug_in_fails_the_check_that_is_for_it(name, tmp_path):
    right, wrong, kind, check = WRONG[name]
    assert RIGHT.count(right) == 1
    path = plugin_of(tmp_path, RIGHT.replace(right, wrong))
    with using(path):
        (subject,) = [s for s in subjects_of(use(path)) if s.kind == kind]
        (one,) = [c for c in SUITE[kind] if c.name == check]
        result = carry_out(one, subject)
    assert result.outcome == "failed", result.detail
    assert result.detail
    assert result.where.startswith(f"{path}:")
    assert int(result.where.rpartition(":")[2]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", share(range(5)))
def test_a_search_finds_what_clipping_leaves_and_no_more(seed):
    """Gradients clipped at C are 2 C apart, or as far as gradients of the problem are: a claim of C / 2 is refuted."""
    for problem, clip in ((HuberLinear(), 0.5), (HuberLinear(), 100.0), (PinballLinear(), 0.1)):
        algorithm, rng = ClippedLdpSgd(clip=clip), np.random.default_rng(seed)
        exact = algorithm.sensitivities(problem).exact
        found = furthest(problem, rng, algorithm.rule().sent, exact * (1 + 1e-9))
        assert 0.98 * exact < found <= exact * (1 + 1e-9)


class Spike(NamedTuple):
    top: float


def spiked(norm, numbers):
    """Twice the gradient, where its length is within 2 % of a tenth."""
    return np.where(abs(norm / 0.1 - 1) < 0.02, 2.0 * numbers.top / norm, minimum(1.0, 0.01 / maximum(norm, 0.01)))


@pytest.mark.parametrize("seed", share(range(5)))
def test_a_search_finds_a_narrow_range_of_lengths_that_are_sent_far(seed):
    rule = Rule(update, spiked, numbers=Spike(0.5))
    assert furthest(HuberLinear(), np.random.default_rng(seed), rule.sent, 1.9) > 1.9


SHORT = """
from typing import Literal
from dpexp.plugins import Plugin
from dpexp.algorithms.schedules import Schedule
import numpy as np


class Slow(Schedule):
    name: Literal["slow"] = "slow"

    def step_sizes(self, first, last):
        return 1.0 / np.arange(first, last + 1)


PLUGIN = Plugin(schedules={"slow": Slow})
"""


def said(path, *arguments):
    """What the command answers, in this process, which forgets the plug-in after it."""
    try:
        return CliRunner().invoke(app, ["check", str(path), *arguments])
    finally:
        if path.name in LOADED:
            forget(path.name)


def test_the_command(tmp_path, few_problems):
    path = plugin_of(tmp_path, SHORT)
    assert "1 check: 1 ok" in call("check", path).stdout  # of a schedule alone: that its files are all that it needs
    wrong = plugin_of(tmp_path, RIGHT.replace("return n * 1e-8", "return 1e-3"))
    found = said(wrong, "--json")
    assert found.exit_code == 1
    done = json.loads(found.stdout)
    (failed,) = [check for check in done["checks"] if check["result"] == "failed"]
    assert failed["check"] == "estimates"
    assert failed["where"].startswith(f"{wrong}:")
    assert {"kind", "what", "check", "tries", "result", "detail", "where", "seconds"} == set(failed)


def test_a_file_that_cannot_be_loaded_is_refused_at_its_line(tmp_path):
    path = plugin_of(tmp_path, SHORT.replace("return 1.0", "return 1.0 1.0"))
    assert f"{path}:12" in call("check", path, code=2).stderr
    for text, message in (
        (SHORT.replace("def step_sizes", "def steps_of"), "step_sizes"),
        (SHORT.replace('schedules={"slow": Slow}', ""), "adds nothing"),
        (SHORT.replace("PLUGIN =", "plugin ="), "defines no PLUGIN"),
    ):
        found = said(plugin_of(tmp_path, text))
        assert isinstance(found.exception, UsageError)
        assert found.exception.exit_code == 2
        assert message in found.exception.message
        assert str(path) in found.exception.message
    assert "no such plug-in file" in said(tmp_path / "gone.py").exception.message
