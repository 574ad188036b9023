"""What would go unnoticed of results that are wrong: evidence is altered on purpose, and what no claim noticed is printed.

    python -m tests.campaigns.wrong_evidence [--results results] [--claims REGEX]

Over a hundred kinds of corruption of stored results are tried, and for every claim that reads results the smallest
factor that changes its verdict, which goes to `results/power.json` for the ledger to print. The exit code is 1 where a
claim from results notices nothing. Lines of code are altered by cosmic-ray (`make mutants`).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from tests.campaigns import mutants_of_evidence as evidence
from tests.campaigns.altered_runs import Stored
from tests.campaigns.kinds_of_corruption import KINDS

Log = Callable[[str], object]


def of_evidence(results: Path, aged: bool, power: Path, only: str, survey: bool, log: Log) -> bool:
    stored = Stored(results, aged)
    claims = [claim for claim in evidence.from_results() if re.search(only, claim.id)]
    absent = [c.id for c in claims if not all(stored.has(name) for name in c.experiments)]
    claims = [claim for claim in claims if claim.id not in absent]
    log(
        f"Evidence: {len(KINDS)} kinds of corruption, {len(claims)} claims"
        + (f"; not run: {', '.join(absent)}" if absent else "")
    )
    with evidence.remembered():
        if survey:
            log(f"{'kind':45} claims whose verdict changed, whose states changed, that say the same")
        found = evidence.survey(stored, claims, KINDS, log) if survey else []
        sentences: dict[str, str] = {}
        known = json.loads(power.read_text()) if power.is_file() else {}
        every = {claim.id for claim in evidence.from_results()}
        for claim in claims:  # one by one, so that what was found stays where the campaign is stopped
            sentences |= evidence.power(stored, [claim], lambda line: None)
            kept = {name: words for name, words in known.items() if name in every} | sentences
            power.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    log("\nWhat each claim would notice:")
    for name, sentence in sentences.items():
        log(f"{name:50} {sentence}")
    if not survey:
        return True
    unnoticed = [one.kind for one in found if not one.verdict]
    deaf = {claim.id for claim in claims} - {name for one in found for name in one.verdict}
    log(f"\n{len(unnoticed)} of {len(KINDS)} kinds change no verdict: " + ", ".join(unnoticed))
    log(f"{len(deaf)} of {len(claims)} claims notice none of the kinds: " + ", ".join(sorted(deaf)))
    return not deaf


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--power", type=Path, default=Path("results/power.json"), help="where the sentences go")
    parser.add_argument("--claims", default="", help="claims whose id has this in it, by a regular expression")
    parser.add_argument("--no-survey", action="store_true", help="the smallest factors alone")
    parser.add_argument("--aged", action="store_true", help="results that were computed with other code, too")
    options = parser.parse_args()

    def log(line: str) -> None:
        print(line, flush=True)

    good = of_evidence(options.results, options.aged, options.power, options.claims, not options.no_survey, log)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
