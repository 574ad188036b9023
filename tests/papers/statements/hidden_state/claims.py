"""The claims of `hidden-state`: settled by exact laws in one dimension and by composition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from dpexp.accounting.loss_steps import StepLoss
from dpexp.accounting.search import eps_of_delta
from dpexp.papers.hidden_state.hidden_state_claims import FIELDS, PUSH, exact_delta, pair_of
from dpexp.papers.hidden_state.hidden_state_figures import crossing, limit, same_mechanism
from dpexp.privacy.analyses.hidden_state import last_iterate_delta
from dpexp.privacy.exact.walk import HockeyStick, WalkLaw
from dpexp.privacy.mechanisms.noisy_sgd import ClippedNoisySgd
from dpexp.reporting.checks import above

EPSILONS = (0.01, 0.1)
SIGMA = 0.5


def noise_scale() -> dict[str, float]:
    """The update's noise sigma^2 Z read literally, sigma = 1/2, under theta with the printed argument over sigma."""
    return {
        # in units of the literal noise the set has this diameter; theta is then taken at sigma times the right argument
        f"diameter {diameter:g} noise units": last_iterate_delta(0.0, SIGMA * (diameter + 2 * PUSH), q, 100)
        / exact_delta(pair_of(diameter, q, FIELDS["repelling"]), 100, 0.0)
        for diameter, q in ((2.0, 0.2), (4.0, 0.1))
    }


def hybrid_holds() -> dict[str, float]:
    """Our hybrid bound over exact laws of clipped, non-convex walks: epsilon at two deltas."""
    ratios = {}
    for (name, field), (diameter, q), steps in product(FIELDS.items(), ((1.0, 0.05), (2.0, 0.2)), (10, 1000)):
        one, other = pair_of(diameter, q, field)
        # one record a batch, which moves a step by 1/2
        mechanism = ClippedNoisySgd(
            n=round(1 / q), batch_size=1, step_size=0.5, clip=1.0, diameter=diameter, noise_std=1.0, steps=steps
        )
        # the bound as a user gets it, from the mechanism itself
        (hybrid,) = (analysis for analysis in mechanism.upper_bounds() if analysis.name == "hybrid")
        there, back = (HockeyStick(WalkLaw(p, steps), WalkLaw(r, steps)) for p, r in ((one, other), (other, one)))
        for delta in (1e-2, 1e-4):
            if (exact := max(eps_of_delta(curve, delta) for curve in (there, back))) > 0:
                ratio = hybrid.eps(delta) / exact
                ratios[f"{name}, diameter {diameter:g}, T = {steps}, delta = {delta:g}"] = ratio
    return ratios


def crossings(loss: StepLoss, over: Callable[[float], float]) -> dict[str, float]:
    """Steps at which composition's delta passes the bound's limit, by eps."""
    return {f"eps = {eps:g}": over(crossing(lambda t, e=eps: loss.times(t).delta(e), limit(eps))) for eps in EPSILONS}


CHECKS = {
    "hidden-state/noise-scale": above(noise_scale, "", otherwise="misprint"),
    "hidden-state/figure": above(
        lambda: crossings(same_mechanism(), lambda steps: steps / 1e5), "", verdict="reproduced"
    ),
    "hidden-state/hybrid": above(hybrid_holds, ""),
}
