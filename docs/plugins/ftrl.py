"""DP-FTRL that restarts its tree in every epoch, on a finite sum; the mechanism is its own."""

import math
from typing import ClassVar, Literal

import numpy as np

from dpexp.algorithms.algorithm import Algorithm
from dpexp.core.parameters import Count
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.plugins import Plugin
from dpexp.privacy.analyses.analysis import ALL, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Stated, Steps
from dpexp.problems.finite_sum import FiniteSum


class Trees(Mechanism):
    """Noisy nodes of one binary tree an epoch; a record is in `height` nodes of each."""

    noise_field: ClassVar[str] = "sigma"
    sigma: Noise
    height: Steps
    epochs: Steps

    def upper_bounds(self):
        mu = math.inf if self.sigma == 0 else math.sqrt(self.height * self.epochs) / self.sigma
        return [gaussian_analysis("nodes of trees", "Kairouz and others (2021)", ALL, mu, ("one tree an epoch",))]

    def description(self):
        return [("Protected", "every record; neighbours replace one"), ("Released", "all nodes, and so all iterates")]


class Ftrl(Algorithm):
    """w = -eta (sum of all gradients so far + noise of the nodes)."""

    name: Literal["ftrl"] = "ftrl"
    epochs: Count = 3

    estimators: ClassVar = ("last",)
    metrics: ClassVar = ("objective",)
    runs_on: ClassVar = (FiniteSum,)
    schedules: ClassVar = ("constant",)

    def steps(self, problem, schedule, budget):
        return self.epochs * problem.count

    def complaints(self, problem, schedule, budget, n):
        return [] if n == self.epochs * problem.count else ["leave out run.n: it is epochs times records"]

    def seconds(self, problem, n):
        return n * 2e-5

    def memory(self, problem, n, checkpoints, settings):
        return 16 * n * problem.dimension

    def height(self, problem):
        return problem.count.bit_length()

    def sigma(self, problem, budget):
        """In units of the largest distance of two gradients, 2 G."""
        return math.sqrt(self.height(problem) * self.epochs) / budget.largest

    def mechanism(self, problem, schedule, budget, n):
        trees = Trees(sigma=self.sigma(problem, budget), height=self.height(problem), epochs=self.epochs)
        return Stated(self.name, trees, "nodes of trees")

    def simulate(self, problem, settings, steps, seed, replicates):
        values = np.empty((len(settings), 1, len(steps), 1, len(replicates)))
        for s, (schedule, budget) in enumerate(settings):
            for r, replicate in enumerate(replicates):
                values[s, 0, :, 0, r] = self.run(problem, schedule, budget, steps, generator(seed, replicate, "noise"))
        return Passed(np.asarray(steps), self.estimators, self.metrics, values)

    def run(self, problem, schedule, budget, steps, noise):
        eta, scale = schedule.step_size(int(steps[-1])), 2 * problem.lipschitz * self.sigma(problem, budget)
        (x, y), d, one = problem.records, problem.dimension, np.empty(problem.dimension)
        w, total, nodes, found = problem.start(), np.zeros(d), np.zeros((self.height(problem), d)), []
        for t in range(int(steps[-1])):
            i = t % problem.count
            if i == 0:
                total, nodes = total + nodes.sum(axis=0), np.zeros_like(nodes)
            problem.record_loss.gradient(w, x[i], y[i], problem.constants, one)  # fills `one` [d]
            total = total + one
            level = ((i + 1) & -(i + 1)).bit_length() - 1
            nodes[:level], nodes[level] = 0, scale * noise.standard_normal(d)
            w = problem.start() - eta * (total + nodes.sum(axis=0))
            if t + 1 in steps:
                found.append(problem.objective(w)[0])
        return found


PLUGIN = Plugin(algorithms={"ftrl": Ftrl})
