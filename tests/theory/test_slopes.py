"""Log-log slopes: coverage, honest errors, and transients told from rates."""

import math

import numpy as np
import pytest
from scipy import stats as reference

from dpexp.theory.slopes import Rate, Slope, SlopeError, is_asymptotic, local_slopes, log_contrast, loglog_slope, rate

RNG = np.random.default_rng(31)
SPREAD = 0.09  # the relative spread of a squared distance reaches 0.9, as in the runs
STEPS = np.unique(np.geomspace(1, 10_000, 60).astype(np.int64))


def paths(slope, replicates):
    """Squared distances with mean proportional to step^slope; neighbouring checkpoints of a path are dependent."""
    walk = np.cumsum(RNG.normal(0, SPREAD, (len(STEPS), replicates)), axis=0)
    walk = walk - 0.5 * SPREAD**2 * np.arange(1, len(STEPS) + 1)[:, None]  # E exp(walk) = 1
    return 3.0 * STEPS[:, None] ** slope * np.exp(walk)


def test_slope_intervals_cover_the_true_slope():
    """And the interval of ordinary least squares, which takes checkpoints for independent, does not."""
    trials, covered, naive = 400, 0, 0
    for _ in range(trials):
        values = paths(-0.7, 80)
        fit = loglog_slope(STEPS, values, (1000, 10_000))
        covered += fit.ci_lo < -0.7 < fit.ci_hi
        inside = STEPS >= 1000
        ols = reference.linregress(np.log(STEPS[inside]), np.log(values[inside].mean(axis=1)))
        reach = reference.t.ppf(0.975, inside.sum() - 2) * ols.stderr
        naive += abs(ols.slope + 0.7) < reach
    assert abs(covered / trials - 0.95) < 0.045
    assert naive / trials < 0.8


def test_the_slope_is_that_of_the_mean_not_of_the_logarithms():
    steps = np.array([10, 100, 1000])
    values = np.stack([[1.0, 9.0, 5.0], [0.1, 0.9, 0.5], [0.01, 0.09, 0.05]])
    fit = loglog_slope(steps, values, (10, 1000))
    assert fit.slope == pytest.approx(-1)
    assert fit.window == (10.0, 1000.0)
    assert fit.se == pytest.approx(0, abs=1e-12)


def test_slopes_that_cannot_be_estimated():
    values = np.ones((len(STEPS), 10))
    for arguments, message in (
        ((STEPS, values, (100, 10)), "window"),
        ((STEPS, values, (9_999, 10_000)), "at least 3"),
        ((STEPS, values[:, :2], (10, 10_000)), "replicates"),
        ((STEPS, -values, (10, 10_000)), "not positive"),
        ((STEPS, values * math.inf, (10, 10_000)), "not positive"),
    ):
        with pytest.raises(SlopeError, match=message):
            loglog_slope(*arguments)


def curves(slope, noise=0.1, replicates=60, decades=5, bend=0.0):
    """Replicates around step^slope, with a second power that fades, and independent relative noise."""
    steps = np.unique(np.geomspace(10, 10 ** (1 + decades), 10 * decades + 1).round().astype(np.int64))
    mean = steps**slope * (1 + bend * steps**-0.25)
    return steps, mean[:, None] * (1 + noise * RNG.standard_normal((len(steps), replicates)))


def test_local_slopes_follow_a_bend():
    steps, values = curves(-0.5, bend=30.0)
    middles, slopes, reach = local_slopes(steps, values)
    exact = -0.5 - 0.25 * 30 * middles**-0.25 / (1 + 30 * middles**-0.25)
    assert np.mean(np.abs(slopes - exact) < reach + 0.01) > 0.85
    assert slopes[0] < slopes[-1]
    assert np.all(reach > 0)


def test_a_contrast_by_hand():
    """Means 3 and 2: deviations over them are -2/3, 0, 2/3 and -1/2, 1/2, 0; twice the first less the second."""
    values = np.array([[1.0, 3.0, 5.0], [1.0, 3.0, 2.0]])
    found, se = log_contrast(np.array([2.0, -1.0]), values)
    assert found == pytest.approx(2 * math.log(3) - math.log(2))
    influence = np.array([2 * -2 / 3 + 1 / 2, -1 / 2, 2 * 2 / 3])
    assert se == pytest.approx(math.sqrt(np.sum(influence**2) / (3 * 2)))  # of a mean of three: over 3, and over 3 - 1


def slope(value, reach):
    return Slope(value, reach / 2, value - reach, value + reach, (1.0, 10.0))


def test_decades_agree_up_to_two_errors_of_the_drift():
    """A drift of 0.25: 0.15 beyond the tolerance less two errors of 0.04, within it less two of 0.06."""
    for error, agree in ((0.0, False), (0.04, False), (0.06, True)):
        for drift in (0.25, -0.25):
            found = Rate(slope(-0.5, 0.01), slope(-0.5 - drift, 0.01), drift, error)
            assert found.agrees_within(0.15) == agree
            assert found.state == ("not known" if agree else "transient")


def test_a_slope_is_asymptotic_where_theory_says_the_same_of_a_tenfold_longer_run():
    """Not before the error has fallen tenfold, not where the prediction bends later, and not without a prediction."""
    steps, values = curves(-2 / 3)
    found, mean = rate(steps, values), values.mean(axis=1)
    n = float(steps[-1])
    assert is_asymptotic(found, steps, mean, lambda at: 3.0 * at ** (-2 / 3))
    assert not is_asymptotic(found, steps, mean, lambda at: None)
    assert not is_asymptotic(found, steps, mean, lambda at: at**-0.6)
    assert not is_asymptotic(found, steps, mean, lambda at: at ** (-2 / 3) + n ** (-2 / 3) / 20)
    near = np.minimum(mean, 9 * mean[-1])
    assert not is_asymptotic(found, steps, near, lambda at: at ** (-2 / 3))


def test_the_tolerance_of_an_exponent():
    """Half of 0.2: slopes 0.05, 0.15 and 0.4 off, an interval that reaches over its edge, and decades 0.1 apart."""
    for value, reach, state in (
        (-0.25, 0.02, "reached"), (-0.15, 0.02, "reached"), (-0.35, 0.02, "faster"), (-0.05, 0.02, "slower"),
        (-0.6, 0.02, "faster"), (0.2, 0.02, "slower"), (-0.25, 0.06, "unresolved"), (-0.05, 0.2, "unresolved"),
    ):  # fmt: skip
        assert Rate(slope(value, reach), slope(value, reach), 0.0, 0.0).compared(-0.2) == state
    assert Rate(slope(-0.1, 0.01), slope(0.0, 0.01), -0.1, 0.0).compared(-0.1) == "transient"  # half of 0.1 is allowed
    assert Rate(slope(-0.1, 0.01), slope(-0.06, 0.01), -0.04, 0.0).compared(-0.1) == "reached"


def test_a_transient_is_no_rate():
    """A curve on its way to -0.3 has at some time the slope of the wrong rate; two decades tell."""
    steps = np.unique(np.geomspace(10, 1e6, 60).round().astype(np.int64))
    mean = steps**-0.3 + 1e5 * steps**-1.2
    drifting = rate(steps, mean[:, None] * (1 + 0.05 * RNG.standard_normal((len(steps), 60))))
    assert drifting.drift > 0.15
    assert drifting.state == "transient"
    assert drifting.compared(drifting.last.slope) == "transient"
