"""The mechanism of a run on a data set: what its algorithm amounts to, with the analysis that its noise was set by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism


class Private(Protocol):
    """What an algorithm's `mechanism` returns."""

    @property
    def neighboring_relation(self) -> str: ...
    @property
    def sampling(self) -> str: ...
    def ledger(self, deltas: Sequence[float]) -> dict[str, Any]: ...
    def statements(self, deltas: Sequence[float]) -> list[dict[str, Any]]: ...
    def describe(self) -> list[tuple[str, str]]: ...


@dataclass(frozen=True)
class Stated:
    """A mechanism, its name in MECHANISMS, and the analysis that the ledger reports.

    `accountant` is the name of one of the mechanism's analyses. `label` names it as the config does, `valid` whether it
    is a guarantee for this run: a reproduction of invalid accounting says so.
    """

    name: str
    mechanism: Mechanism
    accountant: str
    label: str = ""
    valid: bool = True

    @property
    def analysis(self) -> Analysis:
        """The analysis of the ledger. Raises ValueError where the mechanism has none of that name."""
        found = self.mechanism.analyses()
        for analysis in found:
            if analysis.name == self.accountant:
                return analysis
        raise ValueError(f"{self.name} has no analysis {self.accountant!r}: {', '.join(a.name for a in found)}")

    def ledger(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns for cells.parquet: the calibrated noise, epsilon at each delta, and by which accountant."""
        analysis = self.analysis
        return {
            "noise_multiplier": float(getattr(self.mechanism, self.mechanism.noise_field)),
            "accountant": self.label or self.accountant,
            "guarantee": self.valid and analysis.valid,
            "gdp_mu": math.nan if analysis.mu is None else analysis.mu,
            **{f"eps_{delta:g}": analysis.eps(delta) for delta in deltas},
        }

    def statements(self, deltas: Sequence[float]) -> list[dict[str, Any]]:
        """Every analysis of the mechanism as one dict (keys of `dpexp privacy --json`)."""
        return [analysis.statement(deltas) for analysis in self.mechanism.analyses()]

    @property
    def neighboring_relation(self) -> str:
        """Which data sets count as neighbours."""
        return self.mechanism.neighboring_relation

    @property
    def sampling(self) -> str:
        """How batches are drawn."""
        return str(getattr(self.mechanism, "sampling", "every record once"))

    def describe(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""
        return self.mechanism.describe()


def document(mechanisms: Sequence[tuple[str, Private]], deltas: Sequence[float]) -> dict[str, Any]:
    """The privacy document of the labelled mechanisms of a config; `best` is what the run's accountant states."""
    statements = [{"mechanism": label, **statement} for label, m in mechanisms for statement in m.statements(deltas)]
    return {
        "mechanism": ", ".join(dict.fromkeys(label.split(" on ")[0] for label, _ in mechanisms)),
        "neighboring_relation": ", ".join(dict.fromkeys(m.neighboring_relation for _, m in mechanisms)),
        "sampling": ", ".join(dict.fromkeys(m.sampling for _, m in mechanisms)),
        "statements": statements,
        "best": {label: m.ledger(deltas) for label, m in mechanisms},
    }


def text(mechanisms: Sequence[tuple[str, Private]], deltas: Sequence[float]) -> str:
    """The privacy document as a page to read: each mechanism, its accounting, and every analysis of it."""
    from dpexp.core.text import columns, up

    blocks = []
    for label, mechanism in mechanisms:
        ledger = mechanism.ledger(deltas)
        rows = [
            [
                s["analysis"],
                s["released"],
                *(up(eps) for _, eps in s["eps"]),
                "" if s["valid"] else "NOT A GUARANTEE",
            ]
            for s in mechanism.statements(deltas)
        ]
        head = ["analysis", "released", *(f"eps at {d:g}" for d in deltas), ""]
        state = "" if ledger.get("guarantee", True) else " (NOT A GUARANTEE)"
        lines = [label, *(f"  {topic:<12} {sentence}" for topic, sentence in mechanism.describe())]
        lines.append(f"  Accounting   {ledger['accountant']}{state}; noise multiplier {ledger['noise_multiplier']:.5g}")
        lines += ["", *("  " + line for line in columns(rows, head).splitlines())]
        blocks.append("\n".join(lines))
    blocks.append("Last-iterate analyses do not cover averages of iterates, earlier iterates or gradients.")
    return "\n\n".join(blocks)
