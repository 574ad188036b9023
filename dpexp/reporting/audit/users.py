"""Two worlds for algorithms in which every user sends one message: each user holds one of two records, by a coin.

The engine's own pass over users is run (`dpexp.engine.linear.one_pass.run_lane_group`) with the algorithm's own rule
and the problem's own score. Only the law of the data is replaced: a user's response is one of two numbers, y0 or y1, by
a fair coin, which is the user's own response noise in the engine; and covariates have the scale at which the two
gradients lie furthest apart. Budgets, noise and steps are those of the config, of its first users.

The adversary is given all iterates, hence (a) all messages, since the server's update is undone; every record of the
others; and both records that the audited user may hold. (b) Records and coins are drawn again from the engine's own
streams. (c) A second setting of the same pass has no noise, and shows what the others' records do to the iterates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cells import Cell
from dpexp.core.errors import UsageError
from dpexp.core.seeds import stream_states
from dpexp.engine.lanes.elementwise import Value, where
from dpexp.engine.lanes.streams import fill_normal, fill_uniform
from dpexp.engine.lanes.vectors import LANES
from dpexp.engine.linear.one_pass import Model, NoiseLevels, Setting, StepSizes, run_lane_group
from dpexp.engine.linear.rule import Memory, Rule, received_at
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.privacy.audit.claim import gaussian_claim
from dpexp.privacy.audit.statistics import of_projection
from dpexp.privacy.budgets import Budget, ChoiceBudget, ConstantBudget, ListBudget
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.audit.auditable import LAST_AND_AVERAGE, Look, Seen, of_a_user

USERS = 8
"""of each class of budgets in a run, of whom the one with the most telling pair of records is audited"""
MOST_USERS = 64
MOST_CLASSES = 6
SECOND = 1
"""place of the second user: the last iterate and the average are those after two users"""


def canary_response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y0 or y1, by whether the user's response noise is above its median; they stand at the end of the constants."""
    return where(e > k[-3], k[-1], k[-2])


class UsersAudit:
    """The messages of users, and the last iterate and the average that are made of them."""

    def __init__(
        self, problem: LinearPredictorProblem, algorithm: OnePassAlgorithm, schedule: StepSizes, budget: Budget, n: int,
        stated: Sequence[Analysis],
    ) -> None:  # fmt: skip
        self.problem, self.rule = algorithm.messages(problem), algorithm.rule()
        self.schedule, self.budget = schedule, budget
        self.algorithm, self.sensitivities = algorithm.name, algorithm.sensitivities(problem)
        self.label = f"{algorithm.name} on {problem.name}, mu = {budget.label}"
        self.classes = classes_of(budget, n)
        self.users = min(n, MOST_USERS, USERS * max(1, len(self.classes)))
        self.size = f"the first {self.users} of {n:,} users"
        self.stated, self.y = stated, furthest_responses(self.problem, self.rule.sent)

    @cached_property
    def looks(self) -> Sequence[Look]:
        found = [
            Look(
                ALL,
                f"a user with {one.label}",
                "message",
                gaussian_claim(self.share * one.largest),
                self.of(one.largest),
            )
            for one in self.classes
        ]
        if self.users > SECOND and self.second is not None:
            claim, stated = gaussian_claim(self.share * self.second), self.of(self.second)
            who = (
                f"user 2, with mu = {self.second:g}"
                if self.budget.constant is None
                else f"a user with mu = {self.second:g}"
            )
            kinds = {LAST: "projection", "average": "projection", LAST_AND_AVERAGE: "joint ratio"}
            found += [Look(kind, who, statistic, claim, stated) for kind, statistic in kinds.items()]
        return found

    @property
    def share(self) -> float:
        """What is stated of everything over the largest budget: below 1 where the noise is larger than it has to be."""
        return self.sensitivities.exact / self.sensitivities.noise

    @property
    def second(self) -> float | None:
        """The budget of the second user, the largest that it can have; None where that is no privacy."""
        # a list says who has which budget; a law says only how large it can be
        if isinstance(self.budget, ListBudget):
            mu = float(self.budget.draw(np.ones(1), SECOND + 1)[0])
        else:
            mu = self.budget.largest
        return mu if math.isfinite(mu) else None

    def of(self, mu: float) -> Analysis:
        """What is stated of one user with this budget."""
        return of_a_user(self.stated, self.share * mu)

    def observe(self, seed: int, replicates: range) -> Sequence[Seen]:
        groups = [list(replicates[k : k + LANES]) for k in range(0, len(replicates), LANES)]
        passes = [self._pass(seed, lanes) for lanes in groups]
        iterates, averages, clean, budgets = (np.concatenate(part, axis=-1) for part in zip(*passes, strict=True))
        eta = self.schedule.step_sizes(1, self.users)
        # (b), and no guess from a run: one that succeeds in one world alone would choose the audited user by the coin
        pairs = self._pairs(*(np.concatenate(part, axis=-1) for part in zip(*self._records(seed, groups), strict=True)))
        messages = undone(self.rule, iterates, eta)
        found = [self._messages(one, pairs, messages, iterates, budgets) for one in self.classes]
        if len(self.looks) > len(self.classes):
            steepness = slope(self.rule, iterates[SECOND], SECOND + 1, eta[SECOND])
            for released, twin in ((iterates[SECOND + 1], clean[SECOND + 1]), (averages, clean[1:3].mean(axis=0))):
                # the average of two iterates moves half as far as the second
                share = steepness if released is not averages else steepness / 2
                found.append(self._released(released, twin, share, pairs, clean[SECOND], budgets[SECOND]))
            both = np.stack([one.statistics for one in found[-2:]], axis=1)
            found.append(Seen(both, found[-1].canary))
        return found

    def _pass(self, seed: int, lanes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Iterates [users + 1, p, R], the average of the first two, iterates without noise, and budgets [users, R]."""
        # (c)
        settings = [Setting(self.schedule, self.budget), Setting(self.schedule, ConstantBudget(mu=math.inf))]
        steps = np.arange(1, self.users + 1)
        # both settings in one pass, so that they have the same records and coins
        kept = run_lane_group(self.model, self.rule, settings, self.sensitivities.noise, steps, seed, lanes)
        start = np.broadcast_to(self.model.start[:, None], (len(self.model.start), LANES))
        noisy, clean = (np.concatenate([start[None], kept.theta[:, 0, s]])[..., : len(lanes)] for s in (0, 1))
        average = kept.theta[min(SECOND, self.users - 1), 1, 0][..., : len(lanes)]
        return noisy, average, clean, drawn_budgets(self.budget, seed, lanes, self.users)

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

    def _records(self, seed: int, groups: Sequence[list[int]]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Covariates [users, d, R] and response noise [users, R] of these replicates, from the engine's streams."""
        for lanes in groups:
            z, noise = np.zeros((_even(self.users * self.problem.d), LANES)), np.zeros((_even(self.users), LANES))
            draw = fill_normal if self.problem.response_noise == "normal" else fill_uniform
            fill_normal(_states(seed, lanes, "data"), z, len(z))
            draw(_states(seed, lanes, "response"), noise, len(noise))  # type: ignore[no-untyped-call]
            drawn = z[: self.users * self.problem.d].reshape(self.users, self.problem.d, LANES)
            yield self.model.law.design.a[0] * drawn[..., : len(lanes)], noise[: self.users, : len(lanes)]

    def _pairs(self, z: np.ndarray, noise: np.ndarray) -> list[Drawn]:
        """The records of each user in every run, and how far apart the two are at the start."""
        found, canary = [], noise > self.model.law.k[-3]
        for i in range(self.users):
            x = np.concatenate([np.ones((1, z.shape[2])), z[i]]).T
            zero, one = self.gradients(np.broadcast_to(self.model.start, (len(x), len(self.model.start))), x)
            found.append(Drawn(x, canary[i], np.linalg.norm(one - zero, axis=1)))
        return found

    def _messages(
        self, one: BudgetClass, pairs: list[Drawn], messages: np.ndarray, iterates: np.ndarray, budgets: np.ndarray
    ) -> Seen:
        """In every run the user of the class whose two gradients lie furthest apart at the start: a choice by data."""
        distances = np.stack([pair.distance for pair in pairs])
        # users of other classes are never the farthest, and a run without one of the class is left out
        distances[(budgets < one.smallest) | (budgets > one.largest)] = -1.0
        chosen, runs = np.argmax(distances, axis=0), np.arange(distances.shape[1])
        runs = runs[distances[chosen, runs] > 0]
        user = chosen[runs]
        x = np.stack([pair.x for pair in pairs])[user, runs]
        canary = np.stack([pair.canary for pair in pairs])[user, runs]
        zero, other = self.gradients(iterates[user, :, runs], x)
        noise = self.sensitivities.noise / budgets[user, runs]
        return Seen(of_projection(messages[user, :, runs], zero, other - zero, noise), canary)

    def _released(
        self, released: np.ndarray, twin: np.ndarray, share: np.ndarray, pairs: list[Drawn], before: np.ndarray,
        budgets: np.ndarray,
    ) -> Seen:  # fmt: skip
        """The second user in what two users leave: `twin` is the same without noise, whatever the user's coin."""
        pair = pairs[SECOND]
        zero, other = self.gradients(before.T, pair.x)
        # the twin holds the record that the coin chose: what the second of the two adds is taken off
        effect = (other - zero) * share.T
        without = twin.T - pair.canary[:, None] * effect
        return Seen(of_projection(released.T, without, effect, self.sensitivities.noise / budgets), pair.canary)


class Drawn(NamedTuple):
    """The records of one user in every run."""

    x: np.ndarray
    """[R, d + 1]"""
    canary: np.ndarray
    """whether the response is y1, bool [R]"""
    distance: np.ndarray
    """of the gradients with y0 and y1 at the start [R]"""


class BudgetClass(NamedTuple):
    """Users whose budgets are alike."""

    smallest: float
    largest: float

    @property
    def label(self) -> str:
        if self.smallest == self.largest:
            return f"mu = {self.largest:g}"
        return f"mu in [{self.smallest:g}, {self.largest:g}]"


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
    """The messages [steps, p, R] that moved `iterates` [steps + 1, p, R]: the server's update is undone.

    Raises UsageError where the update is not affine in the message.
    """
    memory: Memory = rule.memory
    if rule.memory:
        memory = type(rule.memory)(*(np.full(iterates.shape[1:], start) for start in rule.memory))
    out = np.empty((len(eta), *iterates.shape[1:]))
    for i, size in enumerate(eta):
        # theta' = a + b message in every coordinate: a and b follow from two messages of our own, and a third one
        # tells whether it is so
        none, one, two = (_moved(rule, iterates[i], i + 1, size, message, memory)[0] for message in (0.0, 1.0, 2.0))
        if not np.allclose(two - one, one - none, rtol=1e-9, atol=1e-12 * (1 + np.abs(iterates[i]).max())):
            raise UsageError("the server's update is not affine in the message, so messages cannot be recovered")
        out[i] = (iterates[i + 1] - none) / (one - none)
        memory = _moved(rule, iterates[i], i + 1, size, out[i], memory)[1]
    return out


def _moved(
    rule: Rule, theta: np.ndarray, step: int, eta: float, message: Value, memory: Memory
) -> tuple[Value, Memory]:
    """The server's own update."""
    return rule.update(theta, received_at(theta, float(step), eta, message), memory, rule.floats())


def slope(rule: Rule, theta: np.ndarray, step: int, eta: float) -> np.ndarray:
    """By how much a message moves the iterate in one step, [p, R]."""
    none, one = (_moved(rule, theta, step, eta, message, rule.memory)[0] for message in (0.0, 1.0))
    return np.asarray(one - none)


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
