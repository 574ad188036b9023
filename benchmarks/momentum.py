"""Steps of both algorithms of `momentum` beside a C++ loop, and how they grow with T: `python -m benchmarks.momentum`.

Time of the steps alone, noise included, of eight replicates that are stepped side by side, over eight; the calibration
of a replicate stands beside it. The programs take turns, and a ratio is that of each turn.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from benchmarks import twin
from benchmarks.turns import HEAD, columns
from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.engine.finite_sum.following import company_of
from dpexp.engine.finite_sum.looking import Data
from dpexp.engine.lanes.vectors import LANES
from dpexp.privacy.budgets import Target
from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum

TARGET = Target(eps=1.0, delta=1e-5)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "Algorithm 1": ("tree-momentum", {"order": "fixed"}),
    "Algorithm 2, one order": ("reduced-momentum", {}),
    "Algorithm 2, reshuffled": ("reduced-momentum", {"order": "reshuffled"}),
}
RECORDS, STEPS = 1000, 300_000


def measured(problem: FiniteSum, name: str, steps: int, turn: int) -> tuple[float, float]:
    """Microseconds a step of one replicate, and seconds of its calibration before."""
    kind, options = CASES[name]
    algorithm: Any = ALGORITHMS[kind].model_validate(options)
    plan = algorithm.plan(problem, SCHEDULES["path-length"](), TARGET, steps)
    data = Data(problem.record_loss, *problem.records, problem.constants)
    start = time.perf_counter()
    runs = company_of([algorithm.stepper(problem, plan, TARGET, turn, replicate, data) for replicate in range(LANES)])
    ready = time.perf_counter()
    runs.advance(1, steps)
    return 1e6 * (time.perf_counter() - ready) / (steps * LANES), (ready - start) / LANES


def beside_the_twin(turns: int) -> None:
    """Print microseconds a step of both, and the ratio."""
    if twin.program("momentum") is None:
        print("no C++ compiler is installed: the C++ loop is left out")
        return
    print(f"momentum, N = {RECORDS}, T = {STEPS:,}, one thread: us a step of a replicate")
    print(f"{'':26}{'d':>5}{'dpexp':>10}{'C++':>10}{HEAD}")
    for d in (10, 100):
        problem = PROBLEMS["rippled-mean"].model_validate({"N": RECORDS, "d": d})
        assert isinstance(problem, FiniteSum)
        for column, name in enumerate(("Algorithm 1", "Algorithm 2, one order")):
            measured(problem, name, 3000, 0)
            pairs = [
                (measured(problem, name, STEPS, turn)[0], twin.measured("momentum", RECORDS, d, STEPS)[column])
                for turn in range(turns)
            ]
            print(f"{name:26}{d:>5}{columns(pairs, 3)}", flush=True)


def growth() -> None:
    """Print how the time of a step and of the calibration grow with T."""
    problem = PROBLEMS["rippled-mean"].model_validate({"N": RECORDS, "d": 10})
    assert isinstance(problem, FiniteSum)
    for name in CASES:
        measured(problem, name, 3000, 0)
        for steps in (1_000, 10_000, 100_000, 1_000_000):
            each, calibration = measured(problem, name, steps, 0)
            print(
                f"{name:26} T = {steps:9,}: {each:6.2f} us a step, {1e6 / each:12,.0f} steps/s; "
                f"calibration {calibration:.2f} s",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    beside_the_twin(parser.parse_args().turns)
    growth()


if __name__ == "__main__":
    main()
