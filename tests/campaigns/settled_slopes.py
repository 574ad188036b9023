"""How often a slope that is called settled is wrong: `python -m tests.campaigns.settled_slopes`, three CPU minutes.

The first n users of a long run are a run of n users, and its decade from n to 10 n is what a settled slope promises. A
slope is wrong where that decade's differs by more than the tolerance. The rule was chosen on the first two runs; the
others were held out. Prints the table of docs/figures.md, and fails where more than 5 % of the held-out ones are wrong.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import dpexp
from dpexp.reporting.slopes import RATE_TOLERANCE, SlopeError, loglog_slope, rate
from dpexp.store import cell_of, load_generation

SIZES = (2e3, 5e3, 2e4, 5e4, 1e5, 2e5)


FIVE, HELD, OPEN = (0, 1 / 3, 1 / 2, 2 / 3, 1), (1 / 4, 0.4, 0.6, 0.8), float("inf")
LATER = {"eta": [0.1, 0.5], "alpha": [*HELD], "mu": [0.7, 2, OPEN]}
LONG = {
    "huber5": ("huber-linear", 5, 2_000_000, 64, 11, {"eta": [0.05, 0.2, 1], "alpha": [*FIVE], "mu": [0.5, 1, 3, OPEN]}),
    "logistic5": ("mallows-logistic", 5, 2_000_000, 64, 12, {"eta": [0.2, 1], "alpha": [*FIVE[1:]], "mu": [1, 3, OPEN]}),
    "pinball5": ("pinball-linear", 5, 1_000_000, 40, 101, LATER),
    "huber10": ("huber-linear", 10, 1_000_000, 40, 102, LATER),
    "insensitive5": ("insensitive-linear", 5, 1_000_000, 16, 104, LATER),
}  # fmt: skip
"""long runs: problem, d, users, replicates, seed, and what is swept over; those of LATER were held out"""


def judged(folder: Path, name: str) -> list[tuple[bool, bool, bool]]:
    """Of every slope of a long run: whether it is called settled, whether two decades agree, and whether it is wrong."""
    found = []
    for cell_id in dpexp.read(name, results=folder).cells.cell_id:
        data = cell_of(load_generation(folder, name), cell_id)
        for estimator in range(len(data.estimators)):
            for metric in ("param_distance_sq", "loss_gap"):
                values = data.values[estimator, :, data.metrics.index(metric)]
                for n in SIZES:
                    try:
                        kept = data.steps <= n
                        said = rate(data.steps[kept], values[kept])
                        later = loglog_slope(data.steps, values, (n, 10 * n), method="delta")
                    except SlopeError:
                        continue
                    if data.steps[-1] >= 10 * n:
                        wrong = abs(later.slope - said.last.slope) > RATE_TOLERANCE
                        found.append((said.settled, said.agrees_within(RATE_TOLERANCE), wrong))
    return found


def main() -> int:
    """Run, judge, print; 1 where the rule is wrong too often."""
    held: list[tuple[bool, bool, bool]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (problem, d, n, replicates, seed, swept) in LONG.items():
            schedule = {"name": "power", "eta": swept["eta"], "alpha": swept["alpha"]}
            size = {"n": n, "replicates": replicates, "seed": seed, "checkpoints": 200}
            config = {"experiment": name, "problem": {"name": problem, "d": d}, "schedule": schedule}
            dpexp.run({**config, "privacy": {"mu": swept["mu"]}, "run": size}, results=folder)
            slopes = judged(Path(folder), name)
            print(f"{name:13}{_words(slopes)}")
            held += slopes if swept is LATER else []
    print(f"{'held out':13}{_words(held)}")
    wrong = [wrong for settled, _, wrong in held if settled]
    return int(np.mean(wrong) > 0.05)


def _words(slopes: list[tuple[bool, bool, bool]]) -> str:
    settled, agreeing = ([s[2] for s in slopes if s[k]] for k in (0, 1))
    right = sum(not s[2] for s in slopes)
    return (
        f"{len(slopes):6} slopes, {right:5} confirmed; settled {len(settled):4}, wrong {np.mean(settled):6.1%}; "
        f"two decades agree {len(agreeing):4}, wrong {np.mean(agreeing):6.1%}"
    )


if __name__ == "__main__":
    sys.exit(main())
