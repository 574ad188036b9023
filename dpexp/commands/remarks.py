"""What is said of the records that a config names: to all, and what is odd about a table to its owner alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.config.cells import Experiment

if TYPE_CHECKING:
    from dpexp.problems.softmax import DataSource


def notices(experiment: Experiment, own: bool = False) -> list[str]:
    """What is said of the data of a config, their encoding and what is not private, each sentence once; or only of a
    user's own."""
    problems = [cell.problem for cell in experiment.cells]
    spoken = [problem.notices() for problem in problems if problem.files() or not own]
    return list(dict.fromkeys(notice for notices in spoken for notice in notices))


def remarks(experiment: Experiment) -> list[str]:
    """What is odd about the user's own tables, each sentence once; on stderr or beside "ok"."""
    from dpexp.problems.softmax import Softmax

    problems = [cell.problem for cell in experiment.cells if isinstance(cell.problem, Softmax)]
    tables = {p.data.model_dump_json(): p.data for p in problems if p.data.path and p.data.target}
    return list(dict.fromkeys(remark for source in tables.values() for remark in _of(source)))


def _of(source: DataSource) -> list[str]:
    from dpexp.data.labelled import columns_of_file
    from dpexp.data.records import read_table
    from dpexp.data.remarks import majority
    from dpexp.data.remarks import remarks as found

    table = read_table(Path(os.path.expanduser(str(source.path))))
    columns, classes = columns_of_file(table.header, table.where, str(source.target), source.public)
    said = [*found(table, columns, classes), *majority(table, classes)]
    return [remark if remark.startswith(table.where) else f"{Path(table.where).name}: {remark}" for remark in said]
