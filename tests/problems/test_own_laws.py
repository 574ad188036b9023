"""Laws of columns and errors of a plug-in: the engine draws them, and means over them are those of other routes."""

import numpy as np
import pytest
from scipy import integrate, stats

from dpexp.config.experiment_file import read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.conformance.suite import hold, subjects_of
from dpexp.engine.linear.linear_pass import draw_users
from dpexp.plugins.loading import use
from dpexp.problems import PROBLEMS
from tests.conftest import ROOT, using
from tests.problems.test_population import CONFIG

FILE = ROOT / "docs/plugins/own_laws.py"


@pytest.fixture(autouse=True)
def own_laws():
    with using(FILE):
        yield


def test_draws_and_optimum_are_those_of_scipy():
    law = {"design": {"columns": ({"law": "lognormal", "spread": 0.4},)}, "errors": {"law": "gumbel", "scale": 2.0}}
    problem = PROBLEMS["huber-linear"](scale="known", population=law)
    x, y = draw_users(problem.model(), 40_000, 3)
    assert stats.kstest(x[:, 1] + np.exp(0.08), stats.lognorm(0.4).cdf).pvalue > 1e-4
    assert stats.kstest(y - x @ problem.true_coefficients, stats.gumbel_r(scale=2).cdf).pvalue > 1e-4
    c, move = problem.c * problem.fixed_scale, problem.optimum() - problem.true_coefficients
    errors = stats.gumbel_r(scale=2)
    mean = integrate.quad(
        lambda e: np.clip(e - move[0], -c, c) * errors.pdf(e), -12, 80, points=(move[0] - c, move[0] + c)
    )
    assert (move[1], mean[0]) == pytest.approx((0, 0), abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("", ""),
        ("mean_square, column=", "mean_square, lambda law: (-2.0, 3.0), "),
        ("math.expm1", "math.exp"),
        ("np.exp(-x) - 1", "np.exp(-x) - 1.1"),
        ("np.exp(-x - ", "1.1 * np.exp(-x - "),
        ("return -log(-log(normal_cdf(z)))", "return -1.1 * log(-log(normal_cdf(z)))"),
    ],
)
def test_it_passes_the_suite_and_one_with_a_false_part_fails(right, wrong, tmp_path):
    text = FILE.read_text()
    path = tmp_path / "own.py"
    path.write_text(text.replace(right, wrong).replace('lognormal"', 'own-law"').replace('gumbel"', 'own-error"'))
    with using(path):
        outcomes = [result.outcome for result in hold(subjects_of(use(path)))]
    assert sorted(outcomes) == (["ok", "ok"] if not right else ["failed", "ok"])


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ("spread: -1", "must be positive"),
        ("spred: 1", "did you mean 'spread'"),
        ("spread: wide", "number"),
        ("spread: inf", ""),
    ],
)
def test_a_wrong_number_is_said_at_its_place(law, message):
    population = f"{{design: {{columns: [{{law: lognormal, {law}}}]}}}}"
    with pytest.raises(ConfigError) as caught:
        read_experiment(CONFIG.format(name="huber-linear", population=population, mu="1"), "e.yaml")
    (issue,) = caught.value.issues
    assert message in issue.message + issue.hint
    assert issue.where.line == 5
