"""Plug-ins for tests/conformance/test_check.py: a right one, and what is wrong with the others, as edits of it."""

RIGHT = '''
"""A problem and an algorithm."""
import math
from typing import Literal
import numpy as np
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.engine.result import Passed
from dpexp.plugins import Plugin
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.linear_losses import PinballLinear
class Quantile(PinballLinear):
    name: Literal["my-quantile"] = "my-quantile"
    d: int = 3
    def loss(self, theta, x, y):
        return super().loss(theta, x, y)
    def exact_sensitivity(self):
        return super().exact_sensitivity()
    def optimum(self):
        return super().optimum()
class Mine(LdpSgd):
    name: Literal["my-sgd"] = "my-sgd"

    def seconds(self, problem, n):
        return n * 1e-8
    def mechanism(self, problem, schedule, budget, n):
        return super().mechanism(problem, schedule, budget, n)

    def simulate(self, problem, settings, steps, seed, replicates):
        passed = super().simulate(problem, settings, steps, seed, replicates)
        values = passed.values
        return Passed(passed.steps, passed.estimators, passed.metrics, values)
FIRST = lambda theta, problem: theta[..., 0]
PLUGIN = Plugin(problems={"my-quantile": Quantile}, algorithms={"my-sgd": Mine}, metrics={"first": FIRST})
'''

VALUES, NAME = "values = passed.values", 'name: Literal["my-sgd"] = "my-sgd"'
SIMULATED, METHOD = "super().simulate(problem, settings,", f"{NAME}\n\n    def "
WRONG = {
    "numbers depend on the other cells": (VALUES, f"{VALUES} + 1e-9 * len(settings)", "algorithm", "other cells"),
    "a replicate depends on its place in the chunk": (VALUES, f"{VALUES} + 1e-9 * np.arange(len(replicates))", "algorithm", "chunks"),
    "global random state": (VALUES, f"np.random.seed(seed + replicates[0]); {VALUES} + 1e-9 * np.random.random()", "algorithm", "chunks"),
    "random numbers without a seed": (VALUES, f"{VALUES} + np.random.default_rng().random()", "algorithm", "jobs"),
    "the seed is left out": ("steps, seed, replicates)\n        values", "steps, 7, replicates)\n        values", "algorithm", "seeds"),
    "no noise": (SIMULATED, "super().simulate(problem, [(s, ConstantBudget(mu=math.inf)) for s, _ in settings],", "algorithm", "noise"),
    "noise that falls like a root": (SIMULATED, "super().simulate(problem, [(s, ConstantBudget(mu=b.largest**0.5)) for s, b in settings],", "algorithm", "noise"),
    "no privacy is something else": (VALUES, f"{VALUES}.copy(); values[[math.isinf(b.largest) for _, b in settings]] *= 2", "algorithm", "noise"),
    "an error that is no number": (VALUES, f"{VALUES} * math.nan", "algorithm", "shapes"),
    "the budget is overspent": ("problem, schedule, budget, n)\n\n    def sim", "problem, schedule, ConstantBudget(mu=2 * budget.largest), n)\n\n    def sim", "algorithm", "budget stated"),
    "an understated sensitivity of messages": (
        NAME, METHOD + "sensitivities(self, problem):\n        return super().sensitivities(problem)._replace(exact=0.95 * problem.exact_sensitivity())", "algorithm", "messages"),
    "an understated length of messages": (NAME, METHOD + "longest(self, problem):\n        return 0.9 * problem.gradient_bound()", "algorithm", "messages"),
    "an understated radius of messages": (NAME, METHOD + "radius(self, problem):\n        return 0.45 * problem.exact_sensitivity()", "algorithm", "messages"),
    "messages that are no number": (NAME, METHOD + "rule(self):\n        return super().rule()._replace(rescale=lambda norm, numbers: 1.0 / norm)", "algorithm", "messages"),
    "an estimate that does not grow": ("return n * 1e-8", "return 1e-3", "algorithm", "estimates"),
    "a wrong gradient": ("return super().loss(", "return 1.1 * super().loss(", "problem", "gradient"),
    "an understated sensitivity": ("return super().exact_sens", "return 0.9 * super().exact_sens", "problem", "sensitivity holds"),
    "an overstated sensitivity that is called exact": ("return super().exact_sens", "return 1.1 * super().exact_sens", "problem", "sensitivity reached"),
    "a metric of all replicates": ("theta[..., 0]", "theta[..., 0] - theta[..., 0].mean(axis=1)[:, None]", "metric", "company"),
    "a wrong optimum": ("return super().optimum()", "return super().optimum() + 0.2", "problem", "optimum"),
}  # fmt: skip
"""what is wrong -> (text of RIGHT, its replacement, kind, the check that must fail)"""
