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
from dpexp.reporting.guarantee_in_words import (
    SEES,
    gaussian_of,
    pairs_of,
    row_of,
    sentence,
    success,
    table_of,
    terms,
    topics,
)


class MechanismStatement(Printed):
    """Every analysis of a mechanism, with what pairs of neighbours attain."""

    def __init__(
        self, name: str, mechanism: Mechanism, deltas: Sequence[float], orders: Sequence[float] = ORDERS
    ) -> None:
        self.name, self.mechanism = name, mechanism
        self.deltas, self.orders = tuple(deltas), tuple(orders)
        # each number is computed once, so that text and document have the same
        self._raw = [replace(a, eps=cache(a.eps)) for a in every_analysis(mechanism)]
        self.lower = with_last_iterate(mechanism.lower_bounds())

    @cached_property
    def analyses(self) -> list[Analysis]:
        """All of them; what a pair of neighbours refutes is refused."""
        wrong = refuted(each(self._raw, "analysis", lambda a: a.name), self.lower, self.deltas)
        return [replace(a, refused=wrong[a.name]) if a.name in wrong else a for a in self._raw]

    @cached_property
    def best(self) -> dict[str, Analysis]:
        """The tightest valid analysis of what is released; all-iterates analyses cover the last iterate too."""
        pairs = [(a, a.at(self.deltas)[0]) for a in self.analyses if a.valid]
        kinds = {ALL: [pair for pair in pairs if pair[0].released == ALL], LAST: pairs}
        return {kind: min(own, key=lambda pair: pair[1])[0] for kind, own in kinds.items() if own}

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --json`."""
        best: dict[str, dict[str, Any]] = {}
        for kind, a in self.best.items():
            same = kind == LAST and a is self.best.get(ALL)
            gdp = best[ALL]["gdp"] if same else gaussian_of(a, min(self.deltas))
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
        """The best guarantee in a sentence; another one where less is released and less can be inferred."""
        kinds = [ALL] if self.best.get(LAST) is self.best.get(ALL) else [ALL, LAST]
        covering = {ALL: [a for a in self.analyses if a.released == ALL], LAST: self.analyses}
        relation, sees = self.mechanism.neighboring_relation, self.mechanism.seen
        return [sentence(success(covering[kind], self.deltas), relation, sees or SEES[kind]) for kind in kinds]

    def text_of_parameters(self) -> str:
        """The mechanism's parameters with their names."""
        values = {k: v for k, v in self.mechanism.model_dump().items() if v is not None}
        return ", ".join(f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in values.items())

    def text(self) -> str:
        """A page to read; without the Renyi curves, which take a while."""
        covering = [a.at(self.deltas)[0] for a in self.analyses if a.valid and a.released == ALL]
        rows, sources = [], []
        for a in self.analyses:
            marks = [f"best for {kind}" for kind, best in self.best.items() if best is a]
            if a.valid and a.released == LAST and a.at(self.deltas)[0] > min(covering, default=math.inf):
                marks.append("no gain: all iterates cost less")
            rows.append(row_of(a, self.deltas, "; ".join(marks)))
            sources.append(f"  {a.name}: {a.source}" if a.source else f"  {a.name}")
            if not a.valid:
                sources.append(f"      refused: {a.refused}")
            elif a.assumptions:
                sources.append("      holds if " + "; ".join(a.assumptions))
            if a.valid and a.remark:
                sources.append(f"      {a.remark}")
        for b in self.lower:
            rows.append([b.name, b.released, *map(down, b.at(self.deltas)), "attained: a lower bound"])
            sources.append(f"  {b.name}: the privacy loss of one pair of neighbours\n      {b.source}")
        if any(a.released == LAST for a in self.analyses):
            sources += [
                "",
                "  Not covered by last-iterate analyses: averages of iterates, earlier iterates, gradients.",
            ]
        description = topics([*self.mechanism.description(), *terms([self.mechanism.neighboring_relation])])
        parameters, table = f"{self.name}: {self.text_of_parameters()}", table_of(rows, self.deltas)
        return "\n".join([*self.plain, "", parameters, "", *description, "", *table, "", *sources])
