"""Whether a central fit converges: against another library, far from its start, for rare classes, or it is refused."""

import math

import numpy as np
import pytest

from dpexp.inference.central_newton import allocation, central_newton
from dpexp.inference.fitting import fit_central, fit_local, plan_central, plan_local
from dpexp.inference.intervals import intervals
from dpexp.inference.models import unit_model
from dpexp.inference.newton import standard_errors
from tests.conftest import share
from tests.oracles.hessians import hessians
from tests.oracles.laws_of_records import LAWS, linear, logistic, m_estimate

HUBER, LOGIT, KNOWN = (
    unit_model("huber-linear", 2),
    unit_model("mallows-logistic", 2),
    unit_model("huber-linear", 2, True),
)


def fits(model, draw, n, mu, runs, seed=5):
    plan = plan_central(model, n)
    for r in range(runs):
        rng = np.random.default_rng([seed, r])
        x, y = draw(rng, n)
        yield fit_central(plan, x, y, mu, rng.standard_normal)


@pytest.mark.parametrize(("model", "ratio"), [(HUBER, 7.5), (LOGIT, 12.0)])
def test_newton_steps_are_made_where_the_guessed_curvature_is_so_many_times_the_noise_of_a_hessian(model, ratio):
    noise = model.hessian_sensitivity(model.problem.fixed_scale) / math.sqrt(0.07)  # of one record with mu = 1
    n = ratio * noise / np.linalg.eigvalsh(model.guessed_message)[0]
    assert [len(allocation(model, round(by * n), 1.0).newton) for by in (0.99, 1.01)] == [0, 5]


@pytest.mark.parametrize(("model", "unit", "wanted"), [
    (HUBER, 1.0, (1.058977419199, 0.703078529755, -0.426662911697, 0.710119156155)),
    (KNOWN, 0.5, (1.065683335820, 0.702305903274, -0.426832742338)),
])  # fmt: skip
def test_without_privacy_it_is_the_robust_regression_of_statsmodels(model, unit, wanted):
    """RLM 0.15.0 with HuberT(1.345), no row of which loses weight; the scale is known, or solves E psi^2 = kappa."""
    i = np.arange(1, 301)
    x, z = np.sin(i), np.cos(2 * i)
    y = 1 + 0.5 * x - 0.3 * z + 0.8 * np.sin(3 * i) + np.where(i % 17 == 0, 6.0, 0)
    plan = plan_central(model, len(i))
    found = fit_central(plan, np.column_stack([x, z]) / math.sqrt(2), y / unit, math.inf, np.zeros)
    assert not found.checked.reasons
    assert found.theta * unit == pytest.approx(wanted, abs=1e-8)


def test_without_privacy_few_rows_with_outliers_end_where_the_gradient_is_0():
    """Full Newton steps go round between two sets of clipped residuals in 3% of such tables, in these among them."""
    for r in (39, 99, 113, 142):
        rng = np.random.default_rng([9, r])
        x = rng.uniform(-1, 1, (22, 2)) / math.sqrt(2)
        y = 1 + x @ [6, -3] + rng.standard_t(1, 22)
        theta = fit_central(plan_central(KNOWN, 22), x, y, math.inf, np.zeros).theta
        rows = np.column_stack([np.ones(22), x])
        assert np.abs(KNOWN.problem.gradient(theta, rows, y).mean(axis=0)).max() < 1e-8


def _binary(p):
    def draw(rng, n):
        z = rng.standard_normal((n, 2))
        return z / math.sqrt(2), 4 * (rng.random(n) < p) - 2.0

    return draw


@pytest.mark.parametrize(("n", "mu"), [(4000, 1.0), (16_000, 1.0), (4000, math.inf)])
@pytest.mark.parametrize("r2", share([0.99, 0.999, 0.9999], 2))
def test_intervals_hold_however_much_is_explained(r2, n, mu):
    """With the right scale the start is 100 scales away; with the range of the target the scale is a hundredth."""
    size, runs = math.sqrt(r2 / (1 - r2) / 2), 12 if n == 4000 and math.isfinite(mu) else 3
    for sd in (1.0, 1 / math.hypot(size * math.sqrt(2), 1)):
        slopes, hits = (size * sd, -size * sd), []
        truth = [0, slopes[0] * math.sqrt(2), slopes[1] * math.sqrt(2), sd]
        for found in fits(HUBER, linear(slopes, sd), n, mu, runs):
            assert not found.checked.reasons
            each, _ = intervals(found.release, found.theta, np.eye(4), 0.95)
            hits.append([one.low <= t <= one.high for one, t in zip(each, truth, strict=True)])
        assert np.mean(hits) >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / np.size(hits))


def test_a_class_of_one_in_a_thousand_is_covered():
    hits = []
    for found in fits(LOGIT, logistic((0.5, 0.0), -7.0), 100_000, 2.0, 4):
        assert not found.checked.reasons
        each, _ = intervals(found.release, found.theta, np.eye(3), 0.95)
        hits.append([one.low <= t <= one.high for one, t in zip(each, (-7, 0.5 * math.sqrt(2), 0), strict=True)])
    assert np.mean(hits) >= 0.75


@pytest.mark.parametrize(("model", "draw", "n", "rules"), [
    # 80% and more have one value, and the equation of the scale has no root above 0: 1 - kappa / c^2 is .61
    (HUBER, _binary(0.2), 5000, {"not-arrived", "no-scale"}),
    (HUBER, _binary(0.1), 5000, {"not-arrived", "no-scale"}),
    (HUBER, linear((1.0, 1.0), 0.0), 5000, {"not-arrived", "no-scale"}),
    (KNOWN, linear((100.0, 1.0), 1.0), 5000, {"not-arrived"}),
    # five ones
    (LOGIT, logistic((0.5, 0.0), -9.0), 39_000, {"not-arrived", "too-noisy"}),
])  # fmt: skip
@pytest.mark.parametrize("seed", [1, 2])
def test_a_fit_that_did_not_arrive_is_refused(model, draw, n, rules, seed):
    for found in fits(model, draw, n, 1.0, 3, seed):
        assert {reason.rule for reason in found.checked.reasons} & rules


def test_a_binary_target_of_which_no_class_is_rare_has_a_scale():
    """The scale is that of least squares where no residual is clipped."""
    for found in fits(HUBER, _binary(0.3), 5000, 1.0, 4):
        assert not found.checked.reasons
        assert found.theta[-1] == pytest.approx(4 * math.sqrt(0.21 / 0.7101645), rel=0.05)


@pytest.mark.parametrize("local", [False, True])
def test_a_scale_far_from_its_guess_and_skewed_errors_are_warned_of_and_nothing_else(local):
    """Errors of the guessed size, six times as large, and exponential; log-odds have no scale."""
    n, mu = 20_000, np.full(20_000, 4.0)
    rng = np.random.default_rng(6)
    x, e = rng.standard_normal((n, 2)) / math.sqrt(2), rng.standard_normal(n)
    ones = (rng.random(n) < 0.5).astype(float)
    for model, y, wanted in ((HUBER, e, 0), (HUBER, 6 * e, 1), (HUBER, rng.exponential(size=n), 1), (LOGIT, ones, 0)):
        if local:
            found = fit_local(plan_local(model, mu, n), x, y, mu, rng.standard_normal)
        else:
            found = fit_central(plan_central(model, n), x, y, 4.0, rng.standard_normal)
        assert not found.checked.reasons
        assert len(found.checked.warnings) == wanted


@pytest.mark.parametrize("law", ["steep", "R2 = .996", "base"])
def test_more_records_or_budget_never_turn_acceptance_into_a_refusal(law):
    """moved in standard errors grew like the root of n: at 6 a fit was refused, the surer the more records it had."""
    drawn = LAWS[law]
    for seed in share(range(5)):
        rng = np.random.default_rng(seed)
        x, y = drawn.draw(rng, 16_000)
        for n, mu in ((4000, 1.0), (8000, 1.0), (16_000, 1.0), (16_000, 4.0)):
            found = fit_central(plan_central(drawn.model, n), x[:n], y[:n], mu, rng.standard_normal)
            assert found.checked.reasons == ()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("name", "slopes", "spread"), [
    ("huber-linear", (0.8, 0.5, 0.3), 0.063),
    ("huber-linear", (0.5,) * 5, 1.0),
    ("mallows-logistic", (3.0, -3.0, 1.5), None),
])  # fmt: skip
def test_central_newton_without_noise_is_the_m_estimator(name, slopes, spread, seed):
    """mu = inf: the root of the mean gradient, found another way, and the sandwich."""
    model, rng = unit_model(name, len(slopes)), np.random.default_rng(seed)
    z, y = (logistic(slopes) if spread is None else linear(slopes, spread))(rng, 5000)
    x = np.concatenate([np.ones((5000, 1)), z], axis=1)
    found = central_newton(model, model.problem.start(), z, y, math.inf, lambda shape: np.zeros(shape))
    exact = m_estimate(model, z, y)
    g = model.problem.gradient(exact, x, y)
    assert np.abs(g.mean(axis=0)).max() < 1e-6
    inverse = np.linalg.inv(hessians(model, exact, x, y).mean(axis=0))
    sandwich = inverse @ (g.T @ g / 5000**2) @ inverse
    assert np.all(np.abs(found.theta - exact) < 0.02 * np.sqrt(sandwich.diagonal()))
    assert standard_errors(intervals(found.release, found.theta, np.eye(model.p), 0.95)[1]) == pytest.approx(
        np.sqrt(sandwich.diagonal()), rel=0.03
    )
