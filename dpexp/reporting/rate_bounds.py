"""A stated bound on E|theta_n - theta*|^2 of LDP-SGD, with a prediction and, where this is near it, simulations.

(a) Settings fill a box of n, eta, alpha, mu and d, for every family of populations. The linearised recursion predicts
the error everywhere.
(b) Predictions have errors, so they refute nothing. The worst settings are simulated. With D_r the squared distance of
replicate r and b the bound, E D <= b makes every product of 1 + lambda (D_r / b - 1) a nonnegative supermartingale, for
0 <= lambda < 1, and so their mean over several lambda: it ever reaches K / .01 with probability at most .01 / K
(Ville), whatever the law of D. With K settings a refutation is false with probability at most .01.
"""

from __future__ import annotations

import inspect
import json
import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.near_the_optimum import curvature_of, local, predicted_errors
from dpexp.algorithms.schedules import Power
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Parameters
from dpexp.core.terminal import tell
from dpexp.core.text import guess
from dpexp.privacy.budgets import ConstantBudget
from dpexp.privacy.judge.answer import NOT_REFUTED, NOTHING, QUANTILES, REFUTED, Verdict
from dpexp.privacy.judge.bound import StatedBound
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.templates import data_of, filled
from dpexp.theory.ldp_sgd.linearised import averaged_covariance

NAME, DOUBTFUL = "param_distance_sq", "doubtful"
LIMITS = {"n": (1, 1e7), "eta": (1e-6, 1e3), "alpha": (0, 1), "mu": (1e-3, 1e3), "d": (1, 50)}
"""of what a file may ask for"""
COMPARISONS, SIMULATED, REPLICATES = 400, 5, 400
LEVEL, NEAR, STAKES = 0.01, 0.8, np.array([0.01, 0.03, 0.1, 0.3, 0.6, 0.9])
"""of all refutations together, the share of the bound from which on a prediction is tried by simulation, and lambda"""
FAMILIES: dict[str, dict[str, Any]] = data_of(Path(__file__).with_name("rate_families.yaml"))
"""problem of every family, without d"""
Span = tuple[float, float]


class RateSetting(NamedTuple):
    """One run: eta_k = eta k^-alpha over n users with one budget mu."""

    family: str
    n: int
    eta: float
    alpha: float
    mu: float
    d: int


class RateAssumptions(Parameters):
    """What a rate is compared for: an estimator, families, and the least and largest number of each setting."""

    estimator: Literal["sgd", "asgd"] = "sgd"
    families: tuple[str, ...] = Field(tuple(FAMILIES), min_length=1)
    n: Span = (1e3, 3e5)
    eta: Span = (0.02, 1.0)
    alpha: Span = (0.3, 0.95)
    mu: Span = (0.3, 10.0)
    d: Span = (1.0, 10.0)

    @field_validator("families")
    @classmethod
    def _known(cls, families: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in families if name not in FAMILIES]:
            raise ValueError(f"{guess(unknown[0], FAMILIES)}families are {', '.join(FAMILIES)}")
        return families

    @field_validator(*LIMITS)
    @classmethod
    def _within(cls, span: Span, info: ValidationInfo) -> Span:
        low, high = LIMITS[str(info.field_name)]
        if not low <= span[0] <= span[1] <= high:
            raise ValueError(f"it is a pair (least, largest) from {low:g} to {high:g}")
        return span


@lru_cache(128)
def problem_of(family: str, d: int) -> LinearPredictorProblem:
    """The problem of a family with d columns."""
    parameters = FAMILIES[family]
    own = {"population": {"d": d, **parameters["population"]}} if "population" in parameters else {"d": d}
    problem = PROBLEMS[parameters["name"]].model_validate(parameters | own)
    assert isinstance(problem, LinearPredictorProblem)
    return problem


def numbers_of(s: RateSetting) -> dict[str, float]:
    """Every number that a rate may take: those of the run and of its problem, under the names of the theorems."""
    problem = problem_of(s.family, s.d)
    place, curvature = local(problem, ConstantBudget(mu=s.mu)), curvature_of(problem)
    return {
        "eta": s.eta, "alpha": s.alpha, "mu": s.mu, "d": s.d, "p": problem.p,
        "m": curvature.m, "M": problem.smoothness(),
        "gradient_bound": problem.gradient_bound(), "sensitivity": problem.noise_sensitivity(),
        "delta0": float(place.start_error @ place.start_error),
        "public_trace": float(np.trace(averaged_covariance(curvature.hessian, curvature.score_covariance))),
        "private_trace": float(np.trace(averaged_covariance(curvature.hessian, place.covariance))),
    }  # fmt: skip


@dataclass(frozen=True)
class RateComparison:
    """One setting: what is stated, predicted and measured of it."""

    setting: RateSetting
    bound: float
    """inf says nothing"""
    linearised: float
    distances: tuple[float, ...] = ()

    @property
    def ratio(self) -> float:
        """Predicted over stated."""
        return self.linearised / max(self.bound, 1e-300)

    @property
    def p_value(self) -> float:
        """(b): of the hypothesis that the bound holds at this setting; 1 without a simulation."""
        if not self.distances:
            return 1.0
        # a run that diverged is as far as numbers go
        relative = np.nan_to_num(self.distances, nan=1e300, posinf=1e300) / max(self.bound, 1e-300)
        wealth = np.cumsum(np.log1p(STAKES[:, None] * (np.minimum(relative, 1e300) - 1)), axis=1)
        return min(1.0, math.exp(math.log(len(STAKES)) - float(np.logaddexp.reduce(wealth).max())))

    @property
    def simulated(self) -> dict[str, float] | None:
        """What was measured, where it was."""
        if not (count := len(self.distances)):
            return None
        error = float(np.std(self.distances, ddof=1) / count**0.5)
        return {
            "mean": float(np.mean(self.distances)),
            "std_error": error,
            "replicates": count,
            "p_value": self.p_value,
        }


class RateBound:
    """A stated rate, with what it assumes. Raises UsageError with the place of a parameter that no run has."""

    def __init__(self, statement: StatedBound, assumes: RateAssumptions) -> None:
        self.assumes = assumes
        self.statement, self.takes = statement, list(inspect.signature(statement.function).parameters)[1:]
        known = list(numbers_of(RateSetting("normal", 1, 1.0, 0.5, 1.0, 1)))
        if wrong := [name for name in self.takes if name not in known]:
            message = f"{statement.file}:{statement.line}: {NAME} takes {wrong[0]!r}, which is no parameter of a run"
            raise UsageError(message, f"{guess(wrong[0], known)}it takes n and {', '.join(known)}")

    def setting(self, x: np.ndarray) -> RateSetting:
        """(a): that of a point of the unit cube; sizes are log-uniform."""
        values = {}
        for key, level in zip(LIMITS, x[1:], strict=True):
            low, high = getattr(self.assumes, key)
            values[key] = low + level * (high - low) if key == "alpha" else low * (high / low) ** level
        eta, alpha, mu = (float(f"{values[k]:.4g}") for k in ("eta", "alpha", "mu"))
        family = self.assumes.families[int(x[0] * len(self.assumes.families))]
        return RateSetting(family, round(values["n"]), eta, alpha, mu, round(values["d"]))

    def compared(self, s: RateSetting) -> RateComparison:
        """With the prediction."""
        numbers = numbers_of(s)
        bound = self.statement.value((s.n,), {k: numbers[k] for k in self.takes}, math.inf, "number >= 0")
        return RateComparison(s, bound, predicted(s, self.assumes.estimator))

    def simulated(self, c: RateComparison, seed: int) -> RateComparison:
        """With runs."""
        s = c.setting
        settings = [(Power(name="power", eta=s.eta, alpha=s.alpha), ConstantBudget(mu=s.mu))]
        passed = LdpSgd().simulate(problem_of(s.family, s.d), settings, np.array([s.n]), seed, range(REPLICATES))
        values = passed.values[0, passed.estimators.index(self.assumes.estimator), 0, passed.metrics.index(NAME)]
        return replace(c, distances=tuple(values.tolist()))

    def judge(self, seconds: float, seed: int, comparisons: int = COMPARISONS) -> Verdict:
        """Compare it with predictions at so many settings, and with simulations at the worst."""
        from scipy.stats import qmc

        deadline, compared = time.monotonic() + seconds, list[RateComparison]()
        for x in qmc.Sobol(1 + len(LIMITS), seed=seed).random(1 << max(0, comparisons - 1).bit_length())[:comparisons]:
            compared.append(self.compared(self.setting(x)))
            if time.monotonic() > deadline:
                break
        finite = [c for c in compared if math.isfinite(c.bound) and not math.isnan(c.linearised)]
        ranked = sorted(finite, key=lambda c: -c.ratio)
        near = [c for c in ranked[:SIMULATED] if c.ratio > NEAR]
        for k, c in enumerate(near):
            tell(f"simulation {k + 1} of {len(near)}: {c.setting.n:,} users")
            ranked[k] = self.simulated(c, seed)
        vacuous = sum(math.isinf(c.bound) for c in compared)
        return self._verdict(ranked, len(near), vacuous, len(finite) + vacuous < comparisons)

    def rerun(self, at: str, seed: int) -> Verdict:
        """One setting again, with its simulation; from the words of a verdict."""
        try:
            values = json.loads(at)
            s = RateSetting(**{**values, "n": int(values["n"]), "d": int(values["d"])})
            if s.family not in FAMILIES or not all(low <= getattr(s, k) <= high for k, (low, high) in LIMITS.items()):
                raise ValueError(f"no such setting: families are {', '.join(FAMILIES)}, and ranges {LIMITS}")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"--at: {error}", "copy it from the verdict: one JSON object in quotes") from None
        c = self.simulated(self.compared(s), seed)
        return self._verdict([c] if math.isfinite(c.bound) else [], 1, 0, False)

    def _verdict(self, ranked: Sequence[RateComparison], simulated: int, vacuous: int, stopped: bool) -> Verdict:
        """The verdict as a document and as a page to read."""
        refuting = [c for c in ranked if c.p_value <= LEVEL / max(1, simulated)]
        worst = min(refuting or ranked[:1], key=lambda c: c.p_value, default=None)
        verdict = REFUTED if refuting else NOTHING if worst is None else DOUBTFUL if worst.ratio > 1 else NOT_REFUTED
        ratios = [1 / c.ratio for c in ranked if c.ratio > 0]
        looseness = {f"{q:g}": float(np.quantile(ratios, q)) for q in QUANTILES} if ratios else {}
        document: dict[str, Any] = {
            "verdict": verdict,
            "reason": "" if ranked else "the bound is infinite at every setting that was tried",
            "kind": NAME,
            "comparisons": len(ranked),
            "vacuous": vacuous,
            "stopped_by_clock": stopped,
            "routes": ["linearised recursion", f"simulation of {simulated} settings"],
            "assumes": self.assumes.model_dump(),
            "worst": None,
            "looseness": looseness,
        }
        if worst is None:
            return Verdict(document, f"{NOTHING}: {document['reason']}")
        file, parameters = self.statement.file, worst.setting._asdict()
        command = f"dpexp judge {shlex.quote(file)} --at {shlex.quote(json.dumps(parameters))}"
        document["worst"] = {"parameters": parameters, "bound": worst.bound, "linearised": worst.linearised,
                             "simulated": worst.simulated, "rerun": command}  # fmt: skip
        page = filled("dpexp.reporting", "rate_verdict.txt", **document, file=file, line=self.statement.line)
        return Verdict(document, page)


def predicted(s: RateSetting, estimator: str) -> float:
    """E|theta_n - theta*|^2 by the linearised recursion."""
    place = local(problem_of(s.family, s.d), ConstantBudget(mu=s.mu))
    (errors,) = predicted_errors([place], np.array([s.n]), np.array([s.eta]), s.alpha, of_loss=False)
    return float(getattr(errors, estimator)[0, 0])
