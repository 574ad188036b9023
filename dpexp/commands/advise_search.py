"""Which step size, which decay, and whether to average: `ldp-sgd`'s practical guidelines as a computation.

The linearised recursion predicts the error of every (eta, alpha, estimator) on a grid; a short simulation of the best
of them on common random numbers, with the paper's default beside them, makes the choice; fresh users confirm it.
The intercept of the same paths on their step sizes (docs/answers.md) is offered where it has the smaller error.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpexp.algorithms.extrapolated_ldp_sgd import ExtrapolatedLdpSgd
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.near_the_optimum import Local, local, predicted_errors
from dpexp.algorithms.schedules import Power
from dpexp.core.terminal import finished, tell
from dpexp.privacy.budgets import Budget, ConstantBudget
from dpexp.store.executors import EXECUTORS
from dpexp.store.stats import Difference, mean_and_reach, paired_difference

if TYPE_CHECKING:
    from dpexp.problems.linear_predictor import LinearPredictorProblem

METRICS = {"distance": "param_distance_sq", "loss": "loss_gap"}
ALPHAS = (0.0, 1 / 3, 0.4, 1 / 2, 0.6, 2 / 3, 0.8, 1.0)
STEPS_TIMES_M = np.geomspace(1e-3, 1.5, 31)
"""initial step sizes tried, in units of 1 / M; beyond 2 / M the linear iteration diverges"""
DEFAULT_ETA, DEFAULT_ALPHAS = 0.2, (1 / 3, 1 / 2, 2 / 3, 1.0)
"""the paper's"""
SIMULATED = 1_000_000
"""users of the trial at most; for more users its results are carried over by the recursion"""
SHOWN = 3
"""runners-up that are confirmed with fresh users too"""
SIFTED = 8
"""the first trial, of all settings, has one of so many replicates: it says which are tried again, on fresh users"""
HALVED = (8, 4, 2)
"""the second begins with one of so many replicates, and goes on with the better settings; the third has them all"""
SIDE_BY_SIDE = 8
"""replicates that take as long as one"""
REFUTED = 2.0
"""factor from the nearer end of the trial's 95% interval at which a prediction (of a mean squared distance or a mean
loss gap) counts as refuted: the recursion is a linearisation, so that less is what it is expected to miss"""
Known = dict[tuple[Hashable, ...], np.ndarray]
"""errors of a setting, [estimators, replicates] from the first one on, by trial and setting"""


@dataclass(frozen=True)
class Choice:
    """A setting with its errors: mean squared distance or mean loss gap, by the metric asked for."""

    estimator: str
    eta: float
    alpha: float
    predicted: float = math.nan
    """at n users, by the linearised recursion; nan for an extrapolated path, which it does not describe"""
    predicted_trial: float = math.nan
    """at the users of the trial"""
    simulated: float = math.nan
    """mean over the replicates of the trial"""
    reach: float = math.nan
    """half its 95% interval"""

    @property
    def carrier(self) -> float:
        """Factor that carries an error from the trial to n users."""
        return 1.0 if math.isnan(self.predicted) else self.predicted / self.predicted_trial

    @property
    def carried(self) -> float:
        """Simulated error carried from the trial to n users."""
        return self.simulated * self.carrier

    @property
    def refuted(self) -> bool:
        """Whether the trial says that the recursion does not describe this setting; False before the trial."""
        low, high = self.simulated - self.reach, self.simulated + self.reach
        return self.predicted_trial * REFUTED < low or high * REFUTED < self.predicted_trial


@dataclass(frozen=True)
class Advice:
    """The best setting for users with some budgets, the best without privacy, and what the paper's default loses."""

    problem: LinearPredictorProblem
    budget: Budget
    n: int
    metric: str
    trial: int
    replicates: int
    best: Choice
    public: Choice
    defaults: tuple[Choice, ...]
    candidates: tuple[Choice, ...]
    """runners-up, one an alpha and estimator"""
    extrapolated: tuple[Choice, Difference] | None = None
    """the best intercept, and its error beside that of `best`; None where errors are carried to more users"""

    @property
    def offered(self) -> bool:
        """Whether the intercept has the smaller error, with 95% confidence."""
        return self.extrapolated is not None and self.extrapolated[1].ratio_hi < 1

    @property
    def default(self) -> Choice:
        """The best that the paper's eta = 0.2 gives, over its four alphas and both estimators."""
        return min(self.defaults, key=lambda c: c.carried)

    @property
    def cost_of_privacy(self) -> float:
        """Ratio of the best errors with and without privacy: of root mean square distances, or of loss gaps."""
        return self._ratio(self.best, self.public)

    @property
    def regret(self) -> float:
        """Ratio of the default's error to the best, in the same units."""
        return self._ratio(self.default, self.best)

    def _ratio(self, a: Choice, b: Choice) -> float:
        return shown(a.carried, self.metric) / shown(b.carried, self.metric)


def shown(value: float, metric: str) -> float:
    """An error as it is reported: root mean square distance, or loss gap."""
    return math.sqrt(value) if metric == "distance" else value


def advise(
    problem: LinearPredictorProblem,
    budget: Budget,
    n: int,
    metric: str = "distance",
    replicates: int = 48,
    seed: int = 0,
    jobs: int = 1,
    known: Known | None = None,
) -> Advice:
    """Recommend a setting of LDP-SGD for n users. Raises ValueError where the Hessian at the optimum is singular.

    `known` keeps the errors of settings from one budget to the next: without privacy they are the same.
    """
    known = {} if known is None else known
    trial = min(n, SIMULATED)
    nobody = ConstantBudget(mu=math.inf)
    tell("the curvature of the risk at its optimum")
    # with and without privacy on the same users, so that their ratio is the price of privacy
    places = (local(problem, budget), local(problem, nobody))
    # step sizes in units of 1 / M: beyond 2 / M the linear iteration diverges
    etas = np.append(STEPS_TIMES_M / float(np.linalg.eigvalsh(places[0].hessian)[-1]), DEFAULT_ETA)
    work = [(_predicted, (places, etas, alpha, n, trial, metric)) for alpha in ALPHAS]
    done = dict(finished(EXECUTORS["threads"](work, jobs), len(work), "errors that the recursion predicts"))
    grids = [[done[k][of] for k in range(len(ALPHAS))] for of in range(len(places))]
    usual = [c for part in grids[0] for c in part if c.eta == DEFAULT_ETA and c.alpha in DEFAULT_ALPHAS]
    wide = [[_shortlist(part, name) for part in grid for name in LdpSgd.estimators] for grid in grids]

    def simulated(asked: Sequence[Sequence[Choice]], users: int, part: int = 1) -> list[list[Choice]]:
        groups = list(zip(asked, (budget, nobody, budget, budget), strict=False))  # the last are defaults and paths
        doing = f"trial {users + 1} of 3, {trial:,} users, groups of replicates"
        some = min(replicates, -(-replicates // (part * SIDE_BY_SIDE)) * SIDE_BY_SIDE)
        return _simulated(problem, groups, trial, metric, some, seed + users, jobs, doing, known)

    # two steps of each list say on which side of the least error they lie
    tried = simulated([*([c for steps in lists for c in steps[:2]] for lists in wide), usual], 0, SIFTED)
    smaller = simulated([_smaller(*pair) for pair in zip(wide, tried[:2], strict=True)], 0, SIFTED)
    private, public, defaults = [*tried[0], *smaller[0]], [*tried[1], *smaller[1]], tried[2]
    leaders = _leaders([*private, *defaults])
    tell("smaller and larger steps near the best")

    def refined(place: Local, best: Sequence[Choice]) -> list[Choice]:
        near = np.array([0.5, 0.7, 1.4])
        return [c for one in best for c in _predicted([place], one.eta * near, one.alpha, n, trial, metric)[0]]

    # both sides are searched alike: a coarser search without privacy would say that privacy costs nothing, or less
    best_public = _leaders(public)[:2]
    searched = [[*leaders, *refined(places[0], leaders[:2])], [*best_public, *refined(places[1], best_public)]]
    # the smaller noise of small steps is worth more to an intercept than to an average, as it has no bias to fear
    averages = [c for c in leaders if c.estimator == "asgd" and c.alpha > 0 and trial == n][:2]
    paths = [Choice("extrapolated", factor * c.eta, c.alpha) for c in averages for factor in (0.25, 0.5, 1.0)]
    for part in HALVED:
        private, public, paths = simulated([*searched, paths], 1, part)
        searched = [_better(private, 1 + SHOWN), _better(public, 1)]
    # one path alone is confirmed beside the best
    paths = sorted(paths, key=lambda c: c.simulated)[:1]
    last = [_leaders(private)[: 1 + SHOWN], _leaders(public)[:1], usual, paths]
    private, public, defaults, paths = simulated(last, 2)  # fresh users
    others = tuple(sorted(private[1:], key=lambda c: c.carried))
    without = private[0] if budget == nobody else public[0]
    advice = Advice(problem, budget, n, metric, trial, replicates, private[0], without, tuple(defaults), others)
    if not paths:
        return advice
    fresh = problem, trial, seed + 2, True
    intercepts, best = (_errors(known, fresh, c, budget)[:replicates] for c in (paths[0], advice.best))
    return replace(advice, extrapolated=(paths[0], paired_difference(intercepts, best)))


def _shortlist(choices: Sequence[Choice], estimator: str) -> list[Choice]:
    """For an estimator at one alpha the best predicted eta, and smaller ones: large noise favours smaller steps."""
    group = [choice for choice in choices if choice.estimator == estimator and choice.eta != DEFAULT_ETA]
    best = min(range(len(group)), key=lambda k: group[k].predicted, default=-1)
    # every third step downwards: large noise favours smaller ones than the recursion does
    return [group[k] for k in range(best, -1, -3)][:5]


def _smaller(lists: Sequence[Sequence[Choice]], tried: Sequence[Choice]) -> list[Choice]:
    """The rest of the lists whose second step did better than their first."""
    error = {(c.estimator, c.eta, c.alpha): c.carried for c in tried}
    # beyond a least error it only rises
    falls = [some for some in lists if len(some) > 2 and error[_name(some[1])] < error[_name(some[0])]]
    return [choice for some in falls for choice in some[2:]]


def _name(choice: Choice) -> tuple[str, float, float]:
    return choice.estimator, choice.eta, choice.alpha


def _better(choices: Sequence[Choice], fewest: int) -> list[Choice]:
    """The two best steps of each alpha and estimator among the better half of these, at least `fewest`."""
    leaders = _leaders(choices)
    kept = leaders[: max(fewest, len(leaders) // 2)]
    ranked = sorted(choices, key=lambda c: c.carried)
    return [c for one in kept for c in [c for c in ranked if (c.alpha, c.estimator) == (one.alpha, one.estimator)][:2]]


def _leaders(choices: Sequence[Choice]) -> list[Choice]:
    """The best simulated choice of every alpha and estimator, best first."""
    best: dict[tuple[float, str], Choice] = {}
    for choice in sorted(choices, key=lambda c: c.carried):
        best.setdefault((choice.alpha, choice.estimator), choice)
    return list(best.values())


def _predicted(
    places: Sequence[Local], etas: np.ndarray, alpha: float, n: int, trial: int, metric: str
) -> list[list[Choice]]:
    """Both estimators at every eta, by place."""
    found = predicted_errors(places, np.array([trial, n] if n > trial else [n]), etas, alpha, metric == "loss")
    return [
        [
            Choice(name, float(eta), alpha, float(values[-1]), float(values[0]))
            for e, eta in enumerate(etas)
            for name, values in (("sgd", errors.sgd[e]), ("asgd", errors.asgd[e]))
            if np.all(np.isfinite(values))
        ]
        for errors in found
    ]


def _simulated(
    problem: LinearPredictorProblem,
    groups: Sequence[tuple[Sequence[Choice], Budget]],
    trial: int,
    metric: str,
    replicates: int,
    seed: int,
    jobs: int,
    doing: str,
    known: Known,
) -> list[list[Choice]]:
    """The groups' choices with their simulated errors; all on the same users and noise directions."""
    extrapolated = any(c.estimator == "extrapolated" for choices, _ in groups for c in choices)
    trials = problem, trial, seed, extrapolated
    every = {_key(trials, c, mu): (Power(eta=c.eta, alpha=c.alpha), mu) for choices, mu in groups for c in choices}
    # replicates are keyed by their number, so that a larger trial goes on where a smaller one ended
    have = {at: known[at].shape[-1] if at in known else 0 for at in every}
    algorithm = ExtrapolatedLdpSgd() if extrapolated else LdpSgd()
    column = algorithm.metrics.index(METRICS[metric])
    for begin in sorted({count for count in have.values() if count < replicates}):
        new = [at for at, count in have.items() if count == begin]
        firsts = range(begin, replicates, SIDE_BY_SIDE)
        lanes = [list(range(first, min(first + SIDE_BY_SIDE, replicates))) for first in firsts]
        settings = [every[at] for at in new]
        tasks = [(algorithm.simulate, (problem, settings, np.array([trial]), seed, lane)) for lane in lanes]
        done = dict(finished(EXECUTORS["threads"](tasks, jobs), len(tasks), doing, alike=True))
        for k, at in enumerate(new):
            fresh = [done[task].values[k, :, 0, column] for task in range(len(tasks))]
            known[at] = np.concatenate([*([known[at]] if begin else []), *fresh], axis=-1)

    def measured(choice: Choice, budget: Budget) -> Choice:
        mean, reach = mean_and_reach(_errors(known, trials, choice, budget)[:replicates])
        return replace(choice, simulated=float(mean), reach=float(reach))

    return [[measured(choice, budget) for choice in choices] for choices, budget in groups]


def _key(trials: tuple[Hashable, ...], choice: Choice, budget: Budget) -> tuple[Hashable, ...]:
    """Of a path in a trial: (problem, users, seed, whether paths are extrapolated)."""
    return *trials, choice.eta, choice.alpha, budget


def _errors(known: Known, trials: tuple[Hashable, ...], choice: Choice, budget: Budget) -> np.ndarray:
    """Errors of a choice in a trial, by replicate."""
    found: np.ndarray = known[_key(trials, choice, budget)][ExtrapolatedLdpSgd.estimators.index(choice.estimator)]
    return found
