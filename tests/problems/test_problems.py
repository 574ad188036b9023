"""Problems away from their defaults, and independently computed reference values for `ldp-sgd`."""

import math

import numpy as np
import pytest
from scipy import integrate

from dpexp.problems import PROBLEMS, linear_losses
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import cubic_moment, mean_weight
from dpexp.problems.row_rules import rows_along
from tests.conftest import AT_LENGTH

DEFAULTS = {name: kind() for name, kind in PROBLEMS.items() if issubclass(kind, LinearPredictorProblem)}
CASES = {
    "huber-linear, known scale": PROBLEMS["huber-linear"](d=3, scale="known", sigma=1.5),
    "huber-linear, other numbers": PROBLEMS["huber-linear"](d=2, sigma_z=0.6, c=0.8, beta=-0.5, sigma=0.7),
    "huber-linear, d = 1": PROBLEMS["huber-linear"](d=1),
    "mallows-logistic, other numbers": PROBLEMS["mallows-logistic"](d=3, sigma_z=1.7, beta=0.4),
    "mallows-logistic, d = 1": PROBLEMS["mallows-logistic"](d=1),
    "pinball-linear, tau = 0.9": PROBLEMS["pinball-linear"](d=4, tau=0.9, sigma_z=0.5),
    "insensitive-linear, not flat": PROBLEMS["insensitive-linear"](d=2, width=0.4, support=1.7, sigma_z=0.8),
    "insensitive-linear, many optima": PROBLEMS["insensitive-linear"](d=3, width=1.5),
}
all_of_them = pytest.mark.parametrize("problem", [*DEFAULTS.values(), *CASES.values()], ids=[*DEFAULTS, *CASES])


RNG = np.random.default_rng(2024)


def points(problem, count, spread=0.7):
    """Parameters around the optimum, scales kept positive."""
    theta = problem.optimum() + spread * RNG.standard_normal((count, problem.p))
    if problem.has_scale:
        theta[:, -1] = np.maximum(np.abs(theta[:, -1]), 0.3)
    return theta


@pytest.mark.slow
@all_of_them
def test_third_derivative_is_that_of_the_risk(problem):
    third = problem.third_derivative()
    star, k = problem.optimum(), np.arange(-4, 5)
    h = 0.05 if getattr(problem, "width", 1.0) == 1.0 else 0.02  # stay where the risk is smooth
    stencil = np.array([-7 / 240, 3 / 10, -169 / 120, 61 / 30, 0, -61 / 30, 169 / 120, -3 / 10, 7 / 240])
    scale = max(problem.curvature().M, 0.05)
    for u in RNG.standard_normal((6 if AT_LENGTH else 2, problem.p)):
        u /= np.linalg.norm(u)
        numerical = stencil @ problem.risk_gap(star + h * k[:, None] * u) / h**3
        assert abs(numerical - np.einsum("ijk,i,j,k", third, u, u, u)) < 2e-6 * scale
    for axes in ((0, 2, 1), (1, 0, 2), (2, 1, 0)):
        np.testing.assert_allclose(third.transpose(axes), third, atol=1e-15)


@pytest.mark.parametrize(
    ("width", "support"), [(1.0, 1.0), (1.5, 2.0), (0.3, 0.5), (0.4, 1.7), (0.1, 1.0), (0.01, 1.0)]
)
def test_the_risk_of_insensitive_regression_bends_as_fast_as_stated(width, support):
    """The third difference in t of the mean loss of a user; below half of the support two tails of the errors meet."""
    problem = PROBLEMS["insensitive-linear"](d=3, width=width, support=support)
    t, h = np.linspace(-2 * (width + support), 2 * (width + support), 4001, retstep=True)
    third = np.diff(linear_losses.insensitive_risk(t, 1.0, problem.constants), 3) / h**3
    assert problem.hessian_lipschitz() / cubic_moment(3, 1.0) == pytest.approx(np.max(np.abs(third)), rel=0.02)
    # a residual at either end of the band costs nothing, and its user sends nothing
    both = problem.gradient(np.zeros((2, 4)), np.ones((2, 4)), np.array([width, -width]))
    np.testing.assert_array_equal(both, 0.0)


@pytest.mark.parametrize("sigma", [0.5, 6.0])
def test_the_risk_of_a_quantile_bends_as_fast_as_a_normal_density_falls(sigma):
    fastest = cubic_moment(3, 1.0) / (sigma**2 * math.sqrt(2 * math.pi * math.e))
    assert PROBLEMS["pinball-linear"](d=3, sigma=sigma).hessian_lipschitz() == pytest.approx(fastest, rel=1e-9)


LINEAR = {  # H_b0, H_b, H_sigma, S_b0, S_b, S_sigma, F*
    5: (0.1763545814, 0.1280531387, 0.0830972576, 0.1657070128, 0.0871959066, 0.0265749585, 0.705418325692),
    10: (0.0886784914, 0.0732683762, 0.0417847916, 0.0400919749, 0.0266573779, 0.0064296770, 0.354713965467),
    20: (0.0429681878, 0.0389203289, 0.0202463613, 0.0086100743, 0.0069995964, 0.0013808249, 0.171872751324),
}
TRACES = {  # tr(H^-1 S_mu H^-1) at mu = 1 and inf
    "huber-linear": {5: (7404.1087, 35.764606), 10: (39243.220, 58.438267), 20: (247563.89, 100.44867)},
    "mallows-logistic": {5: (44581.857, 75.699705), 10: (524630.72, 164.62579), 20: (9014521.6, 378.17223)},
}


@pytest.mark.parametrize("d", LINEAR)
def test_linear_reference_values(d):
    problem = PROBLEMS["huber-linear"](d=d)
    c = problem.curvature()
    h, s = np.diag(c.hessian), np.diag(c.score_covariance)
    np.testing.assert_allclose((h[0], h[1], h[-1], s[0], s[1], s[-1]), LINEAR[d][:6], atol=1e-9)
    least = linear_losses.huber_risk(0.0, problem.optimum()[-1], problem.constants) * rows_along(problem.law).mean(1)[0]
    assert least == pytest.approx(LINEAR[d][6], abs=2e-12)
    assert (c.m, c.M) == pytest.approx((LINEAR[d][2], LINEAR[d][0]), abs=1e-9)


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("d", [5, 10, 20])
def test_asymptotic_variances(name, d):
    problem = PROBLEMS[name](d=d)
    c = problem.curvature()
    inverse = np.linalg.inv(c.hessian)
    for noise, want in zip((problem.noise_sensitivity(), 0.0), TRACES[name][d], strict=True):
        covariance = c.score_covariance + noise**2 * np.eye(problem.p)
        assert np.trace(inverse @ covariance @ inverse) == pytest.approx(want, rel=2e-7)


LOGISTIC = {  # m, M, F*, gap at 0, at 1.1, at (1, -1, .., -1)
    5: (0.0173647425, 0.0676521238, 0.190711035522, 0.106935510334, 0.000501758106, 0.444071316830),
    10: (0.0048872786, 0.0262860529, 0.077333836602, 0.072335349388, 0.000251374171, 0.402289961738),
    20: (0.0011058648, 0.0092308006, 0.028371532160, 0.044149026061, 0.000107238049, 0.319755995132),
}


@pytest.mark.parametrize("d", LOGISTIC)
def test_logistic_reference_values(d):
    problem = PROBLEMS["mallows-logistic"](d=d)
    c = problem.curvature()
    assert (c.m, c.M) == pytest.approx(LOGISTIC[d][:2], abs=1e-9)
    at_zero = math.log(2) * rows_along(problem.law).mean(1)[0]
    assert at_zero - problem.risk_gap(np.zeros(d + 1)) == pytest.approx(LOGISTIC[d][2], abs=2e-12)
    # the third derivative of log(1 + e^t) is 1 / (6 sqrt 3) at most
    assert problem.hessian_lipschitz() == pytest.approx(cubic_moment(d, 1.0) / (6 * math.sqrt(3)), rel=1e-6)
    theta = np.stack([np.zeros(d + 1), np.full(d + 1, 1.1), np.append(1.0, -np.ones(d))])
    np.testing.assert_allclose(problem.risk_gap(theta), LOGISTIC[d][3:], atol=2e-12)


@pytest.mark.parametrize(("d", "spread"), [(5, 0.05), (5, 0.7), (5, 2.0), (20, 1.4), (5, 3.1), (20, 4.5), (5, 6.2)])
def test_risk_by_adaptive_quadrature(d, spread):
    problem = PROBLEMS["huber-linear"](d=d)
    least = linear_losses.huber_risk(0.0, problem.optimum()[-1], problem.constants)

    def integrand(z):
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        weight = float(mean_weight(d - 1, 1, np.array([z * z]))[0])
        return density * weight * float(linear_losses.huber_risk(0.4 + spread * z, 1.5, problem.constants) - least)

    wanted = integrate.quad(integrand, -9, 9, points=[-1, 1], epsabs=1e-13, epsrel=1e-13, limit=200)[0]
    theta = np.array([1.4, 1 + spread, *np.ones(d - 1), 1.5])
    assert problem.risk_gap(theta) == pytest.approx(wanted, abs=2e-13)
