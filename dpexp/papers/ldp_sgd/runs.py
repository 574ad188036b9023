"""Stored runs of `ldp-sgd` beside its theory: what `predictions` says of a run at its steps, and what theorems assume of it.

Conditions 1 (bounded gradients) and 2 (strong convexity) cannot both hold on all of R^d: a gradient that grows at least
like m times the distance is not bounded. So curvature is asked for at the optimum, where the claims take m and M.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dpexp.algorithms import ALGORITHMS
from dpexp.papers.ldp_sgd import predictions
from dpexp.papers.ldp_sgd.predictions import Curves, Local, decay_of, is_flat, linear, local
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.checks import bound_holds, rates_agree
from dpexp.reporting.claim import Outcome
from dpexp.reporting.evidence import Evidence, Run
from dpexp.reporting.hypothesis import Hypothesis, assumed_of_runs, of_runs
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


def _other(run: Run, **parts: Any) -> Run:
    """The run with other parts of its cell."""
    return replace(run, cell=replace(run.cell, **parts))


def _problem(run: Run, name: str, **changes: Any) -> Run:
    """The run under another problem."""
    return _other(run, problem=linear(PROBLEMS[name]()).model_copy(update=changes))


def decays(used: Used, words: str, inside: Callable[[float], bool], outside: float) -> Hypothesis:
    """The step sizes are eta n^-alpha with alpha in a set; `outside` is an alpha that is not in it."""
    return of_runs(
        f"step sizes are eta n^-alpha with alpha in {words}",
        used,
        lambda run: run.cell.schedule.name == "power" and inside(decay_of(run.cell.schedule)[1]),
        lambda run: _other(run, schedule=run.cell.schedule.model_copy(update={"alpha": outside})),
    )


def below_one(used: Used) -> Hypothesis:
    """Theorems 3, 4 and 6."""
    return decays(used, "[0, 1)", lambda alpha: 0 <= alpha < 1, 1.0)


def between(used: Used, words: str, low: float, high: float) -> Hypothesis:
    """An open interval, such as a column of Table 1."""
    return decays(used, words, lambda alpha: low < alpha < high, high)


iterates = assumed_of_runs(
    "the runs are iteration (2), which uses every user once",
    lambda run: run.cell.algorithm.name == "ldp-sgd",
    lambda run: _other(run, algorithm=ALGORITHMS["heavy-ball-ldp-sgd"]()),
)
"""with momentum it is another iteration"""
bounded = assumed_of_runs(
    "gradients are bounded (Condition 1)",
    lambda run: math.isfinite(problem_of(run).gradient_bound()),
    lambda run: _problem(run, "huber-linear", c=math.inf),
)
"""without a tuning constant the Huber loss is the square, whose gradient has no bound"""
curved = assumed_of_runs(
    "the risk is strongly convex at the optimum (Condition 2, which cannot hold everywhere beside Condition 1)",
    lambda run: constants_of(run)["m"] > 0,
    lambda run: _problem(run, "insensitive-linear"),
)
smooth = assumed_of_runs(
    "the Hessian of the risk is Lipschitz at the optimum (Condition 3, in the mean over users)",
    lambda run: math.isfinite(constants_of(run)["hessian_lipschitz"]),
    lambda run: _problem(run, "mallows-hinge"),
)
covered = assumed_of_runs(
    "noise is set for no less than the sensitivity",
    lambda run: problem_of(run).noise_sensitivity() >= problem_of(run).exact_sensitivity() * (1 - 1e-12),
    lambda run: _other(run, problem=problem_of(run).model_copy(update={"sensitivity": 1.0})),
)


def strongly(used: Used) -> tuple[Hypothesis, ...]:
    """Theorem 3 and Remark 1."""
    return (iterates(used), below_one(used), bounded(used), curved(used))


def strongly_smooth(used: Used) -> tuple[Hypothesis, ...]:
    """Theorem 4 and Remark 2."""
    return (*strongly(used), smooth(used))


def convex(used: Used, decay: Hypothesis) -> tuple[Hypothesis, ...]:
    """What our completions of Theorems 5 and 6 assume: every loss of these runs is convex in the parameter."""
    return (iterates(used), decay, bounded(used))


def convex_smooth(used: Used, decay: Hypothesis) -> tuple[Hypothesis, ...]:
    """Theorems 5 and 6."""
    return (*convex(used, decay), smooth(used))
