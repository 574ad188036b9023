"""How often a slope that is called settled is wrong: `python -m tests.campaigns.settled_slopes`, three CPU minutes.

The first n users of a long run are a run of n users, and its decade from n to 10 n is what a settled slope promises. A
slope is wrong where that decade's differs by more than the tolerance. The rule was chosen on the first two runs; the
others were held out. Prints the table of docs/figures.md, and fails where more than 5 % of the held-out ones are wrong.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dpexp
from dpexp.reporting.slopes import RATE_TOLERANCE, SlopeError, loglog_slope, rate
from dpexp.store import cell_of, load_generation

SIZES = (2e3, 5e3, 2e4, 5e4, 1e5, 2e5)


class Long(NamedTuple):
    """A long run: users, replicates and seed, and what it sweeps over."""

    problem: dict[str, object]
    n: int
    replicates: int
    seed: int
    eta: tuple[float, ...]
    alpha: tuple[float, ...]
    mu: tuple[float, ...]
    held_out: bool = True


FIVE, HELD = (0, 1 / 3, 1 / 2, 2 / 3, 1), (1 / 4, 0.4, 0.6, 0.8)
OPEN = float("inf")
LONG = {
    "huber5": Long({"name": "huber-linear", "d": 5}, 2_000_000, 64, 11, (0.05, 0.2, 1), FIVE, (0.5, 1, 3, OPEN), False),
    "logistic5": Long({"name": "mallows-logistic", "d": 5}, 2_000_000, 64, 12, (0.2, 1), FIVE[1:], (1, 3, OPEN), False),
    "pinball5": Long({"name": "pinball-linear", "d": 5}, 1_000_000, 40, 101, (0.1, 0.5), HELD, (0.7, 2, OPEN)),
    "huber10": Long({"name": "huber-linear", "d": 10}, 1_000_000, 40, 102, (0.1, 0.5), HELD, (0.7, 2, OPEN)),
    "hinge5": Long({"name": "mallows-hinge", "d": 5}, 1_000_000, 40, 103, (0.1, 0.5), HELD, (0.7, 2, OPEN)),
    "insensitive5": Long({"name": "insensitive-linear", "d": 5}, 1_000_000, 16, 104, (0.1, 0.5), HELD, (0.7, 2, OPEN)),
}


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
        for name, long in LONG.items():
            schedule = {"name": "power", "eta": [*long.eta], "alpha": [*long.alpha]}
            size = {"n": long.n, "replicates": long.replicates, "seed": long.seed, "checkpoints": 200}
            config = {"experiment": name, "problem": long.problem, "schedule": schedule, "privacy": {"mu": [*long.mu]}}
            dpexp.run({**config, "run": size}, results=folder)
            slopes = judged(Path(folder), name)
            print(f"{name:13}{_words(slopes)}")
            held += slopes if long.held_out else []
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
