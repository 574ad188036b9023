"""How commands on a stored result grow with its cells: `python -m benchmarks.cells`, which takes some four minutes.

Each command is a process of its own. Shown are CPU seconds, Python's start included, and the largest resident memory.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

SIZES = (100, 1000, 10_000)
BUDGETS = 100
"""of every step size"""
COMMANDS = ("run -q {0}.yaml", "list", "table {0}", "diff {0} {0}", "plot {0}", "report {0}")
MOST_DRAWN = "mu=" + ",".join(f"{0.5 + 0.01 * k:g}" for k in range(10))
"""a figure holds a thousand settings and not ten thousand, of which a tenth is drawn"""


def config(size: int) -> str:
    """An experiment of so many cells that take little time."""
    etas = [round(0.01 * (1 + k / 7), 6) for k in range(size // BUDGETS)]
    mus = [round(0.5 + 0.01 * k, 4) for k in range(BUDGETS)]
    return (
        f"experiment: cells{size}\nproblem: {{name: huber-linear, d: 2}}\n"
        f"schedule: {{name: power, eta: {etas}, alpha: 1/2}}\nprivacy: {{mu: {mus}}}\n"
        "run: {n: 1000, replicates: 8, seed: 1, checkpoints: 10}\n"
    )


def measured(words: list[str], folder: str) -> tuple[float, float]:
    """CPU seconds and MB of one command. Raises ChildProcessError where it fails."""
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        os.execv(sys.executable, [sys.executable, "-m", "dpexp", *words])
    _, status, used = os.wait4(child, 0)
    if status:
        raise ChildProcessError(f"dpexp {' '.join(words)} ended with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def main() -> None:
    """Measure and print the table of docs/performance.md."""
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            Path(folder, f"cells{size}.yaml").write_text(config(size))
            measured(["run", "-q", f"cells{size}.yaml"], folder)
        print(f"| command | {' | '.join(f'{size:,} cells' for size in SIZES)} |\n|---|{'---|' * len(SIZES)}")
        for command in COMMANDS:
            shown = []
            for size in SIZES:
                words = command.format(f"cells{size}").split()
                words += ["--only", MOST_DRAWN] if command.startswith("plot") and size > 1000 else []
                seconds, memory = measured(words, folder)
                shown.append(f"{seconds:.1f} s, {memory:.0f} MB")
            print(f"| `{command.format('NAME')}` | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
