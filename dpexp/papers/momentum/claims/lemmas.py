"""Lemmas 5 and 7 and equation (3) of `momentum`: a step's progress, the noise of the estimate, and what it estimates."""

from __future__ import annotations

from typing import Any

from dpexp.papers.momentum.claims.assumed import memory, mixing, normalised
from dpexp.papers.momentum.identities import equation_three_errors
from dpexp.papers.momentum.levels import printed_levels
from dpexp.papers.momentum.rows import DELTA, METHODS, PRESCRIBED, VARIANTS, prescribed_rows
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.row import Rule, above, near, row
from dpexp.theory.momentum import lemma7_printed, theorem9_schedule


def lemma_5(evidence: Evidence) -> Outcome:
    """Least one-step slack with sharp constants over all prescribed runs."""
    rows: Any = prescribed_rows(evidence.results, "lemma5_slack")
    worst = rows.loc[rows["mean"].idxmin()]
    held = bool((rows["mean"] >= -1e-9).all())
    return Outcome(
        "holds as a bound" if held else "false",
        "the slack is not negative on any path, also with constants divided by 3/2",
        f"least mean slack over {len(rows)} settings: {worst['mean']:.3g} "
        f"({METHODS[worst['method']]}, {VARIANTS[worst['variant']]}, N = {worst['N']})",
        "holds on every path",
        {"least": float(worst["mean"])},
    )


SIZES = {f"N = {n:.0e}": n for n in (1000, 10**5, 10**8)}
SCHEDULES = {label: theorem9_schedule(n, 10, 1.0, DELTA) for label, n in SIZES.items()}


def lemma_7() -> dict[str, float]:
    """The printed bound over the exact rms noise at Theorem 9's schedule."""
    ratios = {}
    for label, n in SIZES.items():
        s = SCHEDULES[label]
        bound = lemma7_printed(n, 10, 1.0, DELTA, s.steps, s.alpha, s.eta, 1.0, 1.0)
        ratios[label] = bound / printed_levels(n, 10, 1.0, DELTA).reduced
    return ratios


def equation_3(reshuffled: bool) -> Rule:
    """Equation (3) against the momentum on random gradients, every sum as printed."""

    def errors() -> dict[str, tuple[float, float]]:
        return {f"N = {n}": (0.0, error) for n, error in equation_three_errors(reshuffled).items()}

    order = "a fresh order in every epoch" if reshuffled else "one order that repeats"
    return near(
        errors, 1e-10, f"error of the momentum on unit-normal gradients, five epochs, {order}", uncertainty="rounding"
    )


CLAIMS = (
    Claim("momentum/lemma-5", "Lemma 5", "Normalised steps find a small gradient if their directions err little.",
          "upper", (PRESCRIBED,), lemma_5, "rounding 1e-9", "holds as a bound",
          "true on every path, also with the constants 1, 1/2, 2 in place of 3/2, 3/4, 3",
          quote="3E[(F(w_1) - F(w_(T+1)))]/(2ηT) + 3Lη/4 + 3/T sum_(t=1..T)",
          false_if="On some path the mean gradient norm is above the bound.", hypotheses=(normalised(),)),
    row("momentum/lemma-7", "Lemma 7", "The noise of Algorithm 2 is at most the printed three terms.", "upper",
          above(lemma_7, "E |m_hat - m| is at most the three terms", "one order that repeats", "means over sampled steps: a few per cent", "bound / rms"),
          "the rms value must be below", "holds as a bound", "loose by about 30; one order that repeats",
          quote="192Gα log_2 T √(d log(1/δ))/ϵ + 128(G + 2L)α √(ηdT log(1/δ)) log_2 T/ϵ",
          false_if="The rms noise at Theorem 9's schedule is above the three terms.",
          hypotheses=(
              memory({label: (SIZES[label], s.alpha) for label, s in SCHEDULES.items()}),
              mixing({label: s.gamma for label, s in SCHEDULES.items()}),
          )),
    row("momentum/equation-3/fixed", "Equation (3), Lemma 17", "Corrects equation (3): with one order that repeats, the estimate without noise is the momentum.",
          "value", equation_3(reshuffled=False), "1e-10 on unit-normal gradients", "reproduced", "exact when the order repeats",
          source="ours", false_if="With one order that repeats, equation (3) is not the momentum."),
    row("momentum/equation-3/reshuffled", "Section 4, before equation (3)", "With the reshuffling of Algorithm 2, the estimate without noise is the momentum.",
          "value", equation_3(reshuffled=True), "1e-10 on unit-normal gradients", "false",
          "it needs the record of step t to be that of step t - N; momentum plus noise is then not private either",
          quote="G_[1,t] = (1-α)^(t-r) G_[1,r] + sum_(i=0..q-1) (1-α)^(Ni) (1-γ)^(q-(i+1)) G_[r+1,r+N]",
          false_if="With a fresh order in every epoch, equation (3) is not the momentum."),
)  # fmt: skip
