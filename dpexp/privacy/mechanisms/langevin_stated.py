"""The mechanism of the algorithm `dp-sgld`: its row of cells.parquet and its analyses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpexp.privacy.accounting.langevin_accounting import REFUSED, Accountant, analysis_of, as_mechanism, composed
from dpexp.privacy.accounting.langevin_run import LangevinRun
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.composition import epoch_text
from dpexp.privacy.analyses.langevin_printed import CONVERTED, PRINTED


@dataclass(frozen=True)
class AccountedLangevin:
    """A run with its noise and accountant: the mechanism of the algorithm `dp-sgld`."""

    run: LangevinRun
    accountant: Accountant
    sigma: float

    @property
    def neighboring_relation(self) -> str:
        return self.run.relation

    @property
    def sampling(self) -> str:
        return self.run.sampling

    @property
    def analysis(self) -> Analysis:
        """What the accountant states."""
        return analysis_of(self.run, self.accountant, self.sigma)

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns for cells.parquet: what the accountant states, and beside it what sound composition states."""
        stated = self.analysis
        sound = composed(self.run, self.run.multiplier(self.sigma))
        return {
            "noise_multiplier": self.run.multiplier(self.sigma),
            "noise_sigma": self.sigma,
            "accountant": self.accountant,
            "guarantee": stated.valid and self.sigma > 0,
            "gdp_mu": math.nan if stated.mu is None else stated.mu,
            **{f"eps_{delta:g}": stated.eps(delta) if self.sigma else math.inf for delta in deltas},
            **{f"sound_eps_{delta:g}": sound.eps(delta) for delta in deltas},
        }

    def analyses(self) -> list[Analysis]:
        """The accountant's, composition, and every other analysis where steps are of one size."""
        if self.sigma == 0:
            return [composed(self.run, 0.0)]
        found = [analysis_of(self.run, self.accountant, self.sigma)]
        if self.accountant in (*REFUSED, "last-iterate"):
            found.append(composed(self.run, self.run.multiplier(self.sigma)))
        if self.run.constant and self.run.sampling == "fixed-size":
            names = {PRINTED, CONVERTED, "pld-composition"}
            found += [a for a in as_mechanism(self.run, self.sigma).analyses() if a.name not in names]
        return found

    def describe(self) -> list[tuple[str, str]]:
        """Who is protected, what is released and how noise is set."""
        run = self.run
        share = epoch_text(run.q) if run.sampling == "shuffled" else f"probability {run.q:.4g}"
        if run.by_epochs:
            share = f"{run.by_epochs.batches:,} to an epoch"
            share += f", probability {run.by_epochs.share:.4g}" if run.sampling == "cyclic-poisson" else ""
        return [
            ("Protected", f"every record, against who sees what is released; neighbours: {run.relation}"),
            ("Sampling", f"{run.sampling}, batches of {run.batch_size} of {run.n:,} records ({share})"),
            ("Noise", f"sqrt(2 eta_k) sigma on the parameter, sigma = {self.sigma:.4g}"),
            ("Released", f"after {run.steps:,} steps, {run.epochs} epochs; see each line for what it covers"),
        ]
