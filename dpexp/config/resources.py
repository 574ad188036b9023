"""Whether an experiment fits into the memory that this process may use, before anything is run."""

from __future__ import annotations

import os
from collections import Counter

from dpexp.config.cells import Experiment
from dpexp.config.yamlfile import Position, config_error
from dpexp.core.errors import DataError
from dpexp.core.memory import in_bytes, memory_of_machine
from dpexp.data import fashion

MOST_BYTES = 10**12  # of memory, whatever the machine has
CHUNK_SETTINGS, CHUNK_REPLICATES = 64, 8
"""how many settings one worker takes at a time, and how many replicates by most algorithms"""


def require_room(experiment: Experiment, workers: int = 0, cluster: bool = False, processes: bool = False) -> None:
    """Raises ConfigError, with the bytes, where an experiment is too large, and where its records are not installed.

    The numbers that are held at once count 8 bytes each, for so many workers (0: one a core), threads or `processes`;
    on a `cluster` the work is done elsewhere. Libraries, 200 to 300 MiB a process, are not counted.
    """
    cells, replicates = experiment.cells, experiment.replicates
    where = experiment.where or Position(str(experiment.path))
    try:
        if "fashion" in [cell.values.get(("problem", "data")) for cell in cells]:
            fashion.file()
    except DataError as error:
        raise config_error(where, error.message, error.hint) from None
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
    # The chunks of every cell are kept until all are there; processes load the records once more, threads share them.
    parts = {
        "results": 2 * sum(sizes) + 3 * max(sizes), "work": work * busy,
        "records": sum(sorted(records.values())[-8:]) * (1 + busy * processes),
    }  # fmt: skip
    if (total := sum(parts.values())) > (bound := min(MOST_BYTES, memory_of_machine())):
        uses = ", ".join(f"{in_bytes(size)} for {use}" for use, size in parts.items())
        message = f"needs about {in_bytes(total)} of memory ({uses}); the limit is {in_bytes(bound)}"
        raise config_error(where, message, "fewer cells, replicates, checkpoints or steps, or smaller problems")
