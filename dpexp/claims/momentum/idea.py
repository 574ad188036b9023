"""The idea of `momentum`, section 4: does the noise stop growing with the epochs, and does that help where it can be run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpexp.algorithms.momentum_levels import crossing, fixed_path_levels
from dpexp.claims.claim import Claim, Outcome
from dpexp.claims.evidence import Evidence
from dpexp.claims.momentum.privacy import EXACT
from dpexp.momentum_rows import TUNED, G, tuned_rows


def flat_noise(evidence: Evidence) -> Outcome:
    """Growth of the noise with the epochs at one path length, exactly calibrated."""
    early, late = fixed_path_levels(1000, 16, 2.2), fixed_path_levels(1000, 128, 2.2)
    slopes = [math.log(b / a) / math.log(8) for a, b in zip(early, late, strict=True)]
    at = crossing(1000, 2.2)
    right = abs(slopes[0] - 0.5) < 0.05 and abs(slopes[1]) < 0.05
    return Outcome(
        "reproduced" if right else "contradicted",
        "at one path length the noise grows like sqrt(K) in Algorithm 1 and not in Algorithm 2",
        f"exponents from 16 to 128 epochs: {slopes[0]:.3f} and {slopes[1]:.3f}; equal at {at:.0f} epochs (N = 1000)",
        EXACT,
        {"tree": slopes[0], "reduced": slopes[1], "crossing": at},
    )


def practice(evidence: Evidence) -> Outcome:
    """Whether Algorithm 2, tuned, has a smaller final gradient than Algorithm 1 and than full-batch descent."""
    rows: Any = tuned_rows(evidence.results)
    rows = rows[np.isfinite(rows.eps)].set_index(["method", "N", "d", "eps"])
    places = sorted({key[1:] for key in rows.index})
    worse = {"tree": 0, "descent": 0}
    for place in places:
        for other in worse:
            reduced, rival = rows.loc[("reduced", *place)], rows.loc[(other, *place)]
            worse[other] += int(reduced.ci_lo > rival.ci_hi)
    ours, plain = rows.loc[("reduced", *places[0])]["mean"] / G, rows.loc[("descent", *places[0])]["mean"] / G
    verdict = "contradicted" if max(worse.values()) == len(places) else "not at this sample size"
    return Outcome(
        verdict,  # type: ignore[arg-type]
        "less noise gives smaller gradients at sizes that can be run",
        f"of {len(places)} settings (N, d, eps), Algorithm 2 is certainly worse than Algorithm 1 in {worse['tree']}, than "
        f"full-batch descent in {worse['descent']}; final |grad F| / G at the first: {ours:.3g} against {plain:.3g}",
        "95% intervals, best of equal grids",
        {"places": len(places), **worse},
    )


CLAIMS = (
    Claim("momentum/section-4/noise", "Section 4", "Algorithm 2's noise does not grow with the number of epochs.", "rate",
          (), flat_noise, "0.05 in the exponent", "reproduced", "the idea of the paper, and it is right"),
    Claim("momentum/section-4/practice", "Section 4", "Less noise in the momentum means smaller gradients.", "ordering",
          TUNED, practice, "intervals apart in every setting", "contradicted",
          "before the crossing Algorithm 1 has less noise, and full batches spend no budget on the order of records"),
)  # fmt: skip
