"""Intervals by test inversion: golden numbers of two independent codes, the rule of boundedness, and coverage."""

import math

import numpy as np
import pytest

from dpexp.inference.intervals import Release, both_ends, intervals, inverted, joint_level, level_of
from dpexp.inference.newton import less_excess, regularise

Z = 1.959963984540054
D3 = np.array([1, 1, 0.65])
H3 = np.array([[0.70, 0.05, 0.02], [0.05, 0.12, -0.01], [0.02, -0.01, 0.35]])
S3 = np.array([[4e-4, 5e-5, 0], [5e-5, 3e-4, 0], [0, 0, 5e-5]])


def three(se):
    return Release(np.array([0.4, 0.9, 1.1]), np.array([0.010, -0.020, 0.004]), S3, H3 * np.outer(D3, D3), se, D3)


def ends(release):
    found = [both_ends(release, a, Z * Z, 0.05, np.zeros(len(a))) for a in np.diag(release.scaling)]
    return [(at + low, at + high) for at, (low, high) in zip(release.point, found, strict=True)]


@pytest.mark.parametrize(("release", "wanted"), [
    (three(0.02), [(0.31237144, 0.43203199), (0.78473410, 1.41669542), (1.04657240, 1.15316932)]),
    (three(0.05), [(0.24225791, 0.43308402), (0.76513894, 2.35592938), (0.92469299, 1.37618365)]),
    (Release(np.array([0.0, 1.0]), np.array([0.03, -0.01]), np.diag([1e-3, 4e-4]), np.array([[0.2, 0.03], [0.03, 0.1]]),
             0.03, np.ones(2)), [(-0.57688308, 0.16165429), (0.68836558, 1.87574715)]),
])  # fmt: skip
def test_golden_intervals(release, wanted):
    assert ends(release) == [pytest.approx(one, abs=2e-6) for one in wanted]


def test_unbounded_where_an_eigenvalue_is_within_z_errors_of_zero():
    release = three(0.08)  # the smallest is 1.4251 errors
    found, _ = intervals(release, release.point, np.eye(3), 0.95)
    assert found[1].kind == "unbounded"
    assert (found[1].low, found[1].high) == (-math.inf, math.inf)


def test_golden_wald():
    release = three(0.02)
    regular = np.array([0.37386437, 1.07014999, 1.09501764])
    found, covariance = intervals(release, regular, np.eye(3), 0.95)
    assert [one.kind for one in found] == ["wald"] * 3
    assert [one.se for one in found] == pytest.approx([0.0301125, 0.1524241, 0.0238525], abs=1e-6)
    assert np.sqrt(covariance.diagonal()) == pytest.approx([one.se for one in found])


def test_without_noise_of_the_hessian_it_is_walds_interval():
    release = three(0.0)
    theta = release.point - np.linalg.solve(H3, release.gradient)
    inverse = np.linalg.inv(H3)
    half = Z * np.sqrt((inverse @ S3 @ inverse).diagonal())
    for (low, high), centre, width in zip(ends(release), theta, half, strict=True):
        assert (low, high) == pytest.approx((centre - width, centre + width), abs=1e-6)


def test_a_combination_is_the_coordinate_of_other_units():
    release = three(0.05)
    rows = np.array([[1.0, -2.0, 0], [0, 3.0, 0], [0, 0, 1.0]])
    found, _ = intervals(release, release.point, rows, 0.95)
    plain, _ = intervals(release, release.point, np.eye(3), 0.95)
    assert found[1].kind == plain[1].kind == "anderson-rubin"
    assert (found[1].low, found[1].high) == pytest.approx((3 * plain[1].low, 3 * plain[1].high))


def test_variances_are_less_what_the_noise_of_the_hessian_adds_on_average():
    """2,000 draws of that noise: the mean of what is shown is G S G, and of the plain sandwich it is much more.

    The scale's own noise is small beside what comes in through entries off the diagonal, as in a fit.
    """
    se, rng = 0.012, np.random.default_rng(3)
    scores = np.diag([4e-4, 4e-4, 1e-5])
    inverse = np.linalg.inv(H3)
    true = (inverse @ scores @ inverse).diagonal()
    plain, shown, error = [], [], np.array(se)
    for a in rng.standard_normal((2000, 3, 3)):
        noise = se * (np.diag(np.diag(a)) + math.sqrt(0.5) * (np.tril(a, -1) + np.tril(a, -1).T))
        regular = regularise(H3 * np.outer(D3, D3) + noise, error) / np.outer(D3, D3)
        turned = np.linalg.inv(regular)
        covariance = turned @ scores @ turned
        plain.append(covariance.diagonal())
        shown.append(less_excess(covariance.diagonal(), turned, covariance, error, D3))
    assert np.mean(plain, axis=0)[2] > 1.2 * true[2]
    assert np.mean(shown, axis=0) == pytest.approx(true, rel=0.04)
    release = three(0.02)
    both = [intervals(release._replace(debiased=one), release.point, np.eye(3), 0.95)[0][2].se for one in (False, True)]
    assert both[1] < both[0]


def drawn(rng, se, slopes):
    """A release whose target is `slopes`, with correlated columns and the noise of a central fit."""
    p = len(slopes)
    root = np.eye(p) + 0.4 * rng.standard_normal((p, p))
    hessian, a = root @ root.T / p, rng.standard_normal((p, p))
    noise = se * (np.diag(np.diag(a)) + math.sqrt(0.5) * (np.tril(a, -1) + np.tril(a, -1).T))
    gradient = 0.02 * rng.standard_normal(p) - hessian @ slopes
    return Release(np.zeros(p), gradient, 4e-4 * np.eye(p), hessian + noise, se, np.ones(p))


@pytest.mark.parametrize("se", [0.0, 0.01, 0.05])
def test_a_joint_test_denies_no_row(se):
    """One slope of four is not 0, or all are a little: never above k times the least p, and one row is its own test."""
    rng = np.random.default_rng(8)
    for slopes in [(0, 0, 0, 0), (0.5, 0, 0, 0), (0.1, 0.1, 0.1, 0.1)] * 5:
        release = drawn(rng, se, np.array(slopes))
        theta = -np.linalg.solve(regularise(release.hessian, np.array(se)), release.gradient)
        levels = np.array([level_of(release, theta, row[None], np.zeros(1)) for row in np.eye(4)])
        joint = joint_level(release, theta, np.eye(4), np.zeros(4), levels, 0.95)
        assert 0 <= joint <= 4 * levels.min()
        assert joint_level(release, theta, np.eye(4)[:1], np.zeros(1), levels[:1], 0.95) == levels[0]


def test_a_joint_test_has_the_size_that_it_says_and_sees_what_no_row_does():
    """2,000 nulls with correlated columns; and two nearly equal columns, of which no row is significant, and both are."""
    rng, found = np.random.default_rng(9), []
    for _ in range(2000):
        release = drawn(rng, 0.0, np.zeros(4))
        theta, covariance = -np.linalg.solve(release.hessian, release.gradient), release.sandwich()[2]
        levels = np.array(
            [math.erfc(abs(t) / math.sqrt(2 * v)) for t, v in zip(theta, covariance.diagonal(), strict=True)]
        )
        found.append(joint_level(release, theta, np.eye(4), np.zeros(4), levels, 0.95) < 0.05)
    assert 0.03 <= np.mean(found) <= 0.065
    equal = np.array([[0.5, 0.499], [0.499, 0.5]])
    twin = Release(np.zeros(2), np.array([-0.05, -0.05]), np.diag([4e-4, 4e-4]), equal, 0.0, np.ones(2))
    theta = -np.linalg.solve(twin.hessian, twin.gradient)
    levels = np.array([level_of(twin, theta, row[None], np.zeros(1)) for row in np.eye(2)])
    assert levels.min() > 0.5
    assert joint_level(twin, theta, np.eye(2), np.zeros(2), levels, 0.95) < 0.01


def test_a_row_that_follows_from_others_changes_no_joint_level():
    release = three(0.0)
    theta = release.point - np.linalg.solve(H3, release.gradient)
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]])
    values = rows @ (theta - [0.05, 0.3, 0])
    two, three_rows = (joint_level(release, theta, rows[:k], values[:k], np.ones(k), 0.95) for k in (2, 3))
    assert three_rows == pytest.approx(two, rel=1e-6)


def test_an_end_of_the_inverted_test_is_where_its_p_value_is_the_level():
    rng = np.random.default_rng(4)
    for _ in range(10):
        release = drawn(rng, 0.03, np.array([0.3, 0, 0, -0.2]))
        theta = -np.linalg.solve(regularise(release.hessian, np.array(0.03)), release.gradient)
        row = rng.standard_normal(4)
        for end in inverted(release, theta, row, 0.95):
            assert math.isinf(end) or level_of(release, theta, row[None], np.array([end])) == pytest.approx(
                0.05, abs=1e-4
            )
