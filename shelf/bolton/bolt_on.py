"""Private SGD by output perturbation: Wu, Li, Kumar, Chaudhuri, Jha and Naughton (SIGMOD 2017), strongly convex losses.

SGD makes k passes over n records, in batches of b, without noise; noise is added to the last iterate alone. With
losses that are gamma-strongly convex and beta-smooth, whose data gradients have norm at most L,

(a)  eta_t = 1 / (gamma (t + t_0)),   t_0 = beta / gamma, so that eta_t <= 1 / beta.
(b)  A step on equal batches contracts two iterates by 1 - eta_t gamma = (t + t_0 - 1) / (t + t_0). A step whose batches
     differ in one record does that and adds at most 2 L eta_t / b.
(c)  What visit t adds has shrunk at the end, T, to 2 L / (gamma b (T + t_0)). There are k visits and T = k n / b, so

         |theta - theta'| <= 2 L k / (gamma b (T + t_0)) <= 2 L / (gamma n), whatever the number of passes.
"""

import math
from typing import ClassVar, Literal

import numpy as np

from dpexp.algorithms.softmax_runs import SoftmaxAlgorithm, iterate_metrics
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.engine.softmax import softmax_loop as engine
from dpexp.plugins import Plugin
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.problems.softmax import Softmax


class BoltOn(SoftmaxAlgorithm):
    """SGD on the records in a public order, and noise at the end."""

    name: Literal["bolt-on"] = "bolt-on"
    sampling: Literal["shuffled"] = "shuffled"

    schedules: ClassVar = ("prescribed",)

    def complaints(self, problem: Softmax, schedule, budget, n):
        found = super().complaints(problem, schedule, budget, n)
        return [*found, "output perturbation is tried on shipped data"] if problem.data.path else found

    def sensitivity(self, problem, n):
        """(c), after n steps."""
        passes = math.ceil(n * self.batch_size / problem.n)
        t_0 = problem.smoothness / problem.regulariser
        return 2 * problem.lipschitz * passes / (problem.regulariser * self.batch_size * (n + t_0))

    def mechanism(self, problem, schedule, budget, n):
        """One Gaussian mechanism: replacing a record moves the last iterate by the sensitivity, twice the norm here."""
        released = SampledGaussian(
            noise_multiplier=2 / budget.constant,
            sampling_probability=1,
            steps=1,
            sampling="full-batch",
            neighboring_relation="replace-one",
        )
        valid = math.isfinite(budget.constant)
        return Stated("sampled-gaussian", released, "gaussian-composition" if valid else "no-noise", valid=valid)

    def simulate(self, problem, settings, steps, seed, replicates):
        values = np.empty((len(settings), 1, len(steps), len(self.metrics), len(replicates)))
        eta = 1 / (problem.regulariser * (np.arange(1, int(steps[-1]) + 1) + problem.smoothness / problem.regulariser))
        scale = np.array([self.sensitivity(problem, int(n)) for n in steps])[:, None, None]
        for r, replicate in enumerate(replicates):
            start = np.zeros((problem.shape.classes, problem.shape.width), np.float32)
            iterates = engine.train(
                problem.train.features, problem.train.labels, [engine.SoftmaxRun(start, eta, problem.regulariser)],
                self.batches(problem, generator(seed, replicate, "order")), batch_size=self.batch_size,
                noise=engine.gaussian(generator(seed, replicate, "noise")), checkpoints=list(map(int, steps)),
                averaging=False,
            ).last[0]  # fmt: skip
            noise = generator(seed, replicate, "noise").standard_normal(iterates.shape[1:])
            for s, (_, budget) in enumerate(settings):
                released = (iterates + scale / budget.constant * noise).astype(np.float32)
                values[s, 0, :, :, r] = iterate_metrics(problem, released, [problem.regulariser] * len(steps))
        return Passed(np.asarray(steps), self.estimators, self.metrics, values)


PLUGIN = Plugin(algorithms={"bolt-on": BoltOn})
