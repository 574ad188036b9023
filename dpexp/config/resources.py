"""Whether an experiment fits into the memory that this process may use, before anything is run.

Estimates from above, within a factor of about two: every part counts the numbers it keeps, 8 bytes each. What does
not fit is refused with the bytes, since a run that fails after hours is lost.
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
FEW_WORKERS, WORTH_PROCESSES_S = 2, 10.0
"""threads that seldom wait for each other; seconds of work for which processes, which take two to load, are begun"""
KEPT_PROBLEMS, LIBRARIES = 8, 200 * 2**20
"""whose data are kept, as by `dpexp.problems.finite_sum`; bytes of a process before it holds a number: 190 to 280 MiB
were measured"""


def needs(experiment: Experiment, workers: int = 0, cluster: bool = False, processes: bool = False) -> dict[str, int]:
    """Bytes of every use of memory at its largest, with so many workers (0: one a core), threads or `processes`.

    On a `cluster` the work is done elsewhere.
    """
    cells, replicates = experiment.cells, experiment.replicates
    passes = Counter(cell.pass_key for cell in cells)
    # No more workers are busy than there are chunks.
    chunks = sum(-(-count // CHUNK_SETTINGS) for count in passes.values()) * -(-replicates // CHUNK_REPLICATES)
    busy = 0 if cluster else min(workers or os.cpu_count() or 1, chunks)
    looks = {cell.cell_id: min(cell.run.n, cell.run.checkpoints) for cell in cells}
    # a number for every estimator, checkpoint, metric and replicate
    sizes = [len(c.algorithm.estimators) * looks[c.cell_id] * (len(c.metrics) + 1) * 8 * replicates for c in cells]
    # A worker takes settings of one pass, as many as fit a chunk, which the last cell of each pass stands for.
    work = max(
        cell.algorithm.memory(cell.problem, cell.run.n, looks[cell.cell_id], min(passes[key], CHUNK_SETTINGS))
        for key, cell in {cell.pass_key: cell for cell in cells}.items()
    )
    data = sorted({str(cell.parameters["problem"]): cell.problem.memory() for cell in cells}.values())
    # Processes load everything once more, threads share it.
    loaded = 1 + busy * processes
    return {
        # The chunks of every cell are kept until all are there; one cell at a time becomes a table.
        "results": 2 * sum(sizes) + 3 * max(sizes),
        f"work of {counted(busy, 'worker')}": work * busy,
        "records": sum(data[-KEPT_PROBLEMS:]) * loaded,
        "libraries": LIBRARIES * loaded,
    }


def processes_pay(experiment: Experiment, workers: int) -> bool:
    """Whether so many workers are better processes than threads, which wait for the lock of Python where it steps."""
    cells, memory = experiment.cells, memory_of_machine() or MOST_BYTES
    # a daemon of multiprocessing may start no processes
    if workers <= FEW_WORKERS or current_process().daemon or not any(cell.algorithm.in_python for cell in cells):
        return False
    seconds = sum(cell.algorithm.seconds(cell.problem, cell.run.n) for cell in cells) * experiment.replicates
    return seconds > WORTH_PROCESSES_S and sum(needs(experiment, workers, processes=True).values()) <= memory


def require_room(experiment: Experiment, workers: int = 0, cluster: bool = False, processes: bool = False) -> None:
    """Raises ConfigError, with the bytes, where an experiment is too large, and where its records are not installed."""
    where = experiment.where or Position(str(experiment.path))
    # shipped records that are a package of their own
    data = [cell.problem.model_dump().get("data") for cell in experiment.cells]
    if any((source.get("name") if isinstance(source, dict) else source) == "fashion" for source in data):
        try:
            fashion.file()
        except DataError as error:
            raise config_error(where, error.message, error.hint) from None
    parts, memory = needs(experiment, workers, cluster, processes), memory_of_machine() or MOST_BYTES
    total, bound = sum(parts.values()), min(MOST_BYTES, memory)
    if total > bound:
        # What takes most is what has to become smaller.
        largest = sorted(parts.items(), key=lambda part: -part[1])
        uses = ", ".join(f"{in_bytes(size)} for {use}" for use, size in largest if size)
        limit = f"{in_bytes(bound)} are {'there' if bound == memory else 'the most that is run'}"
        hint = "fewer cells, replicates, checkpoints or steps, or smaller problems"
        raise config_error(where, f"needs about {in_bytes(total)} of memory ({uses}); {limit}", hint)
