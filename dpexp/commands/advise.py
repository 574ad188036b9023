"""`dpexp advise`: a problem or config, the number of users and their budgets in; a recommended setting out."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.algorithms.near_the_optimum import is_flat, linear
from dpexp.commands.advise_search import METRICS, Advice, Choice, Known, advise, shown
from dpexp.config.cells import Cell
from dpexp.config.experiment_file import load_experiment, read_experiment
from dpexp.config.shipped import MARK, shipped
from dpexp.core.errors import UsageError
from dpexp.core.text import columns, fraction, guess
from dpexp.problems import PROBLEMS
from dpexp.store.stats import Difference

NAMES = {"sgd": "LDP-SGD (last iterate)", "asgd": "LDP-ASGD (average)"}
WORDS = {"distance": "root mean square distance", "loss": "mean loss gap"}


def recommend(
    target: str, n: str | None, d: str | None, mu: str | None, sets: Sequence[str], metric: str, replicates: int
) -> tuple[dict[str, Any], str]:
    """Advice for a problem, or for every problem and budget of a config: document and text."""
    if metric not in METRICS:
        raise UsageError(f"--metric is distance or loss, not {metric!r}")
    if replicates < 2:
        raise UsageError(f"--replicates is at least 2, not {replicates}")
    given = {"run.n": n, "problem.d": d, "privacy.mu": mu}
    overrides = [f"{key}={value}" for key, value in given.items() if value is not None]
    # A problem wins over a file of its name, which can be written ./NAME.
    if target in PROBLEMS:
        text = f"experiment: advise\nproblem: {{name: {target}}}\nprivacy: {{mu: 1}}\nrun: {{n: 300000}}\n"
        experiment = read_experiment(text, "arguments", [*overrides, *sets])
    elif target.startswith(MARK) or Path(target).suffix in (".yaml", ".yml") or Path(target).exists():
        experiment = load_experiment(Path(target), [*overrides, *sets])
    else:
        near = f"did you mean {MARK}{target}? " if target in shipped() else guess(target, PROBLEMS)
        hint = f"{near}problems: {', '.join(PROBLEMS)}"
        raise UsageError(f"'{target}' is neither a problem nor a config file", hint)
    # Step sizes are what is advised, so cells that differ in them alone are one case.
    cases = {(cell.problem, cell.privacy.mu, cell.run.n): cell for cell in experiment.cells}
    # What one budget of a problem has computed serves the next.
    known: Known = {}
    found = [_advise(cell, metric, replicates, known) for cell in cases.values()]
    return {"advice": [_document(advice) for advice in found]}, "\n\n".join(map(_text, found))


def _advise(cell: Cell, metric: str, replicates: int, known: Known) -> Advice:
    problem = linear(cell.problem)
    if is_flat(problem):
        raise UsageError(
            f"the risk of {cell.problem.name} is flat at its optimum: nothing can be predicted from its curvature",
            "advise needs a problem with a positive Hessian; dpexp run compares settings of any problem",
        )
    jobs = os.cpu_count() or 1
    return advise(problem, cell.privacy.mu, cell.run.n, metric, replicates, cell.run.seed, jobs, known)


def _document(advice: Advice) -> dict[str, Any]:
    def one(choice: Choice) -> dict[str, Any]:
        return {
            "estimator": choice.estimator,
            "eta": choice.eta,
            "alpha": choice.alpha,
            "predicted": None if math.isnan(choice.predicted) else shown(choice.predicted, advice.metric),
            "prediction_refuted": choice.refuted,
            "simulated": shown(choice.carried, advice.metric),
            "simulated_ci": _interval(choice, advice.metric),
        }

    intercept = None
    if advice.extrapolated:
        intercept = one(advice.extrapolated[0]) | _ratios(advice.extrapolated[1], advice.metric)
    return {
        "problem": advice.problem.model_dump(),
        "n": advice.n,
        "budget": advice.budget.label,
        "metric": WORDS[advice.metric],
        "recommended": one(advice.best),
        "without_privacy": one(advice.public),
        "cost_of_privacy": advice.cost_of_privacy,
        "default": one(advice.default),
        "regret_of_default": advice.regret,
        "defaults": [one(choice) for choice in advice.defaults],
        "candidates": [one(choice) for choice in advice.candidates],
        "extrapolated": intercept,
        "simulated_users": advice.trial,
        "replicates": advice.replicates,
    }


def _ratios(beside: Difference, metric: str) -> dict[str, float]:
    """Of an error to another, as errors are reported; an interval may reach below 0, where no ratio is."""
    return {name: shown(max(getattr(beside, name), 0.0), metric) for name in ("ratio", "ratio_lo", "ratio_hi")}


def _interval(choice: Choice, metric: str) -> list[float]:
    # The trial is of fewer users, and its interval is carried to n like its mean.
    ends = ((choice.simulated + sign * choice.reach) * choice.carrier for sign in (-1, 1))
    return [shown(max(end, 0.0), metric) for end in ends]


def _text(advice: Advice) -> str:
    budget = advice.budget.label
    # A law of budgets has words of its own, a number has none.
    who = budget if budget == "non-private" else f"mu = {budget}" if budget[0].isdigit() else f"mu_i ~ {budget}"
    rows = [_row("recommended", advice.best, advice)]
    rows += [_row("", choice, advice) for choice in advice.candidates]
    if advice.extrapolated and advice.offered:
        rows.append(_row("offered", advice.extrapolated[0], advice))
    rows += [_row("paper's default", advice.default, advice), _row("without privacy", advice.public, advice)]
    head = ["", "estimator", "eta", "alpha", "predicted", "simulated", "95% interval"]
    best = advice.best
    step = (
        f"eta_i = {best.eta:.3g} i^-{fraction(best.alpha)}" if best.alpha else f"the constant step size {best.eta:.3g}"
    )
    carried = "." if advice.trial == advice.n else f", and carried to {advice.n:,} by the recursion."
    lines = [
        f"{advice.problem.name}, d = {advice.problem.d}, n = {advice.n:,} users, {who}",
        "",
        f"Use {NAMES[best.estimator]} with {step}",
        "",
        columns(rows, head),
        "",
        f"Errors are {WORDS[advice.metric]}s. Privacy costs a factor {advice.cost_of_privacy:.3g}.",
        f"The paper's eta = 0.2, at the best of its four alphas, loses a factor {advice.regret:.3g}.",
        f"Simulated with {advice.trial:,} fresh users, {advice.replicates} replicates{carried}",
    ]
    if advice.extrapolated and advice.offered:
        _, low, high = _ratios(advice.extrapolated[1], advice.metric).values()
        lines += [
            f"Extrapolated to step size 0, the same messages have {low:.2g} to {high:.2g} times the error of the",
            "recommended setting, at the offered one: algorithm extrapolated-ldp-sgd.",
        ]
    if any(choice.refuted for choice in (best, *advice.candidates, advice.default, advice.public)):
        lines.append(
            "Refuted: the trial is far from what the linearised recursion predicts; trust the simulated error."
        )
        # A recursion that failed at the trial's size is no guide beyond it.
        if advice.trial < advice.n:
            lines.append(f"Such errors are known for {advice.trial:,} users; carrying them further is a guess.")
    return "\n".join(lines)


def _row(label: str, choice: Choice, advice: Advice) -> list[str]:
    low, high = _interval(choice, advice.metric)
    known = "none" if math.isnan(choice.predicted) else f"{shown(choice.predicted, advice.metric):.3g}"
    return [
        label,
        choice.estimator.upper(),
        f"{choice.eta:.3g}",
        fraction(choice.alpha),
        "refuted" if choice.refuted else known,
        f"{shown(choice.carried, advice.metric):.3g}",
        f"{low:.3g} to {high:.3g}",
    ]
