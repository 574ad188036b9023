"""Models of plug-ins in `dpexp fit`: end to end, against estimates by other routes, and refused in place."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize

import dpexp
from dpexp.conformance.check_result import carry_out
from dpexp.conformance.suite import SUITE, subjects_of
from dpexp.core.errors import UsageError
from dpexp.inference.models import unit_model
from dpexp.plugins.loading import use
from tests.conftest import using
from tests.oracles.hessians import hessians

DATA = Path(__file__).parents[1] / "data" / "plugins"
MODEL = DATA / "soft_quantile.py"
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
    with using(MODEL):
        yield


def rows_of(frame):
    """x = (1, z / sqrt d) and y in the units of the computation, and the weights of rows."""
    z = np.column_stack([np.ones(len(frame)), frame.a / math.sqrt(2), (frame.b - 4) / 2 / math.sqrt(2)])
    return z, (frame.y - 2) / 2, np.minimum(1, 2 / (z**2).sum(axis=1))


def on_users_scale(beta):
    slopes = 2 * beta[1:] / math.sqrt(2) / [1, 2]
    return np.array([2 + 2 * beta[0], *slopes])


def test_a_model_without_noise_minimises_its_risk(frame):
    fit = dpexp.fit(frame, target="y", model="soft-quantile", mu=math.inf, central=True, public=PUBLIC)
    x, y, w = rows_of(frame)

    def risk(beta):
        r = y - x @ beta
        return np.mean(w * (0.75 * r + 0.3 * np.logaddexp(0, -r / 0.3)))

    best = minimize(risk, np.zeros(3), tol=1e-12).x
    assert fit.frame().estimate.to_numpy() == pytest.approx(on_users_scale(best), abs=1e-4)
    # a quantile is no mean
    assert fit.predict(frame[:2]).columns[0] == "fitted"


@pytest.mark.parametrize(
    "budget", [{"mu": 2, "central": True}, {"mu": 6}, pytest.param({"eps": 9}, marks=pytest.mark.slow)]
)
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


WRONG = {
    "no second derivatives": ("    second_derivatives = staticmethod(second_derivatives)\n", ""),
    "no bounds": ("def slope_bounds", "def slope_limits"),
    "not convex": ("return 0.0, 0.25 / self.h", "return -0.1, 0.25 / self.h"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_with_a_plug_in_is_said_at_its_line(fault, frame, tmp_path):
    right, wrong = WRONG[fault]
    text, path = MODEL.read_text(), tmp_path / "wrong.py"
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong).replace("soft-quantile", "wrong-quantile"))
    with using(path), pytest.raises(UsageError, match=r"wrong\.py:\d+: "):
        dpexp.fit(frame, target="y", mu=1, public=PUBLIC, model="wrong-quantile")


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
