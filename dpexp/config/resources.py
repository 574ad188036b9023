"""Whether an experiment fits into the memory that this process may use, before anything is run.

Estimates from above, within a factor of about two: every part counts its numbers, 8 bytes each.
"""

from __future__ import annotations

import os
from collections import Counter
from multiprocessing import current_process

from dpexp.config.cells import Experiment
from dpexp.config.yamlfile import Position, config_error
from dpexp.core.errors import DataError
from dpexp.core.memory import in_bytes, memory_of_machine
from dpexp.core.text import counted
from dpexp.data import fashion

MOST_BYTES = 10**12
"""of memory, whatever the machine has"""
CHUNK_SETTINGS, CHUNK_REPLICATES = 64, 8
"""how many settings one worker takes at a time, and how many replicates by most algorithms"""
LIBRARIES = 200 * 2**20
"""bytes of a process before it holds a number: 190 to 280 MiB were measured"""


def needs(experiment: Experiment, workers: int = 0, cluster: bool = False, processes: bool = False) -> dict[str, int]:
    """Bytes of every use of memory at its largest, with so many workers (0: one a core), threads or `processes`.

    On a `cluster` the work is done elsewhere.
    """
    cells, replicates = experiment.cells, experiment.replicates
    passes = Counter(cell.pass_key for cell in cells)
    # No more workers are busy than there are chunks.
    chunks = sum(-(-count // CHUNK_SETTINGS) for count in passes.values()) * -(-replicates // CHUNK_REPLICATES)
    busy = 0 if cluster else min(workers or os.cpu_count() or 1, chunks)
    sizes, work = list[int](), 0
    for cell in cells:
        checkpoints, settings = min(cell.run.n, cell.run.checkpoints), min(passes[cell.pass_key], CHUNK_SETTINGS)
        sizes.append(8 * replicates * len(cell.algorithm.estimators) * checkpoints * (len(cell.metrics) + 1))
        work = max(work, cell.algorithm.memory(cell.problem, cell.run.n, checkpoints, settings))
    records = {str(cell.parameters["problem"]): cell.problem.memory() for cell in cells}
    # Processes load everything once more, threads share it.
    loaded = 1 + busy * processes
    return {
        # The chunks of every cell are kept until all are there; one cell at a time becomes a table.
        "results": 2 * sum(sizes) + 3 * max(sizes),
        f"work of {counted(busy, 'worker')}": work * busy,
        # as many problems as `dpexp.problems.finite_sum` keeps the data of
        "records": sum(sorted(records.values())[-8:]) * loaded,
        "libraries": LIBRARIES * loaded,
    }


def processes_pay(experiment: Experiment, workers: int) -> bool:
    """Whether so many workers are better processes than threads, which wait for the lock of Python where it steps."""
    # two threads seldom wait; a daemon of multiprocessing may start no processes
    if workers <= 2 or current_process().daemon or not any(cell.algorithm.in_python for cell in experiment.cells):
        return False
    seconds = sum(cell.algorithm.seconds(cell.problem, cell.run.n) for cell in experiment.cells)
    # processes take two seconds to load
    return seconds * experiment.replicates > 10


def require_room(experiment: Experiment, workers: int = 0, cluster: bool = False, processes: bool = False) -> None:
    """Raises ConfigError, with the bytes, where an experiment is too large, and where its records are not installed."""
    where = experiment.where or Position(str(experiment.path))
    data = [cell.problem.model_dump().get("data") for cell in experiment.cells]
    if any((source.get("name") if isinstance(source, dict) else source) == "fashion" for source in data):
        try:
            fashion.file()
        except DataError as error:
            raise config_error(where, error.message, error.hint) from None
    parts, bound = needs(experiment, workers, cluster, processes), min(MOST_BYTES, memory_of_machine())
    if (total := sum(parts.values())) > bound:
        # the largest use first: it has to become smaller
        uses = ", ".join(f"{in_bytes(size)} for {use}" for use, size in sorted(parts.items(), key=lambda p: -p[1]))
        message = f"needs about {in_bytes(total)} of memory ({uses}); the limit is {in_bytes(bound)}"
        raise config_error(where, message, "fewer cells, replicates, checkpoints or steps, or smaller problems")
