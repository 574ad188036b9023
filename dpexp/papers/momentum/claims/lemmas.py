"""Lemma 5 of `momentum` on stored runs, and equation (3) by force."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpexp.papers.momentum.momentum_runs import METHODS, PRESCRIBED, VARIANTS, last_rows
from dpexp.reporting.checks import near
from dpexp.reporting.claim import Check, Outcome


def lemma_5(rows: Any) -> Outcome:
    """Least one-step slack with sharp constants over all prescribed runs."""
    # the slack holds on every path, so that its least mean is that of the worst setting
    worst = rows.loc[rows["mean"].idxmin()]
    holds = bool((rows["mean"] >= -1e-9).all())
    return Outcome(
        "holds as a bound" if holds else "false",
        "the slack is not negative on any path, also with constants divided by 3/2",
        f"least mean slack over {len(rows)} settings: {worst['mean']:.3g} "
        f"({METHODS[worst['method']]}, {VARIANTS[worst['variant']]}, N = {worst['N']})",
        "holds on every path",
        {"least": float(worst["mean"])},
    )


def equation_3(reshuffled: bool) -> Check:
    """Equation (3) against the momentum on random gradients, every sum as printed."""

    def errors() -> dict[str, tuple[float, float]]:
        return {f"N = {n}": (0.0, _error(n, 1 / n, 0.3, reshuffled)) for n in (5, 8, 13)}

    order = "a fresh order in every epoch" if reshuffled else "one order that repeats"
    return near(
        errors, 1e-10, f"error of the momentum on unit-normal gradients, five epochs, {order}", uncertainty="rounding"
    )


def _error(n: int, alpha: float, gamma: float, reshuffled: bool, epochs: int = 5) -> float:
    """Largest |alpha (C_t + r_t) - m_t| over t, without noise; gradients are unit normal."""
    beta, steps, rng = 1 - alpha, epochs * n, np.random.default_rng(n)
    # a repeated order is the first one, taken again
    orders = [rng.permutation(n) if reshuffled or q == 0 else None for q in range(epochs)]
    items = np.concatenate([orders[0] if order is None else order for order in orders])[:steps]
    anchored, own = rng.standard_normal((epochs, n)), rng.standard_normal(steps)
    q_of = np.arange(steps) // n
    plain = anchored[q_of, items]
    moved = np.where(q_of > 0, plain - anchored[np.maximum(q_of - 1, 0), items], 0.0)

    # equations (2) and (3): G and D are sums over windows of one epoch, weighted by (1 - alpha)^(distance from t)
    def over(values: np.ndarray, first: int, last: int) -> float:
        return float(sum(beta ** (last - i) * values[i - 1] for i in range(first, last + 1)))

    momentum, worst = 0.0, 0.0
    for t in range(1, steps + 1):
        momentum = beta * momentum + alpha * own[t - 1]
        q, r = (t - 1) // n, (t - 1) % n + 1
        # equation (3) term by term, and not as the algorithm sums it
        total = beta ** (t - r) * over(plain, 1, r)
        for i in range(q):
            total += beta ** (n * i) * (1 - gamma) ** (q - (i + 1)) * over(plain, r + 1, r + n)
        for i in range(1, q):
            c = sum((1 - gamma) ** j * beta ** ((i - 1 - j) * n) for j in range(i))
            first, last = t - i * n + 1, t - (i - 1) * n
            total += c * ((1 - gamma) * over(moved, first, last) + gamma * over(plain, first, last))
        worst = max(worst, abs(alpha * (total + over(own - plain, 1, t)) - momentum))
    return worst


CHECKS = {
    "momentum/lemma-5": Check(lambda e: lemma_5(last_rows(e.results, PRESCRIBED, "lemma5_slack")), (PRESCRIBED,)),
    "momentum/equation-3/reshuffled": equation_3(reshuffled=True),
}  # fmt: skip
