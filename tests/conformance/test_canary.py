"""The canary audit of `dpexp check`: two false algorithms break a bound that it names, and a true one does not."""

import math
import re
from typing import ClassVar, Literal

import numpy as np
import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.conformance.canary import ATTACK, attack_releases
from dpexp.conformance.check_result import Breach, Subject, carry_out
from dpexp.core.parameters import Count
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.privacy.analyses.analysis import ALL, gaussian_analysis
from dpexp.privacy.budgets import ConstantBudget
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Stated, Steps
from dpexp.problems.finite_sum import FiniteSum
from dpexp.problems.huber_linear import HuberLinear
from tests.conftest import share


class TenthOfTheNoise(LdpSgd):
    """A rule that states ten times the noise that it adds."""

    name: Literal["tenth"] = "tenth"

    def simulate(self, problem, settings, steps, seed, replicates):
        louder = [(schedule, ConstantBudget(mu=10 * budget.largest)) for schedule, budget in settings]
        return super().simulate(problem, louder, steps, seed, replicates)


class Trees(Mechanism):
    """Noisy nodes of a binary tree over the records, one tree an epoch; a record is in `height` nodes of each."""

    noise_field: ClassVar[str] = "sigma"
    sigma: Noise
    height: Steps
    epochs: Steps

    def upper_bounds(self):
        mu = math.inf if self.sigma == 0 else math.sqrt(self.height * self.epochs) / self.sigma
        return [gaussian_analysis("nodes of trees", "Kairouz et al. (2021)", ALL, mu, ("a tree an epoch",))]

    def description(self):
        return [("Protected", "every record")]


class Ftrl(Algorithm):
    """DP-FTRL that restarts its tree in every epoch."""

    name: Literal["ftrl"] = "ftrl"
    epochs: Count = 3
    accounted: Count = 3
    """epochs of which the statement and the noise know"""

    estimators: ClassVar = ("last",)
    metrics: ClassVar = ("objective",)
    runs_on: ClassVar = (FiniteSum,)
    schedules: ClassVar = ("constant",)

    def steps(self, problem, schedule, budget):
        return self.epochs * problem.count

    def seconds(self, problem, n):
        return n * 1e-5

    def memory(self, problem, n, checkpoints, settings):
        return 8 * n * problem.dimension

    def height(self, problem):
        return problem.count.bit_length()

    def sigma(self, problem, budget):
        return math.sqrt(self.height(problem) * self.accounted) / budget.largest

    def mechanism(self, problem, schedule, budget, n):
        stated = Trees(sigma=self.sigma(problem, budget), height=self.height(problem), epochs=self.accounted)
        return Stated(self.name, stated, "nodes of trees")

    def simulate(self, problem, settings, steps, seed, replicates):
        values = np.empty((len(settings), 1, len(steps), 1, len(replicates)))
        for s, (schedule, budget) in enumerate(settings):
            for r, replicate in enumerate(replicates):
                values[s, 0, :, 0, r] = self.run(problem, schedule, budget, steps, generator(seed, replicate, "noise"))
        return Passed(np.asarray(steps), self.estimators, self.metrics, values)

    def run(self, problem, schedule, budget, steps, noise):
        eta, scale = schedule.step_size(int(steps[-1])), 2 * problem.lipschitz * self.sigma(problem, budget)
        (x, y), total, found = problem.records, np.zeros(problem.dimension), []
        for t in range(int(steps[-1])):
            i = t % problem.count
            if i == 0:
                finished, nodes = total.copy(), np.zeros((self.height(problem), problem.dimension))
            total += y[i] * x[i]  # the gradient of a linear loss
            level = ((i + 1) & -(i + 1)).bit_length() - 1
            nodes[:level], nodes[level] = 0, scale * noise.standard_normal(problem.dimension)
            if i + 1 == problem.count:
                total += nodes.sum(axis=0)
            w = -eta * (total if i + 1 == problem.count else finished + (total - finished) + nodes.sum(axis=0))
            if t + 1 in steps:
                found.append(problem.objective(w)[0])
        return found


class OneEpochAccounted(Ftrl):
    name: Literal["one-epoch"] = "one-epoch"
    accounted: Count = 1


def subject(kind):
    return Subject("algorithm", kind().name, kind)


@pytest.mark.parametrize("seed", share(range(5), 5))
def test_false_algorithms_are_found(seed):
    with pytest.raises(Breach, match="'gdp, exact sensitivity'"):
        attack_releases(subject(TenthOfTheNoise), seed)
    with pytest.raises(Breach, match="'nodes of trees'"):
        attack_releases(subject(OneEpochAccounted), seed)


@pytest.mark.parametrize("seed", share(range(5), 5))
def test_a_true_one_is_not(seed):
    assert "states 2" in attack_releases(subject(Ftrl), seed)


class OtherUnits(LdpSgd):
    """Users send the gradients of a problem of another class."""

    name: Literal["other-units"] = "other-units"

    def messages(self, problem):
        return HuberInOtherUnits(**problem.model_dump())


class HuberInOtherUnits(HuberLinear):
    name: Literal["huber-linear"] = "huber-linear"


@pytest.mark.slow
def test_the_canary_is_a_user_of_the_problem_whose_gradients_are_sent():
    bound = float(re.search(r"at least ([\d.]+)", attack_releases(subject(OtherUnits)))[1])
    assert 1.3 < bound < 2


def test_what_no_world_is_known_for_is_said_to_be_not_attacked():
    result = carry_out(ATTACK, subject(ALGORITHMS["central-newton"]))
    assert result.outcome == "not tried"
    assert result.detail.startswith("not attacked")
