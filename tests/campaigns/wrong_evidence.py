"""What would go unnoticed of results that are wrong: evidence is altered on purpose, and what no claim noticed is printed.

    python -m tests.campaigns.wrong_evidence [--results results] [--claims REGEX]

Over a hundred kinds of corruption of stored results are tried, and for every claim that reads results the smallest
factor that changes its verdict, on a grid from 1.01 to 1000, up and down, and then by bisection. It goes to
`results/power.json` for the ledger to print. A claim notices an alteration if its verdict changes, or if it refuses to
give one. The exit code is 1 where a claim from results notices nothing. Lines of code are altered by cosmic-ray.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.papers import claims as registered
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Run
from dpexp.reporting.slopes import SlopeError
from tests.campaigns.altered_runs import Alteration, AlteredEvidence, Stored, read_from, remembered_theorems, through
from tests.campaigns.kinds_of_corruption import FAMILIES, KINDS, Family

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
    quiet = contextlib.redirect_stderr(io.StringIO())
    with read_from(evidence), warnings.catch_warnings(), np.errstate(all="ignore"), quiet:
        warnings.simplefilter("ignore")
        try:
            return said(claim.judged(evidence))
        except SlopeError:
            return Said("not at this sample size", "no slope")
        except Exception as error:
            return Said(f"refused: {type(error).__name__}", "")


class Noticed(NamedTuple):
    """Claims that read results of a kind of corruption."""

    kind: str
    verdict: list[str]
    """those whose verdict changed"""
    states: list[str]
    """those of which only a count or the state of a setting changed"""
    silent: list[str]
    """those that said the same"""


def survey(stored: Stored, claims: Sequence[Claim], kinds: dict[str, Alteration]) -> list[Noticed]:
    """Which claims notice each kind of corruption."""
    plain = AlteredEvidence(stored)
    before = {claim.id: asked(claim, plain) for claim in claims}
    closed = {claim.id for claim in claims if not reads_values(claim, stored)}
    found = []
    for kind, alteration in kinds.items():
        evidence, one = AlteredEvidence(stored, alteration), Noticed(kind, [], [], [])
        names = dict.fromkeys(name for claim in claims for name in claim.experiments)
        touched = {name for name in names if evidence.changed([name])}
        for claim in claims:
            if touched & set(claim.experiments):
                untouched = claim.id in closed and not evidence.relabels(claim.experiments)
                after = before[claim.id] if untouched else asked(claim, evidence)
                changed = after.verdict != before[claim.id].verdict
                (one.verdict if changed else one.states if after != before[claim.id] else one.silent).append(claim.id)
        print(f"{kind:45} {len(one.verdict):4} {len(one.states):4} {len(one.silent):4}", flush=True)
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
    grid, nothing = (TILTS, 0.0) if family.tilt else (GRID, 1.0)

    def at(size: float, sign: int) -> Said:
        return asked(claim, AlteredEvidence(stored, family.make(sized(size, sign))))

    def sized(size: float, sign: int) -> float:
        return sign * size if family.tilt else size**sign

    ends = [at(grid[-1], sign) for sign in (1, -1)]
    if all(found == before and found.decimals == before.decimals for found in ends):
        return None  # it reads nothing of what is altered
    best: float | None = None
    for sign in (1, -1):
        steps = [nothing, *grid]
        for low, high in zip(steps, grid, strict=False):
            if low >= limit:
                break
            if at(high, sign).verdict != before.verdict:
                for _ in range(BISECTIONS):
                    middle = (low + high) / 2 if family.tilt else (low * high) ** 0.5
                    low, high = (low, middle) if at(middle, sign).verdict != before.verdict else (middle, high)
                if high < limit:
                    best, limit = sized(high, sign), high
                break
    return best


def sentence(claim: Claim, stored: Stored) -> str:
    """What the claim would notice, as the ledger prints it: the smallest factor, and the smallest change of an exponent.

    A factor of spreads or of one checkpoint is named only where no factor of all numbers is noticed.
    """
    if not reads_values(claim, stored):
        return "reads no measured number: it compares settings and closed forms"
    before = asked(claim, AlteredEvidence(stored))
    found: dict[str, tuple[float, str]] = {}
    least = dict.fromkeys(("level", "shape", "exponent"), np.inf)
    for family in FAMILIES:
        if family.sort == "shape" and "level" in found:
            continue
        size = smallest(claim, stored, family, before, least[family.sort])
        if size is not None:
            least[family.sort] = abs(size) if family.tilt else max(size, 1 / size)
            found[family.sort] = size, family.words
    parts = [f"a factor {in_words(found[s][0])} in {found[s][1]}" for s in ("level", "shape") if s in found][:1]
    if "exponent" in found:
        parts.append(f"{found['exponent'][0]:+.2g} in the exponent of {found['exponent'][1]}")
    return "would notice " + " or ".join(parts) if parts else "would notice none of the corruptions with a size"


def in_words(factor: float) -> str:
    """1.082 or 11.5; near 1 with so many digits that it is not 1."""
    return f"{factor:.3g}" if not 0.9 < factor < 1.1 else f"{1 + float(f'{factor - 1:.2g}'):.6g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--power", type=Path, default=Path("results/power.json"), help="where the sentences go")
    parser.add_argument("--claims", default="", help="claims whose id has this in it, by a regular expression")
    given = parser.parse_args()
    every = {claim.id: claim for some in registered().values() for claim in some if claim.experiments}
    stored = Stored(given.results)
    claims = [c for c in every.values() if re.search(given.claims, c.id) and all(map(stored.has, c.experiments))]
    print(f"{len(KINDS)} kinds of corruption, {len(claims)} claims of {len(every)}")
    known = json.loads(given.power.read_text()) if given.power.is_file() else {}
    known = {name: words for name, words in known.items() if name in every}
    with remembered_theorems():
        print(f"{'kind':45} claims whose verdict changed, whose states changed, that say the same")
        found = survey(stored, claims, KINDS)
        for claim in claims:  # one by one, so that what was found stays where the campaign is stopped
            known[claim.id] = sentence(claim, stored)
            print(f"{claim.id:50} {known[claim.id]}", flush=True)
            given.power.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    unnoticed = [one.kind for one in found if not one.verdict]
    deaf = {claim.id for claim in claims} - {name for one in found for name in one.verdict}
    print(f"\n{len(unnoticed)} of {len(KINDS)} kinds change no verdict: " + ", ".join(unnoticed))
    print(f"{len(deaf)} of {len(claims)} claims notice none of the kinds: " + ", ".join(sorted(deaf)))
    return 1 if deaf else 0


if __name__ == "__main__":
    sys.exit(main())
