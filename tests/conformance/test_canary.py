"""The canary audit of `dpexp check`: false algorithms break a bound that it names, and a true one does not."""

import math
from typing import Literal

import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.conformance.algorithms import bounds
from dpexp.conformance.canary import ATTACK, attack_releases
from dpexp.conformance.check_result import Breach, Subject, carry_out
from dpexp.privacy.budgets import ConstantBudget
from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import share
from tests.research import module

ftrl, newton = (module(f"docs/plugins/{name}.py") for name in ("ftrl", "newton"))


class TenthOfTheNoise(LdpSgd):
    name: Literal["tenth"] = "tenth"

    def simulate(self, problem, settings, steps, seed, replicates):
        louder = [(schedule, ConstantBudget(mu=10 * budget.largest)) for schedule, budget in settings]
        return super().simulate(problem, louder, steps, seed, replicates)


class OneEpochAccounted(ftrl.Ftrl):
    # its tree restarts in every epoch
    name: Literal["one-epoch"] = "one-epoch"

    def sigma(self, problem, budget):
        return math.sqrt(self.height(problem)) / budget.largest

    def mechanism(self, problem, schedule, budget, n):
        stated = ftrl.Trees(sigma=self.sigma(problem, budget), height=self.height(problem), epochs=1)
        return ftrl.Stated(self.name, stated, "nodes of trees")


class TenthOfItsNoise(newton.NoisyNewton):
    name: Literal["little-noise"] = "little-noise"

    def estimate(self, model, x, y, budget, normals):
        return super().estimate(model, x, y, budget, lambda shape: normals(shape) / 10)


class TenthOfItsMu(newton.NoisyNewton):
    name: Literal["little-mu"] = "little-mu"

    def mechanism(self, problem, schedule, budget, n):
        return super().mechanism(problem, schedule, ConstantBudget(mu=budget.constant / 10), n)


FALSE = {TenthOfTheNoise: "gdp, exact sensitivity", OneEpochAccounted: "nodes of trees"}
FALSE |= dict.fromkeys((TenthOfItsNoise, TenthOfItsMu), "gaussian-composition")


def subject(kind):
    return Subject("algorithm", kind().name, kind)


@pytest.mark.parametrize("seed", share(range(5), 5))
def test_false_algorithms_are_found(seed):
    for kind, bound in FALSE.items():
        with pytest.raises(Breach, match=f"'{bound}'"):
            attack_releases(subject(kind), seed)


@pytest.mark.parametrize("seed", share(range(5), 5))
def test_a_true_one_is_not(seed):
    assert "states 2" in attack_releases(subject(ftrl.Ftrl), seed)
    assert "states 20" in attack_releases(subject(newton.NoisyNewton), seed)


def test_a_mechanism_that_states_less_than_its_pair_attains_is_found():
    class Half(MECHANISMS["sampled-gaussian"]):
        def upper_bounds(self):
            return [ftrl.gaussian_analysis("half", "", ftrl.ALL, 0.5, ())]

    with pytest.raises(Breach, match="half promises"):
        bounds(Subject("mechanism", "half", Half))


def test_what_no_world_is_known_for_is_said_to_be_not_attacked():
    result = carry_out(ATTACK, subject(ALGORITHMS["central-newton"]))
    assert result.outcome == "not tried"
    assert result.detail.startswith("not attacked")
