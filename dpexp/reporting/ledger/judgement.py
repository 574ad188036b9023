"""A claim as the ledger shows it: with its verdict where that is current, and with the reason where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dpexp.reporting.verdict import power_and_seeds

State = Literal["current", "unconfirmed", "stale", "missing"]
"""unconfirmed: judged by other code, from the same results; `dpexp claims --confirm` finds out if it is the same"""
SHOWN = (
    *("id", "paper", "place", "source", "quote", "statement", "kind", "hypotheses", "false_if"),
    *("predicted", "measured", "uncertainty", "tolerance", "verdict", "expected_verdict", "configs", "why"),
)
"""what the line of a claim says first, of the claim and of what was found, by stable keys"""
FOUND = ("predicted", "measured", "uncertainty", "verdict", "numbers")
"""what a check finds; all of it is null where no current verdict is stored"""


@dataclass(frozen=True)
class Judgement:
    """One line of the ledger."""

    claim: dict[str, Any]
    """what the claim says, for programs: `dpexp.reporting.ledger.verdicts.described`"""
    found: dict[str, Any]
    """what its check found, by the names of `FOUND`: current, or what was found before it became stale; or nothing"""
    state: State
    reason: str = ""
    """why it is stale or missing"""
    remedy: str = ""
    """the command that helps"""

    @property
    def id(self) -> str:
        return str(self.claim["id"])

    @property
    def paper(self) -> str:
        return str(self.claim["paper"])

    @property
    def expected(self) -> str:
        return str(self.claim["expected_verdict"])

    @property
    def is_current(self) -> bool:
        return self.state == "current"

    @property
    def verdict(self) -> str:
        """The verdict, or in brackets what stands in its place."""
        if self.is_current:
            return str(self.found["verdict"])
        return f"[{self.state}; was: {self.found['verdict']}]" if self.found else "[not judged yet]"

    @property
    def as_expected(self) -> bool:
        return self.is_current and self.found["verdict"] == self.expected

    @property
    def is_surprising(self) -> bool:
        """Whether a verdict is known and is not the expected one."""
        return self.is_current and not self.as_expected

    @property
    def short(self) -> str:
        """The first thing that was measured: a check that looks at several says them one after the other."""
        return str(self.found["measured"]).split("; ")[0]

    @property
    def experiments(self) -> list[str]:
        """The names of the experiments whose results the claim reads."""
        return [str(path).removeprefix("configs/").removesuffix(".yaml") for path in self.claim["configs"]]

    @property
    def command(self) -> str:
        """What runs and judges it anew."""
        return f"dpexp claims {self.id} --rerun"

    def document(self) -> dict[str, Any]:
        """The line for programs, with stable keys. What is not current is null, and stands under `before` at most."""
        found = self.found if self.is_current else {}
        return {
            **{key: self.claim[key] if key in self.claim else found.get(key) for key in SHOWN},
            "noticed": power_and_seeds(self.id),
            "numbers": found.get("numbers"),
            "state": self.state,
            "reason": self.reason,
            "run": self.remedy,
            "before": None if self.is_current or not self.found else self.found,
        }
