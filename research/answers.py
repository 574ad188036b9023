"""Open questions of differentially private SGD, answered by exact laws and runs, as a plug-in.

dpexp claims answers --plugin research/answers.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpexp.accounting.allocation import REACH, AtomPair, EpochLoss, epoch_loss, losses_of
from dpexp.accounting.functions import erfcx, gauss_legendre
from dpexp.accounting.loss_grid import UNIT
from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.search import narrow
from dpexp.config.cells import Cell
from dpexp.plugins import Plugin
from dpexp.privacy.analyses.last_iterate import last_iterate
from dpexp.privacy.exact.walk import Walk, WalkLaw, renyi
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting import style
from dpexp.reporting.checks import JOINT, Pair, above, in_order, near, predictions_agree, rates_agree, ratio_to
from dpexp.reporting.claim import Check, Outcome, Verdict
from dpexp.reporting.figure import Drawing
from dpexp.reporting.paper import Paper, declared_paper
from dpexp.reporting.results.gather import Theory
from dpexp.store.evidence import Evidence, labels
from dpexp.store.stats import interval
from dpexp.theory.ldp_sgd.linearised import averaged_bias, linearised_moments, modes_of, noisy_covariance
from dpexp.theory.ldp_sgd.terms import power_sum

# --- Balls in bins
#
# Is balls in bins never worse than Poisson batches? Certified brackets of both, and the law of small steps.
#
# A record is in one of t batches of each of E epochs, or in each batch with probability 1 / t; the noise is z, all sums are
# released, and a record is removed. With v = (e^(1/z^2) - 1) / t, the chi-square divergence of an epoch of balls in bins, and
# mu^2 = E v, both are mu-Gaussian private in the limit of small v. The next term is, for fixed mu and epsilon,
#
#     epsilon of bins - epsilon of Poisson = u (1 - epsilon / mu^2) + o(v),  u = (1 - 1/t) v (mu / 2) r(epsilon / mu + mu / 2),
#
# r the hazard of the normal law: bins is worse below epsilon = mu^2 and better above (expand (1 + S) log(1 + S)^k to fourth
# order in S, an epoch's ratio less 1: second and third moments agree, and the fourth differs by 3 (1 - 1/t) v^2).

CROSSED = ((2, 1.0, 100, 1e-2), (4, 1.0, 100, 1e-2), (10, 2.0, 1000, 1e-2), (4, 1.0, 1000, 1e-5), (4, 1.0, 1000, 1e-12))
"""(t, z, E, delta) at which balls in bins has the larger epsilon"""
ONCE = ((2, 1.0, 1), (2, 0.5, 1), (10, 1.0, 1), (100, 1.0, 1), (100, 0.5, 1), (100, 1.0, 10), (10, 2.0, 20))
"""(t, z, E) at which membership is guessed"""
REPLACED = ((1.0, 1, 1e-2), (1.0, 1, 1e-5), (2.0, 1, 1e-5), (2.0, 10, 1e-5), (1.0, 100, 1e-10))
"""(z, E, delta) of two batches, where a record is replaced"""
RECTANGLES, ATOMS = 2000, 1000
"""of one batch, where a record is replaced"""
KINDS = ((64, 1.0), (16, 2.0), (16, 1.0), (4, 1.0))
"""(t, z) of the figure; v falls from the last to the first two"""
SMALL = KINDS[:2]
TOTALS = (1.0, 4.0, 16.0, 36.0)
"""mu^2"""
DELTAS = (0.1, 1e-2, 1e-3, 1e-4, 1e-5)
NEAR, FAR = 0.15, 2.6
"""epsilon / mu^2 at which the limit is compared with brackets: at least so far from 1, and at most so large"""


class Compared(NamedTuple):
    """Brackets of epsilon for a removed record, which has the larger one of Poisson batches too."""

    t: int
    z: float
    epochs: int
    delta: float
    mu: float
    bins: tuple[float, float]
    poisson: tuple[float, float]

    @property
    def ratio(self) -> float:
        """epsilon / mu^2, of Poisson batches."""
        return sum(self.poisson) / 2 / self.mu**2

    @property
    def scaled(self) -> tuple[float, float]:
        """A bracket of the difference over u: 1 - epsilon / mu^2 in the limit."""
        # u of the law above, with v = mu^2 / E
        unit = (1 - 1 / self.t) * self.mu**3 / (2 * self.epochs) * _hazard((self.ratio + 0.5) * self.mu)
        return (self.bins[0] - self.poisson[1]) / unit, (self.bins[1] - self.poisson[0]) / unit


def _hazard(at: float) -> float:
    """phi(x) / Phi(-x)."""
    return math.sqrt(2 / math.pi) / float(erfcx(at / math.sqrt(2)))


@cache
def compared(kinds: tuple[tuple[int, float], ...]) -> tuple[Compared, ...]:
    """Both schemes for every kind of epoch, mu and delta."""
    rows = []
    for (t, z), total, delta in product(kinds, TOTALS, DELTAS):
        v = math.expm1(z**-2) / t
        epochs = round(total / v)
        law = epoch_loss(1 / z, t).times(epochs)
        low, high = (losses_of(law, side)[0].eps(delta) for side in ("below", "above"))
        steps = step_loss(1 / t, z, "add-remove").times(t * epochs)
        poisson = steps.attained(delta), steps.eps(delta)
        rows.append(Compared(t, z, epochs, delta, math.sqrt(epochs * v), (low, high), poisson))
    return tuple(rows)


def crossed() -> dict[str, float]:
    """What balls in bins attains over what Poisson batches have at most: epsilon, a record added or removed."""
    return {
        f"t = {t}, z = {z:g}, E = {epochs:,}, delta = {delta:g}": epoch_loss(1 / z, t).times(epochs).attained(delta)
        / step_loss(1 / t, z, "add-remove").times(t * epochs).eps(delta)
        for t, z, epochs, delta in CROSSED
    }


def membership() -> dict[str, float]:
    """The same of the advantage, delta at epsilon = 0."""
    return {f"t = {t}, z = {z:g}, E = {epochs}": _advantages(t, z, epochs) for t, z, epochs in ONCE}


def _advantages(t: int, z: float, epochs: int) -> float:
    """Attained with balls in bins over the largest of Poisson batches."""
    loss, attained = epoch_loss(1 / z, t).times(epochs), step_loss(1 / t, z, "add-remove").times(t * epochs).delta(0.0)
    # the advantage is at least every delta at which an epsilon above 0 is attained
    return narrow(lambda delta: loss.attained(delta) <= 0, 0.0, 1.0, absolute=1e-9).below / attained


class Opposite(EpochLoss):
    """Two batches of an epoch, the record's gradient C against -C, from below: rectangles of both sums, merged."""

    @cached_property
    def dominated(self) -> AtomPair:
        from scipy.special import ndtr

        far = self.mu + REACH
        # rectangles of both sums are outcomes of a coarser release, which can only tell less
        x = np.linspace(-far, far, RECTANGLES + 1)
        up, none, down = (
            np.concatenate(
                [[ndtr(x[0] - m)], np.where(x[1:] <= m, np.diff(ndtr(x - m)), -np.diff(ndtr(m - x))), [ndtr(m - x[-1])]]
            )
            for m in (self.mu, 0.0, -self.mu)
        )
        p, q = ((np.outer(mass, none) + np.outer(none, mass)).ravel() / 2 for mass in (up, down))
        losses = np.log(p) - np.log(q)
        cell = ((losses - losses.min()) * (ATOMS / np.ptp(losses))).astype(np.int64)
        masses = np.array([np.bincount(cell, q), np.bincount(cell, p)])
        # a lower bound may leave out what has no finite loss
        used = masses[:, (masses > 0).all(axis=0)]
        return AtomPair("below", 0, 1.0, used, relative=UNIT * (8 + 8 / (x[1] - x[0]) + len(p)))


def replaced() -> dict[str, float]:
    """What a replaced record attains with balls in bins over the most with Poisson batches: two batches of an epoch."""
    return {
        f"t = 2, z = {z:g}, E = {epochs}, delta = {delta:g}": Opposite(1 / z, 2).times(epochs).attained(delta)
        / step_loss(0.5, z, "replace-one").times(2 * epochs).eps(delta)
        for z, epochs, delta in REPLACED
    }


def small_steps() -> dict[str, tuple[float, float]]:
    """1, and the scaled difference over its limit, where v is small."""
    values = {}
    for row in compared(SMALL):
        if abs(1 - row.ratio) >= NEAR and row.ratio <= FAR:
            label = f"t = {row.t}, z = {row.z:g}, E = {row.epochs:,}, delta = {row.delta:g}"
            values[label] = (1.0, sum(row.scaled) / 2 / (1 - row.ratio))
    return values


def draw_bins(results: Path) -> Drawing:
    """The scaled difference against epsilon / mu^2: brackets, and the line of the limit."""
    import pandas as pd

    canvas, (axes,) = style.panels(6.4, 4.6, log=False)
    records = []
    for (t, z), colour in zip(KINDS, ("#2b6cb8", "#2a9d6f", "#d98c00", "#a50f4c"), strict=True):
        of = [row for row in compared(KINDS) if (row.t, row.z) == (t, z) and row.ratio <= FAR]
        middles = [sum(row.scaled) / 2 for row in of]
        halves = [(row.scaled[1] - row.scaled[0]) / 2 for row in of]
        label = f"t = {t}, z = {z:g}, v = {math.expm1(z**-2) / t:.2g}"
        axes.errorbar([row.ratio for row in of], middles, halves, fmt="o", markersize=3.5, color=colour, label=label)
        records += [{**row._asdict(), "ratio": row.ratio, "low": row.scaled[0], "high": row.scaled[1]} for row in of]
    axes.plot([0.5, FAR], [0.5, 1 - FAR], color="#555555", linewidth=1.2, label="limit of small v")
    axes.axhline(0, color="#555555", linewidth=0.8, linestyle=":")
    axes.annotate("balls in bins is worse", (FAR, 0.05), ha="right", va="bottom", fontsize=8)
    axes.annotate("Poisson is worse", (FAR, -0.05), ha="right", va="top", fontsize=8)
    axes.set(xlabel=r"$\epsilon / \mu^2$", ylabel=r"difference of $\epsilon$, in units of $u$")
    axes.set_title("Balls in bins against Poisson batches")
    axes.legend(frameon=False, fontsize=8)
    return Drawing(canvas, pd.DataFrame(records))


CERTIFIED = "loss distributions: bins rounded down, Poisson rounded up"

worse = partial(above, uncertainty=CERTIFIED, quantity="bins attained / Poisson certified", verdict="reproduced")


# --- Extrapolation to step size 0
#
# Does extrapolation to step size 0 give LDP-ASGD its 1/n back, and is it worth its variance? From stored runs.
#
# For alpha < 1/2 the average of LDP-SGD is off by B eta times the mean of k^-alpha, of order n^-alpha, and its squared
# error falls like n^-2 alpha. `extrapolated-ldp-sgd` is the intercept of the iterates on their step sizes. In the limit
# its squared error is (1 - alpha)^2 / alpha^2 times tr(H^-1 S_mu H^-1) / n.

EXTRAPOLATION = "extrapolation"
SQUARED = "param_distance_sq"
BELOW_HALF, PRIVATE = (1 / 3, 0.4), ("1", "2")
WON = ((5, "0.5"), (20, "0.5"), (20, "1"), (20, "2"))
LOST = ((5, "non-private"), (20, "non-private"))
"""(d, budget) where the best alpha of the extrapolation has the smaller or the larger error"""


def extrapolated_rate(evidence: Evidence) -> Outcome:
    """Exponents of the extrapolation below alpha = 1/2."""
    runs = evidence.runs(EXTRAPOLATION, d=5, alpha=BELOW_HALF, budget=PRIVATE)
    return rates_agree(runs, "extrapolated", SQUARED, lambda alpha: -1.0, "extrapolated to step size 0")


def least_error(evidence: Evidence, d: int, budget: str, estimator: str) -> np.ndarray:
    """Final squared errors [R] at the alpha whose mean is least."""
    # the best alpha of each, as somebody would choose it who knew all
    ends = [run.values(estimator, SQUARED)[-1] for run in evidence.runs(EXTRAPOLATION, budget=budget, d=d)]
    return min(ends, key=lambda values: float(values.mean()))


def smaller_at_best(
    settings: Sequence[tuple[int, str]], smaller: str, larger: str, predicted: str
) -> Callable[[Evidence], Outcome]:
    """The check that one estimator has the smaller error than another, with the best alpha of each."""

    def check(evidence: Evidence) -> Outcome:
        pairs = [
            Pair(f"d = {d}, {budget}", *(least_error(evidence, d, budget, name) for name in (smaller, larger)))
            for d, budget in settings
        ]
        return in_order(pairs, predicted)

    return check


# --- Losses with a kink
#
# Losses with a kink, `ldp-sgd`'s future work: is the average of LDP-SGD biased for alpha < 1/2 there, too?
#
# The bias is -H^-1 F'''[V] / 2 times the mean step size.

KINKS = "kinks"
TOLERANCE = 0.3
TIMES = 10.0
"""how often the squared error of the hinge loss is at least the one without a bias"""


def predicted_error(cell: Cell, steps: np.ndarray) -> np.ndarray:
    """Mean squared error of the average at these steps: the linearised recursion, and the bias where F''' is known."""
    problem, schedule = cell.problem, cell.schedule.model_dump()
    eta, alpha = float(schedule["eta"]), float(schedule["alpha"])
    assert isinstance(problem, LinearPredictorProblem)
    curvature, third = problem.curvature(), problem.third_derivative()
    noise = problem.noise_sensitivity(), cell.privacy.mu.mean_inverse_square
    covariance = noisy_covariance(curvature.score_covariance, *noise)
    modes = modes_of(curvature.hessian, covariance, problem.start() - problem.optimum())
    error: np.ndarray = linearised_moments(steps, np.array([eta]), alpha, modes).average[0].sum(axis=-1)
    if third is None:
        return error
    mean = eta * power_sum(alpha, steps) / steps
    # the bias of a unit step grows with the mean step size so far
    biased: np.ndarray = error + float(np.sum(averaged_bias(curvature.hessian, third, covariance, 1.0) ** 2)) * mean**2
    return biased


def pinball(evidence: Evidence) -> Outcome:
    """Both quantiles at mu = 2, with the prediction."""
    runs = evidence.runs(KINKS, problem="pinball-linear", budget="2")
    ratios = [
        ratio_to(label, run.values("asgd", SQUARED)[-1], float(predicted_error(run.cell, run.steps)[-1]), len(runs))
        for run, label in zip(runs, labels(runs), strict=True)
    ]
    # of the pinball loss F''' is that of the errors' density at the quantile: 0 only at the median of symmetric errors
    return predictions_agree(ratios, TOLERANCE, "linearised recursion and bias, which is 0 at the median")


def _more_than(times: float, ratios_by_name: dict[str, list[float]]) -> Verdict:
    if all(low > times for _, low, _ in ratios_by_name.values()):
        return "reproduced"
    return "false" if any(high < times for *_, high in ratios_by_name.values()) else "not at this sample size"


def hinge(evidence: Evidence) -> Outcome:
    """How often the error without a bias the error is."""
    runs = evidence.runs(KINKS, problem="mallows-hinge")
    slopes = {}
    for run, label in zip(runs, labels(runs), strict=True):
        mean, low, high = interval(run.values("asgd", SQUARED)[-1], 1 - JOINT / len(runs))
        slopes[label] = [float(end / predicted_error(run.cell, run.steps)[-1]) for end in (mean, low, high)]
    return Outcome(
        _more_than(TIMES, slopes),
        f"at least {TIMES:g} times the squared error of the linearised recursion",
        "measured / linearised: " + "; ".join(f"{label} {mean:.3g}" for label, (mean, _, _) in slopes.items()),
        f"joint 95% over {len(runs)}",
        slopes,
    )  # fmt: skip


def _curves(cell: Cell, estimator: str, metric: str, steps: np.ndarray) -> dict[str, np.ndarray]:
    return {"prediction": predicted_error(cell, steps)}


PREDICTED = Theory(lambda cell, estimator, metric: None, _curves)


# --- The private regime
#
# How the last iterate's divergence depends on theta in the private regime of noisy SGD, in one dimension.
#
# Without the record the place of the last iterate has a stationary law on the set; u is the place over the width. A record of
# slope -L or +L tilts it: in the limit of steps that are small beside the width its density is multiplied by e^(+-theta u),
# theta = 2 L D / (n eta sigma^2). The divergence of order a of the two tilted laws goes to
#
#     {log E e^((2 a - 1) theta u) + (a - 1) log E e^(-theta u) - a log E e^(theta u)} / (a - 1),
#
# which is 2 a theta^2 Var(u) for small theta: the exponent is 2 whatever the others' losses, and these enter by Var(u), 1/12
# where they are flat. Theorem 3.1 has 2 a theta.

WIDTH, STEPS = 100.0, 10**7
"""of the set, in noise units of a step; many mixing times, 2 / pi^2 times its square"""
AT_THE_WALL = 2.0
"""log of the stationary density in the middle over the one at a wall, where the others' losses are not flat"""
POWERS = {"flat": 0, "quadratic": 2, "cubic": 3}
THETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
ORDERS = (2.0, 8.0)
DRAWN = 8.0


def exact(shape: str, theta: float, order: float) -> float:
    """The divergence of the exact laws after `STEPS` steps that all hold the record."""
    return renyi(*_laws(shape, theta), order)


@cache
def _laws(shape: str, theta: float, steps: int = STEPS) -> tuple[WalkLaw, WalkLaw]:
    """Of the record's two slopes."""
    walks = (Walk(WIDTH / 2, ((1.0, _pushed(POWERS[shape], sign * theta / (2 * WIDTH))),), (0.0,)) for sign in (1, -1))
    first, other = (WalkLaw(walk, steps) for walk in walks)
    return first, other


def _pushed(power: int, drift: float) -> Callable[[np.ndarray], np.ndarray]:
    """One step of the mean: the others' loss is |y|^power, with density e^(-AT_THE_WALL |2 y / width|^power)."""
    half = WIDTH / 2
    return lambda y: y + drift - AT_THE_WALL * power / (2 * half) * np.sign(y) * (np.abs(y) / half) ** max(power - 1, 0)


def limit(shape: str, theta: float, order: float) -> float:
    """The divergence of the tilted stationary laws."""
    x, w = gauss_legendre(64)
    places, power = np.concatenate([x - 1, x + 1]) / 4, POWERS[shape]  # either half of the set
    # on either half of the set by itself, since the loss has a kink in the middle
    density = np.tile(w, 2) * np.exp(-AT_THE_WALL * np.abs(2 * places) ** power)

    def log_mean(tilt: float) -> float:
        return math.log(float(density @ np.exp(tilt * places)) / float(density.sum()))

    total = log_mean((2 * order - 1) * theta) + (order - 1) * log_mean(-theta) - order * log_mean(theta)
    return total / (order - 1)


@cache
def exact_and_limit() -> dict[tuple[str, float, float], tuple[float, float]]:
    """Exact and limit, by shape, theta and order."""
    keys = [(shape, theta, order) for shape in POWERS for theta in THETAS for order in ORDERS]
    return {key: (exact(*key), limit(*key)) for key in keys}


def ratios() -> dict[str, tuple[float, float]]:
    """1, and the exact divergence over the limit."""
    return {
        f"{shape}, theta = {theta:g}, order {order:g}": (1.0, exact / limit)
        for (shape, theta, order), (exact, limit) in exact_and_limit().items()
    }


def draw_private_regime(results: Path) -> Drawing:
    """The divergence of order 8 against theta: the bound, exact laws, and the limit."""
    import pandas as pd

    canvas, (axes,) = style.panels(6.2, 4.3)
    bounds = [last_iterate(DRAWN, 1.0, WIDTH / theta, WIDTH, STEPS, "symmetrised") for theta in THETAS]
    axes.plot(THETAS, bounds, color="#555555", linestyle="--", label="Theorem 3.1, evaluated")
    fine, records = np.geomspace(THETAS[0], THETAS[-1], 60), []
    for shape, colour in zip(POWERS, ("#2b6cb8", "#2a9d6f", "#a50f4c"), strict=True):
        exact = [exact_and_limit()[shape, theta, DRAWN][0] for theta in THETAS]
        axes.plot(THETAS, exact, "o", color=colour, markersize=4, label=f"exact, other losses {shape}")
        axes.plot(fine, [limit(shape, theta, DRAWN) for theta in fine], color=colour, linewidth=1.2)
        limits = [limit(shape, theta, DRAWN) for theta in THETAS]
        columns = {"losses": shape, "theta": THETAS, "bound": bounds, "exact": exact, "limit": limits}
        records.append(pd.DataFrame(columns))
    words = "Renyi divergence of order 8 of the last iterate"
    axes.set(xlabel=r"$\theta = 2 L D / (n \eta \sigma^2)$", ylabel=words)
    axes.legend(frameon=False)
    return Drawing(canvas, pd.concat(records))


# --- the paper

FIGURES = {
    "bins_against_poisson": (draw_bins, ()),
    "private_regime": (draw_private_regime, ()),
}
CHECKS = {
    "answers/bins/epsilon": worse(crossed, "settings with a larger epsilon"),
    "answers/bins/advantage": worse(membership, "settings with a larger advantage"),
    "answers/bins/replaced": worse(replaced, "settings with a larger epsilon"),
    "answers/bins/small-steps": near(
        small_steps, 0.3, "difference of epsilon over its limit", uncertainty="brackets, about 0.03 of the unit wide",
    ),
    "answers/extrapolation/rate": Check(extrapolated_rate, (EXTRAPOLATION,)),
    "answers/extrapolation/wins": Check(
        smaller_at_best(WON, "extrapolated", "asgd", "smaller squared error than the average, best alpha of each"), (EXTRAPOLATION,),
    ),
    "answers/extrapolation/loses": Check(
        smaller_at_best(LOST, "asgd", "extrapolated", "the average has the smaller squared error, best alpha of each"), (EXTRAPOLATION,),
    ),
    "answers/kinks/pinball": Check(pinball, (KINKS,)),
    "answers/kinks/hinge": Check(hinge, (KINKS,)),
    "answers/private-regime/law": near(
        ratios, 0.06, "exact over the limit",
        uncertainty="exact laws; the limit is of steps small against the width, here 1 / 100",
    ),
}  # fmt: skip
PAPER = Paper(
    id="answers",
    title="Open questions of differentially private SGD, answered by exact laws and runs",
    authors="dpexp",
    configs=(EXTRAPOLATION, KINKS),
    **declared_paper(Path(__file__).with_suffix(".yaml"), "answers", CHECKS, FIGURES, theory=PREDICTED),
)
PLUGIN = Plugin(papers=(PAPER,), inputs=("answers.yaml",))
