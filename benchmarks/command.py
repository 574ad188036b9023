"""What a step costs in the whole command, metrics and files included, beside a careful C++ loop: `make bench`.

The CPU time of `dpexp run` with 72 replicates less that with 8, over the steps of the 64 between them: start, compiling
and what does not grow with replicates cancel. The C++ loop (`benchmarks/twins/ldp_sgd.cpp`) does the steps of eight
replicates side by side, and neither measures nor writes anything. The engine alone is the compiled loop of dpexp,
called from Python on the same workload. The programs take turns.

Before that, both loops must find the same mean squared distances from the optimum, and ones with a fifth more noise
must be told from them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import engine, twin
from benchmarks.turns import HEAD, columns
from dpexp.problems.linear_losses import HuberLinear

CONFIGS = Path(__file__).parent.parent / "configs"
DIMENSIONS = {5: "linear_d5", 10: "linear_d5", 20: "linear_d20"}
MANY, FEW = 72, 8
"""replicates"""
USERS = 300_000
ALONE = 100_000
"""users of the engine and of the C++ loop alone, and of the check of one by the other"""
GROUPS = 100
"""lane groups of that check: 800 replicates, as squared distances where alpha = 1 are skewed"""


def cpu_seconds(config: str, d: int, replicates: int) -> float:
    """User and system time of a run on one thread, its results thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = [
            sys.executable,
            "-m",
            "dpexp",
            "run",
            str(CONFIGS / f"{config}.yaml"),
            "--results",
            folder,
            "-q",
            "-j",
            "1",
        ]
        asked = ["--set", f"run.n={USERS}", "--set", f"problem.d={d}", "--replicates", str(replicates)]
        subprocess.run([*run, *asked], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_command(config: str, d: int) -> float:
    """Nanoseconds per replicate and step of the whole command."""
    return (cpu_seconds(config, d, MANY) - cpu_seconds(config, d, FEW)) / (MANY - FEW) / USERS * 1e9


def of_engine(d: int, turn: int) -> float:
    """Nanoseconds per replicate and step of the compiled loop alone."""
    problem = HuberLinear(d=d)
    begin = time.process_time()
    engine.engine(problem, ALONE, turn)
    return (time.process_time() - begin) / (8 * ALONE) * 1e9


def of_twin(d: int, turn: int) -> float:
    """Nanoseconds per replicate and step of the C++ loop."""
    return twin.measured("ldp_sgd", d, ALONE, 1, turn, 1)[0]


def distances_of_twin(d: int, noise: float) -> np.ndarray:
    """Mean squared distances of every lane group of the C++ loop [groups, 2 settings], with `noise` times the noise."""
    return np.reshape(twin.measured("ldp_sgd", d, ALONE, GROUPS, 1, noise)[1:], (GROUPS, -1))


def largest_difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Between the means of two sets of lane groups, in standard errors of the difference, over all columns."""
    error = np.sqrt(ours.var(axis=0, ddof=1) / len(ours) + theirs.var(axis=0, ddof=1) / len(theirs))
    return float(np.max(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) / error))


def check(d: int) -> str:
    """How far the loops are apart, and how far with a fifth more noise. Ends the program if not as it must be."""
    ours = np.array([engine.engine(HuberLinear(d=d), ALONE, seed).ravel() for seed in range(GROUPS)])
    same, other = (largest_difference(ours, distances_of_twin(d, noise)) for noise in (1, 1.2))
    if not same < 4 < other:
        sys.exit(f"d = {d}: the loops differ by {same:.1f} standard errors, and by {other:.1f} with a fifth more noise")
    return f"d = {d}: {same:.1f} ({other:.1f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    if twin.program("ldp_sgd") is None:
        print("no C++ compiler is installed")
        return
    compared = ", ".join(check(d) for d in DIMENSIONS)
    print(f"largest difference of 40 mean squared distances, in standard errors (with a fifth more noise): {compared}")
    print("Huber linear regression, 20 settings, one thread: ns per replicate and step; ratio: C++ over dpexp")
    print(f"{'':<24}{'dpexp':>10}{'C++':>10}{HEAD}")
    for d, config in DIMENSIONS.items():
        cpu_seconds(config, d, FEW)  # compiled code is kept
        bare, whole = [], []
        for turn in range(turns):
            plain = of_twin(d, turn)
            bare.append((of_engine(d, turn), plain))
            whole.append((of_command(config, d), plain))
        print(f"{f'd = {d}, engine alone':<24}{columns(bare, 1)}")
        print(f"{f'd = {d}, whole command':<24}{columns(whole, 1)}", flush=True)


if __name__ == "__main__":
    main()
