"""What would go unnoticed of results that are wrong: the smallest alteration of evidence that changes each verdict.

    python -m tests.campaigns.wrong_evidence [--results results] [--claims REGEX]

For every claim that reads results the smallest factor that changes its verdict is looked for, on a grid from 1.01 to 1000,
up and down, and then by bisection. It goes to `results/power.json` for the ledger to print. A claim notices an alteration
if its verdict changes, or if it refuses to give one. Lines of code are altered by cosmic-ray.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpexp.papers import claims as registered
from dpexp.reporting.claim import Claim
from dpexp.reporting.evidence import Run
from dpexp.reporting.slopes import SlopeError
from tests.campaigns.altered_runs import (
    FAMILIES,
    AlteredEvidence,
    Family,
    Stored,
    read_from,
    remembered_theorems,
    through,
)

GRID = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
TILTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
BISECTIONS = 5


class Said(NamedTuple):
    """What the ledger says of a claim."""

    verdict: str
    numbers: str = ""


def asked(claim: Claim, evidence: AlteredEvidence) -> Said:
    """The claim's check, as the ledger runs it; a check that raises has refused what it was given."""
    quiet = contextlib.redirect_stderr(io.StringIO())
    with read_from(evidence), warnings.catch_warnings(), np.errstate(all="ignore"), quiet:
        warnings.simplefilter("ignore")
        try:
            outcome = claim.judged(evidence)
            return Said(outcome.verdict, f"{outcome.measured} {outcome.numbers}")
        except SlopeError:
            return Said("not at this sample size")
        except Exception as error:
            return Said(f"refused: {type(error).__name__}")


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
    if all(found == before for found in ends):
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--power", type=Path, default=Path("results/power.json"), help="where the sentences go")
    parser.add_argument("--claims", default="", help="claims whose id has this in it, by a regular expression")
    given = parser.parse_args()
    every = {claim.id: claim for some in registered().values() for claim in some if claim.experiments}
    stored = Stored(given.results)
    claims = [c for c in every.values() if re.search(given.claims, c.id) and all(map(stored.has, c.experiments))]
    print(f"{len(claims)} claims of {len(every)}")
    known = json.loads(given.power.read_text()) if given.power.is_file() else {}
    known = {name: words for name, words in known.items() if name in every}
    with remembered_theorems():
        for claim in claims:  # one by one, so that what was found stays where the campaign is stopped
            known[claim.id] = sentence(claim, stored)
            print(f"{claim.id:50} {known[claim.id]}", flush=True)
            given.power.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
