"""Two worlds for DP-SGD and DP-SGLD: a canary among few records, and every iterate of many short runs.

A copy is audited: the config's algorithm with all its settings but size, on few records, for few steps. The engine's
own loop is run (`dpexp.engine.softmax.loop.train`, as the algorithm's `simulate` calls it) with the algorithm's own
noise, batches, start, projection and momentum.

(a) From two iterates follows the noisy sum that moved one to the other. (b) What is known of it is taken off, and the
canary's effect computed at the same iterate. (c) The ratio of the two worlds' densities is averaged over the secret
batches, as if every step drew its own. (d) Of the last iterate and the average the projection on the canary's mean
effect is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import islice

import numpy as np

from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.dp_sgld import DpSgld
from dpexp.algorithms.softmax_runs import BatchNoise, run_of, step_sizes
from dpexp.config.cells import Cell
from dpexp.core.seeds import generator
from dpexp.core.text import counted
from dpexp.engine.softmax import loop as engine
from dpexp.engine.softmax.batches import Batches
from dpexp.engine.softmax.steps import CLIP_SLACK
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.privacy.analyses.composition_of_runs import composition_of_runs
from dpexp.privacy.audit.claim import claim_of
from dpexp.privacy.audit.statistics import counts, of_sampled_steps
from dpexp.privacy.batch_sampling import RELATIONS
from dpexp.privacy.budgets import Target
from dpexp.privacy.mechanisms.langevin_accounting import AccountedLangevin
from dpexp.privacy.mechanisms.released import Stated
from dpexp.problems.canaries import PREPARED, Canaries
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit.auditable import (
    COPIES,
    CROWD,
    LAST_AND_AVERAGE,
    TOGETHER,
    Copy,
    Look,
    Seen,
    coins,
    settings_of,
)  # fmt: skip

RECORDS, BATCH = 8, 2
"""of a copy: a record is in a quarter of the batches, and often alone there"""
GROUPS = 2
"""public groups of a copy, where batches are drawn from one group in turn"""
WIDTH = 2
CLIPPED_CLASSES, UNCLIPPED_CLASSES = 2, 10
SMALL_STEP = 1e-3
"""of a step of DP-SGD: its noise follows from the clip, and the smaller the step, the less does the canary fade"""
FAR = 4.0
"""length of a record over the clip: its gradient is clipped unless its class has a probability above 0.8"""
OUTSIDE = 1.01
"""times the radius: farther than rounding takes an iterate that was projected"""
REPLICATES = "every replicate"
Algorithm = DpSgd | DpSgld


class BatchesAudit:
    """All iterates, the last one and the average of a copy of DP-SGD or DP-SGLD."""

    def __init__(self, cell: Cell, problem: Softmax, algorithm: Algorithm, delta: float, copy: Copy) -> None:
        full = algorithm.batch_size == problem.n
        self.algorithm, schedule = algorithm.name, cell.schedule
        # a config's runs are too long to be repeated thousands of times; full batches stay full: the copy has no more
        # records than a batch
        records, self.steps, self.kind = (BATCH if full else RECORDS), min(cell.run.n, copy.steps), copy
        # a config whose groups are used whole keeps that; else a record is in every second batch of its group
        whole = algorithm.groups is not None and algorithm.groups * algorithm.batch_size == problem.n
        groups = None if algorithm.groups is None else records // BATCH if whole else GROUPS
        self.copy: Algorithm = algorithm.model_copy(update={"batch_size": BATCH, "epochs": 1, "groups": groups})
        self.clip = algorithm.clip if isinstance(algorithm, DpSgd) else math.inf
        # the config's own budget is too small to be told from others by some thousand runs: the algorithm's accountant
        # sets the noise for a larger target
        self.budget, self.q = Target(eps=copy.eps, delta=delta), BATCH / records
        # a small step makes little of the canary fade before the last iterate
        small = {"eta": SMALL_STEP / max(1.0, self.clip) ** 2}
        changed = isinstance(algorithm, DpSgd) and schedule.name == "constant"
        self.schedule = schedule.model_copy(update=small) if changed else schedule
        self.replaces = RELATIONS[algorithm.sampling] == "replace-one"
        clipped = math.isfinite(self.clip)
        self.problem = Canaries(
            regulariser=problem.regulariser,
            records=records,
            classes=CLIPPED_CLASSES if clipped else UNCLIPPED_CLASSES,
            width=WIDTH,
            length=FAR * self.clip if clipped else PREPARED,
            slope_limit=max(1.0, self.clip) ** 2 / (2 * SMALL_STEP) if clipped else problem.smoothness,
            canary=None,
            others=0 if self.replaces or copy.crowd else None,
        )
        # the world without the canary, and with it: where neighbours add or remove a record, it is there or not and the
        # others have no gradient; where they replace one, all records are alike but for the canary's class
        here = {"canary": 1 if self.replaces or copy.crowd else 0}
        self.worlds = [self.problem.model_copy(update=one) for one in ({"canary": 0 if self.replaces else None}, here)]
        self.label = f"{algorithm.name} on softmax{settings_of(algorithm, ('batch_size', 'groups'))}"
        crowd = ", all others against the canary" if copy.crowd else ""
        in_turn = "" if groups is None else f" from {groups} groups in turn"
        several = f", {copy.replicates} replicates" if copy.replicates > 1 else ""
        self.size = (
            f"a copy: {records} records{crowd}, batches of {BATCH}{in_turn}, {counted(self.steps, 'step')}{several}, "
            f"noise set for eps = {copy.eps:g} at {delta:g} by '{algorithm.accountant}'"
        )

    @cached_property
    def sizes(self) -> np.ndarray:
        """Step sizes [T]."""
        return step_sizes(self.problem, self.schedule, self.steps)

    @cached_property
    def noise(self) -> BatchNoise:
        """How the algorithm differs from plain SGD: its own calibration for the copy's target."""
        return self.copy.noise(self.problem, self.schedule, self.budget, self.sizes)

    @cached_property
    def mechanism(self) -> Stated | AccountedLangevin:
        """What the copy releases, by the algorithm's own words."""
        return self.copy.mechanism(self.problem, self.schedule, self.budget, self.steps)

    @cached_property
    def stated(self) -> dict[str, Analysis]:
        """For all iterates, the last one and all replicates, the valid analysis with the smallest epsilon."""
        mechanism = self.mechanism
        valid = [one for one in mechanism.upper_bounds() if one.valid]
        every = min((one for one in valid if one.released == ALL), key=self._eps)
        own = mechanism.analysis
        # what holds for all iterates holds for the last one, and either may be the smaller
        last = own if own.valid and own.released == LAST and self._eps(own) < self._eps(every) else every
        return {ALL: every, LAST: last, REPLICATES: composition_of_runs([(every, self.kind.replicates)])}

    def _eps(self, analysis: Analysis) -> float:
        return analysis.eps(self.budget.delta)

    @cached_property
    def looks(self) -> Sequence[Look]:
        who = "a record that is replaced" if self.replaces else "a record that is added or removed"
        claims = {released: claim_of(stated) for released, stated in self.stated.items()}
        # in a crowd all others pull against the canary: an algorithm that divides a sum by the number of records in
        # the batch, which would be a fault, shows by this ratio
        kinds: list[tuple[str, str, bool]] = [(ALL, "ratio over batches", False)]
        if self.kind.crowd:
            pass
        elif self.kind.replicates > 1:
            both = "average" in self.copy.estimators
            kinds = [(LAST_AND_AVERAGE, "joint ratio", False)] if both else []
            kinds += [(REPLICATES, "joint ratio", False)]
        elif self.kind.quiet:
            kinds = [(ALL, "steps without noise", True), (ALL, "pairs of equal noise", True)]
        else:
            kinds = [(ALL, "likelihood ratio", False)]
            kinds += [(LAST, "projection", False)]
            kinds += [(LAST, "outside the ball", True)] if self.bounded else []
            kinds += [("average", "projection", False)] if "average" in self.copy.estimators else []
        found = []
        for released, statistic, counts_never in kinds:
            # what all iterates give away, their average does
            by = released if released in claims else ALL
            found.append(Look(released, who, statistic, claims[by], self.stated[by], counts_never))
        return found

    @property
    def bounded(self) -> bool:
        """Whether iterates are projected."""
        return math.isfinite(self.noise.radius)

    def observe(self, seed: int, replicates: range) -> Sequence[Seen]:
        canary = coins(seed, replicates)
        if self.kind.replicates > 1:
            return self._together(seed, replicates, canary)
        shape = self.steps + 1, self.problem.classes, WIDTH
        iterates, averages = np.empty((len(replicates), *shape)), np.empty((len(replicates), *shape[1:]))
        for k, r in enumerate(replicates):
            iterates[k], averages[k] = self.run(self.worlds[int(canary[k])], seed, r)
        if self.kind.crowd:
            return [Seen(self._ratio_over_batches(iterates, seed, replicates), canary)]
        # (b), (a)
        effects, known = self._effects(iterates[:, :-1])
        sums = self._sums(iterates) - known
        flat = (*sums.shape[:2], -1)
        sums, effects = sums.reshape(flat), effects.reshape(flat)
        noise = self._noise_on_sums()
        if self.kind.quiet:
            return [Seen(np.asarray(one, float), canary) for one in counts(sums, effects, noise)]
        # (c)
        found = [of_sampled_steps(sums, effects, noise, self.q)]
        # (d); a sum moves the iterate against it
        direction = -effects.mean(axis=(0, 1))
        found.append(iterates[:, -1].reshape(len(replicates), -1) @ direction)
        if self.bounded:
            lengths = np.linalg.norm(iterates.reshape(*iterates.shape[:2], -1), axis=2)
            found.append(np.sum(lengths > OUTSIDE * self.noise.radius, axis=1))
        if "average" in self.copy.estimators:
            found.append(averages.reshape(len(replicates), -1) @ direction)
        return [Seen(np.asarray(one, float), canary) for one in found]

    def _together(self, seed: int, replicates: range, canary: np.ndarray) -> Sequence[Seen]:
        """What `simulate` returns of each replicate, along the canary's gradient at weights of 0."""
        direction = self._effects(np.zeros((1, 1, self.problem.classes, WIDTH)))[0].ravel()
        count, setting = self.kind.replicates, [(self.schedule, self.budget)]
        found = np.empty((len(replicates), count, len(self.copy.estimators)))
        for k, r in enumerate(replicates):
            world, own = self.worlds[int(canary[k])], range(count * r, count * (r + 1))
            released = self.copy.simulate(world, setting, np.array([self.steps]), seed, own).parameters
            assert released is not None  # canaries are a user's own records
            found[k] = (released[0].reshape(*released.shape[1:3], -1) @ direction).T
        every = Seen(found.reshape(len(replicates), -1), canary)
        return [Seen(found[:, 0], canary), every] if found.shape[2] > 1 else [every]

    def _batches(self, problem: Canaries, seed: int, replicate: int) -> Batches:
        """The batches of a replicate, from its stream of the role `order`; a record that is not there is in none."""
        drawn = self.copy.batches(problem, generator(seed, replicate, "order"))
        # where records draw their batches for themselves, the others are then drawn as they are drawn without it
        return drawn if problem.canary is not None else (batch[batch != 0] for batch in drawn)

    def _ratio_over_batches(self, iterates: np.ndarray, seed: int, replicates: range) -> np.ndarray:
        """The likelihood ratio of an algorithm that divides sums by the number of records in the batch, k + canary."""
        # an adversary who knows k must learn no more than is claimed
        k = np.stack([self._others(seed, r) for r in replicates])[..., None, None]
        g, h = self._gradient(iterates[:, :-1], 0), self._gradient(iterates[:, :-1], 1)
        # others have the gradient g: k > 0 of them give m g, and m (k g + h) / (k + 1) with the canary's h
        without = self.copy.batch_size * g * (k > 0)
        effects = self.copy.batch_size * (k * g + h) / (k + 1) - without
        flat = (*effects.shape[:2], -1)
        sums = (self._sums(iterates) - without).reshape(flat)
        return of_sampled_steps(sums, effects.reshape(flat), self._noise_on_sums(), self.q)

    def _others(self, seed: int, replicate: int) -> np.ndarray:
        """How many records besides the canary are in each batch [T]."""
        batches = self._batches(self.problem, seed, replicate)
        return np.array([np.count_nonzero(batch) for batch in islice(batches, self.steps)])

    def run(self, problem: Canaries, seed: int, replicate: int) -> tuple[np.ndarray, np.ndarray]:
        """All iterates [T + 1, classes, p] of a replicate and its average, as the algorithm's `simulate` has them."""
        train = problem.train
        followed = engine.train(
            train.features,
            train.labels,
            [run_of(problem, self.noise, self.sizes, seed, replicate)],
            self._batches(problem, seed, replicate),
            batch_size=self.copy.batch_size,
            noise=engine.gaussian(generator(seed, replicate, "noise")),
            checkpoints=range(self.steps + 1),
            averaging=True,
        )
        return followed.last[0], followed.average[0, -1]

    def _sums(self, iterates: np.ndarray) -> np.ndarray:
        """The noisy sums over batches [R, T, classes, p] that moved the iterates, where no projection did."""
        before, after = iterates[:, :-1], iterates[:, 1:]
        eta = self.sizes[:, None, None]
        # after = before (1 - eta lambda) - eta sum / m + momentum (before - the one before)
        moved = after - before * (1 - eta * self.problem.regulariser)
        if self.noise.momentum:
            # the first step has no step before it
            moved[:, 1:] -= self.noise.momentum * (before[:, 1:] - before[:, :-1])
        return np.asarray(-moved * self.copy.batch_size / eta)

    def _noise_on_sums(self) -> np.ndarray:
        """Standard deviation of the noise on the sums [T]."""
        assert self.noise.scale is not None
        return self.noise.scale * self.copy.batch_size / self.sizes

    def _effects(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """At weights [R, T, classes, p]: what the canary adds to a batch, and what is known of batches without it."""
        if not self.replaces:
            return self._gradient(weights, 0), np.zeros_like(weights)
        same = self._gradient(weights, 0)
        return self._gradient(weights, 1) - same, self.copy.batch_size * same

    def _gradient(self, weights: np.ndarray, label: int) -> np.ndarray:
        """The clipped gradient of a record of this class: (softmax(W x) - e_label) x', scaled down to the clip."""
        # all entries of a record are alike
        x = np.full(WIDTH, self.problem.length / math.sqrt(WIDTH))
        scores = weights @ x
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        shares[..., label] -= 1
        lengths = np.linalg.norm(shares, axis=-1, keepdims=True) * self.problem.length + CLIP_SLACK
        return np.asarray((shares * np.minimum(1.0, self.clip / lengths))[..., None] * x)


def audits_of_batches(cell: Cell) -> Sequence[BatchesAudit] | str | None:
    """An audit of each kind of copy of DP-SGD or DP-SGLD."""
    problem, algorithm, budget = cell.problem, cell.algorithm, cell.privacy.mu
    if not (isinstance(algorithm, DpSgd | DpSgld) and isinstance(problem, Softmax)):
        return None
    assert budget.target is not None  # its reader asks for one
    added = RELATIONS[algorithm.sampling] == "add-remove"
    random = added and algorithm.batch_size < problem.n and isinstance(algorithm, DpSgd)
    copies = (*COPIES, CROWD, TOGETHER) if random else (*COPIES, TOGETHER)
    return [BatchesAudit(cell, problem, algorithm, budget.target[1], copy) for copy in copies]
