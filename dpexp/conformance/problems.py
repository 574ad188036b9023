"""What every problem must do: losses and gradients that belong together, constants that hold, an optimum that is one.

Two families say enough of themselves to be tried: weighted M-estimators, whose users can be drawn and whose risk is
known (`LinearPredictorProblem`), and finite sums of compiled losses (`FiniteSum`). Others have members, and run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from dpexp.algorithms import ALGORITHMS
from dpexp.conformance.check_result import Breach, NotTried, Promise, Subject
from dpexp.conformance.toy_settings import toys_of
from dpexp.core.parameters import Parameters
from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum
from dpexp.problems.linear_predictor import LinearPredictorProblem

Send = Callable[[np.ndarray], np.ndarray]
"""gradients [..., p] -> what users make of them before the noise [..., p]"""
SMALL_N = 200  # records of a finite sum that is tried


def value_of(subject: Subject[Any]) -> Any:
    """The problem with its defaults, or the value that is itself the subject."""
    return subject.value if isinstance(subject.value, Parameters) else subject.value()


def _kind(subject: Subject[Any]) -> type[Any]:
    return type(subject.value) if isinstance(subject.value, Parameters) else subject.value


def _linear(subject: Subject[Any]) -> LinearPredictorProblem:
    value = value_of(subject)
    if not isinstance(value, LinearPredictorProblem):
        raise NotTried("no M-estimator of a linear predictor")
    return value


def _small_sum(subject: Subject[Any]) -> FiniteSum:
    value = value_of(subject)
    if not isinstance(value, FiniteSum):
        raise NotTried("no finite sum")
    # Every check goes through all records.
    return value.model_copy(update={"N": SMALL_N}) if "N" in type(value).model_fields else value


def _states_near(
    problem: LinearPredictorProblem, rng: np.random.Generator, count: int, spread: float = 0.7
) -> np.ndarray:
    """Parameters around the optimum [count, p], scales kept positive."""
    theta = problem.optimum() + spread * rng.standard_normal((count, problem.p))
    if problem.has_scale:
        theta[:, -1] = np.maximum(np.abs(theta[:, -1]), 0.3)
    return theta


def _any_users(problem: LinearPredictorProblem, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Users anywhere in the data space: rows of all lengths and directions, responses far out on both sides."""
    z = rng.standard_normal((size, problem.d)) * np.exp(rng.uniform(-3, 3, (size, 1)))
    exact = rng.random(size) < 0.5  # half of them with |x|^2 = 2, where the weighted row is longest
    z[exact] /= np.linalg.norm(z[exact], axis=1, keepdims=True)
    x = np.concatenate([np.ones((size, 1)), z], axis=1)
    _, y = problem.sample(rng, size)
    # A response that is no category may lie anywhere: hundreds of standard deviations out too.
    if problem.response_noise == "normal":
        y = y + rng.standard_normal(size) * np.exp(rng.uniform(-3, 6, size))
    return x, y


def registered_problem(subject: Subject[Any]) -> str:
    value, kind = value_of(subject), _kind(subject)
    if value.name not in PROBLEMS:
        raise Breach(f"its name is '{value.name}', which is in no registry", kind)
    # Stored parameters are read back like this, and have to mean the same problem.
    if value != kind.model_validate(value.model_dump(), strict=False):
        raise Breach("is not what its own parameters make: model_dump and back gives another", kind)
    size = value.memory()
    if not isinstance(size, int) or size < 0:
        raise Breach(f"memory() is {size!r}, not a number of bytes", kind.memory)
    return f"{size:,} bytes of data"


def is_run(subject: Subject[Any]) -> str:
    """Every registered algorithm that takes the problem accepts some toy setting of it."""
    kind, name = _kind(subject), value_of(subject).name
    own, takes = (
        {name: PROBLEMS[name]},
        [name for name, runner in ALGORITHMS.items() if issubclass(kind, runner.runs_on)],
    )
    if not (runners := [algorithm for algorithm in takes if any(toys_of(algorithm, own))]):
        raise Breach("no algorithm runs on it, in any toy setting", kind)
    return ", ".join(runners)


def gradient(subject: Subject[Any]) -> str:
    problem, rng = _linear(subject), np.random.default_rng(1)
    # A central difference is off by about h^2, and by rounding over h: both are far below 1e-5.
    count, h = 300, 1e-6
    theta = _states_near(problem, rng, count)
    x, y = problem.sample(rng, count)
    moves = h * np.eye(problem.p)
    slopes = [(problem.loss(theta + move, x, y) - problem.loss(theta - move, x, y)) / (2 * h) for move in moves]
    off = np.abs(np.stack(slopes, axis=-1) - problem.gradient(theta, x, y)).max(axis=-1)
    agree = float(np.mean(off < 1e-5))
    if agree <= 0.98:  # a kink within h of a point spoils its finite difference
        message = f"differs from the slope of the loss at {1 - agree:.0%} of {count} points, by up to {off.max():.2g}"
        raise Breach(message, type(problem).score)
    if type(problem).second_derivatives is not None:
        _second_derivatives(problem, rng)
    return f"{count} points, {agree:.1%} within 1e-5"


def _second_derivatives(problem: LinearPredictorProblem, rng: np.random.Generator) -> None:
    """Those in t against finite differences of the score, and within `slope_bounds`."""
    kind, k, h = type(problem), problem.constants, 1e-6
    assert kind.second_derivatives is not None
    theta = _states_near(problem, rng, 20_000, 5.0)
    x, y = _any_users(problem, rng, len(theta))
    t = np.sum(x * theta[:, : problem.d + 1], axis=-1)
    scale = theta[:, -1] if problem.has_scale else np.full(len(t), problem.fixed_scale)
    slopes = np.broadcast_to(kind.second_derivatives(t, y, scale, k)[0], t.shape)
    differences = (kind.score(t + h, y, scale, k)[0] - kind.score(t - h, y, scale, k)[0]) / (2 * h)
    near = np.abs(t - y) < 1e3  # rounding of a predictor that is far out moves its differences
    if np.mean(np.abs(slopes - differences)[near] < 1e-4) <= 0.98:
        raise Breach("`second_derivatives` in t are not the slope of `score`", kind.second_derivatives)
    (low, high), scaled = problem.slope_bounds(), slopes * scale
    if scaled.min() < low or scaled.max() > high * (1 + 1e-12):
        message = f"slopes from {scaled.min():.6g} to {scaled.max():.6g}, `slope_bounds` {low:g} and {high:g}"
        raise Breach(message, kind.slope_bounds)


def sensitivity_holds(subject: Subject[Any]) -> str:
    """Random pairs of users at common parameters; the constants are no larger than the ones derived from them."""
    problem, rng = _linear(subject), np.random.default_rng(2)
    worst = bound = 0.0
    # Near the optimum, and so far from it that every residual is cut off.
    for spread in (0.5, 5.0, 100.0):
        theta = _states_near(problem, rng, 20_000, spread)
        first, second = (problem.gradient(theta, *_any_users(problem, rng, len(theta))) for _ in range(2))
        worst = max(worst, np.linalg.norm(first - second, axis=-1).max())
        bound = max(bound, np.linalg.norm(first, axis=-1).max())
    exact, largest, kind = problem.exact_sensitivity(), problem.gradient_bound(), type(problem)
    if worst > exact * (1 + 1e-12):
        message = f"two users' gradients are {worst:.6g} apart, the sensitivity says {exact:.6g}"
        raise Breach(message, kind.exact_sensitivity)
    if bound > largest * (1 + 1e-12):
        raise Breach(f"a gradient of norm {bound:.6g}, the bound says {largest:.6g}", kind.gradient_bound)
    if exact > 2 * largest * (1 + 1e-12) or exact > problem.paper_sensitivity() * (1 + 1e-12):
        raise Breach("the exact sensitivity is larger than the bounds on it", kind.exact_sensitivity)
    return f"60,000 pairs: at most {worst:.4g} of {exact:.4g} apart"


def furthest(problem: LinearPredictorProblem, rng: np.random.Generator, send: Send, enough: float) -> float:
    """How far apart what two users send can get at one parameter, by a search over both users and the parameter.

    (a) A walker is both rows, the parameter and both residuals [3 d + 3]. (b) The best 32 of many starts of all
    lengths, from e^-12 to e^3, (c) keep the best of 24 random moves, half of them relative to their place. It ends
    where `enough` is exceeded. What is found is attained; that nothing further was found proves nothing.
    """
    d, real = problem.d, problem.response_noise == "normal"
    ends = [()] if real else list(product(np.unique(problem.sample(rng, 400)[1])[[0, -1]], repeat=2))

    def distances(v: np.ndarray) -> np.ndarray:
        # (a)
        z = v[..., : 2 * d].reshape(*v.shape[:-1], 2, d)
        x = np.concatenate([np.ones((*z.shape[:-1], 1)), z], axis=-1)
        theta = np.broadcast_to(problem.optimum(), (*v.shape[:-1], problem.p)).copy()
        theta[..., : d + 1] = v[..., 2 * d : 3 * d + 1] * 30
        theta = np.broadcast_to(theta[..., None, :], (*x.shape[:-1], problem.p))
        best = np.zeros(v.shape[:-1])
        for pair in ends:
            y = np.sum(x * theta[..., : d + 1], axis=-1) + v[..., -2:] * 10 if real else np.array(pair)
            sent = send(problem.gradient(theta, x, np.broadcast_to(y, x.shape[:-1])))
            best = np.maximum(best, np.linalg.norm(np.diff(sent, axis=-2)[..., 0, :], axis=-1))
        return best

    # (b)
    at = rng.standard_normal((4096, 3 * d + 3))
    at[:, 2 * d :] *= np.exp(np.where(rng.random((4096, d + 3)) < 0.5, rng.uniform(-12, 3, (4096, d + 3)), 0.0))
    first = distances(at)
    at, reached = at[np.argsort(first)[-32:]], np.sort(first)[-32:]
    for step in np.geomspace(1.0, 0.01, 160):
        if reached.max() > enough:
            break
        # (c)
        move = step * rng.standard_normal((32, 24, at.shape[1]))
        move[:, ::2] *= at[:, None]
        tried = at[:, None] + move
        distances_tried = distances(tried)
        best = distances_tried.argmax(axis=1)
        better = distances_tried.max(axis=1) > reached
        at[better] = tried[better, best[better]]
        reached = np.maximum(reached, distances_tried.max(axis=1))
    return float(reached.max())


def sensitivity_reached(subject: Subject[Any]) -> str:
    """Two users come within 3 % of the exact sensitivity."""
    problem, kind = _linear(subject), _kind(subject)
    exact = problem.exact_sensitivity()
    farthest = furthest(problem, np.random.default_rng(3), lambda gradient: gradient, 0.97 * exact)
    if farthest < 0.97 * exact:
        message = f"no two gradients are further than {farthest:.6g} apart, the exact sensitivity says {exact:.6g}"
        raise Breach(message, kind.exact_sensitivity)
    return f"two users {farthest:.4g} apart, of {exact:.4g}"


def optimum(subject: Subject[Any]) -> str:
    problem, rng = _linear(subject), np.random.default_rng(4)
    x, y = problem.sample(rng, 100_000)

    def z_score(theta: np.ndarray) -> float:
        g = problem.gradient(np.broadcast_to(theta, (len(y), problem.p)), x, y)
        return float(np.max(np.abs(g.mean(axis=0)) / np.maximum(g.std(axis=0) / math.sqrt(len(y)), 1e-12)))

    # Chance takes one coordinate beyond 4.5 standard errors in about 7 of a million tries.
    here = z_score(problem.optimum())
    if here >= 4.5:
        raise Breach(f"the mean gradient at optimum() is {here:.3g} standard errors from zero", type(problem).optimum)
    # Where the risk is flat around its optimum, the slope begins further away.
    away = z_score(problem.optimum() + (0.25 if problem.unknown_curvature() or problem.curvature().M else 1.0))
    if away <= 4.5:
        raise Breach("the mean gradient is as small away from optimum()", type(problem).optimum)
    return f"100,000 users: {here:.2g} standard errors from zero, {away:.3g} nearby"


def risk(subject: Subject[Any]) -> str:
    problem, rng = _linear(subject), np.random.default_rng(5)
    kind = type(problem)
    x, y = problem.sample(rng, 100_000)
    star = np.broadcast_to(problem.optimum(), (len(y), problem.p))
    # Losses of the same users at both points: their difference varies far less than either.
    at_star, worst = problem.loss(star, x, y), 0.0
    for theta in [problem.start(), *_states_near(problem, rng, 4, spread=1.0)]:
        difference = problem.loss(np.broadcast_to(theta, star.shape), x, y) - at_star
        error = difference.std() / math.sqrt(len(y))
        off = abs(float(problem.risk_gap(theta)) - difference.mean()) / max(error, 1e-300)
        if off >= 4.5:
            message = f"risk_gap is {off:.3g} standard errors from the mean loss of 100,000 users"
            raise Breach(message, kind.conditional_risk or kind)
        worst = max(worst, off)
    around = problem.risk_gap(_states_near(problem, rng, 200, 2.0))
    if problem.risk_gap(problem.optimum()) != 0 or not np.all(around > 0):
        raise Breach("risk_gap is not zero at optimum() and positive elsewhere", kind.optimum)
    theta = _states_near(problem, rng, 21)
    # Kernels ask for many points at once, and a stored curve must not depend on which.
    if not np.array_equal([problem.risk_gap(t) for t in theta], problem.risk_gap(theta)):
        raise Breach("risk_gap of a point depends on the other points of the call", kind.risk_gap)
    return f"5 points, at most {worst:.2g} standard errors from 100,000 users"


def curvature(subject: Subject[Any]) -> str:
    problem, rng = _linear(subject), np.random.default_rng(6)
    if (unknown := problem.unknown_curvature()) is not None:
        raise NotTried(f"{unknown}; its curvature predicts nothing")
    kind, constants = type(problem), problem.curvature()
    star, h, axes = problem.optimum(), 0.005, np.eye(problem.p)
    # The mixed second difference over four corners, for every pair of axes.
    signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    stencil, hessian = np.array([[a * s + b * t for s, t in signs] for a in axes for b in axes]), np.zeros_like(axes)
    # From three steps, so that a kink of the errors' density at the optimum (Laplace) costs no first order of h.
    for step, share in ((h, 8 / 3), (2 * h, -2), (4 * h, 1 / 3)):
        gaps = problem.risk_gap(star + step * stencil) * (share / (4 * step * step))
        hessian += (gaps[:, 0] - gaps[:, 1] - gaps[:, 2] + gaps[:, 3]).reshape(axes.shape)
    off = float(np.abs(hessian - constants.hessian).max())
    if off > 0.004 * max(constants.M, 0.05):  # M = 0 where the risk is flat
        raise Breach(f"the Hessian is {off:.2g} from second differences of the risk", kind._second_order)
    # Step sizes and predictions take m and M alone.
    eigenvalues = np.linalg.eigvalsh(constants.hessian)
    if not np.allclose((constants.m, constants.M), (eigenvalues[0], eigenvalues[-1]), rtol=1e-9, atol=1e-15):
        raise Breach("m and M are not the ends of the Hessian's eigenvalues", kind.curvature)
    x, y = problem.sample(rng, 100_000)
    g = problem.gradient(np.broadcast_to(star, (len(y), problem.p)), x, y)
    products = g[:, :, None] * g[:, None, :]
    # Entry by entry, with the error of a mean of products.
    error = products.std(axis=0) / math.sqrt(len(y))
    if np.any(np.abs(products.mean(axis=0) - constants.score_covariance) >= 5 * error + 1e-12):
        raise Breach("the score covariance is not that of 100,000 users' gradients", kind._second_order)
    return f"Hessian within {off:.1g} of second differences; covariance of 100,000 users"


def _gradients(problem: FiniteSum, w: np.ndarray) -> np.ndarray:
    """Gradients of every record at w, [N, d], by the compiled loss."""
    data, compute = problem.records, problem.record_loss.gradient
    out = np.empty((problem.count, problem.dimension))
    for i in range(problem.count):
        compute(w, data.x[i], data.y[i], problem.constants, out[i])
    return out


def sum_gradient(subject: Subject[Any]) -> str:
    problem, rng = _small_sum(subject), np.random.default_rng(7)
    h, worst = 1e-6, 0.0
    for spread in (0.1, 1.0, 3.0):
        w = problem.start() + spread * rng.standard_normal(problem.dimension)
        _, slope = problem.objective(w)
        axes = np.eye(problem.dimension)
        differences = [(problem.objective(w + h * e)[0] - problem.objective(w - h * e)[0]) / (2 * h) for e in axes]
        worst = max(worst, float(np.abs(slope - differences).max()))
    if worst > 1e-6 * max(1.0, problem.lipschitz):
        raise Breach(f"grad F differs from the slope of F by {worst:.2g}", type(problem))
    return f"3 points of {problem.dimension} parameters, within {worst:.1g}"


def sum_constants(subject: Subject[Any]) -> str:
    """G and L on the data, at points near and far; the data themselves the same when built again."""
    problem, rng = _small_sum(subject), np.random.default_rng(8)
    kind = type(problem)
    first, second = problem.build(), problem.build()
    if not (np.array_equal(first.x, second.x) and np.array_equal(first.y, second.y)):
        raise Breach("the data are others when they are built again", kind.build)
    if first.x.shape != (problem.count, problem.dimension) or first.y.shape != (problem.count,):
        sizes = f"stated N = {problem.count}, d = {problem.dimension}"
        raise Breach(f"the data are {first.x.shape} and {first.y.shape}, {sizes}", kind.build)
    steepest = bend = 0.0
    for spread in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0):
        w = spread * rng.standard_normal(problem.dimension)
        # Close enough for the slope of a gradient to stay, far enough for rounding not to count.
        near = w + 1e-4 * rng.standard_normal(problem.dimension)
        a, b = _gradients(problem, w), _gradients(problem, near)
        # neighbours differ in what depends on the record: a common part of all gradients is no record's
        steepest = max(steepest, float(np.linalg.norm(a - a[:1], axis=-1).max() / 2))
        bend = max(bend, float((np.linalg.norm(b - a, axis=-1) / np.linalg.norm(near - w)).max()))
    if steepest > problem.lipschitz * (1 + 1e-9):
        message = f"two records' gradients are {2 * steepest:.6g} apart, more than 2 G = {2 * problem.lipschitz:.6g}"
        raise Breach(message, kind.lipschitz.fget)  # type: ignore[attr-defined]
    if bend > problem.smoothness * (1 + 1e-6):
        message = f"a gradient changes by {bend:.6g} a unit, more than L = {problem.smoothness:.6g}"
        raise Breach(message, kind.smoothness.fget)  # type: ignore[attr-defined]
    return f"at most {steepest:.3g} of G = {problem.lipschitz:.3g} and {bend:.3g} of L = {problem.smoothness:.3g}"


LOSSES: tuple[Promise[Any], ...] = (
    Promise("gradient", "The gradient is the slope of the loss, by finite differences.", gradient),
    Promise("sensitivity holds", "No random pair of users is further apart than stated.", sensitivity_holds),
    Promise("sensitivity reached", "Some pair of users is as far apart, up to 3 %.", sensitivity_reached),
    Promise("optimum", "The mean gradient of many users is zero at the optimum, and not nearby.", optimum),
    Promise("risk", "The risk gap is the mean of the losses of many users; zero at the optimum, else positive.", risk),
    Promise("curvature", "Hessian and score covariance are those of the risk and of the gradients.", curvature),
    Promise("gradient of the sum", "The gradient of F is its slope, by finite differences.", sum_gradient),
    Promise("constants of the sum", "No record exceeds G and L; data built again are the same.", sum_constants),
)
"""what holds for any parameters of a problem"""
CHECKS: tuple[Promise[Any], ...] = (
    Promise("members", "Its members exist, and memory, notices and files have their types.", registered_problem),
    Promise("is run", "Some algorithm runs on it.", is_run),
    *LOSSES,
)
