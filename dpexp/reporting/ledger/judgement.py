"""A row of the ledger: a claim, what its check gave, and the results that it was judged from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpexp.config.shipped import place_of
from dpexp.plugins.loaded import shell

if TYPE_CHECKING:
    from dpexp.reporting.claim import Claim

State = Literal["judged", "stored", "stale", "missing"]
"""judged now from the results that are here; read from the ledger, judged from the same results; from others; never"""
WORDS = ("id", "paper", "place", "source", "quote", "statement", "kind", "false_if", "tolerance", "why", "version",
         "authors_answer")  # fmt: skip
"""fields of a claim that are stored"""
OUTCOME = ("predicted", "measured", "uncertainty", "verdict", "numbers")
"""fields of its outcome"""


def words_of(claim: Claim) -> dict[str, Any]:
    """The words of a claim, for programs."""
    own = {name: getattr(claim, name) for name in WORDS}
    return own | {"expected_verdict": claim.expected, "configs": [place_of(name) for name in claim.experiments]}


@dataclass(frozen=True)
class Judgement:
    """One row, as it is stored and as it is printed."""

    claim: dict[str, Any]
    """`words_of` the claim"""
    found: dict[str, Any] = field(default_factory=dict)
    """the outcome of its check; empty if it was never judged"""
    results: dict[str, str] = field(default_factory=dict)
    """by experiment, the numbers that the check could read: `dpexp.store.generation.identity_of`"""
    state: State = "stored"
    reason: str = ""
    """why it is stale or missing"""

    @property
    def id(self) -> str:
        return str(self.claim["id"])

    @property
    def paper(self) -> str:
        return str(self.claim["paper"])

    @property
    def is_current(self) -> bool:
        return self.state in ("judged", "stored")

    @property
    def is_surprising(self) -> bool:
        """Whether a verdict is known and is not the expected one."""
        return self.is_current and self.found["verdict"] != self.claim["expected_verdict"]

    @property
    def verdict(self) -> str:
        """The verdict, with the expected one where it differs, or in brackets the state."""
        if not self.is_current:
            return f"[{self.state}; was: {self.found['verdict']}]" if self.found else "[not judged yet]"
        return self.found["verdict"] + f" (expected: {self.claim['expected_verdict']})" * self.is_surprising

    @property
    def short(self) -> str:
        """The first of several measurements."""
        return str(self.found["measured"]).split("; ")[0]

    @property
    def command(self) -> str:
        """Runs the experiments of the claim and judges it, for a page."""
        runs = f"dpexp run {' '.join(self.claim['configs'])} && " if self.claim["configs"] else ""
        return f"`{runs}dpexp claims {self.id}`"

    def document(self, results: Path) -> dict[str, Any]:
        """The row with stable keys; a row that is stale or missing has null as its verdict and values."""
        outcome = self.found if self.is_current else dict.fromkeys(OUTCOME)
        run = "" if self.is_current else shell(["claims", self.id], results)
        return {**self.claim, **outcome, "state": self.state, "reason": self.reason, "run": run}
