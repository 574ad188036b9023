"""What a dask cluster costs: `make bench`.

Scheduling: tasks that do nothing, through the whole path of a run (comparing, sealing, sending, collecting), with
one and two workers of one thread. Efficiency: the same experiment on one and on two workers, beside threads of this
process; the cells are those of figure 2, and every run computes them anew. Workers are processes of this machine, so
the network is the loopback; a machine that does other work at the same time gives smaller numbers.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from dpexp.config.experiment_file import read_experiment
from dpexp.store.executors import on_cluster
from dpexp.store.experiment_run import Options, run
from tests.store.loopback import Loopback, square

CONFIG = """experiment: bench
problem:   {{name: huber-linear, d: 5}}
schedule:  {{name: power, eta: 0.2, alpha: [1/3, 1/2, 2/3, 1]}}
privacy:   {{mu: [0.5, 1, 2, 3, inf]}}
run:       {{n: {n}, replicates: {replicates}, seed: 1, checkpoints: 20}}
"""


def tasks_per_second(address: str, count: int) -> tuple[float, float]:
    """Of tasks that do nothing, from the first result to the last; and the parent's own milliseconds for each."""
    results = on_cluster([(square, (k,)) for k in range(count)], address)
    next(results)
    begin, own = time.perf_counter(), time.process_time()
    assert sum(1 for _ in results) == count - 1
    each = (time.process_time() - own) / (count - 1)
    return (count - 1) / (time.perf_counter() - begin), 1000 * each


def seconds_of_run(folder: Path, config: str, jobs: int, address: str = "") -> float:
    """Of a run that computes everything, without the start of the process."""
    options = Options(folder, jobs=jobs, quiet=True, force=True, backend="dask" if address else "threads")
    options.scheduler = address
    begin = time.perf_counter()
    run(read_experiment(config, "bench.yaml"), options)
    return time.perf_counter() - begin


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--n", type=int, default=2_000_000, help="users of a replicate")
    parser.add_argument("--replicates", type=int, default=32)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    if find_spec("distributed") is None:
        print("dask is not installed: nothing to measure")
        return
    config = CONFIG.format(n=arguments.n, replicates=arguments.replicates)
    print(f"{arguments.tasks} tasks that do nothing; {arguments.replicates // 8} chunks of {arguments.n:,} users,")
    print(f"medians of {arguments.turns} turns on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'workers':<10}{'tasks/s':>10}{'parent ms':>12}{'run s':>10}{'threads s':>12}{'threads / dask':>16}")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for workers in (1, 2):
            with Loopback(root / f"cluster-{workers}") as lan:
                for _ in range(workers):
                    lan.worker()
                lan.wait_for(workers)
                rate, own = tasks_per_second(lan.address, arguments.tasks)
                short = CONFIG.format(n=1000, replicates=arguments.replicates)  # compiled code is loaded by everyone
                for address in (lan.address, ""):
                    seconds_of_run(root, short, workers, address)
                pairs = [
                    (seconds_of_run(root, config, workers, lan.address), seconds_of_run(root, config, workers))
                    for _ in range(arguments.turns)
                ]
            there, here = (statistics.median(pair[k] for pair in pairs) for k in (0, 1))
            ratio = statistics.median(local / remote for remote, local in pairs)
            print(f"{workers:<10}{rate:>10.0f}{own:>12.2f}{there:>10.2f}{here:>12.2f}{ratio:>16.2f}", flush=True)


if __name__ == "__main__":
    main()
