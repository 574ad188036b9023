"""The plug-ins that tests write: a folder with a plug-in of every kind of thing, its helpers and a config."""

from __future__ import annotations

from pathlib import Path

SCORES = '''\
"""Median regression: the loss |y - t| / 2, whose score is half a sign."""

from dpexp.engine.lanes.elementwise import where


def score(t, y, scale, k):
    return where(y < t, 0.5, -0.5), 0.0
'''
PROBLEM = '''\
"""The problem of the plug-in."""

from typing import Literal

import scores
from dpexp.problems.linear_losses import PinballLinear


class MedianLinear(PinballLinear):
    """y = x'beta* + N(0, sigma^2), by its median."""

    name: Literal["median-linear"] = "median-linear"
    score = staticmethod(scores.score)
'''
STEPS = '''\
"""Algorithms and schedules of the plug-in."""

from typing import Literal

import numpy as np
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.core.parameters import StepSize
from dpexp.engine.result import Passed
from dpexp.algorithms.schedules import Schedule

from .sizes import root


class Plain(LdpSgd):
    """LDP-SGD written out with numpy; the numbers of a replicate depend on its setting and number alone."""

    name: Literal["plain"] = "plain"
    estimators = ("sgd",)
    metrics = ("param_distance_sq",)
    schedules = ("power", "constant", "rooted")

    def simulate(self, problem, settings, steps, seed, replicates):
        values = np.empty((len(settings), 1, len(steps), 1, len(replicates)))
        for column, replicate in enumerate(replicates):
            draws = np.random.default_rng([seed, replicate])
            x, y = problem.sample(draws, steps[-1])
            noise = draws.standard_normal((steps[-1], problem.p))
            for row, (schedule, budget) in enumerate(settings):
                theta, eta = problem.start(), schedule.step_sizes(1, steps[-1])
                spread = problem.noise_sensitivity() / budget.constant
                found = []
                for i in range(steps[-1]):
                    theta = theta - eta[i] * (problem.gradient(theta, x[i], y[i]) + spread * noise[i])
                    found.append(sum((theta - problem.optimum()) ** 2))
                values[row, 0, :, 0, column] = [found[k - 1] for k in steps]
        return Passed(steps, self.estimators, self.metrics, values)


class Rooted(Schedule):
    """eta / sqrt(i)."""

    name: Literal["rooted"] = "rooted"
    eta: StepSize = 0.2

    def step_sizes(self, first: int, last: int) -> np.ndarray:
        return self.eta * root(np.arange(first, last + 1.0))
'''
SIZES = '''\
"""One over the square root."""


def root(i):
    return i**-0.5
'''
SHOWN = '''\
"""What the plug-in shows of stored results."""

from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.paper import Paper
from dpexp.reporting.text_table import Content, Table
from dpexp.store.reading import load_summary


def draw(results):
    from matplotlib.figure import Figure as Canvas

    canvas, summary = Canvas(), load_summary(results, "lab")
    canvas.subplots().plot(summary["mean"])
    return Drawing(canvas, summary[["budget", "mean"]])


def build(results):
    rows = [[str(row.budget), f"{row.mean:.3g}"] for row in load_summary(results, "lab").itertuples()]
    return Content(["budget", "mean"], rows, "", [dict(zip(["budget", "mean"], row)) for row in rows])


def check(evidence):
    largest = max(float(run.values("sgd", "param_distance_sq")[-1].mean()) for run in evidence.runs("lab"))
    verdict = "holds as a bound" if largest < 50 else "false"
    return Outcome(verdict, "at most 50", f"{largest:.3g}", "none")


WORDS = {"place": "Section 1", "statement": "The error is small.", "kind": "upper", "tolerance": "none"}
CLAIM = Claim(check, ("lab",), id="our-lab/section-1/small", expected="holds as a bound", why="It is.", **WORDS)
FIGURE = Figure("lab_errors", "Errors.", "our-lab", "Figure 1", ("lab",), draw)
TABLE = Table("lab_table", "Errors", "our-lab", ("lab",), build)
PAPER = Paper("our-lab", "Our lab", "nobody", (CLAIM,), figures=(FIGURE,), tables=(TABLE,), configs=("lab",))
'''
PLUGIN = '''\
"""Everything that the lab adds."""

from dpexp.plugins import Plugin
from inner.shown import PAPER
from inner.steps import Plain, Rooted
from problem import MedianLinear


PLUGIN = Plugin(
    problems={"median-linear": MedianLinear},
    algorithms={"plain": Plain},
    schedules={"rooted": Rooted},
    papers=(PAPER,),
)
'''
CONFIG = """\
experiment: lab
problem: {name: median-linear, d: 2}
algorithm: {name: plain}
schedule: {name: rooted, eta: 0.5}
privacy: {mu: [2, inf]}
run: {n: 60, replicates: 17, checkpoints: 5}
"""


def write_lab(folder: Path) -> Path:
    """Write lab.py with its helpers and lab.yaml, and return the plug-in's file."""
    files = {
        "lab.py": PLUGIN,
        "problem.py": PROBLEM,
        "scores.py": SCORES,
        "inner/__init__.py": "",
        "inner/steps.py": STEPS,
        "inner/sizes.py": SIZES,
        "inner/shown.py": SHOWN,
        "lab.yaml": CONFIG,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "lab.py"
