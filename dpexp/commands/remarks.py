"""What `dpexp validate` and `dpexp run` remark on the table of a config: to its owner, on stderr or beside "ok"."""

from __future__ import annotations

import os
from pathlib import Path

from dpexp.config import Experiment
from dpexp.problems.softmax import DataSource, Softmax


def remarks(experiment: Experiment) -> list[str]:
    """What is odd about the user's own tables of a config, each sentence once."""
    problems = [cell.problem for cell in experiment.cells if isinstance(cell.problem, Softmax)]
    tables = {p.data.model_dump_json(): p.data for p in problems if p.data.path and p.data.target}
    return list(dict.fromkeys(remark for source in tables.values() for remark in _of(source)))


def _of(source: DataSource) -> list[str]:
    from dpexp.data.remarks import remarks as found
    from dpexp.data.table import read_frame

    path = Path(os.path.expanduser(str(source.path)))
    said = found(read_frame(path), str(source.target), source.ranges or {}, source.categories or {})
    return [f"{path.name}: {remark}" for remark in said]
