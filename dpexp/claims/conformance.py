"""Published numbers of other accountants and papers, computed with ours: `dpexp claims --conformance`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

from dpexp.privacy.conversions import eps_of_curve
from dpexp.privacy.gdp import delta_of, eps_of, mu_of
from dpexp.privacy.loss_distributions import step_loss
from dpexp.privacy.mechanisms.langevin import Langevin
from dpexp.privacy.sampled_gaussian import mixture_from_base
from dpexp.privacy.shifted_interpolation import cyclic_strongly_convex, full_batch_strongly_convex


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
    (printed,) = [a for a in mechanism.analyses() if a.name == "dp-sgld-printed"]
    assert printed.rdp is not None
    rdp = printed.rdp
    return lambda: rdp(10.0)


DP_ACCOUNTING = "dp_accounting 0.6.0, rdp_privacy_accountant_test"
AUTODP = "autodp, unit tests of Poisson sampling (add/remove)"
BOK = "Bok, Su and Altschuler (2024), tables of the public code"
REFERENCES: tuple[Reference, ...] = (
    *(
        Reference(f"RDP, order {a:g}: q = 0.01, multiplier 2.5, 50 steps", DP_ACCOUNTING, v, "equal", 2e-6, _steps(a, 0.01, 2.5, 50))
        for a, v in ((5, 2.18075656e-3), (50, 2.38460375e-2), (100, 167.416308))
    ),
    *(
        Reference(f"RDP, order {a:g}: q = 0.01, multiplier 1", AUTODP, v, "equal", 1e-8, _steps(a, 0.01, 1.0))
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
        Reference(f"mu of {t} full-batch steps, c = {c}", BOK, v, "equal", 2e-6, partial(full_batch_strongly_convex, 0.1, c, t))
        for c, t, v in ((0.98, 10, 0.315697), (0.98, 1000, 0.994987), (0.99, 100, 0.961014), (0.99, 1000, 1.410613))
    ),
    *(
        Reference(f"mu of {e} cyclic epochs, l = 40, c = 0.9999", BOK, v, "equal", 2e-6, partial(cyclic_strongly_convex, 2 / 3, 0.9999, 40, e))
        for e, v in ((50, 0.992491), (100, 1.235339), (200, 1.592974))
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
        rows.append(
            {
                "what": reference.what,
                "source": reference.source,
                "published": reference.published,
                "relation": reference.relation,
                "ours": ours,
                "relative_difference": difference,
                "agrees": bool(agrees and math.isfinite(ours)),
            }
        )
    return rows
