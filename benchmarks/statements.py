"""CPU time of privacy statements, each in a process of its own: `python -m benchmarks.statements`."""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys

SETTING = (
    "n=10000", "batch_size=100", "step_size=0.01", "noise_std=1", "lipschitz=1", "diameter=1", "smoothness=1",
)  # fmt: skip
STATEMENTS: dict[str, tuple[str, ...]] = {
    "noisy-sgd, steps=1e7": ("noisy-sgd", *SETTING, "steps=1e7"),
    "noisy-sgd, steps=1000": ("noisy-sgd", *SETTING, "steps=1000"),
    "sampled-gaussian": ("sampled-gaussian", "noise_multiplier=1", "sampling_probability=0.01", "steps=1000"),
}
MANY = 100
"""values of T of one mechanism, asked for in one process"""
IN_ONE_PROCESS = f"""
import dpexp
for k in range({MANY}):
    steps = round(1000 * 10 ** (4 * k / {MANY - 1}))
    dpexp.privacy("noisy-sgd", {", ".join(SETTING)}, steps=steps).document()
"""


def cpu_seconds(*arguments: str) -> float:
    """Of Python with these arguments, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    print(f"{'dpexp privacy --mechanism':30}{'CPU s':>8}{'from':>8}{'to':>8}")
    for name, arguments in STATEMENTS.items():
        found = sorted(cpu_seconds("-m", "dpexp", "privacy", "--mechanism", *arguments) for _ in range(turns))
        print(f"{name:30}{statistics.median(found):>8.2f}{found[0]:>8.2f}{found[-1]:>8.2f}", flush=True)
    many = sorted(cpu_seconds("-c", IN_ONE_PROCESS) for _ in range(turns))
    print(f"{f'noisy-sgd, {MANY} values of steps':30}{statistics.median(many):>8.2f}{many[0]:>8.2f}{many[-1]:>8.2f}")


if __name__ == "__main__":
    main()
