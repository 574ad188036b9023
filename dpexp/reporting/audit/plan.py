"""What of an experiment is audited: each mechanism once; and what is not, with the reason."""

from __future__ import annotations

import math
from typing import NamedTuple

from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.dp_sgld import DpSgld
from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.algorithms.path_intervals import PathIntervals
from dpexp.algorithms.softmax_runs import SoftmaxAlgorithm
from dpexp.algorithms.staged_newton import StagedNewton
from dpexp.config.cells import Cell, Experiment
from dpexp.privacy.batch_sampling import RELATIONS
from dpexp.problems.finite_sum import FiniteSum
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit.auditable import COPIES, CROWD, TOGETHER, Auditable

DELTA = 1e-5
"""of the copy's target, where the config gives a mu"""


class Plan(NamedTuple):
    """What is audited, and what is not and why."""

    audited: list[Auditable]
    skipped: list[str]


def plan_of(experiment: Experiment) -> Plan:
    """The audits of an experiment. Cells that differ in nothing that an audit sees are audited once."""
    audited: dict[str, Auditable] = {}
    skipped: dict[str, None] = {}
    for cell in experiment.cells:
        found = auditable(cell)
        if isinstance(found, str):
            skipped.setdefault(found)
            continue
        for one in found:
            audited.setdefault(f"{one.label} {one.size}", one)
    return Plan(list(audited.values()), list(skipped))


def auditable(cell: Cell) -> list[Auditable] | str:
    """The audits of one cell, or why there is none."""
    problem, algorithm, budget = cell.problem, cell.algorithm, cell.privacy.mu
    if math.isinf(budget.smallest):
        return f"{algorithm.name}, {budget.label}: no privacy is claimed"
    if isinstance(algorithm, OnePassAlgorithm) and isinstance(problem, LinearPredictorProblem):
        from dpexp.reporting.audit.users import UsersAudit

        stated = algorithm.mechanism(problem, cell.schedule, budget, cell.run.n).analyses()
        return [UsersAudit(problem, algorithm, cell.schedule, budget, cell.run.n, stated)]
    if isinstance(algorithm, StagedNewton) and algorithm.messages == "caps":
        return f"{algorithm.name}, messages: caps: their exact law is that of dpexp privacy --mechanism cap-sampling"
    if isinstance(algorithm, StagedNewton | PathIntervals) and isinstance(problem, LinearPredictorProblem):
        from dpexp.reporting.audit.regression import RegressionAudit

        stated = algorithm.mechanism(problem, cell.schedule, budget, cell.run.n).analyses()
        return [RegressionAudit(problem, algorithm, cell.schedule, budget, cell.run.n, stated)]
    if isinstance(algorithm, SoftmaxAlgorithm) and algorithm.tuned:
        return f"{algorithm.name}: what is audited are runs, and not the choice among them; leave out the section tune"
    if isinstance(algorithm, DpSgd | DpSgld) and isinstance(problem, Softmax):
        from dpexp.reporting.audit.batches import BatchesAudit

        assert budget.target is not None  # its reader asks for one
        added = RELATIONS[algorithm.sampling] == "add-remove"
        random = added and algorithm.batch_size < problem.n and isinstance(algorithm, DpSgd)
        copies = (*COPIES, CROWD, TOGETHER) if random else (*COPIES, TOGETHER)
        return [BatchesAudit(cell, problem, algorithm, budget.target[1], copy) for copy in copies]
    if isinstance(algorithm, FiniteSumAlgorithm) and isinstance(problem, FiniteSum):
        from dpexp.reporting.audit.sums import SumsAudit

        if cell.schedule.name == "prescribed":
            return f"{algorithm.name}: a prescribed schedule fixes the size; path-length or constant steps are audited"
        if not algorithm.noise:
            return f"{algorithm.name}, noise: false: no privacy is claimed"
        delta = budget.target[1] if budget.target else DELTA
        return [SumsAudit(cell, problem, algorithm, delta, copy) for copy in COPIES]
    return f"{algorithm.name}: no canary is known for it"
