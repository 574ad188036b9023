"""Laws of columns and errors of a plug-in: the engine draws them, and means over them are those of other routes."""

import numpy as np
import pytest
from scipy import integrate, stats

from dpexp.config.yamlfile import ConfigError
from dpexp.conformance.suite import hold, subjects_of
from dpexp.engine.linear.linear_pass import draw_users
from dpexp.plugins.loading import use
from dpexp.problems import PROBLEMS
from tests.conftest import ROOT, using
from tests.problems.test_population import cells

FILE = ROOT / "docs/plugins/own_laws.py"


def test_draws_and_optimum_are_those_of_scipy():
    law = {"design": {"columns": ({"law": "lognormal", "spread": 0.4},)}, "errors": {"law": "gumbel", "scale": 2.0}}
    with using(FILE):
        problem = PROBLEMS["huber-linear"](scale="known", population=law)
        (x, y), optimum = draw_users(problem.model(), 40_000, 3), problem.optimum()
    assert stats.kstest(x[:, 1] + np.exp(0.08), stats.lognorm(0.4).cdf).pvalue > 1e-4
    assert stats.kstest(y - x @ problem.true_coefficients, stats.gumbel_r(scale=2).cdf).pvalue > 1e-4
    c, move = problem.c * problem.fixed_scale, optimum - problem.true_coefficients
    errors = stats.gumbel_r(scale=2)
    kinks = move[0] + np.array([-c, c])
    mean = integrate.quad(lambda e: np.clip(e - move[0], -c, c) * errors.pdf(e), -12, 80, points=kinks)
    assert (move[1], mean[0]) == pytest.approx((0, 0), abs=1e-8)


FALSE = {
    "nothing": ("", ""), "ends": ("mean_square, column=", "mean_square, lambda law: (-2.0, 3.0), "), "mean_square": ("math.expm1", "math.exp"),
    "slope": ("np.exp(-x) - 1", "np.exp(-x) - 1.1"), "density": ("np.exp(-x - ", "1.1 * np.exp(-x - "), "draws": ("return -log(-", "return -1.1 * log(-"),
}  # fmt: skip


@pytest.mark.parametrize("part", FALSE)
def test_it_passes_the_suite_and_one_with_a_false_part_fails(part, tmp_path):
    path, text = tmp_path / "own.py", FILE.read_text().replace(*FALSE[part])
    path.write_text(text.replace('lognormal"', 'own-law"').replace('gumbel"', 'own-error"'))
    with using(path):
        outcomes = sorted(result.outcome for result in hold(subjects_of(use(path))))
    assert outcomes == (["ok", "ok"] if part == "nothing" else ["failed", "ok"])


@pytest.mark.parametrize(
    ("law", "message"),
    [("spread: -1", "positive"), ("spred: 1", "did you mean 'spread'"), ("spread: wide", "number"), ("spread: inf", "number")],
)  # fmt: skip
def test_a_wrong_number_is_said_at_its_place(law, message):
    with using(FILE), pytest.raises(ConfigError) as caught:
        cells(f"{{design: {{columns: [{{law: lognormal, {law}}}]}}}}")
    (issue,) = caught.value.issues
    assert message in issue.message + issue.hint
    assert issue.where.column > 30
