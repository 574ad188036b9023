"""Other seeds: whether a verdict on random numbers is that of the seed that was chosen, or of most seeds.

    python -m tests.campaigns.other_seeds [PAPER]

runs what the paper's claims read with four seeds that nobody looked at, into build/seeds (what is there is kept), judges
every claim by each, and prints those that turn. Exit code 1 where most of the four give another verdict than is expected.
"""

import json
import subprocess
import sys
from collections import defaultdict

from dpexp.papers import claims
from tests.conftest import COMMAND, ROOT

SEEDS = (1, 2, 3, 4)


def verdicts(paper: str, seed: int) -> dict[str, str]:
    """By claims of the paper that read runs."""
    results = ["--results", f"build/seeds/{seed}"]
    names = dict.fromkeys(name for claim in claims()[paper] for name in claim.experiments)
    configs = [path for name in names if (path := ROOT / f"configs/{name}.yaml").exists()]
    subprocess.run([COMMAND, "run", *configs, "--set", f"run.seed={seed}", *results], cwd=ROOT, check=True)
    ids = [claim.id for claim in claims()[paper] if claim.experiments]
    done = subprocess.run([COMMAND, "claims", *ids, "--json", *results], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return {row["id"]: row["verdict"] for row in json.loads(done.stdout) if row["state"] == "judged"}


def main(paper: str = "ldp-sgd") -> int:
    found = defaultdict[str, list[str]](list)
    for seed in SEEDS:
        for name, verdict in verdicts(paper, seed).items():
            found[name].append(verdict)
    lucky = 0
    for claim in (claim for claim in claims()[paper] if claim.id in found):
        same = found[claim.id].count(claim.expected)
        lucky += 2 * same < len(SEEDS)
        if same < len(SEEDS):
            print(f"{claim.id}: {claim.expected} with {same} of {len(SEEDS)} seeds; {', '.join(found[claim.id])}")
    print(f"{len(found)} claims judged with {len(SEEDS)} other seeds; {lucky} are otherwise with most of them")
    return int(lucky > 0 or not found)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
