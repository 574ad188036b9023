"""A canary audit of any algorithm: two neighbouring worlds, its released iterates, and its own statement.

The algorithm runs thousands of times on as few records as it takes, in a world without and a world with the canary, and
nothing is read but what it hands out.

(a) Losses of records: linear losses of slope -G or G on a finite sum; softmax records with one that is replaced, or
that is there or not. Parameters are those that are handed out; else the objective, which on linear losses is a multiple
of the first coordinate of the iterate.
(b) Fresh users: one user, whose response is one of two, those of the furthest gradients. Distances are measured from a
point so far away in the direction of the difference that they show the coordinate along it.
(c) The statistic is the likelihood ratio of two normal laws that pilot runs have shown: it decides the power of the
test, and the counted rates alone its validity. A claim is broken with a false alarm probability of at most `LEVEL`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.reader import parameters_of
from dpexp.conformance.check import Check, Failed, NotTried, Subject
from dpexp.engine.lanes.vectors import LANES
from dpexp.engine.linear.designs import Design, Errors, independent_normals
from dpexp.engine.linear.one_pass import Model
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.privacy.audit.statistics import of_normal_releases
from dpexp.privacy.audit.tests_of_claims import allowed, thresholds_of, trade_off_test
from dpexp.privacy.budgets import Budget, ConstantBudget, Target
from dpexp.problems import PROBLEMS
from dpexp.problems.canaries import PREPARED, Canaries, LinearCanaries
from dpexp.problems.finite_sum import FiniteSum
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit.users import canary_response, furthest_responses

PILOT, RUNS, LEVEL = 600, 3000, 1e-4
RECORDS, EPOCHS = (1, 2, 4), 3
"""of a finite sum or a table: as few as the algorithm takes, so that nothing hides when the canary is used"""
BUDGETS: tuple[Budget, ...] = (ConstantBudget(mu=2.0), Target(eps=8.0, delta=1e-5))
DELTA = 1e-5
WIDTH, CLASSES, FAR = 4, 2, 4.0
FAR_AWAY = 1e4
"""of the point from which distances are measured, in units of the noise"""


class Setting(NamedTuple):
    """One way to run an algorithm in two worlds."""

    algorithm: Any
    worlds: tuple[Any, Any]
    schedule: Any
    budget: Budget
    steps: int
    released: Callable[[Any, Any], np.ndarray]
    """what `simulate` returned in a world -> [replicates, k]"""
    together: int
    """replicates of one call"""


def settings_of(kind: type[Any]) -> Iterator[Setting]:
    """The settings that the algorithm takes, at most one of each of its `toys` and kinds of problems."""
    families = {family for family in (FiniteSum, Softmax, LinearPredictorProblem) for one in kind.runs_on
                if issubclass(one, family) or issubclass(family, one)}  # fmt: skip
    for toy, family in itertools.product(kind.toys, sorted(families, key=lambda family: family.__name__)):
        algorithm = kind(**toy)
        ways = _of_users(algorithm) if family is LinearPredictorProblem else _of_records(algorithm, family)
        for worlds, released, steps, together in ways:
            taken = (
                Setting(algorithm, worlds, schedule, budget, steps, released, together)
                for schedule in _schedules(kind)
                for budget in BUDGETS
                if not algorithm.complaints(worlds[0], schedule, budget, steps)
            )
            if found := next(taken, None):
                yield found
                break


Way = tuple[tuple[Any, Any], Callable[[Any, Any], np.ndarray], int, int]


def _of_records(algorithm: Any, family: type) -> Iterator[Way]:
    """(a)"""
    for count in RECORDS:
        if family is FiniteSum:
            first = LinearCanaries(records_count=count, width=WIDTH, slope=-1.0, canary=0, stated_smoothness=1.0)
            yield (first, first.model_copy(update={"slope": 1.0})), _of_objective, EPOCHS * count, 8 * LANES
            continue
        clip = float(algorithm.model_dump().get("clip", math.inf))
        length = PREPARED if math.isinf(clip) else FAR * clip
        # a record without features has no gradient: it stands for one that is not there
        for absent in (None, 0):
            limit = max(1.0, clip) ** 2 if math.isfinite(clip) else 1.0
            there = Canaries(
                records=count, classes=CLASSES, width=WIDTH, length=length, slope_limit=limit, canary=1, others=absent
            )
            if _relation(algorithm, there, EPOCHS * count) == ("replace-one" if absent == 0 else "add-remove"):
                yield (there.model_copy(update={"canary": absent}), there), _of_parameters, EPOCHS * count, LANES


def _relation(algorithm: Any, problem: Any, steps: int) -> str:
    """Which neighbours the algorithm speaks of on this problem; empty where it takes no budget there."""
    for schedule, budget in itertools.product(_schedules(algorithm), BUDGETS):
        if not algorithm.complaints(problem, schedule, budget, steps):
            found = algorithm.mechanism(problem, schedule, budget, steps).neighboring_relation
            return "replace-one" if found == "replace-one" else "add-remove"
    return ""


def _schedules(algorithm: Any) -> list[Any]:
    """The schedules that it takes, each with its defaults."""
    return [parameters_of(SCHEDULES[name]).model_validate({"name": name}) for name in algorithm.schedules]


def _of_parameters(world: Any, passed: Any) -> np.ndarray:
    if passed.parameters is None:
        raise NotTried("not attacked: `simulate` hands out no parameters where the problem has `files()`")
    released = np.asarray(passed.parameters[0], float)
    return np.moveaxis(released, 1, 0).reshape(released.shape[1], -1)


def _of_objective(world: LinearCanaries, passed: Any) -> np.ndarray:
    if passed.parameters is not None:
        return _of_parameters(world, passed)
    if "objective" not in passed.metrics:
        raise NotTried("not attacked: `simulate` hands out neither parameters nor the metric `objective`")
    objective = passed.values[0, :, -1, passed.metrics.index("objective")]
    return np.asarray(objective.T * world.count / world.slope)


def _of_users(algorithm: Any) -> Iterator[Way]:
    """(b)"""
    rule = algorithm.rule().sent if isinstance(algorithm, OnePassAlgorithm) else np.asarray
    together = LANES if isinstance(algorithm, OnePassAlgorithm) else 1
    for name, kind in PROBLEMS.items():
        if issubclass(kind, LinearPredictorProblem) and issubclass(kind, algorithm.runs_on):
            problem = kind.model_validate({"name": name})
            pair = furthest_responses(problem, rule)
            worlds = _one_user(problem, rule, pair, 0), _one_user(problem, rule, pair, 1)
            yield worlds, _of_distance, 1, together


def _of_distance(world: Any, passed: Any) -> np.ndarray:
    if "param_distance_sq" not in passed.metrics:
        raise NotTried("not attacked: `simulate` measures no `param_distance_sq`, which shows where an iterate is")
    squares = np.asarray(passed.values[0, :, -1, passed.metrics.index("param_distance_sq")].T, float)
    return np.asarray(np.sqrt(squares))


def _one_user(problem: Any, sent: Callable[[np.ndarray], np.ndarray], pair: tuple[float, float], there: int) -> Any:
    """The problem with one user whose covariates are (1, 0, ...) and whose response is known; the first to be drawn."""
    x, start = np.eye(1, problem.d + 1), problem.start()
    zero, one = (sent(problem.gradient(start[None], x, np.array([y])))[0] for y in pair)
    far = start + FAR_AWAY * problem.noise_sensitivity() * (one - zero) / np.linalg.norm(one - zero)
    base: type[Any] = type(problem)
    drawn: list[np.random.Generator] = []

    class OneUser(base):  # type: ignore[misc]
        """A law of data in which nothing is left to chance."""

        def model(self) -> Model:
            model: Model = super().model()
            known = np.array([*model.law.k, -math.inf if there else math.inf, *pair])
            law = model.law._replace(k=known, design=independent_normals(0.0, problem.d, problem.cap))
            errors = Errors(problem.response_noise)
            shape = model.shape._replace(response=canary_response, design=Design(), errors=errors)
            return model._replace(shape=shape, law=law)

        def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
            responses = np.full(size, pair[0])
            # one user in the whole run: the first that this stream draws
            if not any(rng is one for one in drawn):
                drawn[:] = [rng]
                responses[0] = pair[there]
            return np.broadcast_to(x[0], (size, len(x[0]))).copy(), responses

        def optimum(self) -> np.ndarray:
            return np.asarray(far)

        def look(self, theta: np.ndarray) -> Any:
            squares = np.sum((theta - far[:, None]) ** 2, axis=1)
            return squares, squares, squares

    return OneUser(**problem.model_dump())


def attack(subject: Subject[type[Any]], seed: int = 0) -> str:
    """No release of two neighbouring worlds is further apart than an analysis states. Raises Failed, NotTried."""
    said = []
    for setting in settings_of(subject.value):
        mechanism = setting.algorithm.mechanism(setting.worlds[0], setting.schedule, setting.budget, setting.steps)
        stated = [one for one in mechanism.upper_bounds() if one.valid and one.released in _released(setting)]
        if not stated:
            continue
        best = min(stated, key=lambda one: one.eps(DELTA))
        said.append(_tested(subject, setting, best, seed))
    if not said:
        raise NotTried("not attacked: no world with a canary is known for its problems and its least settings")
    return "; ".join(said)


def _released(setting: Setting) -> Sequence[str]:
    """What the last look shows: the last iterate, where there is no other estimator."""
    return (ALL, LAST) if len(setting.algorithm.estimators) == 1 else (ALL,)


def _tested(subject: Subject[type[Any]], setting: Setting, stated: Analysis, seed: int) -> str:
    """(c)"""
    world = np.arange(PILOT + RUNS) % 2 == 1
    seen = np.empty(0)
    for there, problem in enumerate(setting.worlds):
        own = np.flatnonzero(world == there)
        parts = [own[k : k + setting.together] for k in range(0, len(own), setting.together)]
        found = np.concatenate([_simulated(setting, problem, [int(r) for r in part], seed) for part in parts])
        seen = np.empty((len(world), found.shape[1])) if not seen.size else seen
        seen[own] = found
    statistic = of_normal_releases(seen[:PILOT], world[:PILOT], seen)
    pilot, tested, canary = statistic[:PILOT], statistic[PILOT:], world[PILOT:]
    test = trade_off_test(tested[~canary], tested[canary], thresholds_of(pilot), LEVEL)
    point = test.nearest(stated)
    bound, claimed = point.separation, allowed(stated, point.most_false_alarms)
    where = f"{setting.steps} steps on {setting.worlds[0].name}"
    what = f"{where}: mu at least {bound:.3g}, {stated.name} states {claimed:.3g}"
    if bound > claimed:
        broken = f"released iterates break the bound '{stated.name}' ({stated.source})"
        raise Failed(f"{broken}: {what}, in {RUNS:,} runs", subject.value.simulate)
    return what


def _simulated(setting: Setting, problem: Any, replicates: list[int], seed: int) -> np.ndarray:
    """What leaves these replicates [R, k]."""
    passed = setting.algorithm.simulate(
        problem, [(setting.schedule, setting.budget)], np.array([setting.steps]), seed, replicates
    )
    return setting.released(problem, passed)


ATTACK: Check[type[Any]] = Check(
    "attacked", "Iterates released in two neighbouring worlds are no further apart than is stated.", attack
)
