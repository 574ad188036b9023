"""`dpexp check`: a right plug-in passes every check, and each of many wrong ones fails the one that is for it."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.ldp_sgd import update
from dpexp.commands import check as checking
from dpexp.commands.cli import app
from dpexp.conformance.check import Failed, NotTried, Subject, ToyExperiments, carry_out
from dpexp.conformance.problems import furthest
from dpexp.conformance.suite import SUITE, hold, subjects_of
from dpexp.core.errors import UsageError
from dpexp.engine.lanes.elementwise import maximum, minimum
from dpexp.engine.linear.rule import Rule
from dpexp.plugins.loaded import LOADED
from dpexp.plugins.loading import forget, use, using
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.pinball_linear import PinballLinear
from dpexp.theory.theorem import Theorem
from tests.conftest import ROOT, call, mostly_slow, share
from tests.plugins_to_check import RIGHT, TINY, WRONG

DATA = Path(__file__).parents[1] / "data" / "plugins"


@pytest.fixture
def place(tmp_path):
    """A folder with the configs of the plug-in."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "tiny.yaml").write_text(TINY)
    (tmp_path / "configs" / "other.yaml").write_text(TINY.replace("tiny", "other"))
    return tmp_path


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """Toy results of these configs, once for all wrong plug-ins: none of them changes what is computed."""
    folder = tmp_path_factory.mktemp("toys")
    (folder / "configs").mkdir()
    (folder / "configs" / "tiny.yaml").write_text(TINY)
    (folder / "configs" / "other.yaml").write_text(TINY.replace("tiny", "other"))
    return ToyExperiments(folder, (folder / "configs",))


def plugin_of(place, text):
    path = place / "mine.py"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_a_right_plug_in_passes_every_check(place, toys, few_problems):
    path = plugin_of(place, RIGHT)
    with using(path):
        results = list(hold(subjects_of(use(path)), toys))
    assert not [r for r in results if r.outcome == "failed"]
    assert {r.kind for r in results} == set(SUITE)
    assert all(r.detail for r in results)
    idle = {(r.kind, r.check) for r in results if r.outcome == "not tried"}
    # the analysis is of a mechanism whose law is in dpexp's own tests
    sums = {("problem", "gradient of the sum"), ("problem", "constants of the sum")}
    assert idle == sums | {("analysis", "literal law")}


@pytest.mark.parametrize("name", mostly_slow(WRONG))
def test_a_wrong_plug_in_fails_the_check_that_is_for_it(name, place, toys):
    right, wrong, kind, check = WRONG[name]
    assert RIGHT.count(right) == 1
    path = plugin_of(place, RIGHT.replace(right, wrong))
    with using(path):
        (subject,) = [s for s in subjects_of(use(path)) if s.kind == kind]
        (one,) = [c for c in SUITE[kind] if c.name == check]
        result = carry_out(one, subject, toys)
    assert result.outcome == "failed", result.detail
    assert result.detail
    assert result.where.startswith(f"{path}:")
    assert int(result.where.rpartition(":")[2]) > 1


def test_the_line_of_an_error_is_told(place, toys):
    path = plugin_of(place, RIGHT.replace("return n * 1e-8", "return n / 0"))
    with using(path):
        (subject,) = [s for s in subjects_of(use(path)) if s.kind == "algorithm"]
        (one,) = [c for c in SUITE["algorithm"] if c.name == "estimates"]
        result = carry_out(one, subject, toys)
    line = 1 + next(k for k, text in enumerate(path.read_text().splitlines()) if "n / 0" in text)
    assert result.where == f"{path}:{line}"
    assert "ZeroDivisionError" in result.detail


def stated(function, kind, quantity, check):
    """What a check says of a statement about many passes over a finite sum."""
    theorem = Theorem("p", "Theorem 1", "printed", kind, quantity, "last", ("true",), "always", function)
    (one,) = [c for c in SUITE["theorem"] if c.name == check]
    return carry_out(one, Subject("theorem", "p/theorem-1", theorem), None)


@pytest.mark.parametrize(
    ("right", "wrong", "kind", "quantity", "check"),
    [
        (lambda n, eps, d: d / (n * eps), lambda n, eps, d: eps * d / n, "upper", "loss_gap", "budget"),
        (lambda sigma, order: order / sigma**2, lambda sigma, order: order * sigma, "guarantee", "rdp", "budget"),
        (lambda eps, delta: 1 / eps, lambda eps, delta: eps, "prescription", "noise_multiplier", "budget"),
        (lambda N, eps: N * eps, lambda N, eps: N / eps, "prescription", "steps", "budget"),
        (lambda gap, eta, steps: gap / eta, lambda gap, eta, steps: -gap / eta, "upper", "mean_grad_norm", "sign"),
        (lambda n, sigma, steps: sigma / n, lambda n, sigma, steps: [sigma / n] * 2, "upper", "loss_gap", "sign"),
    ],
)
def test_statements_of_finite_sums_are_tried_with_numbers_of_their_own(right, wrong, kind, quantity, check):
    assert stated(right, kind, quantity, check).outcome == "ok"
    assert stated(wrong, kind, quantity, check).outcome == "failed"


def test_a_statement_without_numbers_to_try_it_with_says_which():
    result = stated(lambda n, speed_of_light: n, "upper", "loss_gap", "sign")
    assert result.outcome == "not tried"
    assert "speed_of_light" in result.detail
    assert stated(lambda gap, L: gap / L, "upper", "mean_grad_norm", "budget").outcome == "not tried"


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


@pytest.mark.slow
@pytest.mark.parametrize("name", share(["smooth_quantile", "adagrad", "adam"]))
def test_plug_ins_of_newcomers_go_through_every_command(name, tmp_path, monkeypatch):
    path = tmp_path / f"{name}.py"
    path.write_text((DATA / f"{name}.py").read_text())
    monkeypatch.chdir(tmp_path)
    with using():
        verdict = checking.check(path)
    assert not verdict.failed, verdict.text
    (shown,) = [check for check in verdict.document["checks"] if check["check"] == "shown"]
    assert shown["result"] == "ok"
    refused = "predict"
    assert shown["detail"].endswith(f"{', '.join(checking.COMMANDS)}; refused with a hint: {refused}")


def test_what_a_command_raises_is_a_failure_at_the_plug_in(place, toys, monkeypatch):
    """An error that no command foresees, and a refusal without a hint, are failures."""
    path = plugin_of(place, RIGHT)
    with using(path):
        (subject,) = [s for s in subjects_of(use(path)) if s.kind == "algorithm"]
        for error, said in (
            (ValueError("odd"), "ValueError: odd"),
            (UsageError("no"), "plot refuses without a hint: no"),
        ):
            monkeypatch.setitem(checking.COMMANDS, "plot", raising(error))
            result = carry_out(checking.SHOWN, subject, toys)
            assert result.outcome == "failed"
            assert said in result.detail
            assert result.where.startswith(f"{path}:")


def raising(error):
    def command(folder, config):
        raise error

    return command


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


def test_the_command(tmp_path):
    path = plugin_of(tmp_path, SHORT)
    page = call("check", path).stdout
    assert "schedule slow" in page
    assert "4 checks: 4 ok" in page
    wrong = plugin_of(tmp_path, SHORT.replace("1.0 /", "-1.0 /"))
    found = said(wrong, "--json")
    assert found.exit_code == 1
    done = json.loads(found.stdout)
    assert done["counts"] == {"ok": 3, "failed": 1, "not tried": 0}
    (failed,) = [check for check in done["checks"] if check["result"] == "failed"]
    assert failed["check"] == "positive"
    assert failed["where"].startswith(f"{wrong}:")
    assert {"kind", "what", "check", "tries", "result", "detail", "where", "seconds"} == set(failed)
    assert f"\n\n{failed['where']}: schedule 'slow', positive: " in said(wrong).stdout


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


def test_what_is_built_in_finds_the_configs_that_come_with_dpexp(tmp_path, monkeypatch):
    """In a folder of a user's own, as after an installation: 349 checks failed there for want of a config."""
    asked = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpexp.conformance.suite.built_in", lambda: ())
    monkeypatch.setattr("dpexp.conformance.suite.hold", lambda subjects, toys: asked.append(toys) or [])
    checking.check(None)
    assert asked[0].config_of("linear_d5").samefile(ROOT / "configs/linear_d5.yaml")
    with pytest.raises(Failed, match=r"no config in configs, \., the shipped ones"):
        asked[0].results(["linear_d6"])


def test_what_needs_records_that_are_not_installed_is_not_tried(tmp_path, monkeypatch):
    from dpexp.data import fashion

    monkeypatch.setattr(fashion, "FILE", tmp_path / "fashion.npz")
    monkeypatch.setattr(fashion, "find_spec", lambda name: None)
    toys = ToyExperiments(tmp_path, (ROOT / "configs",))
    with pytest.raises(NotTried, match="'dp_sgld_table3': the records of fashion are a package of their own"):
        toys.results(["dp_sgld_table3"])
