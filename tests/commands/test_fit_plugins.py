"""Methods and models of plug-ins in `dpexp fit`: end to end, against estimates by other routes, and refused in place."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize

import dpexp
from dpexp.conformance.check_result import carry_out
from dpexp.conformance.suite import SUITE, subjects_of
from dpexp.core.errors import PrivateWarning, UsageError
from dpexp.inference.models import unit_model
from dpexp.plugins.loading import use
from tests.conftest import ROOT, at_length, call, using
from tests.oracles.hessians import hessians

DATA = Path(__file__).parents[1] / "data" / "plugins"
MODEL, METHOD = DATA / "soft_quantile.py", ROOT / "docs/plugins/newton.py"
PUBLIC = {"ranges": {"a": [-2, 2], "b": [0, 8], "y": [-8, 12]}, "error_scale": 2}


def people(n):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal(n), 4 + 2 * rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "y": 1 + a + 0.5 * (b - 4) + 2 * rng.standard_normal(n)})


@pytest.fixture(scope="module")
def frame():
    return people(4000)


@pytest.fixture(autouse=True)
def plugins():
    with using(MODEL, METHOD):
        yield


def rows_of(frame):
    """x = (1, z / sqrt d) and y in the units of the computation, and the weights of rows."""
    z = np.column_stack([np.ones(len(frame)), frame.a / math.sqrt(2), (frame.b - 4) / 2 / math.sqrt(2)])
    return z, (frame.y - 2) / 2, np.minimum(1, 2 / (z**2).sum(axis=1))


def test_a_model_without_noise_minimises_its_risk(frame):
    fit = dpexp.fit(frame, target="y", model="soft-quantile", mu=math.inf, central=True, public=PUBLIC)
    x, y, w = rows_of(frame)

    def risk(beta):
        r = y - x @ beta
        return np.mean(w * (0.75 * r + 0.3 * np.logaddexp(0, -r / 0.3)))

    best = minimize(risk, np.zeros(3), tol=1e-12).x
    on_users_scale = [2 + 2 * best[0], *(2 * best[1:] / math.sqrt(2) / [1, 2])]
    assert fit.frame().estimate.to_numpy() == pytest.approx(on_users_scale, abs=1e-4)
    # a quantile is no mean
    assert fit.predict(frame[:2]).columns[0] == "fitted"


@pytest.mark.parametrize("budget", [{"mu": 2, "central": True}, {"mu": 6}, pytest.param({"eps": 9}, marks=at_length)])
def test_a_model_has_both_methods_and_both_kinds_of_messages(budget):
    fit = dpexp.fit(people(20_000), target="y", model="soft-quantile", public=PUBLIC, **budget)
    # the quantile of the errors, moved by the smoothness: E 1 / (1 + exp((e - q) / .3)) = 3/4, e standard normal
    e = np.linspace(-9, 9, 4001)
    law = np.exp(-e * e / 2) / np.exp(-e * e / 2).sum()
    q = brentq(lambda q: law @ (1 / (1 + np.exp((e - q) / 0.3))) - 0.75, -3, 3)
    rows = fit.frame()
    assert (np.abs(rows.estimate - [1 + 2 * q, 1, 0.5]) < 4 * rows.std_error).all()
    assert rows.std_error.max() < 0.3
    assert "soft_quantile.py:" in fit.document()["budget"]["stated_by"]


def test_bounds_of_a_models_messages_hold_and_are_attained():
    model, rng = unit_model("soft-quantile", 2), np.random.default_rng(1)
    z = rng.standard_normal((20_000, 2)) * np.exp(rng.uniform(-3, 2, (20_000, 1)))
    x, theta = np.column_stack([np.ones(20_000), z / np.linalg.norm(z, axis=1, keepdims=True)]), np.zeros(3)
    g = model.problem.gradient(theta, x, rng.choice([-1e3, 1e3], 20_000))
    apart = np.linalg.norm(g - g[::-1], axis=1).max()
    assert 0.97 * model.gradient_sensitivity < apart <= model.gradient_sensitivity * (1 + 1e-12)
    norms = np.linalg.norm(hessians(model, theta, x, np.zeros(20_000)), axis=(1, 2))
    assert norms.max() == pytest.approx(model.curvature_bound, rel=1e-9)


def test_the_command_says_whose_word_the_budget_is(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ("fit", tmp_path / "t.csv", "--target", "y", "--plugin", METHOD, "--method", "noisy-newton", "--mu", "1")
    stated = f"noisy-newton, by gaussian-composition, {METHOD}:"
    document = json.loads(call(*words, "--json").stdout)
    assert document["method"] == document["glance"]["method"] == "noisy-newton"
    assert document["budget"]["stated_by"].startswith(stated)
    assert call(*words).stdout == call(*words, "--central").stdout
    # users who send messages of their own trust no owner
    assert "--local" in call(*words, "--local", code=2).stderr
    assert stated in call(*words).stdout
    call(*words, "--deployment", "--out", tmp_path / "fit.json")
    # a reader of the result needs no plug-in
    assert call("predict", tmp_path / "fit.json", tmp_path / "t.csv").stdout.count("\n") == 4001
    assert "again" in call(*words, "--deployment", "--out", tmp_path / "fit.json", code=2).stderr


def test_a_plan_rehearses_a_method(frame):
    plan = dpexp.fit(None, target="y", method="noisy-newton", mu=1, public=PUBLIC, plan=4000).document()
    expected = {row["term"]: row["std_error"] for row in plan["expected"]}
    fit = dpexp.fit(frame, target="y", method="noisy-newton", mu=1, public=PUBLIC).frame()
    for term, error in zip(fit.term, fit.std_error, strict=True):
        assert expected[term] == pytest.approx(error, rel=0.25)
    assert plan["n_finite"] >= 1000  # what `complaints` refuse
    assert dpexp.fit(None, target="y", method="noisy-newton", mu=1, public=PUBLIC, plan=900).exit_code == 3


def test_a_record_that_cannot_be_read_counts_as_one_at_the_centre(frame):
    broken, centred = frame.copy(), frame.copy()
    broken.loc[7, "a"], centred.loc[7] = math.nan, [0.0, 4.0, 2.0]
    with pytest.warns(PrivateWarning):
        fit = dpexp.fit(broken, target="y", method="noisy-newton", mu=1, public=PUBLIC)
    assert fit.document()["glance"]["nobs"] == 4000
    same = dpexp.fit(centred, target="y", method="noisy-newton", mu=1, public=PUBLIC)
    assert fit.frame().estimate.to_numpy() == pytest.approx(same.frame().estimate.to_numpy(), abs=1e-12)


WRONG = {
    "an estimate of another shape": ("Estimate(theta,", "Estimate(theta[:-1],"),
    "no estimate": ("def estimate(", "def intervals("),
    "no second derivatives": ("    second_derivatives = staticmethod(second_derivatives)\n", ""),
    "no bounds": ("def slope_bounds", "def slope_limits"),
    "not convex": ("return 0.0, 0.25 / self.h", "return -0.1, 0.25 / self.h"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_with_a_plug_in_is_said_at_its_line(fault, frame, tmp_path):
    right, wrong = WRONG[fault]
    (text,) = (text for text in (MODEL.read_text(), METHOD.read_text()) if text.count(right) == 1)
    path = tmp_path / "wrong.py"
    path.write_text(text.replace(right, wrong).replace("soft-quantile", "wrong-quantile").replace("noisy-n", "wrong-n"))
    words = {"model": "wrong-quantile"} if "wrong-quantile" in path.read_text() else {"method": "wrong-newton"}
    with using(path), pytest.raises(UsageError, match=r"wrong\.py:\d+: "):
        dpexp.fit(frame, target="y", mu=1, public=PUBLIC, **words)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("p * (1.0 - p) / k[1]", "p * (1.0 - p)"), ("return 0.0, 0.25 / self.h", "return 0.0, 0.2 / self.h")],
)
def test_the_check_compares_second_derivatives_with_the_score_and_their_bounds(right, wrong, tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(MODEL.read_text().replace(right, wrong).replace("soft-quantile", "wrong-quantile"))
    with using(path):
        (subject,) = (one for one in subjects_of(use(path)) if one.kind == "problem")
        (gradient,) = [check for check in SUITE["problem"] if check.name == "gradient"]
        result = carry_out(gradient, subject)
    assert result.outcome == "failed"
    assert result.where.startswith(f"{path}:")
