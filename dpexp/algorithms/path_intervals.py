"""The intervals of the literature from plain paths of LDP-SGD, on simulated users: how often they cover.

Each method is a file in `dpexp.inference`. All but two read the same path; `plug-in` needs a path on which every fifth
user sends a Hessian, and `hulc` and `t-chains` need six paths on disjoint users.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.covering import Covering, Seen
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.inference.methods import Interval
    from dpexp.inference.models import Model
    from dpexp.inference.paths import Path
    from dpexp.inference.populations import Population

BATCHES = 8
CHAINS = 6
EVERY = 5


class PathIntervals(Covering):
    """Seven intervals around averages of LDP-SGD, by the names of their estimators."""

    name: Literal["path-intervals"] = "path-intervals"
    burn_in: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    """share of a path that no average sees; random scaling uses all of the path without it and the rest with it"""

    estimators: ClassVar[tuple[str, ...]] = (
        "random-scaling", "random-scaling-burned", "batch-means", "plug-in", "plug-in-free", "hulc", "t-chains",
        "newton-oracle",
    )  # fmt: skip
    schedules: ClassVar[tuple[str, ...]] = ("power", "constant")

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        """Of one replicate: three passes over n users each, with p^2 sums of products."""
        return n * (300 + 20 * problem.p + 3 * problem.p**2) * 4e-10

    def of_settings(
        self,
        model: Model,
        law: Population,
        settings: Sequence[tuple[Any, Any]],
        n: int,
        seed: int,
        lanes: Sequence[int],
    ) -> list[list[Interval | Seen]]:
        """All settings meet the same users, and so do the three kinds of path."""
        from dpexp.inference.lockstep import Talk, together
        from dpexp.inference.paths import Chains, Walk
        from dpexp.inference.populations import SimulatedCrowd

        start, burned, size = model.problem.start(), round(self.burn_in * n), n // CHAINS
        ends = [burned + round((n - burned) * k / BATCHES) for k in range(BATCHES + 1)]
        plain, measuring, disjoint = [], [], []
        for number, (schedule, _) in enumerate(settings):
            eta = schedule.step_sizes(1, n)
            one, other = Walk(model, start), Walk(model, start, regressed=False)
            plain.append(Talk(one, one.along(eta, ends), number))
            measuring.append(Talk(other, other.along(eta, [burned, n], EVERY), number))
            chains = Chains(model, start)
            disjoint.append(Talk(chains, chains.along(eta[:size], round(self.burn_in * size), CHAINS), number))
        crowd = SimulatedCrowd(model, law, [budget for _, budget in settings], seed, lanes, weighted=False)
        together([plain, measuring, disjoint], crowd)
        return [
            self._found(model, law, one.result, other.result, chains.result, seed, lanes)
            for one, other, chains in zip(plain, measuring, disjoint, strict=True)
        ]

    def _found(
        self, model: Model, law: Population, path: Path, measured: Path, chains: list[Path], seed: int,
        lanes: Sequence[int],
    ) -> list[Interval | Seen]:  # fmt: skip
        """The intervals of one setting."""
        from dpexp.core.seeds import generator
        from dpexp.engine.lanes.vectors import LANES
        from dpexp.inference.methods import (
            averages,
            batch_means,
            hulc,
            newton_oracle,
            plug_in,
            plug_in_free,
            random_scaling,
            t_chains,
        )
        from dpexp.inference.targets import target_of

        level, first, last, with_hessians = self.level, path.snapshots[0], path.snapshots[-1], measured.snapshots
        means = averages(chains)
        uniform = np.array([generator(seed, r, "init").random() for r in lanes])
        uniform = np.append(uniform, np.ones(LANES - len(lanes)))
        return [
            random_scaling(last, level),
            random_scaling(last, level, first),
            batch_means(path.snapshots, level),
            plug_in(model, with_hessians[1], with_hessians[0], level),
            plug_in_free(last, first, level),
            hulc(means, level, uniform),
            t_chains(means, level),
            newton_oracle(last, first, target_of(model, law).hessian, level),
        ]
