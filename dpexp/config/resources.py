"""Whether an experiment fits into this machine: the memory that all of it needs, before anything is run.

Estimates, from above and within a factor of about two: every part says how many numbers it holds, 8 bytes each. What
does not fit is refused with the bytes, since a run that dies after hours has helped nobody.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from multiprocessing import current_process
from typing import NamedTuple

from dpexp.config.cells import Experiment
from dpexp.config.yamlfile import ConfigError, Issue, Position
from dpexp.core.errors import DataError
from dpexp.core.memory import in_bytes, memory_of_machine
from dpexp.core.text import counted
from dpexp.data import fashion

MOST_BYTES = 10**12
"""of memory, whatever the machine has"""
CHUNK_SETTINGS, CHUNK_REPLICATES = 64, 8
"""how many settings one worker takes at a time, and how many replicates by most algorithms"""
FEW_WORKERS = 2
"""threads that seldom wait for each other"""
WORTH_PROCESSES_S = 10.0
"""of work, for which processes are begun: each takes some two seconds to load what it needs"""
KEPT_PROBLEMS = 8
"""whose data are kept, as `dpexp.problems.finite_sum` does"""
LIBRARIES = 200 * 2**20
"""bytes of a process that computes, before it holds a number: Python, numba, scipy and pyarrow, of which 190 to 280 MiB
were measured"""
SMALLER = "fewer cells, replicates, checkpoints or steps, or smaller problems"


class Needs(NamedTuple):
    """What an experiment needs."""

    parts: Mapping[str, int]
    """bytes of every use of memory"""
    seconds: float
    """on all workers together"""

    @property
    def bytes(self) -> int:
        return sum(self.parts.values())


def needs(experiment: Experiment, workers: int = 0, cluster: bool = False, processes: bool = False) -> Needs:
    """The memory at its largest, and the time, with so many workers (one for each core where it is 0), which may be
    `processes` of their own.

    On a `cluster` the work is done elsewhere.
    """
    workers, replicates = workers or os.cpu_count() or 1, experiment.replicates
    passes = Counter(cell.pass_key for cell in experiment.cells)
    # No more workers are busy than there are chunks.
    chunks = sum(-(-count // CHUNK_SETTINGS) for count in passes.values()) * -(-replicates // CHUNK_REPLICATES)
    busy = 0 if cluster else min(workers, chunks)
    # Processes load everything once more, threads share it.
    loaded = 1 + busy * processes
    # a number for every estimator, checkpoint, metric and replicate
    by_cell = [
        8 * len(algorithm.estimators) * min(run.n, run.checkpoints) * (len(algorithm.metrics) + 1) * replicates
        for algorithm, run in ((cell.algorithm, cell.run) for cell in experiment.cells)
    ]
    parts = {
        # the chunks of every cell are kept until all are there and put together then; one cell at a time becomes a
        # table
        "results": 2 * sum(by_cell) + 3 * max(by_cell),
        f"work of {counted(busy, 'worker')}": _work(experiment) * busy,
        "records": _records(experiment) * loaded,
        "libraries": LIBRARIES * loaded,
    }
    seconds = sum(cell.algorithm.seconds(cell.problem, cell.run.n) for cell in experiment.cells) * replicates
    return Needs(parts, seconds / workers)


def processes_pay(experiment: Experiment, workers: int) -> bool:
    """Whether so many workers are better processes than threads: where Python takes the steps threads wait for its
    lock, and fourteen of them take two to five times as long. There must be work for them, and memory."""
    # a daemon of multiprocessing may start no processes
    alone = workers <= FEW_WORKERS or current_process().daemon
    if alone or not any(cell.algorithm.in_python for cell in experiment.cells):
        return False
    needed, there = needs(experiment, workers, processes=True), memory_of_machine()
    return needed.seconds * workers > WORTH_PROCESSES_S and (there is None or needed.bytes <= there)


def _work(experiment: Experiment) -> int:
    """Bytes of the largest task: some settings and replicates."""
    passes = Counter(cell.pass_key for cell in experiment.cells)
    # A worker takes settings of one pass, as many as fit a chunk.
    at_once = {cell.pass_key: (cell, min(passes[cell.pass_key], CHUNK_SETTINGS)) for cell in experiment.cells}
    return max(
        cell.algorithm.memory(cell.problem, cell.run.n, min(cell.run.n, cell.run.checkpoints), settings)
        for cell, settings in at_once.values()
    )


def _records(experiment: Experiment) -> int:
    """Bytes of the data of the largest problems: no more of them than that are kept at a time."""
    sizes = {str(cell.parameters["problem"]): cell.problem.memory() for cell in experiment.cells}
    return sum(sorted(sizes.values())[-KEPT_PROBLEMS:])


def require_room(experiment: Experiment, workers: int = 0, cluster: bool = False, processes: bool = False) -> None:
    """Raises ConfigError where an experiment is too large for this machine or a `cluster`, with the bytes.

    And where its records are not installed.
    """
    found, needed = list[tuple[str, str]](), needs(experiment, workers, cluster, processes)
    there = memory_of_machine()
    most = MOST_BYTES if there is None else min(MOST_BYTES, there)
    if needed.bytes > most:
        # What takes most is what has to become smaller.
        largest = sorted(needed.parts.items(), key=lambda part: -part[1])
        listed = ", ".join(f"{in_bytes(size)} for {what}" for what, size in largest if size)
        limit = f"{in_bytes(most)} are {'there' if most == there else 'the most that is run'}"
        found.append((f"needs about {in_bytes(needed.bytes)} of memory ({listed}); {limit}", SMALLER))
    # shipped records that are a package of their own
    asked = [getattr(cell.problem, "data", None) for cell in experiment.cells]
    if "fashion" in [getattr(data, "name", data) for data in asked]:
        try:
            fashion.file()
        except DataError as error:
            found.append((error.message, error.hint))
    if found:
        where = experiment.where or Position(str(experiment.path))
        raise ConfigError([Issue(where, message, hint) for message, hint in found])
