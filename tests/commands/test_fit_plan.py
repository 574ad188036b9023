"""`dpexp fit --plan`: what it expects is what fits of such tables give, and its numbers of records are kept."""

import numpy as np
import pandas as pd
import pytest

import dpexp
from tests.conftest import at_length

RANGES = {"ranges": {"a": [-2, 2], "b": [-2, 2], "y": [-4, 4]}, "categories": {"g": ["no", "yes"]}, "error_scale": 1}


def table(n, seed, rho=0.0, share=0.5, binary=False):
    rng = np.random.default_rng(seed)
    common = np.sqrt(rho) * rng.standard_normal(n)
    frame = pd.DataFrame({name: common + np.sqrt(1 - rho) * rng.standard_normal(n) for name in "ab"})
    frame["g"] = np.where(rng.random(n) < share, "yes", "no")
    t = 0.5 * frame.a - 0.5 * frame.b + (frame.g == "yes")
    frame["y"] = (rng.random(n) < 1 / (1 + np.exp(-t))).astype(int) if binary else t + rng.standard_normal(n)
    return frame


def plan(public, n, central=True, **more):
    return dpexp.fit(None, target="y", mu=1.0 if central else 3.0, central=central, public=public, plan=n, **more)


@pytest.mark.parametrize(("rho", "share", "n", "central", "model"), [
    (0.0, 0.03, 4000, True, "huber-linear"), pytest.param(0.85, 0.5, 4000, True, "huber-linear", marks=at_length),
    (0.0, 0.05, 6000, True, "mallows-logistic"), (0.0, 0.5, 10_000, False, "huber-linear"),
])  # fmt: skip
def test_a_plan_is_within_a_quarter_of_what_comes(rho, share, n, central, model):
    public = RANGES | {"shares": {"g": {"yes": share}}, "correlation": {"a": {"b": rho}}}
    expected = {one["term"]: one["std_error"] for one in plan(public, n, central, model=model).document()["expected"]}
    found, mu = [], 1.0 if central else 3.0
    if model == "mallows-logistic":
        public = {key: value for key, value in public.items() if key != "error_scale"}
        public["ranges"] = {"a": [-2, 2], "b": [-2, 2]}
    for seed in range(4):
        frame = table(n, seed, rho, share, model == "mallows-logistic")
        fit = dpexp.fit(frame, target="y", mu=mu, central=central, public=public, model=model, seed=seed)
        found.append([one["std_error"] for one in fit.document()["estimates"]])
    assert list(expected.values()) == pytest.approx(np.median(np.array(found, dtype=float), axis=0), rel=0.25)


def test_a_plan_is_refused_by_the_rule_that_refuses_the_fit():
    """Local fits do not hold where columns move log-odds far, whatever n: steeper by the stated spread, by the data."""
    public = {"ranges": {"a": [-2, 2], "b": [-2, 2]}}
    steep, flat = (plan(public | {"log_odds_sd": sd}, 20_000, False, model="mallows-logistic") for sd in (4, 1))
    (refused,) = steep.document()["refused"]
    assert (refused["rule"], steep.exit_code, steep.document()["n_finite"]) == ("too-steep", 3, None)
    assert (flat.document()["refused"], flat.exit_code) == ([], 0)


def test_numbers_of_records_are_kept():
    """As many as it says: every interval is finite in nearly all fits."""
    public = RANGES | {"shares": {"g": {"yes": 0.02}}}
    finite = plan(public, 1000).document()["n_finite"]
    fits = [
        dpexp.fit(table(finite, s, 0, 0.02), target="y", mu=1, central=True, public=public, seed=s) for s in range(10)
    ]
    assert sum(all(one["bounded"] for one in fit.document()["estimates"]) for fit in fits) >= 7
