"""The privacy statement of one mechanism, as a document and as a page to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dpexp.core.text import columns, down, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.mechanisms import Mechanism, every_analysis


class Statement:
    """Every analysis of a mechanism beside what pairs of neighbours attain; computed as far as it is asked for."""

    def __init__(
        self, name: str, mechanism: Mechanism, deltas: Sequence[float], orders: Sequence[float], force: bool
    ) -> None:
        self.name, self.mechanism, self.force = name, mechanism, force
        self.deltas, self.orders = tuple(deltas), tuple(orders)
        self.analyses, self.lower = every_analysis(mechanism), mechanism.lower_bounds()

    @cached_property
    def best(self) -> dict[str, Analysis]:
        """The tightest valid analysis of what is released; all-iterates analyses cover the last iterate too.

        Refused ones that state a number compete where that is forced.
        """
        first = self.deltas[0]
        valid = [a for a in self.analyses if a.valid or (self.force and math.isfinite(a.eps(first)))]
        kinds = {"all-iterates": [a for a in valid if a.released == "all-iterates"], "last-iterate": valid}
        return {kind: min(found, key=lambda a: a.eps(first)) for kind, found in kinds.items() if found}

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --json`."""
        best = {
            kind: {"analysis": a.name, "eps": [[d, a.eps(d)] for d in self.deltas]} for kind, a in self.best.items()
        }
        return {
            "mechanism": self.name,
            "parameters": self.mechanism.model_dump(),
            "neighboring_relation": self.mechanism.neighboring_relation,
            "sampling": getattr(self.mechanism, "sampling", "every record once"),
            "statements": [a.statement(self.deltas, self.orders) for a in self.analyses],
            "best": best,
            "lower": [bound.statement(self.deltas) for bound in self.lower],
        }

    def text(self) -> str:
        """A page to read; without the Renyi curves, which take a while."""
        parameters = ", ".join(
            f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in self.mechanism if v is not None
        )
        rows = []
        for a in self.analyses:
            mark = "; ".join(f"best for {kind}" for kind, b in self.best.items() if b is a)
            remark = mark if a.valid else "; ".join(filter(None, ["NOT A GUARANTEE", mark]))
            rows.append([a.name, a.released, *(up(a.eps(d)) for d in self.deltas), remark])
        rows += [
            [b.name, b.released, *(down(b.eps(d)) for d in self.deltas), "attained: a lower bound"] for b in self.lower
        ]
        head = ["analysis", "released", *(f"eps at {d:g}" for d in self.deltas), ""]
        lines = [
            f"{self.name}: {parameters}",
            "",
            *(f"  {topic:<12} {text}" for topic, text in self.mechanism.describe()),
            "",
        ]
        lines += ["  " + line for line in columns(rows, head).splitlines()]
        lines.append("")
        for a in self.analyses:
            lines.append(f"  {a.name}: {a.source}" if a.source else f"  {a.name}")
            if not a.valid:
                lines.append(f"      refused: {a.refused}")
            elif a.assumptions:
                lines.append("      holds if " + "; ".join(a.assumptions))
        lines += [f"  {b.name}: the privacy loss of one pair of neighbours\n      {b.pair}" for b in self.lower]
        if any(a.released == "last-iterate" for a in self.analyses):
            lines += ["", "  Not covered by last-iterate analyses: averages of iterates, earlier iterates, gradients."]
        return "\n".join(lines)
