"""The local Gaussian mechanism: every user is used once and adds noise for their own budget.

Source: `ldp-sgd`, Proposition 1, Theorems 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpexp.core.text import up
from dpexp.privacy.accounting.gdp import eps_of
from dpexp.privacy.analyses.analysis import ALL, gaussian_analysis
from dpexp.privacy.budgets import Budget

ASSUMPTIONS = (
    "neighbours differ in the record of one user (replace-one)",
    "every user is used once; k uses would cost sqrt(k) mu",
    "budgets are public and do not depend on the data",
    "a user adds the noise before sending, so the server need not be trusted",
)


@dataclass(frozen=True)
class LocalGaussian:
    """`users` users send gradient + (noise_sensitivity / mu_i) N(0, I); the true sensitivity is exact_sensitivity."""

    budget: Budget
    noise_sensitivity: float
    exact_sensitivity: float
    users: int

    @property
    def exact_mu(self) -> float:
        """The GDP parameter that the noise really gives the worst-off user: mu_i exact / noise sensitivity."""
        return self.budget.largest * self.exact_sensitivity / self.noise_sensitivity

    @property
    def holds(self) -> bool:
        """Whether user i really has mu_i-GDP, that is whether the noise is not too small."""
        return self.exact_sensitivity <= self.noise_sensitivity * (1 + 1e-12)

    @property
    def sound_mu(self) -> float:
        """The nominal GDP parameter of everything released where it holds, else the one that does."""
        return self.budget.largest if self.holds else self.exact_mu

    def ledger(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Flat columns for cells.parquet.

        `gdp_mu` is the nominal parameter of everything released, `gdp_mu_exact` the one that the exact sensitivity
        gives, `gdp_valid` whether the nominal one holds, `noise_multiplier` the noise standard deviation over the noise
        sensitivity (NaN where budgets differ), `eps_<delta>` the epsilon of the nominal parameter where that holds,
        else of `gdp_mu_exact`.
        """
        constant = self.budget.constant
        return {
            "gdp_mu": self.budget.largest,
            "gdp_mu_exact": self.exact_mu,
            "gdp_valid": self.holds,
            "mu_mean_inverse_square": self.budget.mean_inverse_square,
            "noise_multiplier": math.nan if constant is None else 1 / constant,
            **{f"eps_{delta:g}": eps_of(self.sound_mu, delta) for delta in deltas},
        }

    def per_user(self) -> dict[str, float]:
        """Quantiles of the users' budgets, each of which bounds what is learned of that user."""
        count = min(self.users, 1_000_000)
        budgets = self.budget.draw((np.arange(count) + 0.5) / count, 1)
        low, middle, high = np.quantile(budgets, [0.05, 0.5, 0.95], method="inverted_cdf")
        return {"cap": self.budget.largest, "q05": float(low), "median": float(middle), "q95": float(high)}

    @property
    def neighboring_relation(self) -> str:
        """Which data sets count as neighbours."""
        return "replace-one"

    @property
    def sampling(self) -> str:
        """How users are drawn."""
        return "every user once, in order"

    def describe(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""
        return [
            ("Protected", "every user, against everyone, the server included; neighbours replace one user's record"),
            ("Released", "the whole transcript, and therefore the last iterate and every average"),
        ]

    def statements(self, deltas: Sequence[float]) -> list[dict[str, Any]]:
        """What can be said of this mechanism, one dict an analysis (keys as in `dpexp privacy --json`)."""
        nominal, exact = self.budget.largest, self.exact_mu
        used, true = self.noise_sensitivity, self.exact_sensitivity
        low = f"the noise is set for sensitivity {used:.6g}, the exact one is {true:.6g}"
        return [
            self._statement("gdp, parallel composition", "ldp-sgd, Theorems 1 and 2", nominal, self.holds,
                            "" if self.holds else low, deltas),
            self._statement("gdp, exact sensitivity", "ldp-sgd, Proposition 1 with the exact sensitivity", exact, True,
                            low, deltas),
        ]  # fmt: skip

    def _statement(
        self, analysis: str, source: str, mu: float, valid: bool, reason: str, deltas: Sequence[float]
    ) -> dict[str, Any]:
        stated = gaussian_analysis(analysis, source, ALL, mu, ASSUMPTIONS).statement(deltas)
        own = {"budget": self.budget.label, "per_user": self.per_user(), "valid": valid, "reason": reason}
        return stated | own


def document(mechanisms: Sequence[LocalGaussian], deltas: Sequence[float]) -> dict[str, Any]:
    """The privacy document of several mechanisms.

    `best` maps a budget to the smallest valid mu; where mechanisms of one budget differ in their noise, to what holds
    for all of them.
    """
    statements: list[dict[str, Any]] = []
    best: dict[str, dict[str, Any]] = {}
    for mechanism in mechanisms:
        own = mechanism.statements(deltas)
        statements += own
        tightest = min((s for s in own if s["valid"]), key=lambda s: s["mu"])
        label = mechanism.budget.label
        if label not in best or tightest["mu"] > best[label]["mu"]:
            best[label] = {key: tightest[key] for key in ("analysis", "mu", "eps")}
    return {
        "mechanism": "local-gaussian",
        "neighboring_relation": "replace-one",
        "sampling": "every user once, in order",
        "statements": statements,
        "best": best,
    }


def text(mechanisms: Sequence[LocalGaussian], deltas: Sequence[float]) -> str:
    """The privacy document as a page to read."""
    users = ", ".join(dict.fromkeys(f"{m.users:,}" for m in mechanisms))
    noises = dict.fromkeys((m.noise_sensitivity, m.exact_sensitivity) for m in mechanisms)
    lines = [
        "Local Gaussian mechanism: every user adds noise to their own gradient before sending it.",
        f"  Users        {users}, each used once; neighbours differ in one user's record (replace-one).",
        "  Released     all iterates (the whole transcript), and therefore the last iterate and every average.",
    ]
    if len(noises) == 1:
        used, exact = next(iter(noises))
        lines += [
            f"  Noise        standard deviation {used:.6g} / mu_i on every coordinate of the gradient;",
            f"               the exact sensitivity is {exact:.6g}.",
        ]
    else:
        lines.append("  Noise        standard deviation Delta / mu_i on every coordinate of the gradient.")
    lines += [
        "  Guarantee    user i: mu_i-GDP (ldp-sgd, Theorem 1); everything released: max mu_i-GDP (Theorems 1, 2).",
        "",
    ]
    several = len(noises) > 1
    heads = ["budget mu_i", *(["Delta", "exact"] if several else []), "max mu", "with exact sens."]
    rows = [heads + [f"eps at {d:g}" for d in deltas]]
    for m in mechanisms:
        held = up(m.budget.largest, 4) + ("" if m.holds else " (NOT met)")
        sizes = [f"{m.noise_sensitivity:.4g}", f"{m.exact_sensitivity:.4g}"] if several else []
        epsilons = [up(eps_of(m.sound_mu, d), 4) for d in deltas]
        rows.append([m.budget.label, *sizes, held, up(m.exact_mu, 4), *epsilons])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += [
        "  "
        + "  ".join(cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    lines += ["", "  Holds if     " + "\n               ".join(f"{a};" for a in ASSUMPTIONS)]
    if any(math.isinf(m.budget.largest) for m in mechanisms):
        lines.append("  Non-private  a budget of inf adds no noise: no guarantee at all.")
    if any(8 < eps_of(m.sound_mu, min(deltas)) < math.inf for m in mechanisms):
        lines.append("  Weak         an epsilon above about 8 protects little in the (epsilon, delta) sense.")
    if not all(m.holds for m in mechanisms):
        lines.append(
            "  WARNING      the noise is smaller than the budgets ask for: the nominal mu_i-GDP does not hold;"
        )
        lines.append("               epsilon is that of the guarantee that does.")
    lines.append(
        "  Not covered  a user who takes part twice; budgets chosen from the data; floating-point side channels."
    )
    return "\n".join(lines)
