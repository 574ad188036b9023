"""How time and memory grow with every number that a request names: `python -m benchmarks.growth`.

Each measurement is a process of its own, whose time is that of its processor (so that other work on the machine counts
little) and whose memory is its largest resident size, both beyond those of the smallest request of the same kind: what
is left is the growth. The exponent is the slope between the two largest requests, log(t2 / t1) / log(x2 / x1).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LINEAR = {"problem": {"name": "huber-linear", "d": 5}, "algorithm": {"name": "ldp-sgd"},
          "schedule": {"name": "power", "eta": 0.2, "alpha": 0.5}, "privacy": {"mu": 1.0},
          "run": {"n": 100_000, "replicates": 8, "seed": 1, "checkpoints": 20}}  # fmt: skip
OWN = {"problem": {"name": "softmax", "regulariser": 1e-2, "data": {"path": "people.csv", "target": "y"}},
       "algorithm": {"name": "dp-sgd", "batch_size": 64, "epochs": 1},
       "schedule": {"name": "constant", "eta": 0.1}, "privacy": {"eps": 1.0, "delta": 1e-6},
       "run": {"replicates": 1, "seed": 1, "checkpoints": 2}}  # fmt: skip


class Series(NamedTuple):
    """One number that grows while the others stay."""

    what: str
    of: Mapping[str, Mapping[str, object]]
    sizes: tuple[int, ...]


SERIES = (
    Series("users n", LINEAR, (10**4, 10**7, 10**8)),
    Series("dimension d", LINEAR, (5, 200, 1000)),
    Series("replicates", LINEAR, (8, 200, 1600)),
    Series("settings", LINEAR, (1, 20, 320)),
    Series("checkpoints", LINEAR, (10, 10_000, 100_000)),
    Series("records", OWN, (1000, 100_000, 300_000)),
    Series("features", OWN, (4, 200, 800)),
)
"""`checkpoints` goes to n, which is 100,000 there"""

CHILD = """
import json, resource, sys, time
import dpexp
from dpexp.store.experiment_run import Options, run
from pathlib import Path
config = json.loads(sys.argv[1])
begin = time.process_time()
run(dpexp.load(config), Options(Path("results"), jobs=1, quiet=True, force=True))
print(json.dumps([time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def request(series: Series, size: int, folder: Path) -> dict[str, Any]:
    """The config of one measurement; writes the records that it needs."""
    config: dict[str, Any] = json.loads(json.dumps(series.of)) | {"experiment": "growth"}
    run = config["run"]
    if series.what == "users n":
        run |= {"n": size, "replicates": 8}
    elif series.what == "dimension d":
        config["problem"]["d"] = size
        run |= {"n": 20_000}
    elif series.what == "settings":
        config["schedule"]["eta"] = [0.2 / (1 + k / size) for k in range(size)]
        run |= {"n": 50_000}
    elif series.what in ("replicates", "checkpoints"):
        run[series.what] = size
    else:
        records, features = (size, 10) if series.what == "records" else (5000, size)
        with (folder / "people.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow([*(f"x{j}" for j in range(features)), "y"])
            for i in range(records):
                rows.writerow([*((i * (j + 3)) % 997 for j in range(features)), "yes" if i % 3 else "no"])
    return config


def measured(series: Series, size: int, folder: Path, warm: bool = False) -> tuple[float, int]:
    """Seconds of the processor and bytes of memory of one request; `warm` asks for few users, to compile alone."""
    config = request(series, size, folder)
    if warm and series.of is LINEAR:
        config["run"] |= {"n": 100, "checkpoints": 10}
    child = [sys.executable, "-c", CHILD, json.dumps(config)]
    done = subprocess.run(child, cwd=folder, capture_output=True, text=True, check=True)
    seconds, resident = json.loads(done.stdout.splitlines()[-1])
    return float(seconds), int(resident)


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The exponent between the two largest sizes of what was beyond the smallest; not a number where nothing was."""
    base = values[0]
    before, after = values[-2] - base, values[-1] - base
    if before <= 0 or after <= 0:
        return math.nan
    return math.log(after / before) / math.log(sizes[-1] / sizes[-2])


def table(found: Mapping[str, list[tuple[int, float, int]]]) -> str:
    """In Markdown, one row per series."""
    lines = [
        "| what grows | sizes | seconds | memory, MB | exponent of time | exponent of memory |",
        "|---|---|---|---|---|---|",
    ]
    for what, points in found.items():
        sizes = [size for size, _, _ in points]
        seconds, resident = [s for _, s, _ in points], [m / 1e6 for _, _, m in points]
        grew = resident[-1] - resident[0] > 20  # MB: below it is the noise of an allocator
        exponents = slope(sizes, seconds), slope(sizes, resident) if grew else 0.0
        shown = [
            ", ".join(f"{size:,}" for size in sizes), ", ".join(f"{s:.3g}" for s in seconds),
            ", ".join(f"{m:.0f}" for m in resident), *("-" if math.isnan(e) else f"{e:.2f}" for e in exponents),
        ]  # fmt: skip
        lines.append(f"| {what} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of series")
    arguments = parser.parse_args()
    found: dict[str, list[tuple[int, float, int]]] = {}
    with tempfile.TemporaryDirectory() as name:
        for series in SERIES:
            if arguments.only and series.what not in arguments.only:
                continue
            for size in series.sizes if series.what == "dimension d" else series.sizes[:1]:
                measured(series, size, Path(name), warm=True)  # compiles, where nothing is kept yet; once for each d
            found[series.what] = [(size, *measured(series, size, Path(name))) for size in series.sizes]
            for size, seconds, resident in found[series.what]:
                print(f"{series.what} {size:,}: {seconds:.3g} s, {resident / 1e6:.0f} MB", file=sys.stderr, flush=True)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n\n{table(found)}")


if __name__ == "__main__":
    main()
