"""The campaign of other seeds: which verdicts on random numbers come out the same with four seeds that nobody looked at.

    python -m tests.campaigns.other_seeds [PAPER]

runs what the paper's claims need with seeds 1 to 4 (what is there already is not run again), judges every claim by each,
and writes `results/seeds.json`: "5 of 5 seeds give this verdict". Claims that read no results are left out, and so are
those whose results are missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from dpexp.core.errors import ResultsMissing
from dpexp.papers import claims
from dpexp.reporting.claim import Claim
from dpexp.reporting.evidence import Evidence

SEEDS = (1, 2, 3, 4)
HOME, OTHERS, KEPT = Path("results"), Path("build/seeds"), Path("results/seeds.json")


def verdicts(claim: Claim) -> list[str]:
    """By the stored results and by those of the other seeds; empty where one is missing."""
    folders = [HOME, *(OTHERS / str(seed) for seed in SEEDS)]
    try:
        return [claim.judged(Evidence(folder).only(claim.experiments)).verdict for folder in folders]
    except ResultsMissing:
        return []


def told(claim: Claim) -> str:
    """How many seeds give the expected verdict; empty where results are missing."""
    found = verdicts(claim)
    if not found:
        return ""
    others = ", ".join(sorted({*found} - {claim.expected}))
    same = f"{found.count(claim.expected)} of {len(found)} seeds give this verdict"
    return same + (f", the others {others}" if others else "")


def main(paper: str = "ldp-sgd") -> None:
    names = dict.fromkeys(name for claim in claims()[paper] for name in claim.experiments)
    configs = [path for name in names if Path(path := f"configs/{name}.yaml").exists()]
    for seed in SEEDS:
        more = ["--set", f"run.seed={seed}", "--results", str(OTHERS / str(seed))]
        subprocess.run([sys.executable, "-m", "dpexp", "run", *configs, *more], check=True)
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for claim in claims()[paper]:
        if claim.experiments and (words := told(claim)):
            known[claim.id] = words
            print(f"{claim.id}: {words}", flush=True)
    KEPT.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
