"""What a step costs in the whole command, metrics and files included, beside a plain C++ loop: `make bench`.

The CPU time of `dpexp run` with 72 replicates less that with 8, over the steps of the 64 between them: start, compiling
and what does not grow with replicates cancel. The C++ loop (`benchmarks/twins/ldp_sgd.cpp`) does the steps of eight
replicates side by side, with -ffast-math, and neither measures nor writes anything. The engine alone is the compiled
loop of dpexp, called from Python on the same workload. The programs take turns.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import engine, twin
from benchmarks.turns import HEAD, columns
from dpexp.problems.huber_linear import HuberLinear

CONFIGS = Path(__file__).parent.parent / "configs"
DIMENSIONS = {5: "linear_d5", 20: "linear_d20"}
MANY, FEW = 72, 8
"""replicates"""
USERS = 300_000


def cpu_seconds(config: str, replicates: int) -> float:
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
        asked = ["--set", f"run.n={USERS}", "--replicates", str(replicates)]
        subprocess.run([*run, *asked], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_command(config: str) -> float:
    """Nanoseconds per replicate and step of the whole command."""
    return (cpu_seconds(config, MANY) - cpu_seconds(config, FEW)) / (MANY - FEW) / USERS * 1e9


def of_engine(d: int, turn: int) -> float:
    """Nanoseconds per replicate and step of the compiled loop alone."""
    problem, users = HuberLinear(d=d), USERS // 3
    begin = time.process_time()
    engine.engine(problem, users, turn)
    return (time.process_time() - begin) / (8 * users) * 1e9


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    if twin.program("ldp_sgd") is None:
        print("no C++ compiler is installed")
        return
    print("Huber linear regression, 20 settings, one thread: ns per replicate and step; ratio: C++ over dpexp")
    print(f"{'':<24}{'dpexp':>10}{'C++':>10}{HEAD}")
    for place, (d, config) in enumerate(DIMENSIONS.items()):
        cpu_seconds(config, FEW)  # compiled code is kept
        of_engine(d, 0)
        bare, whole = [], []
        for turn in range(turns):
            plain = twin.measured("ldp_sgd")[place]
            bare.append((of_engine(d, turn), plain))
            whole.append((of_command(config), plain))
        print(f"{f'd = {d}, engine alone':<24}{columns(bare, 1)}")
        print(f"{f'd = {d}, whole command':<24}{columns(whole, 1)}", flush=True)


if __name__ == "__main__":
    main()
