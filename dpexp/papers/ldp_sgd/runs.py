"""Stored runs of `ldp-sgd` beside its theory: what `predictions` says at their steps, and what theorems assume."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.near_the_optimum import Local, decay_of, linear, local
from dpexp.papers.ldp_sgd import predictions
from dpexp.papers.ldp_sgd.predictions import Curves
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.pinball_linear import PinballLinear
from dpexp.reporting.checks import Pair, bound_holds, in_order, rates_agree
from dpexp.reporting.claim import Check, Hypothesis, Outcome, assumed_of_runs
from dpexp.reporting.evidence import Evidence, Run
from dpexp.theory import THEOREMS


def problem_of(run: Run) -> LinearPredictorProblem:
    """The problem of a run, as the linear predictor that it is."""
    return linear(run.cell.problem)


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


@dataclass(frozen=True)
class Used:
    """Runs that a claim uses: its check and its hypotheses ask the same object, so they speak of the same runs."""

    experiments: tuple[str, ...]
    wanted: Mapping[str, Any]
    """their settings, as `Evidence.runs` takes them"""
    keep: Callable[[Run], bool]

    def __call__(self, evidence: Evidence) -> list[Run]:
        return [run for run in evidence.across(self.experiments, **self.wanted) if self.keep(run)]

    def judged(self, check: Callable[[list[Run]], Outcome], *assumed: Assumption) -> Check:
        """The check of a claim about these runs, of which it assumes this."""
        return self.read_by(lambda evidence: check(self(evidence)), *assumed)

    def read_by(self, check: Callable[[Evidence], Outcome], *assumed: Assumption) -> Check:
        """The same where the check takes single runs of these experiments out of the evidence itself."""
        # check and hypotheses ask the same runs, so that none is judged that was not looked at
        return Check(check, self.experiments, tuple(of(self) for of in assumed))


Assumption = Callable[[Used], Hypothesis]


def used(*experiments: str, keep: Callable[[Run], bool] = lambda run: True, **wanted: Any) -> Used:
    """The runs of some experiments with these settings that are kept."""
    return Used(experiments, wanted, keep)


def theorem_holds(runs: Sequence[Run], theorem: str, log10: bool = False) -> Outcome:
    """Whether a theorem's bound is above the measured means of runs: `dpexp.reporting.checks.bound_holds`."""
    return bound_holds(runs, THEOREMS[theorem], constants_of, log10)


def bounded_by(theorem: str) -> Callable[[list[Run]], Outcome]:
    """The check that a theorem's bound is above the measured means of runs."""
    return partial(theorem_holds, theorem=theorem)


def falls_like(
    estimator: str, exponent: Callable[..., float | None], *of: str, metric: str = "param_distance_sq"
) -> Callable[[list[Run]], Outcome]:
    """The check that a metric falls like `exponent(estimator, *of, alpha)`: that of the table, a remark or the correction."""
    source = {"table1_exponent": "Table 1", "remark_exponent": "the remark"}.get(exponent.__name__, "corrected table")
    return lambda runs: rates_agree(runs, estimator, metric, partial(exponent, estimator, *of), source)


def at_the_end(smaller: str, larger: str, metric: str, predicted: str) -> Callable[[list[Run]], Outcome]:
    """The check that at the last step of every run a metric of one estimator is below that of the other."""

    def check(runs: list[Run]) -> Outcome:
        pairs = [Pair(run.name, *(run.values(name, metric)[-1] for name in (smaller, larger))) for run in runs]
        return in_order(pairs, predicted)

    return check


def _other(run: Run, **parts: Any) -> Run:
    """The run with other parts of its cell."""
    return replace(run, cell=replace(run.cell, **parts))


def _problem(run: Run, name: str, **changes: Any) -> Run:
    """The run under another problem."""
    return _other(run, problem=linear(PROBLEMS[name]()).model_copy(update=changes))


def decays(words: str, inside: Callable[[float], bool], outside: float) -> Assumption:
    """The step sizes are eta n^-alpha with alpha in a set; `outside` is an alpha that is not in it."""
    return assumed_of_runs(
        f"step sizes are eta n^-alpha with alpha in {words}",
        lambda run: run.cell.schedule.name == "power" and inside(decay_of(run.cell.schedule)[1]),
        lambda run: _other(run, schedule=run.cell.schedule.model_copy(update={"alpha": outside})),
    )


below_one = decays("[0, 1)", lambda alpha: 0 <= alpha < 1, 1.0)
"""of Theorems 3, 4 and 6"""


def between(words: str) -> Assumption:
    """An open interval, such as a column of Table 1: `(1/3, 1/2)`."""
    # the words that readers see are the interval that is checked
    low, high = (float(Fraction(end.strip())) for end in words.strip("()").split(","))
    return decays(words, lambda alpha: low < alpha < high, high)


iterates = assumed_of_runs(
    "the runs are iteration (2), which uses every user once",
    lambda run: run.cell.algorithm.name in ("ldp-sgd", "controlled-ldp-sgd"),
    lambda run: _other(run, algorithm=ALGORITHMS["heavy-ball-ldp-sgd"]()),
)
"""with momentum it is another iteration"""
bounded = assumed_of_runs(
    "gradients are bounded (Condition 1)",
    lambda run: math.isfinite(problem_of(run).gradient_bound()),
    lambda run: _problem(run, "huber-linear", c=math.inf),
)
"""without a tuning constant the Huber loss is the square, whose gradient has no bound"""
# Conditions 1 (bounded gradients) and 2 (strong convexity) cannot both hold on all of R^d: a gradient that grows at
# least like m times the distance is not bounded. Curvature is asked for at the optimum, where claims take m and M.
curved = assumed_of_runs(
    "the risk is strongly convex at the optimum (Condition 2, which cannot hold everywhere beside Condition 1)",
    lambda run: constants_of(run)["m"] > 0,
    lambda run: _problem(run, "insensitive-linear"),
)


class _OfUnknownHessian(PinballLinear):
    """A loss for which no constant of Condition 3 is known."""

    def third_derivative(self) -> None:  # type: ignore[override]
        return None

    def hessian_lipschitz(self) -> None:  # type: ignore[override]
        return None


smooth = assumed_of_runs(
    "the Hessian of the risk is Lipschitz at the optimum (Condition 3, in the mean over users)",
    lambda run: math.isfinite(constants_of(run)["hessian_lipschitz"]),
    lambda run: _other(run, problem=_OfUnknownHessian()),
)
covered = assumed_of_runs(
    "noise is set for no less than the sensitivity",
    lambda run: problem_of(run).noise_sensitivity() >= problem_of(run).exact_sensitivity() * (1 - 1e-12),
    lambda run: _other(run, problem=problem_of(run).model_copy(update={"sensitivity": 1.0})),
)
strongly: tuple[Assumption, ...] = (iterates, below_one, bounded, curved)
"""Theorem 3 and Remark 1"""
strongly_smooth: tuple[Assumption, ...] = (*strongly, smooth)
"""Theorem 4 and Remark 2"""


def convex(decay: Assumption) -> tuple[Assumption, ...]:
    """What our completions of Theorems 5 and 6 assume: every loss of these runs is convex in the parameter."""
    return (iterates, decay, bounded)


def convex_smooth(decay: Assumption) -> tuple[Assumption, ...]:
    """Theorems 5 and 6."""
    return (*convex(decay), smooth)
