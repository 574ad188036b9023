"""A canary audit of any algorithm: two neighbouring worlds, its released iterates, and its own statement.

The algorithm runs thousands of times on as few records as it takes, by the protocol of `dpexp audit`. A claim is broken
with a false alarm probability of at most `LEVEL`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpexp.algorithms.schedules import SCHEDULES
from dpexp.conformance.check_result import Breach, NotTried, Promise, Subject
from dpexp.privacy.budgets import Budget, ConstantBudget, Target
from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit.audit_cells import estimate_worlds, has_estimate
from dpexp.reporting.audit.worlds import NothingShown, TwoWorlds, audit, linear_pair, softmax_pair, user_worlds

PILOT, RUNS, LEVEL = 600, 3000, 1e-4
RECORDS, EPOCHS = (1, 2, 4), 3
"""of a finite sum or a table: as few as the algorithm takes, so that nothing hides when the canary is used"""
BUDGETS: tuple[Budget, ...] = (ConstantBudget(mu=2.0), Target(eps=8.0, delta=1e-5))
LARGE = ConstantBudget(mu=20.0)
"""of estimates, which show a small part of all that is released: with it a claim that is too small is seen"""
WIDTH, CLASSES = 4, 2
MOST = 100
"""steps that are too many to be run thousands of times"""
FAMILIES = (FiniteSum, LinearPredictorProblem, Softmax)


def worlds_of(kind: type[Any]) -> Iterator[TwoWorlds]:
    """The worlds that the algorithm takes, at most one of each of its `toys` and kinds of problems."""
    families = [f for f in FAMILIES if any(issubclass(family, f) or issubclass(f, family) for family in kind.runs_on)]
    schedules = [SCHEDULES[name].model_validate({"name": name}) for name in kind.schedules]
    for toy, family in itertools.product(kind.toys, families):
        for (replaced, own, pair, steps), schedule, budget in itertools.product(
            _neighboring_problems(kind(**toy), family), schedules, BUDGETS
        ):
            if own.complaints(pair[0], schedule, budget, steps):
                # some prescribe their number of steps
                steps = own.steps(pair[0], schedule, budget) or MOST
                if steps >= MOST or own.complaints(pair[0], schedule, budget, steps):
                    continue
            relation = own.mechanism(pair[1], schedule, budget, steps).neighboring_relation
            # neighbours that are a choice are those of the statement
            if replaced is None or replaced == (relation == "replace-one"):
                label = f"algorithm {own.name}, attacked"
                worlds = TwoWorlds(own, pair, schedule, budget, np.array([steps]), "the canary", label)
                yield from [worlds, replace(worlds, budget=LARGE)] if has_estimate(kind) else [worlds]
                break


def _neighboring_problems(algorithm: Any, family: type) -> Iterator[tuple[bool | None, Any, tuple[Any, Any], int]]:
    """Whether neighbours replace a record, where there is a choice; the algorithm; its two problems; steps."""
    if family is LinearPredictorProblem:
        for name, kind in PROBLEMS.items():
            if issubclass(kind, LinearPredictorProblem) and issubclass(kind, algorithm.runs_on):
                problem = kind.model_validate({"name": name})
                if has_estimate(type(algorithm)):
                    yield None, *estimate_worlds(problem, algorithm)
                else:
                    yield None, *user_worlds(problem, algorithm), 1
        return
    for count in RECORDS:
        if family is FiniteSum:
            yield None, algorithm, linear_pair(count, WIDTH), EPOCHS * count
            continue
        clip = float(algorithm.model_dump().get("clip", math.inf))
        for replaced in (False, True):
            pair = softmax_pair(replaced, clip, records=count, classes=CLASSES, width=WIDTH, slope_limit=1.0)
            yield replaced, algorithm, pair, EPOCHS * count


def attack_releases(subject: Subject[type[Any]], seed: int = 0) -> str:
    """No release of two neighbouring worlds is further apart than an analysis states. Raises Failed, NotTried."""
    rows, parts = list[str](), 1 + has_estimate(subject.value)
    for worlds in worlds_of(subject.value):
        if (claim := worlds.claim) is None:
            continue
        try:
            row = audit(worlds, RUNS // parts, LEVEL, seed, pilot=PILOT // parts)
        except NothingShown as error:
            raise NotTried(f"not attacked: {error.message}") from None
        words = f"{worlds.steps[-1]} steps on {worlds.problems[0].name}: mu at least {row['lower_bound']:.3g}, "
        rows.append(f"{words}{claim.name} states {row['claimed']:.3g}")
        if row["alarm"]:
            broken = f"released iterates break the bound '{claim.name}' ({claim.source})"
            raise Breach(f"{broken}: {rows[-1]}, in {row['runs']:,} runs", subject.value.simulate)
    if not rows:
        raise NotTried("not attacked: no world with a canary is known for its problems and its least settings")
    return "; ".join(rows)


ATTACK: Promise[type[Any]] = Promise(
    "attacked", "Iterates released in two neighbouring worlds are no further apart than is stated.", attack_releases
)
