"""The local Gaussian mechanism: every user is used once and adds noise for their own budget.

Source: `ldp-sgd`, Proposition 1, Theorems 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpexp.privacy.budgets import Budget
from dpexp.privacy.gdp import eps_of, rdp_of

ORDERS = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
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

    def ledger(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Flat columns for cells.parquet.

        `gdp_mu` is the nominal parameter of everything released, `gdp_mu_exact` the one that the exact sensitivity
        gives, `gdp_valid` whether the nominal one holds, `noise_multiplier` the noise standard deviation over the noise
        sensitivity (NaN where budgets differ), `eps_<delta>` the epsilon of the nominal parameter.
        """
        constant = self.budget.constant
        return {
            "gdp_mu": self.budget.largest,
            "gdp_mu_exact": self.exact_mu,
            "gdp_valid": self.holds,
            "mu_mean_inverse_square": self.budget.mean_inverse_square,
            "noise_multiplier": math.nan if constant is None else 1 / constant,
            **{f"eps_{delta:g}": eps_of(self.budget.largest, delta) for delta in deltas},
        }

    def per_user(self) -> dict[str, float]:
        """Quantiles of the users' budgets, each of which bounds what is learned of that user."""
        u = (np.arange(1000) + 0.5) / 1000
        budgets = self.budget.draw(u, 1)
        finite = np.sort(budgets)
        names = {"q05": 50, "median": 500, "q95": 950}
        return {"cap": self.budget.largest} | {name: float(finite[k]) for name, k in names.items()}

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
        return {
            "analysis": analysis,
            "source": source,
            "budget": self.budget.label,
            "released": "all-iterates",
            "per_user": self.per_user(),
            "valid": valid,
            "reason": reason,
            "assumptions": list(ASSUMPTIONS),
            "mu": mu,
            "rdp": [[order, rdp_of(mu, order)] for order in ORDERS],
            "eps": [[delta, eps_of(mu, delta)] for delta in deltas],
        }


def document(mechanisms: Sequence[LocalGaussian], deltas: Sequence[float]) -> dict[str, Any]:
    """The privacy document of several mechanisms that differ in their budgets; `best` maps a budget to its analysis."""
    statements = [s for mechanism in mechanisms for s in mechanism.statements(deltas)]
    best: dict[str, dict[str, Any]] = {}
    for s in statements:
        if s["valid"] and s["mu"] <= best.get(s["budget"], {"mu": math.inf})["mu"]:
            best[s["budget"]] = {key: s[key] for key in ("analysis", "mu", "eps")}
    return {
        "mechanism": "local-gaussian",
        "neighboring_relation": "replace-one",
        "sampling": "every user once, in order",
        "statements": statements,
        "best": best,
    }


def text(mechanisms: Sequence[LocalGaussian], deltas: Sequence[float]) -> str:
    """The privacy document as a page to read."""
    first = mechanisms[0]
    lines = [
        "Local Gaussian mechanism: every user adds noise to their own gradient before sending it.",
        f"  Users        {first.users:,}, each used once; neighbours differ in one user's record (replace-one).",
        "  Released     all iterates (the whole transcript), and therefore the last iterate and every average.",
        f"  Noise        standard deviation {first.noise_sensitivity:.6g} / mu_i on every coordinate of the gradient;",
        f"               the exact sensitivity is {first.exact_sensitivity:.6g}.",
        "  Guarantee    user i: mu_i-GDP (ldp-sgd, Theorem 1); everything released: max mu_i-GDP (Theorems 1, 2).",
        "",
    ]
    heads = ["budget mu_i", "max mu", "with exact sens."] + [f"eps at {d:g}" for d in deltas]
    rows = [heads]
    for m in mechanisms:
        mu, exact = m.budget.largest, m.exact_mu
        held = f"{mu:.4g}" + ("" if m.holds else " (NOT met)")
        sound = mu if m.holds else exact
        rows.append([m.budget.label, held, f"{exact:.4g}"] + [f"{eps_of(sound, d):.4g}" for d in deltas])
    widths = [max(len(row[k]) for row in rows) for k in range(len(heads))]
    lines += [
        "  "
        + "  ".join(cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    lines += ["", "  Holds if     " + "\n               ".join(f"{a};" for a in ASSUMPTIONS)]
    if any(math.isinf(m.budget.largest) for m in mechanisms):
        lines.append("  Non-private  a budget of inf adds no noise: no guarantee at all.")
    if any(8 < eps_of(m.budget.largest, min(deltas)) < math.inf for m in mechanisms):
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
