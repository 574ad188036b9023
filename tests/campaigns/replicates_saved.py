"""How many replicates an exact linear control variate saves: `python -m tests.campaigns.replicates_saved`, two CPU minutes.

Prints the table of docs/performance.md: the variance of the squared distance over that of the controlled one, the widest
of the 95 % bootstrap intervals, and what a pass of `controlled-ldp-sgd` takes beside one of `ldp-sgd`. Exits with 1 where
a controlled mean differs from the plain one by more than five standard errors of their difference.
"""

import itertools
import math
import sys
import time

import numpy as np

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import Power
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.linear_losses import MallowsLogistic
from tests.research import module

ControlledLdpSgd = module("controlled/controlled_ldp_sgd.py").ControlledLdpSgd

PROBLEMS = {
    "linear": HuberLinear(d=5),
    "linear, known scale": HuberLinear(d=5, scale="known"),
    "logistic": MallowsLogistic(d=5),
}
ALPHAS = {"1/3": 1 / 3, "1/2": 1 / 2, "2/3": 2 / 3, "1": 1.0}
STEPS, REPLICATES, DRAWS, LARGEST = np.array([10**5, 10**6]), 128, 1000, 5.0


def main() -> int:
    grid = list(itertools.product((1.0, math.inf), (0.2, 1.0), ALPHAS))
    settings = [(Power(eta=eta, alpha=ALPHAS[alpha]), ConstantBudget(mu=mu)) for mu, eta, alpha in grid]
    algorithm, widest, worst, took = ControlledLdpSgd(), 1.0, 0.0, {}
    metrics = [algorithm.metrics.index(name) for name in ("param_distance_sq", "param_distance_sq_controlled")]
    print(
        "| problem | mu | eta | alpha | "
        + " | ".join(f"{e}, n = {n:,}" for e in ("last", "average") for n in STEPS)
        + " |"
    )
    print("|---" * (4 + 2 * len(STEPS)) + "|")
    for name, problem in PROBLEMS.items():
        for program in (LdpSgd(), algorithm):
            program.simulate(problem, settings, STEPS[:1], 1, range(8))  # compiles
            begin = time.process_time()
            values = program.simulate(problem, settings, STEPS, 1, range(REPLICATES)).values
            took[program.name] = time.process_time() - begin
        drawn = np.random.default_rng(0).integers(REPLICATES, size=(DRAWS, REPLICATES))
        for (mu, eta, alpha), block in zip(grid, values[:, :, :, metrics], strict=True):
            apart = block[:, :, 0] - block[:, :, 1]
            worst = max(worst, np.max(abs(apart.mean(-1)) / (apart.std(-1, ddof=1) / math.sqrt(REPLICATES))))
            saved = block[:, :, 0].var(-1) / block[:, :, 1].var(-1)
            again = block[..., drawn].var(-1)
            low, high = np.quantile(again[:, :, 0] / again[:, :, 1], [0.025, 0.975], axis=-1)
            widest = max(widest, np.max(high / saved), np.max(saved / low))
            cells = [name, f"{mu:g}", f"{eta:g}", alpha, *(f"{float(f'{ratio:.2g}'):,g}" for ratio in saved.ravel())]
            print("| " + " | ".join(cells) + " |", flush=True)
        print(
            f"{name}: a pass takes {took[algorithm.name] / took[LdpSgd().name]:.2f} times that of ldp-sgd",
            file=sys.stderr,
        )
    print(f"no interval reaches further than a factor of {widest:.2f}")
    print(f"largest difference of controlled and plain mean: {worst:.2f} standard errors")
    return int(worst > LARGEST)


if __name__ == "__main__":
    sys.exit(main())
