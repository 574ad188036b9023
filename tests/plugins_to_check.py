"""Plug-ins for tests/conformance/test_check.py: a right one of every kind, and what is wrong with the others, as edits of it."""

RIGHT = '''
"""A plug-in with one thing of every kind."""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.engine.result import Passed
from dpexp.plugins import Plugin
from dpexp.accounting.gaussian import eps_of
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.budgets import Budget, ConstantBudget
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Part, Steps
from dpexp.problems.pinball_linear import PinballLinear
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.claim import of_settings
from dpexp.reporting.paper import Paper
from dpexp.reporting.table import Content, Table
from dpexp.algorithms.schedules import Schedule
from dpexp.store import load_summary
from dpexp.theory.theorem import Theorem


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


class Halving(Schedule):
    name: Literal["my-halving"] = "my-halving"
    eta: Annotated[float, Field(gt=0)] = 0.2

    def step_sizes(self, first, last):
        return self.eta * 0.5 ** np.floor(np.log2(np.arange(first, last + 1)))


class TwoBudgets(Budget):
    kind = "my_two"
    my_two: tuple[float, float] = (0.5, 1.0)

    @property
    def label(self):
        return f"{self.my_two[0]:g} or {self.my_two[1]:g}"

    @property
    def largest(self):
        return max(self.my_two)

    @property
    def smallest(self):
        return min(self.my_two)

    @property
    def mean_inverse_square(self):
        return (self.my_two[0] ** -2 + self.my_two[1] ** -2) / 2

    def draw(self, u, first):
        return np.where(u <= 0.5, *self.my_two)


class Repeated(Mechanism):
    noise_field: ClassVar[str] = "sigma"
    sigma: Noise
    steps: Steps

    def mu(self):
        if self.steps == 0:
            return 0.0
        return math.inf if self.sigma == 0 else math.sqrt(self.steps) / self.sigma

    def analyses(self):
        return [gaussian_analysis("gdp", "ours", ALL, self.mu(), ("every step is Gaussian",))]

    def describe(self):
        return [("Protected", "every record")]

    def law(self, data):
        sums = [sum(record[t] / 2 for record in data) / self.sigma for t in range(self.steps)]
        return [Part(1.0, tuple(sums))]


def doubled(mechanism):
    """Twice the noise of a step would do: an analysis that is loose, and right."""
    exact = min(mechanism.analyses(), key=lambda a: a.eps(1e-5))
    return Analysis("doubled", "ours", ALL, lambda delta: 2 * exact.eps(delta), ("as the analysis that it doubles",))


def bound(steps, sensitivity, mean_inverse_square):
    return sensitivity**2 * mean_inverse_square / np.sqrt(steps)


def draw(results):
    from matplotlib.figure import Figure as Canvas

    data = load_summary(results, "tiny")
    data = data[data.metric == "loss_gap"][["step", "mean"]]
    canvas = Canvas()
    canvas.subplots().plot(data.step, data["mean"])
    return Drawing(canvas, data)


def build(results):
    stored = load_summary(results, "tiny").head(3)
    rows = [[str(step), f"{mean:.3g}"] for step, mean in zip(stored.step, stored["mean"])]
    return Content(["step", "mean"], rows, "", stored[["step", "mean"]].to_dict("records"))


def check(evidence):
    values = evidence.runs("tiny")[0].values("asgd", "loss_gap")
    verdict = "reproduced" if values[-1].mean() < 100 else "false"
    return Outcome(verdict, "below 100", f"{values[-1].mean():.3g}", "none")


class Sabotaged(Evidence):
    def _load(self, experiment):
        runs = super()._load(experiment)
        for run in runs:
            run.data.values[:] *= 1e9
        return runs


def sabotage(evidence):
    return Sabotaged(evidence.results)


PAPER = Paper(
    id="mine",
    title="Mine",
    authors="me",
    figures=(Figure("my-figure", "A caption.", "mine", "Figure 1", ("tiny",), draw),),
    tables=(Table("my-table", "A title", "mine", ("tiny",), build),),
    claims=(
        Claim(
            "mine/theorem-1", "Theorem 1", "Errors are small.", "upper", ("tiny",), check, "a factor", "reproduced", "",
            sabotage, quote="errors are small", false_if="An error is large.",
            hypotheses=(of_settings("the tolerance is positive", {"100": 100.0}, lambda size: size > 0, -1.0),),
        ),
    ),
    configs=("tiny",),
)
PLUGIN = Plugin(
    problems={"my-quantile": Quantile},
    algorithms={"my-sgd": Mine},
    schedules={"my-halving": Halving},
    budgets={"my_two": TwoBudgets},
    mechanisms={"my-steps": Repeated},
    analyses={"sampled-gaussian/doubled": doubled},
    theorems={
        "mine/theorem-1": Theorem(
            "mine", "Theorem 1", "printed", "upper", "loss_gap", "asgd", (), "always", bound
        )
    },
    papers=(PAPER,),
)
'''
TINY = """experiment: tiny
problem: {name: huber-linear, d: 5}
privacy: {mu: [1, 2]}
run: {n: 200, replicates: 4, checkpoints: 5}
"""

WRONG = {
    "a claim that quotes nothing": ('quote="errors are small", ', "", "claim", "members"),
    "a claim that quotes too much": ('"errors are small"', '"small " * 26', "claim", "members"),
    "a claim that nothing makes false": ('"An error is large."', '""', "claim", "members"),
    "a claim judged outside its hypotheses": ('{"100": 100.0}', '{"100": -100.0}', "claim", "hypotheses"),
    "a hypothesis that refuses nothing": ("lambda size: size > 0", "lambda size: True", "claim", "hypotheses"),
    "numbers depend on the other cells": (
        "values = passed.values", "values = passed.values + 1e-9 * len(settings)", "algorithm", "other cells"
    ),
    "numbers depend on the chunk": (
        "values = passed.values", "values = passed.values * (1 + passed.values.mean(axis=-1, keepdims=True))",
        "algorithm", "chunks",
    ),
    "a replicate depends on its place in the chunk": (
        "values = passed.values", "values = passed.values + 1e-9 * np.arange(len(replicates))", "algorithm", "chunks"
    ),
    "global random state": (
        "values = passed.values",
        "np.random.seed(seed + replicates[0]); values = passed.values + 1e-9 * np.random.random()",
        "algorithm", "global state",
    ),
    "random numbers without a seed": (
        "values = passed.values", "values = passed.values + np.random.default_rng().random()", "algorithm", "jobs"
    ),
    "the seed is left out": (
        "settings, steps, seed, replicates)\n        values", "settings, steps, 7, replicates)\n        values",
        "algorithm", "seeds",
    ),
    "no noise": (
        "super().simulate(problem, settings,",
        "super().simulate(problem, [(s, ConstantBudget(mu=math.inf)) for s, _ in settings],", "algorithm", "noise",
    ),
    "noise that is not scaled": (
        "super().simulate(problem, settings,",
        "super().simulate(problem, [(s, ConstantBudget(mu=min(b.largest, 7.0) if b.largest < 1e9 else b.largest)) "
        "for s, b in settings],",
        "algorithm", "noise",
    ),
    "noise that falls like a root": (
        "super().simulate(problem, settings,",
        "super().simulate(problem, [(s, ConstantBudget(mu=b.largest**0.5)) for s, b in settings],",
        "algorithm", "noise",
    ),
    "no privacy is something else": (
        "values = passed.values",
        "values = passed.values.copy(); values[[math.isinf(b.largest) for _, b in settings]] *= 2",
        "algorithm", "no privacy",
    ),
    "an error that is no number": (
        "values = passed.values", "values = passed.values * math.nan", "algorithm", "shapes"
    ),
    "the budget is overspent": (
        "return super().mechanism(problem, schedule, budget, n)",
        "return super().mechanism(problem, schedule, ConstantBudget(mu=2 * budget.largest), n)",
        "algorithm", "budget kept",
    ),
    "an understated sensitivity of messages": (
        'name: Literal["my-sgd"] = "my-sgd"',
        'name: Literal["my-sgd"] = "my-sgd"\n\n    def sensitivities(self, problem):\n'
        "        return super().sensitivities(problem)._replace(exact=0.95 * problem.exact_sensitivity())",
        "algorithm", "messages",
    ),
    "messages that are no number": (
        'name: Literal["my-sgd"] = "my-sgd"',
        'name: Literal["my-sgd"] = "my-sgd"\n\n    def rule(self):\n'
        "        return super().rule()._replace(rescale=lambda norm, numbers: 1.0 / norm)",
        "algorithm", "messages",
    ),
    "an estimate that does not grow": ("return n * 1e-8", "return 1e-3", "algorithm", "estimates"),
    "an error of its own": ("return n * 1e-8", "return n / 0", "algorithm", "estimates"),
    "a wrong gradient": (
        "return super().loss(theta, x, y)", "return 1.1 * super().loss(theta, x, y)", "problem", "gradient"
    ),
    "an understated sensitivity": (
        "return super().exact_sensitivity()", "return 0.9 * super().exact_sensitivity()", "problem", "sensitivity holds"
    ),
    "an overstated sensitivity that is called exact": (
        "return super().exact_sensitivity()", "return 1.1 * super().exact_sensitivity()",
        "problem", "sensitivity reached",
    ),
    "a wrong optimum": (
        "return super().optimum()", "return super().optimum() + 0.2", "problem", "optimum"
    ),
    "step sizes that begin anew in every segment": (
        "np.arange(first, last + 1)", "np.arange(1, last - first + 2)", "schedule", "segments"
    ),
    "a step size of zero": (
        "return self.eta * 0.5 **", "return self.eta * (np.arange(first, last + 1) < 4000) * 0.5 **",
        "schedule", "positive",
    ),
    "budgets above the largest": (
        "return max(self.my_two)", "return max(self.my_two) * 0.9", "budget", "ends"
    ),
    "a wrong mean of 1 / mu^2": (
        "self.my_two[1] ** -2) / 2", "self.my_two[1] ** -2) / 3", "budget", "mean inverse square"
    ),
    "budgets by the length of the segment": (
        "np.where(u <= 0.5, *self.my_two)", "np.where(u <= (0.5 if len(u) > 30 else 0.4), *self.my_two)",
        "budget", "order",
    ),
    "epsilon grows with delta": (
        "lambda delta: 2 * exact.eps(delta)", "lambda delta: 1e3 * (1 + delta)", "analysis", "in delta"
    ),
    "epsilon below what is attained": (
        "2 * exact.eps(delta)", "0.5 * exact.eps(delta)", "analysis", "attained"
    ),
    "epsilon grows with the noise": (
        "math.sqrt(self.steps) / self.sigma", "math.sqrt(self.steps) * self.sigma", "mechanism", "in noise"
    ),
    "epsilon falls with the steps": (
        "math.sqrt(self.steps) / self.sigma", "1 / math.sqrt(self.steps) / self.sigma", "mechanism", "in steps"
    ),
    "one norm in place of two": (
        "record[t] / 2 for", "record[t] for", "mechanism", "literal law"
    ),
    "a division by no noise": (
        "math.inf if self.sigma == 0 else math.sqrt", "math.sqrt", "mechanism", "edges"
    ),
    "a negative bound": ("/ np.sqrt(steps)", "/ np.sqrt(steps) - 1", "theorem", "sign"),
    "a bound that remembers": (
        "return sensitivity**2", "steps[:] = steps * 2\n    return sensitivity**2", "theorem", "pure"
    ),
    "a bound that falls with more privacy": ("* mean_inverse_square", "/ mean_inverse_square", "theorem", "budget"),
    "a figure that reads what it does not declare": (
        'data = load_summary(results, "tiny")', 'data = load_summary(results, "other")', "figure", "drawn"
    ),
    "a figure without numbers": ("Drawing(canvas, data)", "Drawing(canvas, data.head(0))", "figure", "drawn"),
    "a figure that is never the same": (
        "Drawing(canvas, data)", "Drawing(canvas, data + np.random.default_rng().random())", "figure", "drawn"
    ),
    "a figure of nothing stored": (
        'data = load_summary(results, "tiny")', 'data = pd.DataFrame({"metric": ["loss_gap"], "step": 1, "mean": 1.0})',
        "figure", "missing",
    ),
    "a table with rows of different lengths": (
        '    return Content(["step", "mean"], rows,', '    rows[0].append("more")\n    return Content(["step", "mean"], rows,',
        "table", "built",
    ),
    "a verdict that does not exist": ('verdict = "reproduced" if', 'verdict = "confirmed" if', "claim", "settled"),
    "a claim that reads what it does not declare": ('evidence.runs("tiny")[0]', 'evidence.run("other")', "claim", "settled"),
    "a check that cannot fail": ("< 100 else", "< math.inf else", "claim", "sabotage"),
    "a claim whose config is not there": ('"upper", ("tiny",)', '"upper", ("gone",)', "claim", "members"),
    "a figure of another paper": ('"A caption.", "mine"', '"A caption.", "theirs"', "paper", "ids"),
    "a config that is not there": ('configs=("tiny",)', 'configs=("gone",)', "paper", "configs"),
}  # fmt: skip
"""what is wrong -> (text of RIGHT, what stands there instead, kind, the check that must fail)"""
