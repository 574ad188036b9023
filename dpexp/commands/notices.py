"""What is said of the records that a config names: their encoding, and what is not private."""

from __future__ import annotations

from dpexp.config.cells import Experiment


def notices(experiment: Experiment, own: bool = False) -> list[str]:
    """What is said of the data of a config, each sentence once; or only of a user's own."""
    problems = [cell.problem for cell in experiment.cells]
    spoken = [problem.notices() for problem in problems if problem.files() or not own]
    return list(dict.fromkeys(notice for notices in spoken for notice in notices))
