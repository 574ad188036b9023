"""One pass over the random numbers of a linear-predictor problem, updating every setting of an experiment.

All settings (step-size schedule x budget) see the same users and the same noise directions: they are paired on common
random numbers, and drawing these costs the same for one setting as for twenty.

(a) Eight replicates are the lanes of one group, each with the streams of its own number. A group with fewer repeats the
last one, so that every lane holds numbers that are right, and what it returns is not used.
(b) The steps are taken in segments of `SEGMENT`. Step sizes and noise are computed for one segment at a time.
(c) Noise is a table of rows, one for each lane: setting s in step i of the segment has the row noise_row[s] +
noise_stride[s] i. The first rows belong to the settings in turn, and one whose users share a budget stays on its own.
(d) Where budgets differ from user to user, the setting moves on by one row a step through `SEGMENT` rows further down.
They are filled anew for each segment, from uniform numbers that all such settings share.
(e) Settings with caps have cosines there; of lengths that are uniform on [0, R], one below |v| means that the direction
of a message is v's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.seeds import stream_states
from dpexp.engine.lanes.language import located_errors
from dpexp.engine.lanes.streams import fill_uniform
from dpexp.engine.lanes.vectors import LANES, lanes_empty, lanes_zeros
from dpexp.engine.linear import BLOCK, KEPT, SEGMENT
from dpexp.engine.linear.caps import MessageCap, cosines, fill_cosines
from dpexp.engine.linear.designs import RowShape
from dpexp.engine.linear.kernel import (
    UNROLLED,
    Block,
    ModelNumbers,
    ModelShape,
    Record,
    SegmentSizes,
    State,
    Streams,
    compiled_segment,
    user_drawing,
)
from dpexp.engine.linear.rule import Rule


class PassModel(NamedTuple):
    """What the pass needs to know of a problem."""

    shape: ModelShape
    law: ModelNumbers
    start: np.ndarray  # theta_0 [p]


class StepSizes(Protocol):
    """What the pass asks of a `dpexp.algorithms.schedules.Schedule`."""

    def step_sizes(self, first: int, last: int) -> np.ndarray: ...

    def __hash__(self) -> int: ...


class NoiseLevels(Protocol):
    """What the pass asks of a `dpexp.privacy.budgets.Budget`: noise grows with 1 / mu_i."""

    @property
    def constant(self) -> float | None: ...

    def draw(self, uniform: np.ndarray, first: int) -> np.ndarray: ...


class PassSetting(NamedTuple):
    """One setting of a pass."""

    schedule: StepSizes
    budget: NoiseLevels
    cap: MessageCap | None = None  # of messages by cap sampling: all settings of a pass have one, or none


def run_lane_group(
    model: PassModel,
    rule: Rule,
    settings: Sequence[PassSetting],
    sensitivity: float,
    steps: np.ndarray,
    seed: int,
    replicates: Sequence[int],
) -> Record:
    """Run up to 8 replicates of every setting through steps[-1] users and return their states at `steps`.

    `sensitivity` is Delta: user i adds noise of standard deviation Delta / mu_i to every coordinate of its gradient.
    Of capped messages it is R, the largest length of what a user sends before them.
    `steps` are increasing step numbers >= 1. Lanes without a replicate repeat the last one. Raises UsageError where
    the rule's update does not keep what the rule remembers, or where a line of it cannot be compiled.
    """
    if not 1 <= len(replicates) <= LANES:
        raise ValueError(f"a lane group holds 1 to {LANES} replicates, not {len(replicates)}")
    # (a)
    lanes = [*replicates, *[replicates[-1]] * (LANES - len(replicates))]
    rule.check()
    d, p, n = len(model.law.beta) - 1, len(model.start), int(steps[-1])
    capped = settings[0].cap is not None
    if capped and rule.whiten is not None:
        raise UsageError("a rule with `whiten` takes no eps with delta = 0", "give mu, or eps with delta above 0")
    segment = compiled_segment(model.shape, rule.source, d if d <= UNROLLED else None, capped)
    numbers = rule.floats()
    streams = _streams(seed, lanes)
    many = len(settings)
    memory = lanes_zeros(many, len(rule.memory), p)
    state = State(lanes_zeros(many, p), lanes_zeros(many, p), lanes_zeros(many), memory)
    state.theta[:] = model.start[:, None]
    state.memory[:] = np.reshape(rule.memory, (-1, 1, 1))
    block = _empty_block(model.shape.design, d, p)
    record = Record(
        # no step has the number -1, so nothing is kept after the last
        np.append(np.asarray(steps, np.int64), -1),
        np.empty((len(steps), 2, *state.theta.shape)),
        np.empty((len(steps), *state.hits.shape)),
    )
    next_sizes = NextSizes(settings, sensitivity, p, seed, lanes)
    checkpoint = 0
    # (b)
    for first in range(0, n, SEGMENT):
        count = min(SEGMENT, n - first)
        sizes = next_sizes(first, count)
        with located_errors():
            checkpoint = segment(first, count, checkpoint, model.law, numbers, state, streams, block, sizes, record)
    return record


def _streams(seed: int, lanes: Sequence[int]) -> Streams:
    parts = (("data", 0), ("response", 0), ("noise", 0), ("data", 1), ("data", 2), ("response", 1))
    return Streams(*(stream_states(seed, lanes, *part) for part in parts))


def _empty_block(design: RowShape, d: int, p: int) -> Block:
    drawn = (d,), (), (), (), (p,), (design.uniforms,), (design.normals + design.second,), ()
    return Block(*(lanes_zeros(BLOCK, *shape) for shape in drawn))


class UserStream:
    """Users of eight replicates as the engine draws them, the same ones however many are taken at a time."""

    def __init__(self, model: PassModel, seed: int, lanes: Sequence[int]) -> None:
        d = len(model.law.beta) - 1
        self.law, self.streams, self.draw = model.law, _streams(seed, lanes), user_drawing(model.shape, False, d)
        self.block = _empty_block(model.shape.design, d, 0)
        self.used = BLOCK
        """users of the block that have been taken"""

    def take(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Covariates [count, d, 8], responses and weights [count, 8] of the next users."""
        x, y, w = lanes_empty(count, self.block.x.shape[1]), lanes_empty(count), lanes_empty(count)
        done = 0
        while done < count:
            if self.used == BLOCK:
                with located_errors():
                    self.draw(self.block, self.streams, self.law)
                self.used = 0
            now = min(count - done, BLOCK - self.used)
            to, of = slice(done, done + now), slice(self.used, self.used + now)
            x[to], y[to], w[to] = self.block.x[of], self.block.y[of], self.block.w[of]
            done, self.used = done + now, self.used + now
        return x, y, w


def draw_users(model: PassModel, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows [count, d + 1] and responses [count] of users as the engine draws them."""
    x, y, _ = UserStream(model, seed, range(LANES)).take(-(-count // LANES))
    rows = x.transpose(0, 2, 1).reshape(-1, x.shape[1])
    return np.concatenate([np.ones((len(rows), 1)), rows], axis=1)[:count], y.ravel()[:count]


# schedules are compared once a lane group, and not in every segment; two experiments may be on their way
@lru_cache(maxsize=2)
def schedule_sizes(schedules: tuple[StepSizes, ...]) -> Callable[[int, int], np.ndarray]:
    """(first, last) -> step sizes of those steps [schedules, steps], which are those of every other lane group too."""

    @lru_cache(maxsize=max(1, KEPT // len(schedules)))
    def sizes(first: int, last: int) -> np.ndarray:
        return np.array([np.broadcast_to(s.step_sizes(first, last), last - first + 1) for s in schedules], np.float64)

    return sizes


class NextSizes:
    """Step sizes and noise of one segment after the other."""

    def __init__(
        self, settings: Sequence[PassSetting], sensitivity: float, p: int, seed: int, lanes: Sequence[int]
    ) -> None:
        self.settings, self.sensitivity = settings, sensitivity
        number: dict[StepSizes, int] = {}
        eta_of = np.array([number.setdefault(setting.schedule, len(number)) for setting in settings])
        self.step_sizes = schedule_sizes(tuple(number))
        self.varied = [s for s, setting in enumerate(settings) if setting.budget.constant is None or setting.cap]
        self.caps = [setting.cap for setting in settings if setting.cap]
        if self.varied:
            role = "message" if self.caps else "budget"
            self.stream, self.uniform = stream_states(seed, lanes, role), lanes_zeros(SEGMENT)
        if self.caps:
            self.lengths, self.table = stream_states(seed, lanes, "message", 1), cosines(p)
        # (c)
        noise = lanes_zeros(len(settings) + len(self.varied) * SEGMENT)
        row, stride = np.arange(len(settings)), np.zeros(len(settings), np.int64)
        for s, setting in enumerate(settings):
            if setting.budget.constant is not None and not setting.cap:
                noise[s] = sensitivity / setting.budget.constant
        # (d)
        for v, s in enumerate(self.varied):
            row[s], stride[s] = len(settings) + v * SEGMENT, 1
        size = np.array([sensitivity / cap.m for cap in self.caps])
        self.sizes = SegmentSizes(
            np.empty((0, 0)), eta_of, noise, row, stride, size, lanes_zeros(SEGMENT if self.caps else 0)
        )

    def __call__(self, first: int, count: int) -> SegmentSizes:
        """Sizes of the steps first + 1 .. first + count."""
        if self.varied:
            # (d), for a whole segment even where fewer steps are left, as the kernel does with its blocks
            fill_uniform(self.stream, self.uniform, SEGMENT)
            for s in self.varied:
                rows, cap = self.sizes.noise[self.sizes.noise_row[s] :][:SEGMENT], self.settings[s].cap
                if cap is not None:
                    fill_cosines(self.uniform, cap.q, cap.inside, self.table, rows)
                else:
                    rows[:] = self.sensitivity / self.settings[s].budget.draw(self.uniform, first + 1)
        if self.caps:
            fill_uniform(self.lengths, self.sizes.threshold, SEGMENT)
            self.sizes.threshold[:] *= self.sensitivity
        return self.sizes._replace(eta=self.step_sizes(first + 1, first + count))
