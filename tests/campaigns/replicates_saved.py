"""How many replicates an exact linear control variate saves: `python -m tests.campaigns.replicates_saved`, two CPU minutes.

Runs `controlled-ldp-sgd` and prints the table of docs/performance.md: the variance of the squared distance over that of
the controlled one, the widest of the 95 % bootstrap intervals over the replicates, and what a pass takes beside one of
`ldp-sgd`. Exits with 1 where a controlled mean differs from the plain one by more than five standard errors of their
difference.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import numpy as np

from dpexp.algorithms.controlled_ldp_sgd import ControlledLdpSgd
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import Power
from dpexp.privacy.budgets import Budget, ConstantBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.logistic import MallowsLogistic

PROBLEMS = {
    "linear": HuberLinear(d=5),
    "linear, known scale": HuberLinear(d=5, scale="known"),
    "logistic": MallowsLogistic(d=5),
}
ETAS, ALPHAS, MUS = (0.2, 1.0), {"1/3": 1 / 3, "1/2": 1 / 2, "2/3": 2 / 3, "1": 1.0}, (1.0, math.inf)
DRAWS, LARGEST = 1000, 5.0


def saved(plain: np.ndarray, controlled: np.ndarray) -> tuple[float, float, float]:
    """Variance of the one [R] over that of the other, and the ends of its interval."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(plain), size=(DRAWS, len(plain)))
    ratios = plain[drawn].var(axis=1) / controlled[drawn].var(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(plain.var() / controlled.var()), float(low), float(high)


def shown(number: float) -> str:
    """In two digits."""
    return f"{float(f'{number:.2g}'):,g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, nargs="+", default=[10**5, 10**6])
    parser.add_argument("--replicates", type=int, default=128)
    asked = parser.parse_args()
    steps, replicates, algorithm = np.array(sorted(asked.users)), range(asked.replicates), ControlledLdpSgd()
    settings: list[tuple[Power, Budget]] = [
        (Power(eta=eta, alpha=alpha), ConstantBudget(mu=mu)) for mu in MUS for eta in ETAS for alpha in ALPHAS.values()
    ]
    plain, ours = (algorithm.metrics.index(name) for name in ("param_distance_sq", "param_distance_sq_controlled"))
    names = [f"{what}, n = {n:,}" for what in ("last", "average") for n in steps.tolist()]
    print("| problem | mu | eta | alpha | " + " | ".join(names) + " |\n" + "|---" * (4 + len(names)) + "|")
    worst, widest, took = 0.0, 1.0, {}
    for problem_name, problem in PROBLEMS.items():
        for program in (LdpSgd(), algorithm):
            program.simulate(problem, settings, steps[:1], 1, range(8))
            begin = time.process_time()
            values = program.simulate(problem, settings, steps, 1, replicates).values
            took[problem_name, program.name] = time.process_time() - begin
        for (schedule, budget), block in zip(settings, values, strict=True):
            alpha = next(name for name, value in ALPHAS.items() if value == schedule.alpha)
            pairs = [(block[e, k, plain], block[e, k, ours]) for e in range(2) for k in range(len(steps))]
            away = [one - other for one, other in pairs]
            scores = [abs(a.mean()) / (a.std(ddof=1) / math.sqrt(len(a))) for a in away]
            worst = max(worst, *scores)
            cells = [problem_name, f"{budget.constant:g}", f"{schedule.eta:g}", alpha]
            times = [saved(*pair) for pair in pairs]
            widest = max(widest, *(max(high / middle, middle / low) for middle, low, high in times))
            print("| " + " | ".join([*cells, *(shown(middle) for middle, _, _ in times)]) + " |", flush=True)
    for name in PROBLEMS:
        ratio = took[name, algorithm.name] / took[name, LdpSgd().name]
        print(f"{name}: a pass of {len(settings)} settings takes {ratio:.2f} times that of ldp-sgd")
    print(f"no interval reaches further than a factor of {widest:.2f}")
    print(f"largest difference of controlled and plain mean: {worst:.2f} standard errors")
    return int(worst > LARGEST)


if __name__ == "__main__":
    sys.exit(main())
