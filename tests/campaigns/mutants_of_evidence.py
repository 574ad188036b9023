"""Mutants of evidence: stored results are altered in memory, and the ledger says which claims notice.

A claim notices an alteration if its verdict changes, or if it refuses to give one. `said` is what the ledger says besides: how
many settings, which of them, in which state. For every claim that reads stored results the smallest factor is
looked for that changes its verdict: on a grid from 1.01 to 1000, up and down, and then by bisection.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dpexp.papers import claims as registered
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Run
from dpexp.reporting.slopes import SlopeError
from tests.campaigns.altered_runs import Alteration, AlteredEvidence, Stored, read_from, remembered_theorems, through
from tests.campaigns.kinds_of_corruption import FAMILIES, Family

GRID = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
TILTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
BISECTIONS = 5


@dataclass(frozen=True)
class Said:
    """What the ledger says of a claim. Two sayings are equal that differ in their decimals alone."""

    verdict: str
    states: str
    decimals: str = field(default="", compare=False)


def said(outcome: Outcome) -> Said:
    return Said(outcome.verdict, repr(_states(outcome.numbers)), f"{outcome.measured} {outcome.numbers}")


def _states(numbers: Any) -> Any:
    """Words, counts and names in the numbers of an outcome; decimals are left out."""
    if isinstance(numbers, dict):
        return [(key, _states(value)) for key, value in numbers.items()]
    if isinstance(numbers, list | tuple):
        return [_states(value) for value in numbers]
    return numbers if isinstance(numbers, str | bool | int) and not isinstance(numbers, np.floating) else None


def asked(claim: Claim, evidence: AlteredEvidence) -> Said:
    """The claim's check, as the ledger runs it; a check that raises has refused what it was given."""
    with (
        read_from(evidence),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        try:
            return said(claim.settled(evidence))
        except SlopeError:
            return Said("not at this sample size", "no slope")
        except Exception as error:
            return Said(f"refused: {type(error).__name__}", "")


class Noticed(NamedTuple):
    kind: str
    verdict: list[str]
    """claims whose verdict changed"""
    states: list[str]
    """claims of which only a count or the state of a setting changed"""
    silent: list[str]
    """claims that read altered results and said the same"""


def survey(
    stored: Stored, claims: Sequence[Claim], kinds: dict[str, Alteration], log: Callable[[str], object]
) -> list[Noticed]:
    """Which claims notice each kind of corruption."""
    plain = AlteredEvidence(stored)
    before = {claim.id: asked(claim, plain) for claim in claims}
    closed = {claim.id for claim in claims if not reads_values(claim, stored)}
    found = []
    for kind, alteration in kinds.items():
        evidence = AlteredEvidence(stored, alteration)
        one = Noticed(kind, [], [], [])
        touched: dict[str, bool] = {}
        for claim in claims:
            for name in claim.experiments:
                if name not in touched:
                    touched[name] = evidence.touches([name])
            if not any(touched[name] for name in claim.experiments):
                continue
            untouched = claim.id in closed and not evidence.relabels(claim.experiments)
            after = before[claim.id] if untouched else asked(claim, evidence)
            changed = after.verdict != before[claim.id].verdict
            (one.verdict if changed else one.states if after != before[claim.id] else one.silent).append(claim.id)
        log(f"{kind:45} {len(one.verdict):4} {len(one.states):4} {len(one.silent):4}")
        found.append(one)
    return found


def reads_values(claim: Claim, stored: Stored) -> bool:
    """Whether it asks for any measured number, run by run or by their summaries, and not for settings alone."""
    read: list[str] = []

    def look(run: Run, estimator: str, metric: str, values: np.ndarray) -> np.ndarray:
        read.append(metric)
        return values

    asked(claim, AlteredEvidence(stored, through(look)))
    return bool(read)


def smallest(claim: Claim, stored: Stored, family: Family, before: Said, limit: float = np.inf) -> float | None:
    """The smallest size, up or down, that changes the verdict; a factor below 1 or a negative tilt is one down.

    None where there is none on the grid that is smaller than the limit.
    """

    def at(size: float) -> Said:
        return asked(claim, AlteredEvidence(stored, family.make(size)))

    def changes(size: float) -> bool:
        return at(size).verdict != before.verdict

    far = TILTS[-1] if family.tilt else GRID[-1]
    if all((found := at(sized(far, sign, family))) == before and found.decimals == before.decimals for sign in (1, -1)):
        return None  # it reads nothing of what is altered
    best: float | None = None
    for sign in (1, -1):
        last = 0.0 if family.tilt else 1.0
        for size in TILTS if family.tilt else GRID:
            if last >= min(limit, np.inf if best is None else abs_size(best, family)):
                break
            if changes(sized(size, sign, family)):
                low, high = last, size
                for _ in range(BISECTIONS):
                    middle = (low + high) / 2 if family.tilt else (low * high) ** 0.5
                    low, high = (low, middle) if changes(sized(middle, sign, family)) else (middle, high)
                if high < min(limit, np.inf if best is None else abs_size(best, family)):
                    best = sized(high, sign, family)
                break
            last = size
    return best


def sized(size: float, sign: int, family: Family) -> float:
    return sign * size if family.tilt else size**sign


def abs_size(size: float, family: Family) -> float:
    return abs(size) if family.tilt else max(size, 1 / size)


def sentence(claim: Claim, stored: Stored, before: Said) -> str:
    """What the claim would notice, as the ledger prints it: the smallest factor, and the smallest change of an exponent.

    A factor of spreads or of one checkpoint is named only where no factor of all numbers is noticed.
    """
    if not reads_values(claim, stored):
        return "reads no measured number: it compares settings and closed forms"
    found: dict[str, tuple[float, float, str]] = {}
    for family in FAMILIES:
        if family.sort == "shape" and "level" in found:
            continue
        least = found[family.sort][0] if family.sort in found else np.inf
        size = smallest(claim, stored, family, before, least)
        if size is not None:
            found[family.sort] = abs_size(size, family), size, family.words
    parts = [f"a factor {in_words(found[s][1], False)} in {found[s][2]}" for s in ("level", "shape") if s in found][:1]
    if "exponent" in found:
        parts.append(f"{in_words(found['exponent'][1], True)} in the exponent of {found['exponent'][2]}")
    return "would notice " + " or ".join(parts) if parts else "would notice none of the corruptions with a size"


def in_words(size: float, tilt: bool) -> str:
    """1.082, 0.0814 or 11.5; near 1 with so many digits that it is not 1."""
    if tilt:
        return f"{size:+.2g}"
    return f"{size:.3g}" if not 0.9 < size < 1.1 else f"{1 + float(f'{size - 1:.2g}'):.6g}"


def power(stored: Stored, claims: Sequence[Claim], log: Callable[[str], object]) -> dict[str, str]:
    """Claim -> the sentence on what it would notice."""
    plain = AlteredEvidence(stored)
    out = {}
    for claim in claims:
        out[claim.id] = sentence(claim, stored, asked(claim, plain))
        log(f"{claim.id}: {out[claim.id]}")
    return dict(sorted(out.items()))


def from_results() -> list[Claim]:
    """Claims that read stored results."""
    return [claim for some in registered().values() for claim in some if claim.experiments]


def remembered() -> contextlib.AbstractContextManager[None]:
    return remembered_theorems()
