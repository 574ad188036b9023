"""What every theorem must do: a pure function of plain numbers, of the sign and direction that its kind says."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np

from dpexp.conformance.check import Check, Failed, NotTried, Subject
from dpexp.conformance.experiments import ToyExperiments
from dpexp.papers.ldp_sgd.predictions import constants
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.schedules import Power
from dpexp.theory.theorem import Theorem

Thing = Subject[Theorem]
STEPS = np.array([10, 100, 1000, 10_000], dtype=np.int64)
EXPONENTS = 0.3, 0.4, 0.6
"""of the step size: inside the intervals of the printed rates"""
FURTHER: dict[str, Any] = {
    "mus": (0.5, 1.0, 1.0),
    "estimator": "sgd",
    "convexity": "strongly convex",
}
"""constants beside those of a run, by the names under which theorems ask for them"""


def _constants(mu: float, alpha: float) -> dict[str, Any]:
    """The numbers of a run: Huber regression in five dimensions."""
    numbers = constants(HuberLinear(), Power(alpha=alpha), ConstantBudget(mu=mu))
    together: dict[str, Any] = numbers | FURTHER | {"steps": STEPS, "mus": tuple(mu * m for m in FURTHER["mus"])}
    return together


def _asked(theorem: Theorem) -> list[str]:
    return list(inspect.signature(theorem.function).parameters)


def _require(subject: Thing) -> Theorem:
    theorem = subject.value
    if unknown := [name for name in _asked(theorem) if name not in _constants(1.0, 0.4)]:
        raise NotTried(f"asks for {', '.join(unknown)}, which is no number of a run")
    return theorem


def members(subject: Thing, toys: ToyExperiments) -> str:
    theorem = subject.value
    if not isinstance(theorem, Theorem):
        raise Failed(f"is {type(theorem).__name__}, not a dpexp.theory.theorem.Theorem")
    if not subject.name.startswith(f"{theorem.paper}/"):
        raise Failed(f"is called '{subject.name}', but its paper is '{theorem.paper}'", theorem.function)
    if not (theorem.place and theorem.quantity and theorem.estimator and theorem.valid):
        raise Failed("says no place, quantity, estimator or range", theorem.function)
    return f"{theorem.place}; a function of {', '.join(_asked(theorem))}"


def pure(subject: Thing, toys: ToyExperiments) -> str:
    theorem = _require(subject)
    for alpha in EXPONENTS:
        numbers = _constants(1.0, alpha)
        kept = copy.deepcopy(numbers)
        first, second = theorem(numbers), theorem(numbers)
        if not np.array_equal(_as_array(first), _as_array(second), equal_nan=True):
            raise Failed("gives another value when asked again", theorem.function)
        if not all(np.array_equal(numbers[name], kept[name], equal_nan=_is_number(kept[name])) for name in kept):
            raise Failed("changes the numbers that it is given", theorem.function)
    return f"asked twice at alpha = {', '.join(map(str, EXPONENTS))}; what it is given stays as it was"


def signs(subject: Thing, toys: ToyExperiments) -> str:
    theorem = _require(subject)
    for alpha in EXPONENTS:
        value = _as_array(theorem(_constants(1.0, alpha)))
        if theorem.quantity == "exponent":
            if not (np.isnan(value) | (np.isfinite(value) & (value <= 0))).all():
                raise Failed(
                    f"the exponent of n is {value} at alpha = {alpha}: an error does not grow", theorem.function
                )
        elif np.isnan(value).any() or not (value > 0).all():
            raise Failed(f"is {value} at alpha = {alpha}: it is positive", theorem.function)
        if "steps" in _asked(theorem) and value.shape != STEPS.shape:
            raise Failed(f"gives {value.shape} for {STEPS.shape} steps", theorem.function)
    return f"alpha = {', '.join(map(str, EXPONENTS))}"


def steps_alone(subject: Thing, toys: ToyExperiments) -> str:
    theorem = _require(subject)
    if "steps" not in _asked(theorem):
        raise NotTried("is no function of the steps")
    numbers = _constants(1.0, 0.4)
    whole = _as_array(theorem(numbers))
    for k in range(len(STEPS)):
        alone = _as_array(theorem(numbers | {"steps": STEPS[k : k + 1]}))
        if not np.allclose(alone, whole[k : k + 1], rtol=1e-12, atol=0):
            raise Failed(f"is {whole[k]:.6g} at step {STEPS[k]} among others, {alone[0]:.6g} alone", theorem.function)
    return f"steps {', '.join(map(str, STEPS))} together and alone"


def in_budget(subject: Thing, toys: ToyExperiments) -> str:
    """More privacy is more noise: bounds on errors do not fall; a privacy guarantee grows with the budget."""
    theorem = _require(subject)
    if theorem.quantity == "exponent":
        raise NotTried("an exponent does not depend on the budget")
    for alpha in EXPONENTS:
        small, large = (_as_array(theorem(_constants(mu, alpha))) for mu in (0.5, 2.0))
        wrong = (small > large).any() if theorem.kind == "guarantee" else (small < large).any()
        if wrong:
            raise Failed(f"is {small} at mu = 0.5 and {large} at mu = 2 (alpha = {alpha})", theorem.function)
    return "mu = 0.5 and 2"


def _as_array(value: Any) -> np.ndarray:
    return np.asarray(np.nan if value is None else value, dtype=np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int | np.ndarray)


CHECKS: tuple[Check[Theorem], ...] = (
    Check("members", "It says which paper, place, quantity and range it is for.", members),
    Check("pure", "The same value when asked again, and its numbers are left as they are.", pure),
    Check("sign", "Bounds are positive numbers, one for each step; exponents of n are not positive.", signs),
    Check("steps", "A step's value does not depend on which other steps are asked for.", steps_alone),
    Check("budget", "Bounds on errors do not fall with more privacy; guarantees grow with the budget.", in_budget),
)
