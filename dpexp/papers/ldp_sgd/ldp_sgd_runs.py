"""Stored runs of `ldp-sgd` with its theory: what `predictions` says at their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dpexp.algorithms.near_the_optimum import Local, linear_predictor_of, local
from dpexp.papers.ldp_sgd import predictions
from dpexp.papers.ldp_sgd.predictions import Curves
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.checks import bound_holds
from dpexp.reporting.claim import Check, Outcome
from dpexp.store.evidence import Evidence, Run
from dpexp.theory import THEOREMS


def problem_of(run: Run) -> LinearPredictorProblem:
    """The problem of a run, as the linear predictor that it is."""
    return linear_predictor_of(run.cell.problem)


def constants_of(run: Run) -> dict[str, Any]:
    """Plain numbers for theorems, with the steps of this run."""
    numbers = predictions.constants(problem_of(run), run.cell.schedule, run.cell.privacy.mu)
    return numbers | {"steps": run.steps}


def local_of(run: Run) -> Local:
    """The neighbourhood of the optimum. Raises ValueError where the Hessian is singular."""
    return local(problem_of(run), run.cell.privacy.mu)


def predicted_of(run: Run) -> Curves:
    """The linearised recursion at the run's steps. Raises ValueError where the Hessian is singular."""
    return predictions.predicted(local_of(run), run.cell.schedule, run.steps)


class Used:
    """The runs that a claim uses: of these experiments, with these settings as `Evidence.runs` takes them."""

    def __init__(self, *experiments: str, **levels: Any) -> None:
        self.experiments, self.levels = experiments, levels

    def __call__(self, evidence: Evidence) -> list[Run]:
        return [run for name in self.experiments for run in evidence.runs(name, **self.levels)]

    def judged(self, check: Callable[[list[Run]], Outcome]) -> Check:
        """The check of a claim about these runs."""
        return self.read_by(lambda evidence: check(self(evidence)))

    def read_by(self, check: Callable[[Evidence], Outcome]) -> Check:
        """The same where the check takes single runs of these experiments out of the evidence itself."""
        return Check(check, self.experiments)


def theorem_holds(runs: Sequence[Run], theorem: str, log10: bool = False) -> Outcome:
    """Whether a theorem's bound is above the measured means of runs: `dpexp.reporting.checks.bound_holds`."""
    return bound_holds(runs, THEOREMS[theorem], constants_of, log10)
