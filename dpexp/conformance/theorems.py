"""What every theorem must do: a pure function of plain numbers, of the sign and direction that its kind says."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np

from dpexp.conformance.check import Check, Failed, NotTried, Subject, ToyExperiments
from dpexp.theory.momentum.formulas import Prescription
from dpexp.theory.theorem import Theorem

Thing = Subject[Theorem]
STEPS = np.array([10, 100, 1000, 10_000], dtype=np.int64)
EXPONENTS = 0.35, 0.4, 0.6
"""of the step size: inside the intervals of all statements, of which Theorem 5 has the smallest, from 1/3 to 1"""
FURTHER: dict[str, Any] = {
    "mus": (0.5, 1.0, 1.0),
    "estimator": "sgd",
    "convexity": "strongly convex",
}
"""constants beside those of a run, by the names under which theorems ask for them"""
OF_USERS: dict[str, Any] = {
    "eta": 0.2, "m": 0.0831, "M": 0.1764, "gradient_bound": 1.98, "p": 7, "sensitivity": 3.91, "delta0": 7.0,
    "hessian_lipschitz": 0.0583, "public_trace": 35.8,
}  # fmt: skip
"""Constants of statements about one pass over users: those of Huber regression in five dimensions, rounded."""
NOISE_TRACE = 7370.0
"""what noise for mu = 1 adds to `public_trace` there"""
OF_FINITE_SUMS: tuple[dict[str, Any], ...] = (
    {
        "N": 1000, "d": 10, "eps": 1.0, "delta": 1e-5, "steps": 10_000, "gap": 1.0, "error": 0.1, "G": 2.0, "L": 3.0,
        "alpha": 1e-3, "eta": 1e-3, "sigma": 8.0, "order": 4.0,
    },
    {
        "n": 1000, "d": 10, "eps": 1.0, "delta": 1e-5, "steps": 500, "step": 0.1, "total_step": 50.0, "order": 4.0,
        "lipschitz": 1.5, "smoothness": 2.0, "strong_convexity": 0.1, "lsi": 0.5, "sigma": 0.3, "xi_sq": 0.2,
        "delta0": 4.0,
    },
)  # fmt: skip
"""Constants of statements about many passes over N, or n, records: normalised momentum, and noisy gradient descent.

Inside the ranges that their statements print: alpha >= 1 / N, gamma = alpha <= 1/2, T >= N; eta <= 1 / (2 smoothness),
eps n^2 > order d and eps <= 2 log(1 / delta).
"""


def _of_run(mu: float, alpha: float) -> dict[str, Any]:
    """The numbers of a run whose users all have the budget mu."""
    spent = {"min_mu": mu, "mean_inverse_square": mu**-2, "mus": tuple(mu * m for m in FURTHER["mus"])}
    trace = OF_USERS["public_trace"] + NOISE_TRACE / mu**2
    return OF_USERS | FURTHER | spent | {"alpha": alpha, "steps": STEPS, "private_trace": trace}


def _constants(theorem: Theorem, budget: float = 1.0, alpha: float = 0.4) -> dict[str, Any]:
    """Numbers that have all that the theorem asks for. Raises NotTried where there are none.

    `budget` is the privacy that is spent, 1 for as much as usual: mu of a run, a factor of eps, and of 1 / sigma.
    """
    # A theorem about a run gets the numbers of a real one, which belong together.
    asked = _asked(theorem)
    run = _of_run(budget, alpha)
    if set(asked) <= set(run):
        return run
    for numbers in OF_FINITE_SUMS:
        if set(asked) <= set(numbers):
            # Noise is prescribed for eps in some statements, and given in others: a budget moves both.
            return numbers | {"eps": budget * numbers["eps"], "sigma": numbers["sigma"] / budget}
    known = set(run).union(*OF_FINITE_SUMS)
    unknown = [name for name in asked if name not in known]
    raise NotTried(f"asks for {', '.join(unknown or asked)}, which no numbers to try it with have")


def _asked(theorem: Theorem) -> list[str]:
    """The constants that a call gives it; a parameter with a default is left at that."""
    parameters = inspect.signature(theorem.function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty]


def _exponents(theorem: Theorem) -> tuple[float, ...]:
    """The exponents of a run to try it with; one, which does nothing, where it is no statement about a run."""
    return EXPONENTS if set(_asked(theorem)) <= set(_of_run(1.0, EXPONENTS[0])) else EXPONENTS[:1]


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
    theorem = subject.value
    for alpha in _exponents(theorem):
        numbers = _constants(theorem, alpha=alpha)
        # Arrays are handed over as they are, so that a formula could write into them.
        kept = copy.deepcopy(numbers)
        first, second = theorem(numbers), theorem(numbers)
        if not np.array_equal(_as_array(first), _as_array(second), equal_nan=True):
            raise Failed("gives another value when asked again", theorem.function)
        if not all(np.array_equal(numbers[name], kept[name], equal_nan=_is_number(kept[name])) for name in kept):
            raise Failed("changes the numbers that it is given", theorem.function)
    return f"asked twice at {_settings(theorem)}; what it is given stays as it was"


def signs(subject: Thing, toys: ToyExperiments) -> str:
    theorem = subject.value
    for alpha in _exponents(theorem):
        numbers = _constants(theorem, alpha=alpha)
        value, at = _as_array(theorem(numbers)), f"at {_settings(theorem)}"
        # Outside its interval an exponent is NaN, which says that nothing is stated.
        if theorem.quantity == "exponent":
            if not (np.isnan(value) | (np.isfinite(value) & (value <= 0))).all():
                raise Failed(f"the exponent of n is {value} {at}: an error does not grow", theorem.function)
        elif np.isnan(value).any() or not (value > 0).all():
            raise Failed(f"is {value} {at}: it is positive", theorem.function)
        if "steps" in _asked(theorem) and value.shape != np.shape(numbers["steps"]):
            raise Failed(f"gives {value.shape} for {np.shape(numbers['steps'])} steps", theorem.function)
    return _settings(theorem)


def steps_alone(subject: Thing, toys: ToyExperiments) -> str:
    theorem = subject.value
    if "steps" not in _asked(theorem):
        raise NotTried("is no function of the steps")
    numbers = _constants(theorem)
    if not np.ndim(numbers["steps"]):
        raise NotTried("is a function of one number of steps, not of an array of them")
    whole = _as_array(theorem(numbers))
    for k in range(len(STEPS)):
        alone = _as_array(theorem(numbers | {"steps": STEPS[k : k + 1]}))
        if not np.allclose(alone, whole[k : k + 1], rtol=1e-12, atol=0):
            raise Failed(f"is {whole[k]:.6g} at step {STEPS[k]} among others, {alone[0]:.6g} alone", theorem.function)
    return f"steps {', '.join(map(str, STEPS))} together and alone"


def in_budget(subject: Thing, toys: ToyExperiments) -> str:
    """More privacy is more noise: errors and noise do not fall with it.

    A guarantee grows with the budget, and so does the number of steps for which noise of a given effect is prescribed.
    """
    theorem = subject.value
    if theorem.quantity == "exponent":
        raise NotTried("an exponent does not depend on the budget")
    less, more = _constants(theorem, 0.5), _constants(theorem, 2.0)
    # Only constants that it asks for can carry the budget to it.
    if all(np.array_equal(less[name], more[name]) for name in _asked(theorem)):
        raise NotTried("asks for nothing that depends on the budget")
    grows = theorem.kind == "guarantee" or theorem.quantity in ("steps", "schedule")
    for alpha in _exponents(theorem):
        small, large = (_as_array(theorem(_constants(theorem, budget, alpha))) for budget in (0.5, 2.0))
        if (small > large).any() if grows else (small < large).any():
            raise Failed(f"is {small} at half the budget and {large} at twice ({_settings(theorem)})", theorem.function)
    return f"half the budget and twice, {_settings(theorem)}"


def _settings(theorem: Theorem) -> str:
    """What it is tried with, in words."""
    exponents = _exponents(theorem)
    return f"alpha = {', '.join(map(str, exponents))}" if len(exponents) > 1 else "one set of constants"


def _as_array(value: Any) -> np.ndarray:
    """A value as numbers; of a prescribed schedule, the number of steps."""
    if isinstance(value, Prescription):
        value = value.steps
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
