"""The intervals of the literature from plain paths of LDP-SGD, on simulated users: how often they cover.

Each method is a file in `dpexp.inference`. All but two read the same path; `plug-in` needs a path on which every fifth
user sends a Hessian, and `hulc` and `t-chains` need six paths on disjoint users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.covering import Covering, Seen, Trial
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.inference.methods import Interval
    from dpexp.inference.models import Model

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

    def intervals(self, model: Model, trial: Trial, schedule: Any, budget: Any) -> list[Interval | Seen]:
        """The three kinds of path meet the same users."""
        from dpexp.core.seeds import generator
        from dpexp.engine.lanes.vectors import LANES
        from dpexp.inference.methods import (
            batch_means,
            hulc,
            newton_oracle,
            plug_in,
            plug_in_free,
            random_scaling,
            t_chains,
        )
        from dpexp.inference.paths import Walk, average
        from dpexp.inference.populations import Simulated
        from dpexp.inference.targets import target_of

        law, n, seed, lanes = trial.law, trial.n, trial.seed, trial.lanes
        start, eta, level = model.problem.start(), schedule.step_sizes(1, n), self.level
        burned, size = round(self.burn_in * n), n // CHAINS
        ends = [burned + round((n - burned) * k / BATCHES) for k in range(BATCHES + 1)]
        plain, measuring, disjoint = (
            Simulated(model, law, budget, seed, lanes, weighted=False) for _ in ("plain", "measuring", "disjoint")
        )
        # plain, of which most methods take averages between the ends of batches
        path = Walk(model, start).along(plain, eta, ends)
        first, last = path[0], path[-1]
        # measuring: every fifth user sends a Hessian
        begin, end = Walk(model, start, regressed=False).along(measuring, eta, [burned, n], EVERY)
        # disjoint: chains of as many users each
        parts = [round(self.burn_in * size), size]
        chains = [Walk(model, start, regressed=False).along(disjoint, eta[:size], parts) for _ in range(CHAINS)]
        means = np.stack([average(stop, begun) for begun, stop in chains])
        # by this draw of each replicate `hulc` decides how many chains it takes
        uniform = np.array([generator(seed, r, "init").random() for r in lanes])
        uniform = np.append(uniform, np.ones(LANES - len(lanes)))
        return [
            random_scaling(last, level),
            random_scaling(last, level, first),
            batch_means(path, level),
            plug_in(model, end, begin, level),
            plug_in_free(last, first, level),
            hulc(means, level, uniform),
            t_chains(means, level),
            newton_oracle(last, first, target_of(model, law).hessian, level),
        ]
