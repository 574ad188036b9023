"""Mean trajectories, a panel for each alpha: figures 2, 3 and 4 of `ldp-sgd`, their appendix versions, and their theory.

Each is a figure of any result of one experiment (`dpexp.reporting.of_results`), asked for by its metric and panels.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from dpexp.papers.ldp_sgd.predictions import BOUNDS, LDP_SGD_THEORY
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.of_results.choose import ESTIMATOR, Wishes
from dpexp.reporting.of_results.draw import declared
from dpexp.reporting.of_results.scene import Request
from dpexp.store import load_summary

THREE_BUDGETS = "mu == 0.5 or mu == 2 or mu == inf"
"""the smallest, a middle one and the largest: more curves of theory cannot be told apart"""


class Plan(NamedTuple):
    """A figure of this family: what is drawn from which experiment."""

    name: str
    experiment: str
    metric: str
    place: str
    what: str

    @property
    def with_theory(self) -> str:
        """What is drawn where theory is laid over it: bounds are on the square of the distance."""
        return "param_distance_sq" if self.metric == "param_distance" else self.metric


def plans() -> list[Plan]:
    """Figures 2 to 4 for d = 5, 10, 20, and the loss gap of the linear problem, which the paper does not show."""
    found = []
    for d in (5, 10, 20):
        tail, place = ("", "") if d == 5 else (f"_d{d}", " (appendix)")
        linear, logistic = f"linear_d{d}", f"logistic_d{d}"
        found += [
            Plan(f"figure2{tail}", linear, "param_distance", f"Figure 2{place}", f"Linear regression, d = {d}"),
            Plan(f"figure3{tail}", logistic, "param_distance", f"Figure 3{place}", f"Logistic regression, d = {d}"),
            Plan(f"figure4{tail}", logistic, "loss_gap", f"Figure 4{place}", f"Logistic regression, d = {d}"),
            Plan(f"linear_loss{tail}", linear, "loss_gap", "not in the paper", f"Linear regression, d = {d}"),
        ]
    return found


def draw(plan: Plan, theory: bool, results: Path) -> Drawing:
    """One panel an alpha, all budgets; with theory laid over it a panel an alpha and estimator, at three budgets."""
    load_summary(results, plan.experiment, ["alpha"])  # refuses results of other settings
    wishes = Wishes(facet=("alpha", ESTIMATOR) if theory else ("alpha",))
    metric, title = (plan.with_theory, f"{plan.what}: measured and predicted") if theory else (plan.metric, plan.what)
    only = THREE_BUDGETS if theory else None
    request = Request(metric, wishes, theories=(LDP_SGD_THEORY,), theory=theory, slopes=False, title=title, only=only)
    return declared(plan.experiment, request, results)


def figure(plan: Plan, theory: bool = False) -> Figure:
    """The figure of a plan; with theory laid over it that of `dpexp plot --theory`."""
    # theory bounds the square, and the figures of the paper show the root
    quantity = "distance" if plan.metric == "param_distance" else "loss gap"
    caption = (
        f"{plan.what}: {quantity}; one panel for each decay rate alpha, with common random numbers for all curves."
    )
    if theory:
        iterate, average = (BOUNDS[plan.with_theory, estimator][1] for estimator in ("sgd", "asgd"))
        bounds = f"bounds ({iterate} of the iterate; {average} of the average)"
        caption = f"{plan.what}: measured means, {bounds}, linearised prediction and asymptote."
    name = f"{plan.name}_theory" if theory else plan.name
    return Figure(name, caption, "ldp-sgd", plan.place, (plan.experiment,), partial(draw, plan, theory))
