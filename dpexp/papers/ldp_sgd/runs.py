"""Stored runs of `ldp-sgd` beside its theory: what `predictions` says of a problem, here of a run at its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dpexp.papers.ldp_sgd import predictions
from dpexp.papers.ldp_sgd.predictions import Curves, Local, is_flat, linear, local
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.checks import bound_holds, rates_agree
from dpexp.reporting.claim import Outcome
from dpexp.reporting.evidence import Evidence, Run
from dpexp.theory import THEOREMS

Used = Callable[[Evidence], list[Run]]


def problem_of(run: Run) -> LinearPredictorProblem:
    """The problem of a run, as the linear predictor that it is."""
    return linear(run.cell.problem)


def constants_of(run: Run) -> dict[str, Any]:
    """Plain numbers for theorems, with the steps of this run."""
    numbers = predictions.constants(problem_of(run), run.cell.schedule, run.cell.privacy.mu)
    return numbers | {"steps": run.steps}


def local_of(run: Run) -> Local | None:
    """The neighbourhood of the optimum; None where the Hessian is singular."""
    problem = problem_of(run)
    return None if is_flat(problem) else local(problem, run.cell.privacy.mu)


def predicted_of(run: Run) -> Curves:
    """The linearised recursion at the run's steps. Raises ValueError where the Hessian is singular."""
    return predictions.predicted(local(problem_of(run), run.cell.privacy.mu), run.cell.schedule, run.steps)


def theorem_holds(runs: Sequence[Run], theorem: str, log10: bool = False) -> Outcome:
    """Whether a theorem's bound is above the measured means of runs: `dpexp.reporting.checks.bound_holds`."""
    return bound_holds(runs, THEOREMS[theorem], constants_of, log10)


def bounded_by(theorem: str, runs: Used) -> Callable[[Evidence], Outcome]:
    """The check that a theorem's bound is above the measured means of the runs that a claim uses."""
    return lambda evidence: theorem_holds(runs(evidence), theorem)


def falls_like(
    runs: Used, estimator: str, exponent: Callable[..., float | None], *of: str, metric: str = "param_distance_sq"
) -> Callable[[Evidence], Outcome]:
    """The check that a metric falls like `exponent(estimator, *of, alpha)`: that of the table, a remark or the correction."""
    source = {"table1_exponent": "Table 1", "remark_exponent": "the remark"}.get(exponent.__name__, "corrected table")
    return lambda evidence: rates_agree(
        runs(evidence), estimator, metric, lambda alpha: exponent(estimator, *of, alpha), source
    )


def used(experiments: Sequence[str], **wanted: Any) -> Used:
    """Which runs a claim uses: its check and its hypotheses ask the same function, so they speak of the same runs."""
    return lambda evidence: evidence.across(experiments, **wanted)
