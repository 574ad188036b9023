"""Two worlds for algorithms in which every user sends one message: each user holds one of two records, by a coin.

The engine's own pass over users is run (`dpexp.engine.linear.one_pass.run_lane_group`) with the algorithm's own rule
and the problem's own score. Only the law of the data is replaced: a user's response is one of two numbers, y0 or y1, by
a fair coin, which is the user's own response noise in the engine; and covariates have the scale at which the two
gradients lie furthest apart. Budgets, noise and steps are those of the config, of its first users.

The adversary is given all iterates, hence (a) all messages, since the server's update is undone; every record of the
others; and both records that the audited user may hold. (b) Records and coins are drawn again from the engine's own
streams.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpexp.accounting.gaussian import eps_of
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.algorithms.schedules import Schedule
from dpexp.config.cells import Cell
from dpexp.core.seeds import stream_states
from dpexp.engine.lanes.elementwise import Value, where
from dpexp.engine.lanes.streams import fill_normal, fill_uniform
from dpexp.engine.lanes.vectors import LANES
from dpexp.engine.linear.one_pass import Model, NoiseLevels, run_lane_group
from dpexp.engine.linear.rule import Memory, Rule, received_at
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.audit.statistics import of_projection
from dpexp.privacy.budgets import Budget, ChoiceBudget, ListBudget
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.audit.worlds import Look, Seen

USERS = 8
"""of each class of budgets in a run, of whom the one with the most telling pair of records is audited"""
MOST_USERS = 64
MOST_CLASSES = 6


def canary_response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y0 or y1, by whether the user's response noise is above its median; they stand at the end of the constants."""
    return where(e > k[-3], k[-1], k[-2])


class UsersAudit:
    """The messages of users."""

    def __init__(
        self, problem: LinearPredictorProblem, algorithm: OnePassAlgorithm, schedule: Schedule, budget: Budget, n: int,
        stated: Sequence[Analysis],
    ) -> None:  # fmt: skip
        self.problem, self.rule = algorithm.messages(problem), algorithm.rule()
        self.schedule, self.budget = schedule, budget
        self.algorithm, self.sensitivities = algorithm.name, algorithm.sensitivities(problem)
        (_, self.setting, self.noise) = next(algorithm.passes(problem, [(schedule, budget)]))
        pure = budget.pure_eps is not None
        self.label = f"{algorithm.name} on {problem.name}, {'' if pure else 'mu = '}{budget.label}"
        self.classes = classes_of(budget, n)
        self.users = min(n, MOST_USERS, USERS * max(1, len(self.classes)))
        self.size = f"the first {self.users} of {n:,} users"
        self.stated, self.y = stated, furthest_responses(self.problem, self.rule.sent)

    @cached_property
    def looks(self) -> Sequence[Look]:
        if self.budget.pure_eps is not None:
            return [Look(ALL, "a user", "message", self.stated[0])]
        # what is stated of everything over the largest budget: below 1 where the noise is larger than it has to be
        share = self.sensitivities.exact / self.sensitivities.noise
        return [Look(ALL, f"a user with {c.label}", "message", of_a_user(self.stated, share * c.largest))
                for c in self.classes]  # fmt: skip

    def observe(self, seed: int, replicates: range) -> Sequence[Seen]:
        groups = [list(replicates[k : k + LANES]) for k in range(0, len(replicates), LANES)]
        passes = [self._pass(seed, lanes) for lanes in groups]
        iterates, budgets = (np.concatenate(part, axis=-1) for part in zip(*passes, strict=True))
        # (b), and no guess from a run: one that succeeds in one world alone would choose the audited user by the coin
        drawn = [self._records(seed, lanes) for lanes in groups]
        x, canary = (np.concatenate(part, axis=1) for part in zip(*drawn, strict=True))
        messages = undone(self.rule, iterates, self.schedule.step_sizes(1, self.users))
        return [self._messages(one, x, canary, messages, iterates, budgets) for one in self.classes]

    def _pass(self, seed: int, lanes: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Iterates [users + 1, p, R] and budgets [users, R]."""
        steps = np.arange(1, self.users + 1)
        kept = run_lane_group(self.model, self.rule, self.setting, self.noise, steps, seed, lanes)
        start = np.broadcast_to(self.model.start[:, None], (len(self.model.start), LANES))
        iterates = np.concatenate([start[None], kept.theta[:, 0, 0]])[..., : len(lanes)]
        return iterates, drawn_budgets(self.budget, seed, lanes, self.users)

    @cached_property
    def model(self) -> Model:
        """The problem's model with the canaries' law of data."""
        from dpexp.engine.linear.designs import Design, Errors, independent_normals

        model, d = self.problem.model(), self.problem.d
        middle = 0.0 if self.problem.response_noise == "normal" else 0.5
        law = model.law._replace(
            k=np.array([*model.law.k, middle, *self.y]),
            # |x|^2 is then near 2, where w(x) |x| is largest
            design=independent_normals(1 / math.sqrt(d), d, self.problem.cap),
        )
        errors = Errors(self.problem.response_noise)
        shape = model.shape._replace(response=canary_response, design=Design(), errors=errors)
        return model._replace(shape=shape, law=law)

    def gradients(self, theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a user with covariates x [R, d + 1] sends before the noise at theta [R, p], with y0 and with y1."""
        zero, one = (self.rule.sent(self.problem.gradient(theta, x, np.full(len(x), y))) for y in self.y)
        return zero, one

    def _records(self, seed: int, lanes: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Covariates [users, R, d + 1] and coins, bool [users, R], of these replicates, from the engine's streams."""
        d = self.problem.d
        z, noise = np.zeros((_even(self.users * d), LANES)), np.zeros((_even(self.users), LANES))
        draw = fill_normal if self.problem.response_noise == "normal" else fill_uniform
        fill_normal(_states(seed, lanes, "data"), z, len(z))
        draw(_states(seed, lanes, "response"), noise, len(noise))  # type: ignore[no-untyped-call]
        x = np.ones((self.users, len(lanes), d + 1))
        drawn = z[: self.users * d].reshape(self.users, d, LANES)[..., : len(lanes)]
        x[..., 1:] = self.model.law.design.a[0] * np.moveaxis(drawn, 1, 2)
        return x, noise[: self.users, : len(lanes)] > self.model.law.k[-3]

    def _messages(
        self, one: BudgetClass, x: np.ndarray, canary: np.ndarray, messages: np.ndarray, iterates: np.ndarray,
        budgets: np.ndarray,
    ) -> Seen:  # fmt: skip
        """In every run the user of the class whose two gradients lie furthest apart at the start: a choice by data."""
        start = np.broadcast_to(self.model.start, (x.shape[1], len(self.model.start)))
        distances = np.stack([np.linalg.norm(np.subtract(*self.gradients(start, own)), axis=1) for own in x])
        # users of other classes are never the farthest, and a run without one of the class is left out
        distances[(budgets < one.smallest) | (budgets > one.largest)] = -1.0
        chosen, runs = np.argmax(distances, axis=0), np.arange(distances.shape[1])
        runs = runs[distances[chosen, runs] > 0]
        user = chosen[runs]
        zero, other = self.gradients(iterates[user, :, runs], x[user, runs])
        noise = self.sensitivities.noise / budgets[user, runs]
        return Seen(of_projection(messages[user, :, runs], zero, other - zero, noise), canary[user, runs])


class BudgetClass(NamedTuple):
    """Users whose budgets are alike."""

    smallest: float
    largest: float

    @property
    def label(self) -> str:
        if self.smallest == self.largest:
            return f"mu = {self.largest:g}"
        return f"mu in [{self.smallest:g}, {self.largest:g}]"


def of_a_user(stated: Sequence[Analysis], mu: float) -> Analysis:
    """What the best of these analyses states of one user with this budget."""
    best = min((one for one in stated if one.valid), key=lambda one: math.inf if one.mu is None else one.mu)
    return replace(best, mu=mu, eps=partial(eps_of, mu))


def classes_of(budget: Budget, n: int) -> list[BudgetClass]:
    """Every finite value of a law, six of many; thirds of a continuous law."""
    if budget.constant is not None:
        values = [budget.constant]
    elif isinstance(budget, ListBudget):
        values = sorted({float(mu) for mu in budget.draw(np.ones(min(n, MOST_USERS)), 1)})
    elif isinstance(budget, ChoiceBudget):
        # every value of the law that has a share of a thousandth
        values = sorted({float(mu) for mu in budget.draw((np.arange(1000) + 0.5) / 1000, 1)})
    else:
        edges = budget.draw(np.linspace(1e-9, 1, 4), 1)
        return [BudgetClass(float(a), float(b)) for a, b in pairwise(edges)]
    values = [mu for mu in values if math.isfinite(mu)]
    # every class is tested at its share of the level, so that few of them are told more
    if len(values) > MOST_CLASSES:
        values = [values[k] for k in np.linspace(0, len(values) - 1, MOST_CLASSES).round().astype(int)]
    return [BudgetClass(mu, mu) for mu in values]


def drawn_budgets(budget: NoiseLevels, seed: int, lanes: Sequence[int], users: int) -> np.ndarray:
    """Budgets [users, R] of the first users of these replicates, from the engine's stream of the role `budget`."""
    if budget.constant is not None:
        return np.full((users, len(lanes)), budget.constant)
    uniform = np.zeros((users, LANES))
    fill_uniform(_states(seed, lanes, "budget"), uniform, users)  # type: ignore[no-untyped-call]
    return budget.draw(uniform, 1)[:, : len(lanes)]


def _states(seed: int, lanes: Sequence[int], role: str) -> np.ndarray:
    """States of eight streams; the last replicate's is repeated where there are fewer."""
    return stream_states(seed, [*lanes, *[lanes[-1]] * (LANES - len(lanes))], role)


def _even(count: int) -> int:
    return count + count % 2


def undone(rule: Rule, iterates: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """The messages [steps, p, R] that moved `iterates` [steps + 1, p, R]: the server's affine update is undone."""
    memory: Memory = rule.memory
    if rule.memory:
        memory = type(rule.memory)(*(np.full(iterates.shape[1:], start) for start in rule.memory))
    out = np.empty((len(eta), *iterates.shape[1:]))
    for i, size in enumerate(eta):
        # theta' = a + b message in every coordinate: a and b follow from two messages of our own
        none, one = (_moved(rule, iterates[i], i + 1, size, message, memory)[0] for message in (0.0, 1.0))
        out[i] = (iterates[i + 1] - none) / (one - none)
        memory = _moved(rule, iterates[i], i + 1, size, out[i], memory)[1]
    return out


def _moved(
    rule: Rule, theta: np.ndarray, step: int, eta: float, message: Value, memory: Memory
) -> tuple[Value, Memory]:
    """The server's own update."""
    return rule.update(theta, received_at(theta, float(step), eta, message), memory, rule.floats())


def furthest_responses(
    problem: LinearPredictorProblem, send: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float]:
    """The two responses whose gradients at the start lie furthest apart, for a record with |x|^2 = 2."""
    _, sample = problem.sample(np.random.default_rng(0), 4000)
    x = np.zeros(problem.d + 1)
    x[:2] = 1.0
    theta = problem.start()
    tried = np.unique(sample)
    # a problem with two responses has just these; others are tried from far below to far above the prediction
    if len(tried) > 2:
        offsets = np.geomspace(1e-2, 1e6, 120)
        tried = float(x @ theta[: problem.d + 1]) + np.concatenate([-offsets[::-1], offsets])
    points = np.broadcast_to(theta, (len(tried), len(theta))), np.broadcast_to(x, (len(tried), len(x)))
    sent = send(problem.gradient(*points, tried))
    distances = np.linalg.norm(sent[:, None] - sent[None], axis=2)
    # among pairs that are as far apart the widest: its scores stay at their ends when theta moves
    apart = np.where(distances >= distances.max() * (1 - 1e-9), np.abs(tried[:, None] - tried[None]), -1.0)
    a, b = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return float(tried[min(a, b)]), float(tried[max(a, b)])


def is_affine(rule: Rule) -> bool:
    """Whether the server's update is affine in the message, so that it can be undone; AdaGrad's is not."""
    none, one, two = (
        float(_moved(rule, np.array(0.5), 2, 0.1, np.float64(message), rule.memory)[0]) for message in (0.0, 1.0, 2.0)
    )
    return abs(two - 2 * one + none) <= 1e-9 * max(abs(none), abs(one), abs(two))


def audits_of_users(cell: Cell) -> Sequence[UsersAudit] | str | None:
    """One audit of an algorithm on fresh users, each of whom sends one message."""
    problem, algorithm, budget, n = cell.problem, cell.algorithm, cell.privacy.mu, cell.run.n
    if not (isinstance(algorithm, OnePassAlgorithm) and isinstance(problem, LinearPredictorProblem)):
        return None
    if not is_affine(algorithm.rule()):
        return f"{algorithm.name}: messages cannot be recovered from its iterates"
    stated = algorithm.mechanism(problem, cell.schedule, budget, n).upper_bounds()
    return [UsersAudit(problem, algorithm, cell.schedule, budget, n, stated)]
