"""Speed of the engine on the figure 2 workload, beside numba, numpy and (where installed) jax: `make bench`.

Every program updates 4 step sizes x 5 budgets of Huber linear regression, draws all its random numbers and keeps the
running average, on one thread. The programs take turns and the ratio is taken turn by turn, so that a slow moment of
the machine hits both; figures are nanoseconds per replicate and step (all 20 settings), medians over the turns.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402

from dpexp.algorithms.ldp_sgd import LdpSgd  # noqa: E402
from dpexp.algorithms.schedules import Power  # noqa: E402
from dpexp.engine.linear.linear_pass import PassSetting, run_lane_group  # noqa: E402
from dpexp.privacy.budgets import ConstantBudget  # noqa: E402
from dpexp.problems.linear_losses import HuberLinear  # noqa: E402

ALPHAS, MUS = [1 / 3, 1 / 2, 2 / 3, 1.0], [0.5, 1.0, 2.0, 3.0, math.inf]
Program = Callable[[int], np.ndarray]


def engine(problem: HuberLinear, n: int, seed: int) -> np.ndarray:
    """Eight replicates through n users; mean squared distances [2, settings]."""
    settings = [PassSetting(Power(eta=0.2, alpha=a), ConstantBudget(mu=m)) for a in ALPHAS for m in MUS]
    rule = LdpSgd().rule()
    theta = run_lane_group(
        problem.model(), rule, settings, problem.noise_sensitivity(), np.array([n]), seed, range(8)
    ).theta
    return np.mean(np.sum((theta[0] - problem.optimum()[:, None]) ** 2, axis=2), axis=-1)


def timed(program: Program, work: int, turn: int) -> float:
    """Nanoseconds per replicate and step of one run."""
    begin = time.perf_counter()
    program(turn)
    return (time.perf_counter() - begin) / work * 1e9


def compare(name: str, ours: tuple[Program, int], other: tuple[Program, int] | None, turns: int) -> str:
    """One row: our time and, beside another program, its time and the median ratio of the turns."""
    ours[0](0)
    if other is None:
        times = [timed(*ours, turn) for turn in range(turns)]
        return f"{name:<22}{statistics.median(times):>10.1f}"
    other[0](0)
    pairs = [(timed(*ours, turn), timed(*other, turn)) for turn in range(turns)]
    mine, theirs = (statistics.median(p[k] for p in pairs) for k in (0, 1))
    ratio = statistics.median(p[1] / p[0] for p in pairs)
    return f"{name:<22}{mine:>10.1f}{theirs:>12.1f}{ratio:>10.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--n", type=int, default=100_000, help="users of an engine run")
    arguments = parser.parse_args()
    try:
        from benchmarks import jax_ldp_sgd
    except ImportError:
        jax_ldp_sgd = None  # type: ignore[assignment]
    from benchmarks import numba_ldp_sgd, numpy_ldp_sgd

    print("Huber linear regression, 20 settings, one thread: ns per replicate and step")
    print(f"{'':<22}{'dpexp':>10}{'other':>12}{'ratio':>10}")
    for d in (5, 10, 20):
        problem = HuberLinear(d=d)
        ours: tuple[Program, int] = (lambda turn, p=problem: engine(p, arguments.n, turn), 8 * arguments.n)  # type: ignore[misc]
        others = {
            "numba, float64": (numba_ldp_sgd, 2000),
            "numpy, float64": (numpy_ldp_sgd, 300),
            "jax, float32": (jax_ldp_sgd, 2000),
        }
        for name, (module, steps) in others.items():
            if module is None:
                continue

            def other(turn: int, m=module, p=problem, k=steps) -> np.ndarray:  # type: ignore[no-untyped-def]
                return m.simulate(p, ALPHAS, MUS, k, 200, turn)

            print(compare(f"d = {d}, {name}", ours, (other, 200 * steps), arguments.turns), flush=True)
    if jax_ldp_sgd is None:
        print("jax is not installed: its rows are left out")


if __name__ == "__main__":
    main()
