"""The statistics that claims share, on runs whose means and spreads are known: every verdict, and the edge between two."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats as reference

from dpexp.engine.result import CellData
from dpexp.reporting.checks import (
    Pair,
    Ratio,
    above,
    bound_holds,
    case_of,
    in_order,
    last_decade,
    paired_over_decade,
    predictions_agree,
    rates_agree,
    ratio_over_decade,
    ratio_to,
)
from dpexp.store.evidence import Evidence, Run
from dpexp.theory.theorem import Theorem

STEPS = np.unique(np.geomspace(10, 100_000, 41).round().astype(np.int64))
EVEN = np.tile([-1.0, 1.0], 50)
"""deviations of 100 replicates: symmetric, of mean 0 and mean square 1"""


def run(mean, spread=0.01, alpha=0.5, budget="1", steps=STEPS):
    """A run whose mean squared distance at `steps` is `mean`, with this relative spread."""
    values = np.asarray(mean, float)[:, None] * (1 + spread * EVEN)
    data = CellData(steps, ("sgd", "asgd"), ("param_distance_sq",), np.stack([values, 4 * values])[:, :, None])
    problem = SimpleNamespace(name="toy", model_dump=lambda exclude_defaults: {"name": "toy"})
    return Run(SimpleNamespace(problem=problem), {"alpha": alpha, "budget": budget}, data)


def with_control(plain):
    """The run with controlled values beside: without spread, and falling twice as fast on a log scale."""
    exact = np.broadcast_to((plain.data.values[:, :, :1].mean(axis=-1, keepdims=True)) ** 2, plain.data.values.shape)
    names = ("param_distance_sq", "param_distance_sq_controlled")
    values = np.concatenate([plain.data.values, exact], axis=2)
    return Run(plain.cell, plain.row, plain.data._replace(metrics=names, values=values))


def test_rates_are_judged_by_the_controlled_values_and_levels_by_the_plain_ones():
    mine = with_control(run(STEPS**-0.5))
    asked = "sgd", "param_distance_sq"
    assert rates_agree([mine], *asked, lambda alpha: -1.0, "x").verdict == "reproduced"
    assert rates_agree([run(STEPS**-0.5)], *asked, lambda alpha: -0.5, "x").verdict == "reproduced"
    assert ratio_over_decade("x", mine, *asked, STEPS**-0.5, 1).value == pytest.approx(1)


def joint(spread, looks):
    """Half the interval of a mean of `EVEN` times a spread, at the joint level of 95 % over so many looks."""
    return reference.t.ppf(1 - 0.05 / looks / 2, 99) * spread * math.sqrt(100 / 99) / 10


def bound(values, log10=False):
    statement = Theorem("toy", "", "printed", "upper", "param_distance_sq", "sgd", (), "", lambda limit: limit)
    return lambda runs: bound_holds(runs, statement, lambda r: {"limit": np.asarray(values)}, log10)


def test_a_bound_is_violated_only_beyond_the_joint_interval():
    mean = 100.0 / STEPS
    looks = 2 * len(STEPS)
    edge = 1 - joint(0.2, looks)
    for factor, verdict in ((1.5, "holds as a bound"), (1.01 * edge, "holds as a bound"), (0.99 * edge, "false")):
        limit = 3 * mean
        limit[7] = factor * mean[7]
        outcome = bound(limit)([run(mean, 0.2), run(mean / 10, 0.2, budget="2")])
        assert outcome.verdict == verdict
        assert outcome.numbers["least_log10_looseness"] == pytest.approx(math.log10(factor))
        assert outcome.numbers["final_log10_looseness"] == pytest.approx([math.log10(3), math.log10(30)])
        violated = ["toy, alpha = 1/2, mu = 1"] * (verdict == "false")
        assert outcome.numbers["violated"] == violated
        same = bound(np.log10(limit), log10=True)([run(mean, 0.2), run(mean / 10, 0.2, budget="2")])
        assert (same.verdict, same.numbers["violated"]) == (verdict, violated)
        assert same.numbers["least_log10_looseness"] == pytest.approx(math.log10(factor))
    assert bound(3 * mean)([run(np.where(mean < 1, np.nan, mean))]).verdict == "not at this sample size"


def test_an_order_is_settled_pair_by_pair_at_the_joint_level():
    """Two pairs; of the second the ratio of means lies on one or the other side of the edge of its interval."""
    base = 1 + 0 * EVEN
    reach = joint(0.1, 2)
    clear = Pair("clear", 0.5 * base, base)
    for ratio, verdict in (
        (1 - 1.02 * reach, "reproduced"), (1 - 0.98 * reach, "not at this sample size"),
        (1 + 0.98 * reach, "not at this sample size"), (1 + 1.02 * reach, "false"),
    ):  # fmt: skip
        outcome = in_order([clear, Pair("close", ratio * base + 0.1 * EVEN, base)], "predicted")
        assert outcome.verdict == verdict
        assert outcome.numbers["ratios"]["close"] == pytest.approx([ratio, ratio - reach, ratio + reach])
        assert outcome.uncertainty.startswith(f"+- {reach:.2g} at most")
    assert in_order([clear, Pair("diverged", np.nan * base, base)], "predicted").verdict == "not at this sample size"


@pytest.mark.parametrize(
    ("slopes", "verdict"),
    [
        ((-0.5, -0.5), "reproduced"), ((-0.5, -0.9), "holds as a bound"), ((-0.9, -0.9), "holds as a bound"),
        ((-0.5, -0.2), "false"), ((-0.9, -0.1), "false"), ((-0.5, None), "not at this sample size"),
    ],
)  # fmt: skip
def test_rates_against_an_exponent(slopes, verdict):
    def of(slope):
        if slope is None:  # on its way from one rate to another
            return STEPS**-0.2 + 1e4 * STEPS**-1.5
        return STEPS.astype(float) ** slope

    runs = [run(of(slope), alpha=alpha) for slope, alpha in zip(slopes, (0.5, 0.6), strict=True)]
    outcome = rates_agree(runs, "sgd", "param_distance_sq", {0.5: -0.5, 0.6: -0.5}.get, "the paper")
    assert outcome.verdict == verdict
    first = outcome.numbers["alpha = 1/2"]
    assert first["slope"] == pytest.approx(slopes[0], abs=1e-3)
    assert first["printed"] == -0.5
    with pytest.raises(ValueError, match=r"no exponent for alpha = 0\.6"):
        rates_agree(runs, "sgd", "param_distance_sq", {0.5: -0.5}.get, "the paper")


def test_a_ratio_to_a_prediction_at_the_joint_level():
    found = ratio_to("x", 3 + 0.6 * EVEN, 2.0, 5)
    assert found == pytest.approx(("x", 1.5, 1.5 - joint(0.3, 5), 1.5 + joint(0.3, 5)))


def test_ratios_over_the_last_decade():
    """A factor of 2 before the last decade, 1.2 in its first half and 1 in its second: the decade alone counts."""
    late = STEPS >= 10_000
    assert np.array_equal(last_decade(run(STEPS)), late)
    mean = 1.0 / STEPS
    mine = run(np.where(late, np.where(STEPS < 40_000, 1.2, 1.0), 2.0) * mean, 0.1)
    share = np.mean(STEPS[late] < 40_000)
    found = ratio_over_decade("x", mine, "sgd", "param_distance_sq", mean, 3)
    middle = 1 + 0.2 * share
    assert found == pytest.approx(("x", middle, middle - middle * joint(0.1, 3), middle + middle * joint(0.1, 3)))
    other = run(mean, 0.1)
    paired = paired_over_decade("x", mine, other, "sgd", "param_distance_sq", 3)
    assert paired[1:] == pytest.approx((middle, middle, middle), rel=1e-9)  # the same users: no error is left
    unlike = run(mean, -0.1)
    assert paired_over_decade("x", mine, unlike, "sgd", "param_distance_sq", 3).high > middle + joint(0.1, 3)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.96, 1.04, "reproduced"), (0.91, 1.09, "reproduced"), (0.89, 1.0, "not at this sample size"),
        (1.0, 1.11, "not at this sample size"), (0.8, 0.91, "not at this sample size"), (1.09, 1.2, "not at this sample size"),
        (0.5, 1.5, "not at this sample size"), (1.11, 1.2, "false"), (0.8, 0.89, "false"),
    ],
)  # fmt: skip
def test_a_prediction_agrees_only_with_its_whole_interval_inside(low, high, verdict):
    cases = [Ratio("good", 1.0, 0.99, 1.01), Ratio("tried", (low + high) / 2, low, high)]
    outcome = predictions_agree(cases, 0.1, "predicted")
    assert outcome.verdict == verdict
    assert outcome.numbers["tried"] == [(low + high) / 2, low, high]
    reach = max(0.01, (high - low) / 2)
    assert outcome.uncertainty.startswith(f"+- {reach:.2g} at most, joint 95% over 2")


def test_a_prediction_of_nothing_agrees_with_nothing():
    assert predictions_agree([], 0.1, "predicted").verdict == "not at this sample size"


def test_the_least_case_is_named():
    ratios = {"a": 1.5, "b": 1.2, "c": 1.7}
    assert case_of(ratios) == "b"
    assert case_of({"a": math.inf, "b": 2.0}) == "b"
    with pytest.raises(ValueError, match="empty"):
        case_of({})


@pytest.mark.parametrize("rounded", [(1 + 3e-15, 1 + 1e-15), (1 + 1e-15, 1 + 3e-15), (1.0, 1.0)])
def test_of_cases_that_tie_up_to_rounding_the_first_is_named(rounded):
    ratios = dict(zip(("one", "other"), rounded, strict=True)) | {"apart": 1 + 1e-8}
    assert case_of(ratios) == "one"
    assert above(lambda: ratios, "").check(Evidence(Path("results"))).measured.startswith("bound / exact: 1 (one) to")
