"""How often a slope that is called asymptotic is wrong: `python -m tests.campaigns.asymptotic_slopes`, minutes.

The first n users of a long run are a run of n users, and its decade from n to 10 n is what an asymptotic slope
promises. A slope is wrong where that decade's differs by more than the tolerance. Fails where more than 5 % are wrong.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import dpexp
from dpexp.papers import theories
from dpexp.reporting.results.gather import Source, gather
from dpexp.reporting.results.lines import lines_of, predicted, replicates_of
from dpexp.reporting.slopes import RATE_TOLERANCE, SlopeError, is_asymptotic, loglog_slope, rate
from dpexp.store import cell_of

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
"""long runs: problem, d, users, replicates, seed, and what is swept over"""


def judged(folder: Path, name: str) -> list[tuple[bool, bool]]:
    """Of every slope of a long run: whether it is called asymptotic, and whether it is wrong."""
    found = []
    gathered = gather([Source(folder, name)])
    for metric in ("param_distance_sq", "loss_gap"):
        for line in lines_of(gathered, metric):
            data = cell_of(line.run.generation, str(line.run.row["cell_id"]))
            values = replicates_of(data, line.estimator, metric)
            predict = partial(predicted, theories(), line, metric)
            for n in SIZES:
                if data.steps[-1] < 10 * n:
                    continue
                kept = data.steps <= n
                try:
                    said = rate(data.steps[kept], values[kept])
                    later = loglog_slope(data.steps, values, (n, 10 * n), method="delta")
                except SlopeError:
                    continue
                claimed = is_asymptotic(said, data.steps[kept], values[kept].mean(axis=1), predict)
                found.append((claimed, abs(later.slope - said.last.slope) > RATE_TOLERANCE))
    return found


def main() -> int:
    """Run, judge, print; 1 where the rule is wrong too often."""
    every: list[tuple[bool, bool]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (problem, d, n, replicates, seed, swept) in LONG.items():
            schedule = {"name": "power", "eta": swept["eta"], "alpha": swept["alpha"]}
            size = {"n": n, "replicates": replicates, "seed": seed, "checkpoints": 200}
            config = {"experiment": name, "problem": {"name": problem, "d": d}, "schedule": schedule}
            dpexp.run({**config, "privacy": {"mu": swept["mu"]}, "run": size}, results=folder)
            slopes = judged(Path(folder), name)
            print(f"{name:13}{_words(slopes)}")
            every += slopes
    print(f"{'all':13}{_words(every)}")
    return int(np.mean([wrong for claimed, wrong in every if claimed]) > 0.05)


def _words(slopes: list[tuple[bool, bool]]) -> str:
    claimed = [wrong for asymptotic, wrong in slopes if asymptotic]
    right = sum(not wrong for _, wrong in slopes)
    return f"{len(slopes):6} slopes, {right:5} go on; asymptotic {len(claimed):4}, wrong {np.mean(claimed or [0]):6.1%}"


if __name__ == "__main__":
    sys.exit(main())
