"""The ledger of claims on the page: every claim with its verdict, and what filters and counts ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpexp.reporting.ledger.judgement import FACTS
from dpexp.reporting.verdict import VERDICTS

if TYPE_CHECKING:
    from dpexp.reporting.paper import NotClaimed

NOT_CURRENT = "not current"
"""in place of the verdict of a claim whose code or results have changed since it was settled"""


@dataclass(frozen=True)
class Ledger:
    """The claims as `dpexp claims --json` gives them, and what is left out."""

    claims: Sequence[Mapping[str, Any]] = ()
    not_claimed: Mapping[str, Sequence[NotClaimed]] = field(default_factory=dict)

    @property
    def papers(self) -> Mapping[str, int]:
        """How many claims each paper has."""
        return Counter(str(claim["paper"]) for claim in self.claims)

    @property
    def verdicts(self) -> Mapping[str, int]:
        """How often each verdict occurs, known ones first, and behind them those of a later release."""
        found = Counter(map(verdict_of, self.claims))
        order = [*(verdict for verdict in VERDICTS if verdict in found), *sorted(found.keys() - set(VERDICTS))]
        return {verdict: found[verdict] for verdict in order}

    @property
    def counts(self) -> tuple[list[str], list[list[str | int]]]:
        """Head and rows of a table: verdicts by paper, those on its statements apart from those on ours about it."""
        verdicts = list(self.verdicts)
        # our own statements about a paper are no statements of it
        own = [(str(claim["paper"]), str(claim.get("source", "paper"))) for claim in self.claims]
        found = Counter((*key, verdict_of(claim)) for key, claim in zip(own, self.claims, strict=True))
        rows: list[list[str | int]] = []
        for paper, source in dict.fromkeys(own):
            counts = [found[paper, source, verdict] for verdict in verdicts]
            rows.append([paper if source == "paper" else f"{paper}, our statements", *counts, sum(counts)])
        return ["paper", *verdicts, "claims"], rows


def verdict_of(claim: Mapping[str, Any]) -> str:
    """The verdict, where it is that of today's code and results."""
    return NOT_CURRENT if claim["verdict"] is None else str(claim["verdict"])


def facts_of(claim: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is told of a claim below its verdict: how it is called, and the words."""
    told = [(words, claim.get(key)) for key, words in FACTS.items()]
    return [(words, "; ".join(map(str, said)) if isinstance(said, list) else str(said)) for words, said in told if said]
