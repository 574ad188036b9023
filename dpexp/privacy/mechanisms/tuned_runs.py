"""Private selection as it is run: K runs, each of a candidate drawn uniformly, and the best one by a score is released.

Papernot and Steinke (arXiv 2110.03620) bound the release by a Renyi curve of one run, whose output is everything that
orders the runs: the candidate c, the iterates W, and the score S.

The score counts the held-out records that the last iterate classifies correctly. These are of the same people, so
either they are public, or S = count + N(0, s^2). Neighbours differ in one record. It is a training record or a held-out
one, and never both, in both worlds: one that is replaced keeps its place, and places decide; one that is added or
removed has its part by itself, and no other record changes its own (`dpexp.data.dataset`). Candidates, their numbers
of steps and their noise follow from public numbers. So it is

* a training record: c does not depend on it, (W given c) has the divergence of the candidate's run, and S is a function
  of W, of the same held-out records and of independent noise. Post-processing: D_a <= max over c of D_a(W given c).
* a held-out record: (c, W) has the same law in both worlds. Given these, the count moves by at most 1, whether the
  record is replaced, added or removed, so that D_a(S given c, W) <= a / (2 s^2), and the mean over (c, W) of
  e^((a - 1) D_a) is at most e^((a - 1) a / (2 s^2)).

Ties: where two scores are equal the earlier run stays. K does not depend on the runs, which are exchangeable, so this
has the law of a tie that an independent uniform number in each output breaks, as a total order on outputs must.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpexp.core.text import up
from dpexp.privacy.accounting.gdp import delta_of, eps_of, rdp_of
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.analyses.composition_of_runs import composable, composition_of_runs
from dpexp.privacy.analyses.private_selection import (
    Curve,
    NumberOfRuns,
    curve_of_run,
    delta_of_run,
    law,
    looseness,
    selection,
)
from dpexp.privacy.mechanisms.private_selection import NO_CURVE
from dpexp.privacy.mechanisms.released import Released

PUBLIC = "the held-out records, by which runs are compared, are public"
NOISY = (
    "runs are compared by the number of correct held-out records with Gaussian noise of standard deviation "
    "{noise:.4g}, no training record is held out, and no one's part depends on another's record"
)
OF_ONE_RUN = "the largest Renyi curve of the candidates"


@dataclass(frozen=True)
class TunedRuns:
    """The best of K runs of some candidates, with the noise that they have."""

    candidates: tuple[Released, ...]
    """what a run of each releases"""
    drawn: NumberOfRuns
    score_noise: float | None
    """standard deviation of the noise on the number of correct held-out records; None where these are public"""
    held_out: int
    """held-out records"""
    delta: float
    """at which prices are compared in words"""
    about: bool = False
    """whether `held_out` follows from a stated number of records, and is not that of these"""

    @property
    def neighboring_relation(self) -> str:
        return self.candidates[0].neighboring_relation

    @property
    def sampling(self) -> str:
        return ", ".join(dict.fromkeys(candidate.sampling for candidate in self.candidates))

    @cached_property
    def analysis(self) -> Analysis:
        """The price of what is released."""
        curve = self._curve
        if curve is None:
            return gaussian_analysis("private-selection", "", ALL, math.inf, (), NO_CURVE)
        assumed = (
            text for released in self._distinct for a in released.analyses() if a.valid for text in a.assumptions
        )
        scored = PUBLIC if self.score_noise is None else NOISY.format(noise=self.score_noise)
        runs, shape = self.drawn
        return selection(curve, self._delta, runs, shape, OF_ONE_RUN, tuple(dict.fromkeys(assumed)), scored)

    def analyses(self) -> list[Analysis]:
        """The one of private selection."""
        return [self.analysis]

    def one_run(self, delta: float) -> float:
        """Epsilon of one run, its score among what it releases."""
        return max(self._score_eps(delta, 1), *(_least(candidate, delta) for candidate in self._distinct))

    def whole_grid(self, delta: float) -> float:
        """Epsilon of running every candidate once and releasing all runs with their scores, by composition."""
        # candidates that release the same are runs of one kind
        runs = [
            (composable(candidate.analyses(), delta), count) for candidate, count in Counter(self.candidates).items()
        ]
        return max(self._score_eps(delta, len(self.candidates)), composition_of_runs(runs).eps(delta))

    @property
    def looseness(self) -> float:
        """How many times the epsilon of a candidate's run its Renyi curve states, of the candidates the largest."""
        curves = [(candidate.analyses(), curve_of_run(candidate.analyses())) for candidate in self._distinct]
        return max((looseness(analyses, c, self.delta) for analyses, c in curves if c is not None), default=math.inf)

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns of cells.parquet; the noise is the least of the candidates'."""
        rows = [candidate.row(()) for candidate in self._distinct]
        return {
            "noise_multiplier": min(float(row["noise_multiplier"]) for row in rows),
            "accountant": self.analysis.name,
            "guarantee": self.analysis.valid and all(row["guarantee"] for row in rows),
            "gdp_mu": math.nan,
            "score_noise": self.score_noise or 0.0,
            **{f"eps_{delta:g}": self.analysis.eps(delta) for delta in deltas},
            **{f"one_run_eps_{delta:g}": self.one_run(delta) for delta in deltas},
            **{f"grid_eps_{delta:g}": self.whole_grid(delta) for delta in deltas},
        }

    def describe(self) -> list[tuple[str, str]]:
        """What one run is, how the best is chosen, and what else would have cost how much."""
        topics: dict[str, dict[str, None]] = {}
        for released in self._distinct:
            for topic, text in released.describe():
                topics.setdefault(topic, {})[text] = None
        own = [(topic, _some(list(texts))) for topic, texts in topics.items()]
        count, k = len(self.candidates), self.drawn
        which = f"each of one of {count} candidates, drawn uniformly" if count > 1 else "of one candidate"
        none = "; nothing is released where K = 0" if math.isinf(k.shape) else ""
        score = f"correct ones of {'about ' * self.about}{self.held_out:,} held-out records, " + (
            "which are taken to be public"
            if self.score_noise is None
            else f"with noise of standard deviation {self.score_noise:.4g}; one record moves it by at most 1"
        )
        at = f"at delta = {self.delta:g}"
        return [
            *own,
            ("Tuned", f"the best of K runs, K random with mean {k.runs:g} ({law(k.shape)}), {which}{none}"),
            ("Score", score),
            ("One run", f"epsilon = {up(self.one_run(self.delta))} {at}: what none of the runs exceeds"),
            ("The best", f"epsilon = {up(self.analysis.eps(self.delta))} {at}: what is released, with its candidate"),
            ("The grid", f"epsilon = {up(self.whole_grid(self.delta))} {at}, if each of {count} ran once and all left"),
            (
                "Not covered",
                "K, which results on published records alone hold: whoever learns it learns more than is stated",
            ),
        ]

    @property
    def _distinct(self) -> list[Released]:
        return list(dict.fromkeys(self.candidates))

    @cached_property
    def _curve(self) -> Curve | None:
        """Renyi curve of one run, as derived above; None where a candidate has none."""
        curves = [curve_of_run(candidate.analyses()) for candidate in self._distinct]
        known = [curve for curve in curves if curve is not None]
        # one candidate without a curve leaves nothing that holds of a run that may have drawn it
        if len(known) < len(curves):
            return None
        if self.score_noise is None:
            return lambda order: max(curve(order) for curve in known)
        # the score is a Gaussian release of a count that one record moves by 1; a record is a training record or a
        # held-out one, so that the curve is the larger of the two and not their sum
        mu = 1 / self.score_noise if self.score_noise else math.inf
        return lambda order: max(rdp_of(mu, order), *(curve(order) for curve in known))

    def _delta(self, eps: float) -> float:
        """Delta of one run, as its Renyi curve."""
        found = max(delta_of_run(candidate.analyses(), eps) for candidate in self._distinct)
        if self.score_noise is None:
            return found
        return max(found, delta_of(1 / self.score_noise, eps) if self.score_noise else 1.0)

    def _score_eps(self, delta: float, runs: int) -> float:
        """Epsilon for a held-out record of so many noisy scores."""
        # public records have no privacy to lose; noisy counts add up as squares of mu
        if self.score_noise is None:
            return 0.0
        return eps_of(math.sqrt(runs) / self.score_noise, delta) if self.score_noise else math.inf


def _some(texts: list[str]) -> str:
    """What the candidates say, the first in words."""
    return texts[0] + (f"; {len(texts) - 1} more of other candidates" if len(texts) > 1 else "")


def _least(released: Released, delta: float) -> float:
    return min((a.eps(delta) for a in released.analyses() if a.valid and a.released == ALL), default=math.inf)
