"""What the theorems assume holds of the settings that the claims of each paper are judged on: a test for each paper."""

import math

import numpy as np
import pytest

from dpexp.algorithms.near_the_optimum import decay_of, linear_predictor_of
from dpexp.config.experiment_file import load_experiment
from dpexp.papers import our_papers
from dpexp.papers.dp_sgld.cases import CASES
from dpexp.papers.ldp_sgd.predictions import constants, curves
from dpexp.papers.noisy_sgd.claims import lower, upper
from dpexp.papers.noisy_sgd.claims.upper import largest_order
from tests.conftest import ROOT
from tests.papers.statements.noisy_sgd import appendix

NOT_SMOOTH, FLAT = {"pinball", "hinge"}, {"rates_flat"}
"""configs of losses whose Hessian jumps, and of risks that are not strongly convex"""


def cells(paper):
    """The cells of every experiment that a claim of the paper reads, by experiment; of its successor no theorem is known."""
    claims = [claim for claim in our_papers()[paper].claims if "/successor/" not in claim.id]
    names = dict.fromkeys(name for claim in claims for name in claim.experiments)
    return {name: load_experiment(path).cells for name in names if (path := ROOT / f"configs/{name}.yaml").is_file()}


def test_ldp_sgd():
    """Iteration (2) with power steps; bounded gradients, covered by the noise; curved and smooth at the optimum."""
    for name, some in cells("ldp-sgd").items():
        for cell in {(str(cell.problem), str(cell.schedule)): cell for cell in some}.values():
            problem = linear_predictor_of(cell.problem)
            assert cell.algorithm.name == "ldp-sgd", name
            assert math.isfinite(problem.gradient_bound())
            assert problem.noise_sensitivity() >= problem.exact_sensitivity() * (1 - 1e-12)
            assert 0 <= decay_of(cell.schedule)[1] <= 1
            if name not in NOT_SMOOTH | FLAT:
                numbers = constants(problem, cell.schedule, cell.privacy.mu)
                assert numbers["m"] > 0
                assert math.isfinite(numbers["hessian_lipschitz"])


@pytest.mark.parametrize("metric", ["param_distance_sq", "loss_gap"])
def test_where_gradients_have_no_bound_theory_has_no_curve_of_one(metric, tmp_path):
    text = "experiment: e\nproblem: {name: huber-linear, scale: known}\npopulation: {d: 2, weights: none}\n"
    (tmp_path / "e.yaml").write_text(text + "privacy: {mu: inf}\nrun: {n: 100}\n")
    (cell,) = load_experiment(tmp_path / "e.yaml").cells
    found = curves(cell, "sgd", metric, np.array([1, 10, 100]))
    assert not math.isfinite(cell.problem.gradient_bound())
    assert found
    assert all(np.isfinite(values).all() for values in found.values())


def test_noisy_sgd():
    """Theorem 4.1: a wide set and little noise; Theorem 3.1: small steps, enough noise, an order in its range."""
    for setting in (*appendix.EVENTS.values(), *lower.DRIFTING.values()):
        assert setting.width * (1 + 1e-9) >= 1e3 * setting.batch * setting.slope
        assert 1e-3 * setting.width**2 * (1 + 1e-9) >= 0.75 * setting.width / (setting.q * setting.slope)
    for point in upper.POINTS_INSIDE.values():
        assert point.curvature <= 2
        assert point.multiplier > 4 * math.sqrt(2)
        assert 1 < point.order <= largest_order(point.q, point.multiplier / math.sqrt(2)) * (1 + 1e-9)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_dp_sgld(case):
    """Strongly convex, smooth and L-Lipschitz losses, eta < 1 / beta, and a set of diameter at most 2 L / lambda."""
    corners = ((sign * case.radius, x) for sign in (-1, 1) for x in (-case.size, case.size))
    assert 0 < case.eta * case.strong_convexity < 1
    assert max(abs(case.strong_convexity * theta - x) for theta, x in corners) <= case.lipschitz * (1 + 1e-12)
    assert 2 * case.radius * case.strong_convexity <= 2 * case.lipschitz


def test_momentum():
    """Runs with printed noise take the steps of the theorems; both algorithms remember an epoch, alpha = 1 / N."""
    for name, some in cells("momentum").items():
        for cell in some:
            if cell.algorithm.name in ("tree-momentum", "reduced-momentum"):
                own = cell.algorithm.model_dump()
                assert own["alpha"] is None, name
                assert own["calibration"] == "exact" or cell.schedule.name == "prescribed"
