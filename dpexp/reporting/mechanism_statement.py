"""The privacy statement of a mechanism given by its parameters, as a document and as a page.

Upper bounds are printed rounded up, what is attained rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

from dpexp.core.terminal import each
from dpexp.core.text import Printed, down
from dpexp.privacy.analyses.analysis import ALL, LAST, ORDERS, Analysis
from dpexp.privacy.lower_bounds import refuted, with_last_iterate
from dpexp.privacy.mechanisms import every_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.reporting.guarantee_in_words import SEES, gaussian_of, sentence, success
from dpexp.reporting.statement import pairs_of, row_of, table_of, terms, topics


class MechanismStatement(Printed):
    """Every analysis of a mechanism beside what pairs of neighbours attain; computed as far as it is asked for."""

    def __init__(
        self,
        name: str,
        mechanism: Mechanism,
        deltas: Sequence[float],
        orders: Sequence[float] = ORDERS,
        invalid: bool = False,
    ) -> None:
        self.name, self.mechanism, self.invalid = name, mechanism, invalid
        self.deltas, self.orders = tuple(deltas), tuple(orders)
        # each number is computed once, so that text and document have the same
        self._raw = [replace(a, eps=cache(a.eps)) for a in every_analysis(mechanism)]
        self.lower = with_last_iterate(mechanism.lower_bounds())

    @cached_property
    def analyses(self) -> list[Analysis]:
        """All of them; what a pair of neighbours refutes is refused."""
        told = each(self._raw, "analysis", _name)
        wrong = refuted(told, self.lower, self.deltas)
        return [replace(a, refused=wrong[a.name]) if a.name in wrong else a for a in self._raw]

    @cached_property
    def best(self) -> dict[str, Analysis]:
        """The tightest valid analysis of what is released; all-iterates analyses cover the last iterate too.

        Refused ones that state a number compete where they are asked for.
        """
        valid = [(a, a.at(self.deltas)[0]) for a in self.analyses if a.valid or self.invalid]
        valid = [(a, eps) for a, eps in valid if a.valid or math.isfinite(eps)]
        kinds = {ALL: [pair for pair in valid if pair[0].released == ALL], LAST: valid}
        return {kind: min(found, key=lambda pair: pair[1])[0] for kind, found in kinds.items() if found}

    def gaussian(self, kind: str) -> dict[str, float | None]:
        """The mu of the best analysis of a release, up to the smallest delta."""
        return gaussian_of(self.best[kind], min(self.deltas))

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --json`."""
        best: dict[str, dict[str, Any]] = {}
        for kind, a in self.best.items():
            # one mu for both
            gdp = best[ALL]["gdp"] if kind == LAST and a is self.best.get(ALL) else self.gaussian(kind)
            best[kind] = {"analysis": a.name, "eps": pairs_of(a, self.deltas), "gdp": gdp}
        return {
            "plain": self.plain,
            "mechanism": self.name,
            "parameters": self.mechanism.model_dump(),
            "neighboring_relation": self.mechanism.neighboring_relation,
            "sampling": self.mechanism.scheme,
            "statements": [a.statement(self.deltas, self.orders) for a in self.analyses],
            "best": best,
            "lower": [bound.statement(self.deltas) for bound in self.lower],
        }

    @cached_property
    def plain(self) -> list[str]:
        """What the best guarantee means, in a sentence; another one where less is seen and less can be told."""
        kinds = [kind for kind in (ALL, LAST) if kind == ALL or self.best.get(LAST) is not self.best.get(ALL)]
        relation = self.mechanism.neighboring_relation
        covering = {ALL: [a for a in self.analyses if a.released == ALL], LAST: self.analyses}
        return [
            sentence(success(covering[kind], self.deltas), relation, self.mechanism.seen or SEES[kind])
            for kind in kinds
        ]

    def text_of_parameters(self) -> str:
        """The mechanism's parameters with their names."""
        return ", ".join(
            f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}"
            for k, v in self.mechanism.model_dump().items()
            if v is not None
        )

    def text(self) -> str:
        """A page to read; without the Renyi curves, which take a while."""
        covering = [a.at(self.deltas)[0] for a in self.analyses if a.valid and a.released == ALL]
        rows = []
        for a in self.analyses:
            marks = [f"best for {kind}" for kind, best in self.best.items() if best is a]
            if a.valid and a.released == LAST and a.at(self.deltas)[0] > min(covering, default=math.inf):
                marks.append("no gain: all iterates cost less")
            rows.append(row_of(a, self.deltas, "; ".join(marks)))
        rows += [[b.name, b.released, *map(down, b.at(self.deltas)), "attained: a lower bound"] for b in self.lower]
        lines = [
            *self.plain,
            "",
            f"{self.name}: {self.text_of_parameters()}",
            "",
            *topics([*self.mechanism.description(), *terms([self.mechanism.neighboring_relation])]),
            "",
            *table_of(rows, self.deltas),
        ]
        lines.append("")
        for a in self.analyses:
            lines.append(f"  {a.name}: {a.source}" if a.source else f"  {a.name}")
            if not a.valid:
                lines.append(f"      refused: {a.refused}")
            elif a.assumptions:
                lines.append("      holds if " + "; ".join(a.assumptions))
            if a.valid and a.remark:
                lines.append(f"      {a.remark}")
        lines += [f"  {b.name}: the privacy loss of one pair of neighbours\n      {b.source}" for b in self.lower]
        if any(a.released == LAST for a in self.analyses):
            lines += ["", "  Not covered by last-iterate analyses: averages of iterates, earlier iterates, gradients."]
        return "\n".join(lines)


def _name(analysis: Analysis) -> str:
    return analysis.name
