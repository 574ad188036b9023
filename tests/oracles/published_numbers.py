"""Published numbers of other accountants and papers, computed with ours: `tests/papers/test_published_numbers.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from dpexp.accounting import pairs as hockey_sticks
from dpexp.accounting.gaussian import delta_of, eps_of, mu_of, rdp_of
from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.renyi import eps_of_curve, improved_eps, mixture_from_base
from dpexp.privacy.analyses import last_iterate
from dpexp.privacy.mechanisms.langevin import Langevin
from dpexp.privacy.momentum.trees import squared_sensitivities


class Reference(NamedTuple):
    """A published value; `equal` within the tolerance, or ours `at most` it where theirs is a looser bound."""

    what: str
    source: str
    published: float
    relation: Literal["equal", "at most"]
    tolerance: float
    compute: Callable[[], float]


def _steps(order: float, q: float, sigma: float, steps: int = 1) -> Callable[[], float]:
    return lambda: steps * mixture_from_base(order, q, sigma)


def _renyi_eps(q: float, sigma: float, steps: int, delta: float) -> Callable[[], float]:
    return lambda: eps_of_curve(lambda order: steps * mixture_from_base(order, q, sigma), delta)[0]


def _langevin(steps: int) -> Callable[[], float]:
    mechanism = Langevin(
        n=10_000, batch_size=10_000, step_size=0.1, sigma=0.02, lipschitz=1.0, strong_convexity=0.01, smoothness=1.0,
        steps=steps, sampling="full-batch",
    )  # fmt: skip
    (printed,) = [a for a in mechanism.upper_bounds() if a.name == "dp-sgld-printed"]
    assert printed.rdp is not None
    rdp = printed.rdp
    return lambda: rdp(10.0)


def _pld_eps(q: float, sigma: float, steps: int, delta: float) -> Callable[[], float]:
    return lambda: step_loss(q, sigma, "add-remove").eps(steps, delta)


ONE_STEP = {"removing": hockey_sticks.removing, "adding": hockey_sticks.adding, "opposite": hockey_sticks.opposite}


def _one_step(sigma: float, q: float, kind: str, eps: float) -> Callable[[], float]:
    """The hockey-stick curve of one step; `opposite` puts the means 2 / sigma apart."""
    curve = ONE_STEP[kind]
    return lambda: float(curve(np.array([eps]), q, 1 / sigma)[0])


def _noise(q: float, steps: int) -> Callable[[], float]:
    """The least noise multiplier for (1, 1e-5) by our privacy loss distributions."""
    from scipy.optimize import brentq

    def excess(log_sigma: float) -> float:
        return step_loss(q, math.exp(log_sigma), "add-remove").eps(steps, 1e-5) - 1.0

    return lambda: math.exp(float(brentq(excess, math.log(0.3), math.log(3.0), xtol=1e-6)))


def _tree_eps(multiplier: float) -> Callable[[], float]:
    """Every record once in a tree of 1600 steps, as Gaussian DP."""
    return lambda: eps_of(math.sqrt(_squared_counts(1, 0, 1600)) / multiplier, 1e-6)


def _squared_counts(uses: int, gap: int, steps: int) -> float:
    """Largest sum over all nodes of the squared number of uses of a record, at most `uses`, `gap` steps between them."""
    return max(_counted(places, steps) for places in _patterns(0, uses, gap, steps))


def _patterns(first: int, uses: int, gap: int, steps: int) -> Iterator[tuple[int, ...]]:
    for place in range(first, steps):
        yield (place,)
        if uses > 1:
            for rest in _patterns(place + gap + 1, uses - 1, gap, steps):
                yield (place, *rest)


def _counted(places: Sequence[int], steps: int) -> float:
    """Sum over nodes of squared counts: sensitivities without discount, of a record that is used at `places`."""
    items = np.ones(steps, dtype=np.int64)
    items[list(places)] = 0
    return float(squared_sensitivities(items, 1e-18, left_only=False)[0])


def _ftrl_eps(node_noise: float, delta: float) -> float:
    """100 epochs of 100 batches, a fresh tree every 20 epochs, completed to the next power of two but for the last."""
    return eps_of(math.sqrt(4 * _repeated(2000, 2048) + _repeated(2000, 2000)) / node_noise, delta)


def _repeated(steps: int, completed: int) -> float:
    """Largest sum of squared counts of a record used every 100 of `steps` steps in a tree of `completed` steps."""
    return max(_counted(range(start, steps, 100), completed) for start in range(100))


PLD_TEST = "dp_accounting 0.6.0, privacy_loss_mechanism_test"
TF_PRIVACY = "TF Privacy, compute_dp_sgd_privacy_test"
DP_ACCOUNTING = "dp_accounting 0.6.0, rdp_privacy_accountant_test"
AUTODP = "autodp, unit tests of Poisson sampling (add/remove)"
BOK = "Bok, Su and Altschuler (2024), tables of the public code"
REFERENCES: tuple[Reference, ...] = (
    *(
        Reference(f"RDP, order {a:g}: q = 0.01, multiplier 2.5, 50 steps", DP_ACCOUNTING, v, "equal", 2e-6, _steps(a, 0.01, 2.5, 50))
        for a, v in ((5, 2.18075656e-3), (50, 2.38460375e-2), (100, 167.416308))
    ),
    *(
        Reference(f"RDP, order {a:g}: q = 0.01, multiplier 1", AUTODP, v, "equal", 5e-9, _steps(a, 0.01, 1.0))
        for a, v in ((1.25, 1.0539800475567958e-4), (2, 1.7181342207453428e-4), (4.5, 4.1492706734509965e-4), (64, 27.32173187455178))
    ),
    *(
        Reference(f"epsilon at 1e-5 of {mu:g}-GDP", "autodp, ExactGaussian", v, "equal", 1e-8, partial(eps_of, mu, 1e-5))
        for mu, v in ((1.0, 4.3771780957), (2.0, 9.997256146))
    ),
    Reference(
        "noise of a Gaussian mechanism for (1, 1e-5)", "Balle and Wang (2018), analytic Gaussian mechanism",
        3.7306316348, "equal", 1e-9, lambda: 1 / mu_of(1.0, 1e-5),
    ),
    Reference(
        "delta(1) of the Gaussian mechanism, std 1", "dp_accounting 0.6.0, privacy_loss_mechanism_test",
        0.12693674, "equal", 1e-7, lambda: delta_of(1.0, 1.0),
    ),
    Reference(
        "epsilon by RDP: n = 60000, b = 150, multiplier 1.3, 15 epochs, 1e-5", "TF Privacy, compute_dp_sgd_privacy_test",
        0.7242234026109595, "at most", 1e-6, _renyi_eps(150 / 60000, 1.3, 6000, 1e-5),
    ),
    Reference(
        "epsilon by RDP: q = 0.04, multiplier 1.5, 2250 steps, 1e-5", "Opacus, accountants_test",
        7.32911117143, "at most", 1e-6, _renyi_eps(0.04, 1.5, 2250, 1e-5),
    ),
    Reference(
        "epsilon by PRV, upper: q = 0.04, multiplier 1.5, 2250 steps, 1e-5", "Opacus, accountants_test",
        6.777395712, "at most", 1e-6, lambda: step_loss(0.04, 1.5, "add-remove").eps(2250, 1e-5),
    ),
    *(
        Reference(f"mu of {t} full-batch steps, c = {c}", BOK, v, "equal", 2e-6, partial(last_iterate.full_batch_strongly_convex, 0.1, c, t))
        for c, t, v in ((0.98, 10, 0.315697), (0.98, 1000, 0.994987), (0.99, 100, 0.961014), (0.99, 1000, 1.410613))
    ),
    *(
        Reference(f"mu of {e} cyclic epochs, l = 40, c = 0.9999", BOK, v, "equal", 2e-6, partial(last_iterate.cyclic_strongly_convex, 2 / 3, 0.9999, 40, e))
        for e, v in ((50, 0.992491), (100, 1.235339), (200, 1.592974))
    ),
    *(
        Reference(f"RDP, order {a:g}: q = {q:g}, multiplier {m:g}", "mpmath, 30 digits", v, "equal", 1e-9, _steps(a, q, m))
        for a, q, m, v in ((1.25, 0.05, 0.5, 0.02963273589), (1.25, 0.1, 0.25, 1.804874413), (1.25, 0.1, 0.5, 0.09126475987), (1.25, 0.2, 10.0, 2.509008472e-4))
    ),
    Reference(
        "epsilon of pure RDP 1.1 at order 32, 1e-5", DP_ACCOUNTING, 1.32783806176, "equal", 1e-9, lambda: improved_eps(32, 1.1, 1e-5)
    ),
    Reference(
        "epsilon by RDP of one Gaussian, std 4.530877117, 1e-6", DP_ACCOUNTING, 1.0, "equal", 1e-5,
        lambda: eps_of_curve(lambda a: rdp_of(1 / 4.530877117, a), 1e-6)[0],
    ),
    Reference("epsilon by RDP: 2 full steps, multiplier 0.7, 1e-5", TF_PRIVACY, 10.8602036, "at most", 1e-6, _renyi_eps(1.0, 0.7, 2, 1e-5)),
    Reference("epsilon by PLD: 2 full steps, multiplier 0.7, 1e-5", TF_PRIVACY, 10.1224946, "equal", 1e-4, _pld_eps(1.0, 0.7, 2, 1e-5)),
    Reference("epsilon by RDP: q = 0.01, multiplier 0.7, 120 steps, 1e-5", TF_PRIVACY, 3.2392676, "at most", 1e-6, _renyi_eps(0.01, 0.7, 120, 1e-5)),
    Reference("epsilon by PLD: q = 0.01, multiplier 0.7, 120 steps, 1e-5", TF_PRIVACY, 2.4612381, "equal", 2e-3, _pld_eps(0.01, 0.7, 120, 1e-5)),
    *(
        Reference(f"epsilon by PRV, upper: q = {q:g}, multiplier {m:g}, {t} steps, 1e-6", "Opacus, prv_accountant tests", v, "at most", 1e-5, _pld_eps(q, m, t, 1e-6))
        for m, q, t, v in ((1.5, 0.001, 1000, 0.09982066), (0.8, 0.05, 100, 6.74105194), (3.0, 0.2, 100, 3.38122051), (2.0, 0.05, 20_000, 24.42171857))
    ),
    *(
        Reference(f"delta({e:g}) of one step: std {std:g}, sensitivity {size:g}, q = {q:g}, {how}", PLD_TEST, v, "equal", 2e-4, _one_step(std / size, q, how, e))
        for std, size, q, how, e, v in (
            (1.0, 3.0, 1.0, "removing", 1.0, 0.78760074), (1.0, 1.0, 1.0, "removing", 2.0, 0.02092364),
            (1.0, 1.0, 0.8, "adding", 1.0, 0.0231362104), (1.0, 1.0, 0.8, "removing", 1.0, 0.0816951787),
            (1.0, 1.0, 0.3, "removing", 2.0, 3.34110293e-4), (2.0, 1.0, 0.8, "opposite", 1.0, 0.0580866565),
            (2.0, 3.0, 0.7, "opposite", 1.0, 0.4013057527),
        )
    ),
    Reference("delta(1) of 3 Gaussians, std sqrt 3", "dp_accounting 0.6.0, pld_privacy_accountant_test", 0.126936, "equal", 2e-5, lambda: delta_of(1.0, 1.0)),
    Reference(
        "delta(1) of 3 steps: q = 0.2, multiplier 0.5", "dp_accounting 0.6.0, pld_privacy_accountant_test",
        0.15594, "equal", 1e-3, lambda: step_loss(0.2, 0.5, "add-remove").delta(3, 1.0),
    ),
    Reference("least noise for (1, 1e-5): q = 0.01, 1 step", "dp_accounting 0.6.0, accountant_test", 0.67379294682, "equal", 1e-3, _noise(0.01, 1)),
    Reference("least noise for (1, 1e-5): q = 0.001, 25 steps, sensitivity 6", "dp_accounting 0.6.0, accountant_test", 3.20956502598, "equal", 1e-3, lambda: 6 * _noise(0.001, 25)()),
    *(
        Reference(f"epsilon at 1e-6 of a tree of 1600 steps, node multiplier {m:g}", DP_ACCOUNTING, v, "at most", 0.0, _tree_eps(m))
        for m, v in ((1.13, 19.74), (8.83, 2.04))
    ),
    *(
        Reference(f"squared node counts of a tree: {uses} uses, {gap} steps between, {steps} steps", "TF Privacy, tree_aggregation_accountant_test", float(v), "equal", 0.0, partial(_squared_counts, uses, gap, steps))
        for uses, gap, steps, v in ((1, 7, 8, 4), (3, 3, 9, 11), (3, 2, 7, 9), (8, 2, 24, 88), (8, 0, 8, 120))
    ),
    Reference(
        "epsilon of DP-FTRL, 100 epochs of 100 batches, restarts every 20, noise 46.3, 1e-5", "DP-FTRL, public code (its main)",
        6.92, "at most", 0.0, lambda: _ftrl_eps(46.3, 1e-5),
    ),
    *(
        Reference(f"printed Langevin bound, order 10, {k} steps", "public code of dp-sgld", v, "equal", 2e-4, _langevin(k))
        for k, v in ((100, 0.004877), (1000, 0.039347), (10_000, 0.099326))
    ),
)  # fmt: skip


def conformance() -> list[dict[str, Any]]:
    """Every reference with our value, the relative difference, and whether it agrees."""
    rows = []
    for reference in REFERENCES:
        ours = reference.compute()
        difference = ours / reference.published - 1
        agrees = difference <= reference.tolerance and (
            reference.relation == "at most" or difference >= -reference.tolerance
        )
        told = {name: getattr(reference, name) for name in ("what", "source", "published", "relation")}
        found = {"ours": ours, "relative_difference": difference, "agrees": bool(agrees and math.isfinite(ours))}
        rows.append(told | found)
    return rows
