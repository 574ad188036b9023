"""What would go unnoticed: evidence, theory and code are made wrong on purpose, and what nothing noticed is printed.

    python -m tests.campaigns.mutants [evidence] [theory] [code] [--results results] [--minutes 20]

- evidence: over a hundred kinds of corruption of stored results, and for every claim that reads results the smallest
  factor that changes its verdict, which goes to `results/power.json` for the ledger to print;
- theory: constants times 1.2, exponents 0.05 off and dropped terms in every function of `dpexp/theory`;
- code: 200 one-line mutants, drawn by seed from eight parts of the code, and the tests that notice them.

Theory and code take long, so outcomes are kept, one line each, and the same command goes on where it stopped; `--again`
tries those once more that only slow tests or nothing noticed. The exit code is 1 where a target was missed: every
claim from results notices something, 90 % of the mutants of code are noticed by fast tests and 97 % by all.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

PARTS = ("evidence", "theory", "code")
FAST_SHARE, WHOLE_SHARE = 0.9, 0.97
Log = Callable[[str], object]


def of_evidence(results: Path, aged: bool, power: Path, only: str, survey: bool, log: Log) -> bool:
    from tests.campaigns import mutants_of_evidence as evidence
    from tests.campaigns.altered_runs import Stored
    from tests.campaigns.kinds_of_corruption import KINDS

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


def of_theory(results: Path, aged: bool, outcomes: Path, count: int, minutes: float, log: Log) -> bool:
    from tests.campaigns import mutants_of_theory as theory
    from tests.campaigns.altered_runs import Stored
    from tests.campaigns.mutants_of_evidence import from_results

    stored = Stored(results, aged)
    claims = [claim for claim in from_results() if all(stored.has(name) for name in claim.experiments)]
    mutants = theory.drawn(count)
    log(f"Theory: {len(mutants)} mutants")
    found = theory.campaign(mutants, stored, claims, outcomes / "theory.jsonl", minutes, log)
    log(theory.table(found))
    unnoticed = [f for f in found if not f["tests"] and not f["claims"]]
    for f in unnoticed:
        reason = theory.explained(f)
        log(
            f"nothing noticed {f['path']}:{f['line']} {f['function']}: {f['kind']}: {f['becomes']}"
            + (f"   ({reason})" if reason else "")
        )
    return all(theory.explained(f) for f in unnoticed)


def of_code(
    outcomes: Path, count: int, seed: int, minutes: float, again: bool, stages: Sequence[str], log: Log
) -> bool:
    from tests.campaigns import mutants_of_code as code

    mutants = code.drawn(200, seed)[:count]
    log(f"Code: {len(mutants)} mutants")
    found = code.campaign(mutants, outcomes, minutes, stages, again, log)
    log("\n".join([code.table(found, "part"), code.table(found, "kind")]))
    for f in found:
        if f["noticed"] == "nothing":
            reason = code.explained(f)
            log(
                f"nothing noticed {f['path']}:{f['line']} {f['was']}  ->  {f['becomes']}"
                + (f"   ({reason})" if reason else "")
            )
    return shares(found, code.explained)


def shares(found: Sequence[dict], explained: Callable[[dict], str]) -> bool:
    """Whether enough was noticed, of the mutants that are not known to change nothing."""
    real = [f for f in found if not (f["noticed"] == "nothing" and explained(f))]
    fast = sum(f["noticed"] in ("near", "fast", "rest") for f in real)
    whole = sum(f["noticed"] != "nothing" for f in real)
    return not real or (fast >= FAST_SHARE * len(real) and whole >= WHOLE_SHARE * len(real))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[], help="evidence, theory, code; all by default")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--power", type=Path, default=Path("results/power.json"), help="where the sentences go")
    parser.add_argument("--claims", default="", help="claims whose id has this in it, by a regular expression")
    parser.add_argument("--no-survey", action="store_true", help="evidence: the smallest factors alone")
    parser.add_argument("--outcomes", type=Path, default=Path("build/mutants"))
    parser.add_argument("--aged", action="store_true", help="results that were computed with other code, too")
    parser.add_argument("--theory", type=int, default=300, help="mutants of theory")
    parser.add_argument("--code", type=int, default=200, help="mutants of code, the first so many of 200")
    parser.add_argument("--seed", type=int, default=0, help="other mutants of code, which no test was written for")
    parser.add_argument("--minutes", type=float, default=1e9, help="of CPU time, after which theory or code stops")
    parser.add_argument("--again", action="store_true", help="try again what fast tests did not notice")
    parser.add_argument(
        "--stages", nargs="*", default=["near", "fast", "slow"], help="which tests: near, fast, slow, rest"
    )
    options = parser.parse_args()
    parts = options.parts or PARTS
    if wrong := set(parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(wrong))}; there are {', '.join(PARTS)}")
    options.outcomes.mkdir(parents=True, exist_ok=True)

    def log(line: str) -> None:
        print(line, flush=True)

    good = True
    if "evidence" in parts:
        good &= of_evidence(options.results, options.aged, options.power, options.claims, not options.no_survey, log)
    if "theory" in parts:
        good &= of_theory(options.results, options.aged, options.outcomes, options.theory, options.minutes, log)
    if "code" in parts:
        good &= of_code(
            options.outcomes, options.code, options.seed, options.minutes, options.again, options.stages, log
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
