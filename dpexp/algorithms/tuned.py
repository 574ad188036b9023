"""Tuning that is paid for: every replicate is a whole private selection among candidates, as `tune:` of a config asks.

(a) A replicate draws K from the law `draws` and K candidates uniformly from the grid `over`. (b) It makes K runs, each
with batches, noise and start of its own (part k of the replicate's streams), and (c) keeps the best by its score: the
number of held-out records that the last iterate classifies correctly, with noise where these are private. What holds of
the release stands in `dpexp.privacy.mechanisms.tuned_runs`. (d) The target of the config is that of the whole
selection, so that a run has a smaller one: the largest epsilon of one run with which the price of the best is at most
the target.

K has no upper limit (a cut-off law is another law), and where a Poisson K is 0 the released weights are 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.dp_sgld import DpSgld
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.algorithms.sgd import Sgd
from dpexp.algorithms.softmax_runs import SoftmaxAlgorithm, learnt, measured, run_of, step_sizes, target
from dpexp.core.places import paths_from
from dpexp.core.roots import root
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.privacy.analyses.private_selection import NumberOfRuns, number_of_runs
from dpexp.privacy.batch_sampling import BatchSampling
from dpexp.privacy.budgets import Target
from dpexp.problems.softmax import Softmax

if TYPE_CHECKING:
    from dpexp.algorithms.algorithm import Settings
    from dpexp.algorithms.schedules import Schedule
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.tuned_runs import TunedRuns

MOST_CANDIDATES = 1000
SHARE_OF_TARGET = 1e-4
"""the least part of the target's epsilon that one run is tried with"""
FACTOR = math.log(4)
"""by which epsilon of one run is lowered until its price is below the target: the best of ten costs about twice one"""
TOLERANCE = 1e-4
"""relative, of epsilon of one run: so much of the target may stay unused"""
NOT_TUNED = ("name", "over", "draws", "score")


def _tuples(value: Any) -> Any:
    """Lists as tuples, as frozen parameters hold them; anything else is left for the check to refuse."""
    if not isinstance(value, Mapping):
        return value
    return {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}


def _law(text: str) -> str:
    number_of_runs(text)
    return text


Over = Annotated[dict[str, tuple[Any, ...]], BeforeValidator(_tuples)]
Draws = Annotated[str, AfterValidator(_law)]


class Candidate(NamedTuple):
    """One setting of the grid."""

    algorithm: SoftmaxAlgorithm
    schedule: Schedule
    steps: int


class Tuned(SoftmaxAlgorithm):
    """The best of a random number of runs of one of the algorithms on softmax regression."""

    over: Over = Field(default_factory=dict)
    """parameters of the algorithm or of its schedule, each with the list of values among which a run draws"""
    draws: Draws = "poisson 10"
    """the law of the number of runs: poisson MEAN, geometric MEAN, logarithmic MEAN, negative-binomial SHAPE MEAN"""
    score: Literal["noisy", "public"] = "noisy"
    """noisy: correct held-out records, with noise that protects these as much as training records; public: without
    noise, since the held-out records are public"""

    tuned: ClassVar[bool] = True
    base: ClassVar[type[SoftmaxAlgorithm]]
    """what a run is"""
    metrics: ClassVar[tuple[str, ...]] = (*SoftmaxAlgorithm.metrics, "runs", "candidate", "score")
    """of the best run, and beside them K, the candidate's number in the grid (from 0; -1 where K = 0), and its score.
    K is not released, so that of a user's own records -1 stands in its place"""

    @model_validator(mode="after")
    def _known(self) -> Tuned:
        # which schedule the config has is not known here: of the others a key is refused when candidates are made
        of_schedules = {key for kind in SCHEDULES.values() for key in _fields(kind)}
        own = set(self.base.model_fields) - set(NOT_TUNED)
        count = 1
        for key, values in self.over.items():
            if key not in own | of_schedules - set(NOT_TUNED):
                known = ", ".join(sorted(own | of_schedules - set(NOT_TUNED)))
                raise ValueError(f"'{key}' is no parameter of {self._kind} or of a schedule: {known}")
            if not values or len(set(map(repr, values))) < len(values):
                raise ValueError(f"'{key}' needs a list of different values")
            count *= len(values)
            for value in values if key in own else ():
                try:
                    self.base.model_validate({key: value})
                except ValidationError as error:
                    raise ValueError(f"'{key}': {value!r}: {error.errors()[0]['msg']}") from None
        if count > MOST_CANDIDATES:
            raise ValueError(f"{count:,} candidates; at most {MOST_CANDIDATES:,} are allowed")
        return self

    @property
    def _kind(self) -> str:
        return str(self.base.model_fields["name"].default)

    @property
    def drawn(self) -> NumberOfRuns:
        """The law of K."""
        return number_of_runs(self.draws)

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The grid: what every candidate changes, the last key of `over` fastest."""
        return [dict(zip(self.over, values, strict=True)) for values in itertools.product(*self.over.values())]

    def algorithm_of(self, setting: Mapping[str, Any]) -> SoftmaxAlgorithm:
        """The algorithm of a candidate. Raises ValidationError where its parameters do not fit each other."""
        own = {key: value for key, value in self.model_dump().items() if key not in NOT_TUNED}
        return self.base.model_validate(own | {key: setting[key] for key in setting if key in own})

    def candidates(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> tuple[Candidate, ...]:
        """Every setting of the grid. The longest runs take `n` steps, and the others as much less as their epochs say.

        Raises ValueError where a schedule does not take what the grid gives it.
        """
        algorithms = [self.algorithm_of(setting) for setting in self.settings]
        lengths = [one.steps(problem, schedule, budget) for one in algorithms]
        found = []
        for one, setting, length in zip(algorithms, self.settings, lengths, strict=True):
            rest = {key: value for key, value in setting.items() if key not in type(one).model_fields}
            ruled = type(schedule).model_validate(schedule.model_dump() | rest) if rest else schedule
            found.append(Candidate(one, ruled, max(1, round(n * length / max(lengths)))))
        return tuple(found)

    def steps(self, problem: Softmax, schedule: Schedule, budget: Budget) -> int:
        """Those of the longest candidate."""
        return max(self.algorithm_of(setting).steps(problem, schedule, budget) for setting in self.settings)

    def complaints(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """What is wrong with a candidate, or why the best of them has no price."""
        try:
            candidates = self.candidates(problem, schedule, budget, n)
        except ValidationError as error:
            first = error.errors()[0]
            place = "".join(f"'{part}' " for part in first["loc"])
            return [f"tune.over: {place}of schedule '{schedule.name}': {first['msg']}"]
        # each sentence once, in the order in which candidates come to it
        found: dict[str, None] = {}
        for one, setting in zip(candidates, self.settings, strict=True):
            words = ", ".join(f"{key} = {value}" for key, value in setting.items())
            for text in one.algorithm.complaints(problem, one.schedule, budget, one.steps):
                found[f"{text} (candidate {words})" if words else text] = None
        if found or budget.target is None or math.isinf(budget.target[0]):
            return list(found)
        return self._without_a_price(problem, candidates, *budget.target)

    def _without_a_price(
        self, problem: Softmax, candidates: tuple[Candidate, ...], eps: float, delta: float
    ) -> list[str]:
        from dpexp.privacy.analyses.private_selection import LOOSE

        trial = self.release_of(problem, candidates, Target(eps=eps, delta=delta))
        if len({one.neighboring_relation for one in trial.candidates}) > 1:
            return ["tune.over: candidates with different neighbours have no statement in common"]
        if not trial.analysis.valid:
            return [f"tune: {trial.analysis.refused}"]
        if trial.looseness > LOOSE:
            return [
                f"tune: a run's Renyi curve, from which the price of choosing follows, states {trial.looseness:.1f} "
                "times the epsilon of the run's own analysis, so that most of the budget would be wasted; sampling "
                "poisson and fixed-size have tight curves"
            ]
        if self._one_run(problem, candidates, eps, delta) is None:
            return [f"tune: no noise brings the price of {self.draws} runs down to eps = {eps:g}"]
        return []

    def _one_run(self, problem: Softmax, candidates: tuple[Candidate, ...], eps: float, delta: float) -> float | None:
        """Epsilon of one run, with which the best has the target; None where there is none."""
        texts = self.model_dump_json(), problem.model_dump_json()
        return _one_run(texts[0], type(self), candidates, texts[1], problem.folder, eps, delta)

    def budget_of_a_run(self, problem: Softmax, candidates: tuple[Candidate, ...], budget: Budget) -> Budget:
        """The target of each run; the budget itself without privacy. Raises ValueError where none is enough."""
        eps, delta = target(budget)
        if math.isinf(eps):
            return budget
        # (d); all candidates have the same one
        one = self._one_run(problem, candidates, eps, delta)
        if one is None:
            raise ValueError(f"no noise brings the price of {self.draws} runs down to eps = {eps:g}")
        return Target(eps=one, delta=delta)

    def score_noise(self, one: Budget) -> float:
        """Standard deviation of the noise on the score: a held-out record then has the target of one run, exactly."""
        from dpexp.privacy.accounting.gdp import mu_of

        if self.score == "public" or one.target is None or math.isinf(one.target[0]):
            return 0.0
        # one held-out record changes the number of correct ones by at most 1
        return 1 / mu_of(*one.target)

    def mechanism(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> TunedRuns:
        candidates = self.candidates(problem, schedule, budget, n)
        one = self.budget_of_a_run(problem, candidates, budget)
        return self.release_of(problem, candidates, one)

    def release_of(self, problem: Softmax, candidates: tuple[Candidate, ...], one: Budget) -> TunedRuns:
        """What is released where `one` is the budget of each run."""
        from dpexp.privacy.mechanisms.tuned_runs import TunedRuns

        runs = tuple(c.algorithm.mechanism(problem, c.schedule, one, c.steps) for c in candidates)
        noise = None if self.score == "public" else self.score_noise(one)
        delta = one.target[1] if one.target else 1e-5
        return TunedRuns(
            runs, self.drawn, noise, problem.held_out_records, delta, about=problem.data.records is not None
        )

    def seconds(self, problem: Softmax, n: int) -> float:
        """Those of K runs in the mean, each of the slowest candidate."""
        longest = max(self.algorithm_of(setting).seconds(problem, n) for setting in self.settings)
        # a run by itself takes twice as long as one of many settings
        return 2 * self.drawn.runs * longest

    def memory(self, problem: Softmax, n: int, checkpoints: int, settings: int) -> int:
        """Of one run at a time, and of the best so far of each setting."""
        one = max(self.algorithm_of(setting).memory(problem, n, checkpoints, 1) for setting in self.settings)
        weights = 4 * problem.shape.classes * problem.shape.width
        return one + (2 * (checkpoints + 2) + settings) * weights

    def simulate(
        self, problem: Softmax, settings: Settings, steps: np.ndarray, seed: int, replicates: Sequence[int]
    ) -> Passed:
        """Whole selections; trajectories are those of the run that is released.

        A candidate with fewer steps stays where it ended.
        """
        steps = np.asarray(steps, dtype=np.int64)
        shape = (len(settings), len(self.estimators), len(steps), len(self.metrics), len(replicates))
        values = np.empty(shape)
        weights = (len(settings), len(self.estimators), len(replicates), problem.shape.classes, problem.shape.width)
        parameters = np.empty(weights, np.float32) if problem.files() else None
        for s, (schedule, budget) in enumerate(settings):
            candidates = self.candidates(problem, schedule, budget, int(steps[-1]))
            one = self.budget_of_a_run(problem, candidates, budget)
            for r, replicate in enumerate(replicates):
                best = self.selected(problem, candidates, one, steps, seed, replicate)
                # K is not released of a user's own records
                chosen = (best.runs if parameters is None else -1, best.candidate, best.score)
                for e, k in np.ndindex(best.iterates.shape[:2]):
                    (row,) = measured(problem, best.iterates[e, k][None], [problem.regulariser])
                    values[s, e, k, :, r] = *row, *chosen
                if parameters is not None:
                    parameters[s, :, r] = best.iterates[:, -1]
        return Passed(steps, self.estimators, self.metrics, values, parameters)

    def selected(
        self,
        problem: Softmax,
        candidates: tuple[Candidate, ...],
        one: Budget,
        steps: np.ndarray,
        seed: int,
        replicate: int,
    ) -> Best:
        """One selection: K, its candidates and its scores have streams of their own."""
        # (a)
        count = self.drawn.drawn(generator(seed, replicate, "budget"))
        picked = generator(seed, replicate, "budget", 1).integers(len(candidates), size=count)
        classes, width = problem.shape.classes, problem.shape.width
        none = np.zeros((len(self.estimators), len(steps), classes, width), np.float32)
        best, noise = Best(count, -1, 0.0, none), self.score_noise(one)
        for k, number in enumerate(picked.tolist()):
            algorithm, schedule, length = candidates[number]
            # (b)
            sizes = step_sizes(problem, schedule, length)
            run = run_of(problem, algorithm.noise(problem, schedule, one, sizes), sizes, seed, replicate, k)
            iterates = learnt(algorithm, problem, [run], np.minimum(steps, length), seed, replicate, k)[:, 0]
            # (c)
            disturbance = float(generator(seed, replicate, "response", k).standard_normal())
            score = correct(problem, iterates[0, -1]) + noise * disturbance
            # the earlier one stays where scores are equal
            if best.candidate < 0 or score > best.score:
                best = Best(count, number, score, iterates)
        return best


class Best(NamedTuple):
    """The run that is released, and the number of runs, which is not."""

    runs: int
    candidate: int
    score: float
    iterates: np.ndarray
    """float32 [estimators, checkpoints, classes, p]"""


def correct(problem: Softmax, weights: np.ndarray) -> int:
    """Held-out records whose class has the largest score; weights that overflowed are weights too."""
    from dpexp.engine.softmax.measuring import tally

    test = problem.split.test
    return tally(weights, test.features, test.labels).right


def _fields(kind: type[object]) -> list[str]:
    return list(getattr(kind, "model_fields", ()))


@lru_cache(maxsize=256)
def _one_run(
    algorithm: str,
    kind: type[Tuned],
    candidates: tuple[Candidate, ...],
    problem: str,
    folder: Path | None,
    eps: float,
    delta: float,
) -> float | None:
    """The largest epsilon of one run whose price is at most (eps, delta); None where there is none.

    It is (d) found to a part of 10,000, and then lowered until the price is seen to be at most the target. It has nine
    digits after the point, since further ones of a search are not the same on every machine.
    """
    # as texts, which can be kept as keys; validated again they are the same
    tuned = kind.model_validate_json(algorithm, strict=False)
    with paths_from(folder):
        data = Softmax.model_validate_json(problem, strict=False)

    def rounded(log_eps: float) -> float:
        return math.floor(1e9 * math.exp(log_eps)) / 1e9

    # a root is looked for and then stepped back from, which asks for the same prices again
    @cache
    def excess(log_eps: float) -> float:
        """log of the price over the target, about linear in the logarithm of one run's epsilon."""
        run = Target(eps=rounded(log_eps), delta=delta)
        price = tuned.release_of(data, candidates, run).analysis.eps(delta)
        return math.log(price / eps) if price else -math.inf

    high = math.log(eps)
    if excess(high) <= 0:  # K = 1 for sure, and the accountant of a run is the Renyi curve itself
        return eps
    low = high - FACTOR
    while excess(low) > 0:
        high, low = low, low - FACTOR
        if low < math.log(eps * SHARE_OF_TARGET):
            return None
    # a price of 0 has no logarithm: -1 keeps the function finite, and its sign
    found = root(lambda x: max(excess(x), -1.0), low, high, xtol=TOLERANCE)
    while excess(found) > 0:
        found -= TOLERANCE
    return rounded(found)


class TunedDpSgd(Tuned, DpSgd):  # type: ignore[misc]  # it releases the best of several runs
    """DP-SGD with settings chosen privately: the best of a random number of runs of candidates."""

    name: Literal["tuned-dp-sgd"] = "tuned-dp-sgd"  # type: ignore[assignment]
    base: ClassVar[type[SoftmaxAlgorithm]] = DpSgd


class TunedDpSgld(Tuned, DpSgld):  # type: ignore[misc]  # it releases the best of several runs
    """DP-SGLD with settings chosen privately: the best of a random number of runs of candidates."""

    name: Literal["tuned-dp-sgld"] = "tuned-dp-sgld"  # type: ignore[assignment]
    sampling: BatchSampling = "fixed-size"
    """as DP-SGLD has it: of the bases, the first that has a field says its default"""
    base: ClassVar[type[SoftmaxAlgorithm]] = DpSgld


class TunedSgd(Tuned, Sgd):  # type: ignore[misc]  # it releases the best of several runs
    """SGD without privacy, chosen in the same way: what tuning gains where nothing is paid."""

    name: Literal["tuned-sgd"] = "tuned-sgd"  # type: ignore[assignment]
    base: ClassVar[type[SoftmaxAlgorithm]] = Sgd
