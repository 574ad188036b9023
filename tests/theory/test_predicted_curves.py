"""Predicted curves of 20 losses over 6 populations against runs of LDP-SGD: the curves integrate, the runs draw.

Of 200 runs none is beyond 3 % by more than a simultaneous 99 % bound; of 6,400 runs all are within 3 % and 2.6 standard
errors, 1 in 100 may be above 3 %, also at mu = 8 where J is at most .06. `make soak` tries all cells that have a closure.
"""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import Power
from dpexp.engine.lanes.elementwise import exp, maximum, minimum, sqrt, where
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems import PROBLEMS
from dpexp.problems.gaussian_means import gaussian_means
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.theory.ldp_sgd.closure import LEAST_DISTANCE, MOST_INDEX, closure, distances_sq, loss_gaps
from tests.conftest import AT_LENGTH, share


class Own(LinearPredictorProblem):
    numbers: tuple[float, ...]
    constants = property(lambda self: np.array(self.numbers))
    score_bounds = property(lambda self: lambda: (-self.numbers[1], self.numbers[1]))


SCORES = {
    "clipped square": lambda t, y, scale, k: (minimum(maximum(t - y, -k[1]), k[1]), 0.0),
    "log-cosh": lambda t, y, scale, k: (1.0 - 2.0 / (1.0 + exp(2.0 * (t - y) / k[0])), 0.0),
    "pseudo-huber": lambda t, y, scale, k: ((t - y) / sqrt(k[0] * k[0] + (t - y) * (t - y)), 0.0),
    "welsch": lambda t, y, scale, k: ((t - y) * exp(-((t - y) * (t - y)) / (2.0 * k[0] * k[0])), 0.0),
    "uneven huber": lambda t, y, scale, k: (where(t < y, 0.75, 0.25) * minimum(maximum(t - y, -k[0]), k[0]), 0.0),
}
RESPONSE = {"response_noise": "normal", "response": staticmethod(lambda t, e, k: t + e)}
OWN = {name: type("Own", (Own,), RESPONSE | {"score": staticmethod(score)}) for name, score in SCORES.items()}
LOSSES = [
    *(("huber-linear", {"scale": "known", "c": c}) for c in (1.345, 1.0, 2.0)),
    *(("pinball-linear", {"tau": tau}) for tau in (0.25, 0.1, 0.5, 0.9)),
    *(("insensitive-linear", {"width": width}) for width in (1.0, 0.5)),
    *(("clipped square", {"numbers": (1.0, c)}) for c in (1.0, 0.5, 2.0)),
    *(("log-cosh", {"numbers": (s, 1.0)}) for s in (2.0, 1.0)),
    ("pseudo-huber", {"numbers": (2.0, 1.0)}), ("welsch", {"numbers": (4.0, 2.5)}), ("uneven huber", {"numbers": (4.0, 3.0)}),
    *(("mallows-logistic", {"link": link}) for link in ("logit", "probit", "cloglog")), ("huber-linear", {"scale": "joint"}),
]  # fmt: skip
FEW, JOINT = [LOSSES[k] for k in (0, 1, 3, 7, 9, 12, 14, 17, 20)], LOSSES[20]
NORMAL, FAR = {"law": "normal", "sd": 2.0}, {"law": "contaminated", "share": 0.1, "sd": 2.0, "far": 10.0}
MIXED = {"columns": ({"law": "bernoulli", "p": 0.3}, {"law": "categorical", "p": (0.2, 0.3, 0.5)}, {"law": "normal"})}
AR1, EQUAL, T5 = {"correlation": {"ar1": 0.5}}, {"correlation": {"exchangeable": 0.3}}, {"law": "t", "df": 5}
UNEVEN, SKEWED = NORMAL | {"heteroscedastic": (0.5, 0.5)}, {"law": "skewed", "scale": 2.0}
LAWS = [*((rows, NORMAL) for rows in (AR1, T5, MIXED, "uniform", EQUAL)), (AR1, FAR), ("normal", UNEVEN)]
LIMIT, ETAS = math.log(1.03), {math.inf: 1.0, 8.0: 0.5, 2.0: 0.1}


def problem_of(kind, options, rows, errors):
    law, link = {"design": rows, "coefficients": (1, 1, -2, 0.5, *[1] * (rows is MIXED))}, options.get("link")
    law |= {"response": {"link": link}} if link else {"errors": errors}
    return (PROBLEMS | OWN)[kind](name=kind, population=law, **({} if link else options))


def compare(case, runs, mu=math.inf, largest_j=MOST_INDEX, model=None, change=lambda means: means):
    """Log ratios [4, 3] of curves and means (distance and loss gap, iterate and average), and by how many standard errors they are beyond 3 %; None for a larger J."""
    problem, predicted, eta = problem_of(*case), problem_of(*(model or case)), ETAS[mu]
    marks, noise_sq, means = (
        np.array([50, 500, 5000]),
        (problem.noise_sensitivity() / mu) ** 2,
        gaussian_means(predicted),
    )
    least = problem.scale_min if problem.has_scale else -math.inf
    begin, end = problem.start(), predicted.optimum()

    def changed(m, c):
        return change(means(m, c))

    curve = closure(changed, begin, noise_sq, (eta, 0.5), marks, least)
    if curve.j_index > largest_j or curve.scale_distance < LEAST_DISTANCE:
        return None
    passed = LdpSgd().simulate(problem, [(Power(eta=eta, alpha=0.5), ConstantBudget(mu=mu))], marks, 1, range(runs))
    values = passed.values[0][:, :, [0, 2]].transpose(2, 0, 1, 3).reshape(4, 3, -1)
    mean, error, laws = values.mean(axis=2), stats.sem(values, axis=2), (curve.iterate, curve.average)
    log = np.log([*(distances_sq(law, end) for law in laws), *(loss_gaps(changed, law, end) for law in laws)] / mean)
    return log, (np.maximum(np.abs(log) - LIMIT, 0) * mean / error).max()


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("runs", "losses", "laws", "mu", "largest_j"), share([
    (200, LOSSES, LAWS, math.inf, MOST_INDEX), *((200, [JOINT], [(AR1, SKEWED), *LAWS], mu, MOST_INDEX) for mu in ETAS), (6400, FEW, LAWS[:3], math.inf, MOST_INDEX), (6400, FEW, LAWS[:3], 8.0, 0.06),
], 2))  # fmt: skip
def test_curves_are_within_three_per_cent(runs, losses, laws, mu, largest_j):
    cells = share(product(losses, laws), len(losses) * len(laws))
    tried = [compare((*loss, *law), runs if AT_LENGTH else 200, mu, largest_j) for loss, law in cells]
    logs, far = zip(*[result for result in tried if result is not None], strict=True)
    assert max(far) < (2.6 if runs > 200 else stats.t.isf(0.01 / (6 * len(cells)), 199))
    assert not AT_LENGTH or runs == 200 or np.mean(np.abs(logs) > LIMIT) <= 0.01


def test_the_curve_of_another_correlation_is_not():
    assert compare((*LOSSES[0], *LAWS[0]), 800, model=(*LOSSES[0], *LAWS[4]))[1] > 2.6


def test_the_curve_without_the_cross_term_of_coefficients_and_scale_is_not():
    def uncrossed(means):
        across = np.outer(*[np.arange(len(means.gradient)) < len(means.gradient) - 1] * 2)
        across[-1, -1] = True
        return means._replace(hessian=means.hessian * across)

    assert compare((*JOINT, AR1, SKEWED), 800, change=uncrossed)[1] > 5
