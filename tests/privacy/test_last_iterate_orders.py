"""The search for the order of the last iterate's bound: what is nearly the curve shows where to look, and is not stated."""

import math

import numpy as np
import pytest

from dpexp.accounting.conversions import eps_of_curve
from dpexp.accounting.renyi import base_from_mixture, mixture_from_base, symmetrised
from dpexp.privacy.analyses.last_iterate import last_iterate
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd

SETTINGS = [(0.01, 50.0, 100.0, 1000), (0.01, 50.0, 100.0, 10**6), (0.1, 2.0, 5.0, 300), (0.01, 10.0, 100.0, 50_000)]
DIVERGENCES = {"literal": base_from_mixture, "mixture": mixture_from_base, "symmetrised": symmetrised}
NOISY = {"n": 10_000, "batch_size": 100, "step_size": 0.01, "noise_std": 1.0, "lipschitz": 1.0, "diameter": 1.0, "smoothness": 1.0}  # fmt: skip


def literally(order, q, multiplier, width, steps, step):
    """Least over many shares and numbers of steps of the formula itself."""
    shares = 1 / (1 + np.exp(-np.linspace(-6.5, 9.5, 641)))
    counts = np.unique(np.rint(np.geomspace(1, steps, 4000)))
    found = math.inf
    for share in shares.tolist():
        cost = DIVERGENCES[step](order, q, multiplier * math.sqrt(1 - share))
        found = min(found, float((cost * counts + order * width**2 / (2 * share) / counts).min()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("step", DIVERGENCES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_bound_at_an_order_is_the_least_of_the_formula(setting, step):
    for order in (1.02, 1.7, 44.0):
        least = literally(order, *setting, step)
        found = last_iterate(order, *setting, step).rdp
        assert least * (1 - 2e-4) <= found <= least * (1 + 1e-9)
        coarse = last_iterate(order, *setting, step, refine=False).rdp
        assert found <= coarse <= found * 1.01


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        {"steps": 700},
        {"steps": 30_000},
        {"steps": 3 * 10**7},
        {"steps": 1, "n": 100, "batch_size": 1, "step_size": 0.1, "noise_std": 5.0, "diameter": 2.0},
        {"steps": 50, "n": 100, "batch_size": 5, "noise_std": 0.02, "diameter": 10.0},  # infinite at some shares
    ],
)
def test_a_statement_has_the_bounds_of_its_own_steps_and_their_best_order(changed):
    mechanism = NoisySgd(**{**NOISY, **changed})
    kinds = [a for a in mechanism.upper_bounds() if a.name.startswith("iteration-")]
    assert len(kinds) == 3
    for analysis in kinds:
        step = analysis.name.removeprefix("iteration-")
        setting = mechanism.q, mechanism.multiplier / 2, mechanism.width, mechanism.steps, step
        for order in (1.5, 3.7, 64.0):
            assert analysis.rdp(order) == last_iterate(order, *setting).rdp < math.inf
        for delta in (1e-3, 1e-9):
            least, _ = eps_of_curve(lambda order, setting=setting: last_iterate(order, *setting).rdp, delta)
            assert least * (1 - 1e-6) <= analysis.eps(delta) <= least * (1 + 1e-6)
