"""Steps per second of both algorithms of `momentum`, and how they grow with T: `python -m benchmarks.momentum`.

CPU time of the steps alone, noise included, then of a whole replicate with its calibration and full gradients.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.engine.finite_sum.loop import Data
from dpexp.privacy.targets import Target
from dpexp.problems import PROBLEMS

TARGET = Target(eps=1.0, delta=1e-5)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "Algorithm 1": ("tree-momentum", {"order": "fixed"}),
    "Algorithm 2, one order": ("reduced-momentum", {}),
    "Algorithm 2, reshuffled": ("reduced-momentum", {"order": "reshuffled"}),
}


def main() -> None:
    problem = PROBLEMS["rippled-mean"].model_validate({"N": 1000, "d": 10})
    schedule = SCHEDULES["path-length"]()
    data = Data(problem.pair, *problem.records, problem.constants)  # type: ignore[attr-defined]
    for name, (kind, options) in CASES.items():
        algorithm: Any = ALGORITHMS[kind].model_validate(options)
        algorithm.simulate(problem, [(schedule, TARGET)], np.array([3000]), 0, [0])
        for steps in (1_000, 10_000, 100_000, 1_000_000):
            plan = algorithm.plan(problem, schedule, TARGET, steps)
            start = time.process_time()
            run = algorithm.stepper(problem, plan, TARGET, 0, 0, data)
            ready = time.process_time()
            run.advance(1, steps)
            done = time.process_time()
            print(
                f"{name:24} T = {steps:9,}: {1e6 * (done - ready) / steps:6.2f} us a step, "
                f"{steps / (done - ready):12,.0f} steps/s; calibration {ready - start:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
