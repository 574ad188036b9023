"""An audit of an experiment: each mechanism once, in worlds of its own, and brackets [lower bound, claimed].

A copy is audited: the config's algorithm with all its settings but size, on few records, for few steps, with noise for
a larger target. After two steps the last iterate and the average are all iterates. Users keep budgets and step sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, cast

import numpy as np

from dpexp.algorithms.algorithm import Settings
from dpexp.algorithms.central_newton_coverage import CentralNewton
from dpexp.algorithms.covering import FEWEST, Covering
from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.dp_sgld import DpSgld
from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cells import Cell, Experiment
from dpexp.core.seeds import generator
from dpexp.core.text import Printed, columns, counted, down, up
from dpexp.engine.result import Passed
from dpexp.privacy.budgets import Budget, ConstantBudget, ListBudget, Target
from dpexp.problems.finite_sum import FiniteSum
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit.worlds import DELTA, Row, TwoWorlds, linear_pair, owner_pair, softmax_pair, user_worlds
from dpexp.reporting.templates import filled

RECORDS, BATCH, WIDTH = 8, 2, 2
"""of a copy: records, records in a batch, and features"""
SUM_RECORDS, SUM_STEPS, SUM_WIDTH, RATE = 6, 12, 4, 0.25
"""of a copy on a finite sum: records, steps, coordinates, and the rate of Poisson samples where there are any"""
TARGET = 8.0
"""epsilon of a copy: noise of a wrong size is distinguished from the right one by the fewest runs"""
SMALL_STEP = 1e-3
"""of a step of DP-SGD: its noise follows from the clip, and the smaller the step, the less does the canary fade"""
USERS, MOST_BUDGETS, FIT_RECORDS = 8, 6, 400
REPLACED = "a record that is replaced"
WAYS = ((2, 2), (12, 1))
"""steps of a copy of DP-SGD, and replicates that are seen together: in two steps noise that is missing somewhere, or is
shared, is a large part of all; in twelve batches repeat"""


def plan_of(experiment: Experiment) -> tuple[list[TwoWorlds], list[str]]:
    """The audits of an experiment, each mechanism once, and why others are skipped."""
    plans, skipped = dict[tuple[str, str, str], TwoWorlds](), dict[str, None]()
    for audits in map(audits_of, experiment.cells):
        if isinstance(audits, str):
            skipped[audits] = None
            continue
        for worlds in audits:
            plans.setdefault((worlds.label, worlds.size, worlds.protects), worlds)
    return list(plans.values()), list(skipped)


def audits_of(cell: Cell) -> Sequence[TwoWorlds] | str:
    """The audits of one cell, or why there is none."""
    if math.isinf(cell.privacy.mu.smallest):
        return f"{cell.algorithm.name}, {cell.privacy.mu.label}: no privacy is claimed"
    match cell.algorithm, cell.problem:
        case OnePassAlgorithm() as algorithm, LinearPredictorProblem() as problem:
            return of_users(cell, algorithm, problem)
        case (DpSgd() | DpSgld()) as algorithm, Softmax() as problem:
            return of_batches(cell, algorithm, problem)
        case FiniteSumAlgorithm() as algorithm, FiniteSum() as problem:
            return of_sum(cell, algorithm, problem)
        case Covering() as algorithm, LinearPredictorProblem() as problem if isinstance(
            algorithm, CentralNewton
        ) or has_estimate(type(algorithm)):
            fit, size, n = WatchedEstimate(algorithm), f"a copy: {FIT_RECORDS} records", np.array([FIT_RECORDS])
            label = f"{_label(cell)}, mu = {cell.privacy.mu.label}"
            return [TwoWorlds(fit, owner_pair(problem), cell.schedule, cell.privacy.mu, n, REPLACED, label, size)]
    return f"{cell.algorithm.name}: no canary is known for it"


def has_estimate(kind: type[Any]) -> bool:
    """Whether an estimator computes one estimate from a table, which can be handed out."""
    return issubclass(kind, Covering) and kind.estimate is not Covering.estimate


@dataclass(frozen=True)
class WatchedEstimate:
    """An estimator that hands out its estimates [settings, 1, replicates, p], and measures nothing of intervals."""

    own: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def simulate(
        self, problem: LinearPredictorProblem, settings: Settings, steps: np.ndarray, seed: int,
        replicates: Sequence[int],
    ) -> Passed:  # fmt: skip
        """The same records in every replicate, which differ in the noise."""
        from dpexp.inference.fitting import fit_central, plan_central

        (x, y), budget = problem.sample(generator(seed, 0, "data"), int(steps[-1])), settings[0][1]
        model, spent = self.own.model(problem, budget), cast(Any, budget)
        estimate = partial(self.own.estimate, model)
        if isinstance(self.own, CentralNewton):
            estimate, spent = partial(fit_central, plan_central(model, len(y))), budget.largest
        normals = (generator(seed, r, "noise").standard_normal for r in replicates)
        # an estimate that diverged is as far as numbers go
        theta = np.clip(np.nan_to_num([estimate(x[:, 1:], y, spent, draw).theta for draw in normals]), -1e6, 1e6)
        return Passed(steps, self.own.estimators, (), np.empty((1, 1, len(steps), 0, len(theta))), theta[None, None])


def estimate_worlds(problem: LinearPredictorProblem, algorithm: Covering) -> tuple[Any, tuple[Any, Any], int]:
    """An estimator that hands out its estimates, two problems, and the fewest records that it takes."""
    return WatchedEstimate(algorithm), owner_pair(problem), FEWEST


def of_users(cell: Cell, algorithm: OnePassAlgorithm, problem: LinearPredictorProblem) -> list[TwoWorlds]:
    """An audit of the first of fresh users, with each of the budgets; the others have these in turn."""
    budget = cell.privacy.mu
    (copy, pair), n = user_worlds(problem, algorithm), min(cell.run.n, USERS)
    turns: list[tuple[Budget, Budget, str]] = [(budget, budget, "a user")]
    if budget.pure_eps is None:
        # every finite value of a law of budgets, or some of many
        drawn = sorted({float(mu) for mu in budget.draw((np.arange(1000) + 0.5) / 1000, 1) if math.isfinite(mu)})
        mus = [drawn[k] for k in sorted({*np.linspace(0, len(drawn) - 1, MOST_BUDGETS).round().astype(int).tolist()})]
        turns = [
            (ListBudget(list=(*mus[k:], *mus[:k])), ConstantBudget(mu=mu), f"a user with mu = {mu:g}")
            for k, mu in enumerate(mus)
        ]
    label = f"{algorithm.name} on {problem.name}, {'mu = ' if budget.pure_eps is None else ''}{budget.label}"
    size = f"the first of {n} users, with the budgets of the config in turn"
    return [
        TwoWorlds(copy, pair, cell.schedule, own, np.unique([1, n]), who, label, size, canary_budget=first)
        for own, first, who in turns
    ]


def of_batches(cell: Cell, algorithm: DpSgd | DpSgld, problem: Softmax) -> list[TwoWorlds]:
    """A copy of DP-SGD or DP-SGLD for each of `WAYS`."""
    schedule = cell.schedule
    mechanism = algorithm.mechanism(problem, schedule, cell.privacy.mu, cell.run.n)
    replaces = mechanism.neighboring_relation == "replace-one"
    # full batches stay full, and groups that a config uses whole stay whole
    records = BATCH if algorithm.batch_size == problem.n else RECORDS
    uses_all = algorithm.groups is not None and algorithm.groups * algorithm.batch_size == problem.n
    groups = None if algorithm.groups is None else records // BATCH if uses_all else 2
    copy = algorithm.model_copy(update={"batch_size": BATCH, "epochs": 1, "groups": groups})
    clip = algorithm.clip if isinstance(algorithm, DpSgd) else math.inf
    if isinstance(algorithm, DpSgd) and schedule.name == "constant":
        schedule = schedule.model_copy(update={"eta": SMALL_STEP / max(1.0, clip) ** 2})
    pair = softmax_pair(
        replaces, clip, SMALL_STEP, regulariser=problem.regulariser, records=records, width=WIDTH,
        classes=2 if math.isfinite(clip) else 10, slope_limit=problem.smoothness,
    )  # fmt: skip
    who = REPLACED if replaces else "a record that is added or removed"
    audits = []
    for count, together in WAYS:
        size = f"a copy: {records} records, batches of {BATCH}, {counted(count, 'step')}, eps = {TARGET:g}"
        size += f", {together} replicates seen together" if together > 1 else ""
        steps = np.arange(1, count + 1)
        audits.append(TwoWorlds(copy, pair, schedule, _target(cell), steps, who, _label(cell), size, together=together))
    return audits


def of_sum(cell: Cell, algorithm: FiniteSumAlgorithm, problem: FiniteSum) -> list[TwoWorlds] | str:
    """A copy of an algorithm on a finite sum."""
    if cell.schedule.name == "prescribed":
        return f"{algorithm.name}: a prescribed schedule fixes the size; path-length or constant steps are audited"
    if not algorithm.noise:
        return f"{algorithm.name}, noise: false: no privacy is claimed"
    sampled = float(algorithm.model_dump().get("sampling_rate", 1.0)) < 1
    copy = algorithm.model_copy(update={"epochs": None, **({"sampling_rate": RATE} if sampled else {})})
    # the change of a gradient over one epoch, over its length, is the config's: noise for small changes rests on it
    eta, own = cell.schedule.step_size(SUM_STEPS), cell.schedule.step_size(cell.run.n)
    ratio = problem.smoothness * own * algorithm.passes(problem) / problem.lipschitz
    pair = linear_pair(SUM_RECORDS, SUM_WIDTH)
    pair = linear_pair(SUM_RECORDS, SUM_WIDTH, ratio / (eta * algorithm.passes(pair[0])))
    rate = f", sampling_rate {RATE:g}" if sampled else ""
    size = f"a copy: {SUM_RECORDS} records of linear losses{rate}, {SUM_STEPS} steps, eps = {TARGET:g}"
    steps = np.arange(1, SUM_STEPS + 1)
    return [TwoWorlds(copy, pair, cell.schedule, _target(cell), steps, REPLACED, _label(cell), size)]


def _target(cell: Cell) -> Target:
    return Target(eps=TARGET, delta=(cell.privacy.mu.target or (0.0, DELTA))[1])


def _label(cell: Cell) -> str:
    """The algorithm with the parameters that differ from its defaults and do not change in a copy."""
    changed = {"name", "epochs", "batch_size", "groups", "sampling_rate"}
    own = cell.algorithm.model_dump(exclude_defaults=True, exclude=changed)
    return f"{cell.algorithm.name} on {cell.problem.name}{''.join(f', {key} = {value}' for key, value in own.items())}"


@dataclass(frozen=True)
class Audited(Printed):
    """The rows of an audit, which hold together with one confidence, and why others were skipped."""

    rows: Sequence[Row]
    skipped: Sequence[str]

    @property
    def exit_code(self) -> int:
        """1 where a lower bound exceeds what is claimed."""
        return int(any(row["alarm"] for row in self.rows))

    def document(self) -> list[Row]:
        """With the keys of `dpexp audit --json`."""
        return list(self.rows)

    def text(self) -> str:
        """A page to read, with epsilons at the first delta."""
        groups = groupby(self.rows, key=lambda row: (row["mechanism"], row["audited"]))
        return filled(
            "dpexp.reporting.audit", "audit.txt", groups=[list(rows) for _, rows in groups], table=_table,
            alarms=sum(row["alarm"] for row in self.rows), confidence=self.rows[0]["confidence"], skipped=self.skipped,
        )  # fmt: skip


def _table(rows: Sequence[Row]) -> str:
    eps = f"eps at {rows[0]['eps'][0]['delta']:g}"
    head = ["who", "released", "statistic", "claimed", "at least", eps, "at least", "runs", ""]
    return columns([
        [row["protects"], row["releases"], row["statistic"], up(row["claimed"], 4), down(row["lower_bound"], 4),
         up(row["eps"][0]["claimed"], 4), down(row["eps"][0]["lower_bound"], 4), f"{row['runs']:,}",
         "ALARM" * row["alarm"]]
        for row in rows
    ], head)  # fmt: skip
