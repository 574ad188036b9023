"""Corollary 3.2 of `dp-sgld` as an analysis: with the paper's own conversion, and with a later and tighter one.

The Renyi curve is order * slope. `dp-sgld-printed` converts it by Proposition 2.1 of the paper (Mironov's rule), so
that its epsilon is the paper's; `dp-sgld-renyi` by the rule of Canonne, Kamath and Steinke, about a fifth lower.
"""

from __future__ import annotations

from dpexp.privacy.analyses.analysis import LAST, Analysis, renyi_analysis

PRINTED, CONVERTED = "dp-sgld-printed", "dp-sgld-renyi"
ASSUMED = ("full batches", "theta_0 ~ N(0, 2 sigma^2 / lambda), projected", "only the last iterate is released")


def printed_analyses(
    n: int,
    batch_size: int,
    step_size: float,
    steps: int,
    sigma: float,
    lipschitz: float,
    strong_convexity: float,
    smoothness: float,
    relation: str,
) -> list[Analysis]:
    """Both forms of the corollary, refused where its hypotheses fail or where it is false."""
    # imported here, because the package of theorems takes a while, and other mechanisms need none of them
    from dpexp.theory.dp_sgld.privacy import corollary32, eps_of_slope

    slope = corollary32(1, lipschitz, n, sigma, strong_convexity, step_size, steps)
    refused = ""
    if batch_size < n:
        refused = "false for mini-batches: the divergence is not linear in the random batch (exact counterexamples)"
    elif step_size * smoothness >= 1:
        refused = "needs a step size below 1 / M"
    elif relation != "replace-one":
        refused = "stated for replace-one neighbours"
    printed = Analysis(
        PRINTED,
        "dp-sgld, Corollary 3.2 with Proposition 2.1",
        LAST,
        lambda delta: eps_of_slope(slope, delta),
        ASSUMED,
        lambda order: order * slope,
        refused=refused,
    )
    source = "dp-sgld, Corollary 3.2, converted as Canonne, Kamath and Steinke (2020) do"
    return [printed, renyi_analysis(CONVERTED, source, LAST, lambda order: order * slope, ASSUMED, refused)]
