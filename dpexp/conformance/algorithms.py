"""What every algorithm must do: the members, numbers that depend on nothing else, noise as stated, honest estimates."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
from pydantic import ValidationError

from dpexp.algorithms.algorithm import Member
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cells import Cell
from dpexp.conformance.canary import ATTACK
from dpexp.conformance.check_result import Breach, NotTried, Promise, Subject
from dpexp.conformance.problems import furthest
from dpexp.conformance.toy_settings import WHOLE_RUN, Toy, toy_of, toys_of
from dpexp.core.text import counted
from dpexp.engine.linear.rule import Rule
from dpexp.engine.result import measured
from dpexp.privacy.analyses.analysis import Analysis, refuted, with_last_iterate
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.store.simulating import checkpoint_steps

Kind = Subject[type[Any]]
REPLICATES = 9
"""more than the eight that the compiled kernels take at once, and not a multiple of them"""
STATEMENT = {"analysis", "source", "released", "valid", "reason", "assumptions", "mu", "eps"}
DELTA = 1e-5
ROUNDING = 1e-9
ROOM = 1.5
"""noise that is small but not infinitesimal: its effect is linear up to this factor; no shrinking is 3 to 10 away"""


@lru_cache(maxsize=64)
def _toys_of(kind: Hashable, name: str) -> tuple[Toy, ...]:
    # The cheapest stand first: most checks try the first one, or the first three.
    if not (toys := tuple(sorted(toys_of(name), key=_work))):
        raise Breach("no toy setting is accepted on any problem that it takes", kind)
    return toys


def sorted_toys(subject: Kind) -> tuple[Toy, ...]:
    return _toys_of(cast(Hashable, subject.value), subject.name)


def _work(toy: Toy) -> float:
    """Seconds of a replicate, as the algorithm estimates them: things are tried where they are cheapest."""
    cell = toy.any_cell()
    return float(cell.algorithm.seconds(cell.problem, cell.run.n)) if cell else math.inf


def _toy(subject: Kind) -> Toy:
    """The cheapest way to try the algorithm, one with a private budget where there is one."""
    toys = sorted_toys(subject)
    return next((toy for toy in toys if toy.private()), toys[0])


def _toy_cells(subject: Kind) -> list[Cell]:
    """Cells of one pass: different budgets, or without a private one different schedules."""
    toy = _toy(subject)
    cells = toy.private() or [cell for other in sorted_toys(subject) if (cell := other.cell("{mu: inf}"))]
    # One call simulates what shares its random numbers, so settings of another pass are left out.
    return [cell for cell in cells if cell.pass_key == cells[0].pass_key]


def _simulate(cells: Sequence[Cell], replicates: Sequence[int], seed: int | None = None) -> Any:
    first = cells[0]
    steps, own = checkpoint_steps(first.run.n, first.run.checkpoints), first.run.seed if seed is None else seed
    members = [Member(cell.algorithm, cell.problem, cell.schedule, cell.privacy.mu) for cell in cells]
    return first.algorithm.together(members, steps, own, list(replicates))


def _values(cells: Sequence[Cell], replicates: Sequence[int], seed: int | None = None) -> np.ndarray:
    return np.asarray(_simulate(cells, replicates, seed).values)


def _same(subject: Kind, a: np.ndarray, b: np.ndarray, context: str) -> None:
    # NaN of a replicate that has diverged has to stand at the same places.
    if a.shape != b.shape or not np.array_equal(a, b, equal_nan=True):
        different = "shapes differ" if a.shape != b.shape else f"{int(np.sum(a != b))} of {a.size} numbers differ"
        raise Breach(f"not the same bits {context}: {different}", subject.value.simulate)


def registered_members(subject: Kind) -> str:
    kind = subject.value
    # Every parameter has a default, so that a config may name the algorithm alone.
    value = kind()
    if value.name != subject.name:
        raise Breach(f"is registered as '{subject.name}', but its name is '{value.name}'", kind)
    for name, words in (("estimators", kind.estimators), ("metrics", kind.metrics), ("schedules", kind.schedules)):
        if not (isinstance(words, tuple) and words and all(isinstance(word, str) and word for word in words)):
            raise Breach(f"{name} is a tuple of words, not {words!r}", kind)
        if len(set(words)) < len(words):
            raise Breach(f"{name} names something twice: {words}", kind)
    if unknown := [word for word in kind.schedules if word not in SCHEDULES]:
        raise Breach(f"takes the schedule '{unknown[0]}', which does not exist", kind)
    return f"{', '.join(kind.estimators)}; {len(kind.metrics)} metrics"


def shapes(subject: Kind) -> str:
    kind, tried = subject.value, []
    for toy in sorted_toys(subject):
        # One schedule of a problem is enough: shapes do not depend on it.
        if toy.problem in tried or (cell := toy.any_cell()) is None:
            continue
        tried.append(toy.problem)
        passed = _simulate([cell], [0, 1])
        if passed.estimators != kind.estimators or passed.metrics != kind.metrics:
            raise Breach(f"{toy}: simulate names other estimators or metrics than the class", kind.simulate)
        values = np.asarray(passed.values)
        shape = (1, len(kind.estimators), len(passed.steps), len(kind.metrics), 2)
        if values.shape != shape or values.dtype != np.float64:
            raise Breach(f"{toy}: values are {values.dtype} {values.shape}, not float64 {shape}", kind.simulate)
        if not np.isfinite(values).all():
            # Of many numbers that are not finite the first says where to look.
            (e, k, m, r) = map(int, np.argwhere(~np.isfinite(values[0]))[0])
            bad = f"{kind.metrics[m]} of {kind.estimators[e]} at step {passed.steps[k]}"
            raise Breach(f"{toy}: {bad} is {values[0, e, k, m, r]}", kind.simulate)
    return f"{', '.join(tried)}: [settings, {len(kind.estimators)}, K, {len(kind.metrics)}, R], finite"


def chunks(subject: Kind) -> str:
    cells = _toy_cells(subject)[:1]
    values = _values(cells, range(REPLICATES))
    # The first of eight lanes, the one beyond them, two out of order, and a part that goes over the edge.
    for replicates in ([0], [REPLICATES - 1], [4, 1], [5, 6, 7, 8]):
        _same(subject, _values(cells, replicates), values[..., replicates], f"for replicates {replicates} alone")
    return f"{REPLICATES} replicates at once, and {[0]}, {[REPLICATES - 1]}, [4, 1], 5 to 8 alone"


def cells_alone(subject: Kind) -> str:
    cells = _toy_cells(subject)
    if len(cells) < 2:
        raise NotTried("only one setting is accepted")
    values = _values(cells, [0, 1])
    for k, cell in enumerate(cells):
        _same(subject, _values([cell], [0, 1])[0], values[k], f"for the setting {cell.privacy.mu.label} without others")
    # What one setting leaves behind for the next shows in one of the two orders.
    _same(subject, _values(cells[::-1], [0, 1])[::-1], values, "with the settings in another order")
    return f"{counted(len(cells), 'setting')} together, alone and in reverse"


def again_and_in_parallel(subject: Kind) -> str:
    cells = _toy_cells(subject)[:1]
    values = _values(cells, range(6))
    _same(subject, _values(cells, range(6)), values, "when computed again")
    # Memory that calls share by mistake shows as other bits when four of them run at once.
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda r: _values(cells, [r]), range(6)))
    for r, part in enumerate(parts):
        _same(subject, part[..., 0], values[..., r], f"for replicate {r} with other threads running")
    return "again, and six replicates on four threads at once"


def seeds_matter(subject: Kind) -> str:
    cells = _toy_cells(subject)[:1]
    values = _values(cells, [0, 1])
    # Replicates that are copies of one would make every interval too short.
    if np.array_equal(values[..., 0], values[..., 1]):
        raise Breach("replicates 0 and 1 have the same numbers", subject.value.simulate)
    # A seed that nobody reads would repeat a study instead of trying it again.
    if np.array_equal(values, _values(cells, [0, 1], seed=cells[0].run.seed + 1)):
        raise Breach("two seeds give the same numbers", subject.value.simulate)
    return "replicates 0 and 1 differ, and so do two seeds"


def noise_scales(subject: Kind) -> str:
    """|metric(budget) - metric(inf)| is linear in small noise, so it falls as the stated noise does.

    (a) Two budgets are so large that the noise is a small disturbance. (b) What it changes, over all numbers that it
    changes at all, (c) has to shrink by the ratio of the stated noise multipliers, in the median and up to `ROOM`. That
    ratio is 10 for mu = 1e3 and 1e4 and about 3 for eps = 8 and 64, so noise that does not shrink, or shrinks like a
    root, is seen.
    """
    for toy in sorted_toys(subject):
        public, weak = toy.cell(toy.ways.none), [toy.cell(privacy) for privacy in toy.ways.weak]
        # Runs of different lengths cannot be compared number by number.
        if public is None or None in weak or public.run.n != weak[0].run.n:  # type: ignore[union-attr]
            continue
        # (a)
        cells = [cell for cell in weak if cell]
        multipliers = [_multiplier(cell) for cell in cells]
        base, values = _values([public], range(4))[0], [_values([cell], range(4))[0] for cell in cells]
        moved = [np.abs(v - base) for v in values]
        if same := [cell.privacy.mu.label for cell, m in zip(cells, moved, strict=True) if not np.any(m > 0)]:
            raise Breach(f"{toy}: budget {same[0]} gives the numbers of no privacy", subject.value.simulate)
        # (b)
        both = (moved[0] > 1e-9 * (np.abs(base) + 1e-9)) & (moved[1] > 1e-11 * (np.abs(base) + 1e-9))
        ratios = moved[0][both] / moved[1][both]
        # No metric of this problem feels the noise.
        if not len(ratios):
            continue
        ratio, expected = float(np.median(ratios)), multipliers[0] / multipliers[1]
        labels = " and ".join(cell.privacy.mu.label for cell in cells)
        # (c); where noise is not that small, errors are mostly noise, and their squares fall as its square
        limit = ROOM * expected**2
        if not expected / ROOM <= ratio <= limit:
            message = f"between budgets {labels} the stated noise falls by {expected:.3g}, its effect by {ratio:.3g}"
            raise Breach(f"{toy}: {message}", subject.value.simulate)
        return f"{toy}: budgets {labels}, noise falls by {expected:.3g}, its effect by {ratio:.3g}"
    raise NotTried("takes no private budget")


def _multiplier(cell: Cell) -> float:
    """The noise that the mechanism states, in units of its sensitivity; 1 / mu where it states none."""
    ledger = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n).row([DELTA])
    multiplier = float(ledger.get("noise_multiplier", math.nan))
    return multiplier if multiplier > 0 else 1 / float(cell.privacy.mu.constant or cell.privacy.mu.largest)


def statement(subject: Kind) -> str:
    kind, count = subject.value, 0
    for toy in sorted_toys(subject)[:3]:
        if (cell := toy.any_cell()) is None:
            continue
        released = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        statements = list(released.upper_bounds())
        if not statements:
            raise Breach(f"{toy}: the mechanism states nothing", kind.mechanism)
        for analysis in statements:
            if not isinstance(analysis, Analysis):
                raise Breach(f"{toy}: upper_bounds() holds a {type(analysis).__name__}", kind.mechanism)
            if missing := STATEMENT - set(analysis.statement([DELTA])):
                raise Breach(f"{toy}: a statement lacks {', '.join(sorted(missing))}", kind.mechanism)
        if wrong := refuted(statements, with_last_iterate(released.lower_bounds()), [DELTA]):
            raise Breach(f"{toy}: {'; '.join(wrong.values())}", kind.mechanism)
        pairs = released.description()
        if not pairs or not all(len(pair) == 2 and all(isinstance(w, str) and w for w in pair) for pair in pairs):
            raise Breach(f"{toy}: description() is a list of (topic, sentence)", kind.mechanism)
        if not (released.neighboring_relation and released.sampling):
            raise Breach(f"{toy}: the mechanism names no neighboring relation or no sampling", kind.mechanism)
        if f"eps_{DELTA:g}" not in released.row([DELTA]):
            raise Breach(f"{toy}: the ledger has no column eps_{DELTA:g}", kind.mechanism)
        count += len(statements)
    return f"{count} statements, with who is protected"


def bounds(subject: Kind) -> str:
    """No upper bound is below what a pair attains, where parameters without a default are small numbers."""
    kind, tried = subject.value, list[Any]()
    required = [name for name, field in kind.model_fields.items() if field.is_required()]
    for size in (1, 2, 5):
        with suppress(ValidationError):
            tried.append(kind(**dict.fromkeys(required, size)))
    for mechanism in tried:
        if wrong := refuted(mechanism.upper_bounds(), with_last_iterate(mechanism.lower_bounds()), [DELTA]):
            raise Breach(f"{mechanism}: {'; '.join(wrong.values())}", kind.upper_bounds)
    if not any(mechanism.lower_bounds() for mechanism in tried):
        raise NotTried("no `lower_bounds` of small parameters to compare with")
    return f"{counted(len(tried), 'setting')}, and what pairs of neighbours attain there"


def within_budget(subject: Kind) -> str:
    """A guarantee in the ledger is at most the configured budget."""
    tried = []
    for toy, cell in ((own, cell) for own in sorted_toys(subject)[:3] for cell in own.private()):
        budget = cell.privacy.mu
        ledger = cell.algorithm.mechanism(cell.problem, cell.schedule, budget, cell.run.n).row([DELTA])
        # What is stated as no guarantee promises nothing, and says so in its row.
        if not (ledger.get("guarantee", True) and ledger.get("gdp_valid", True)):
            continue
        if toy.ways is WHOLE_RUN:
            budgeted, spent, word = cell.privacy.eps, float(ledger[f"eps_{DELTA:g}"]), "eps"
        else:
            budgeted, spent, word = budget.largest, float(ledger.get("gdp_mu", math.nan)), "mu"
        if budgeted is None or math.isnan(spent):
            continue
        if spent > budgeted * (1 + 1e-12):
            raise Breach(f"{toy}: states {word} = {spent:.6g} for a budget of {budgeted:.6g}", subject.value.mechanism)
        tried.append(f"{word} {spent:.4g} of {budgeted:.4g}")
    if not tried:
        raise NotTried("no private setting is a guarantee")
    return ", ".join(tried[:3])


def _memories(rule: Rule, p: int, rng: np.random.Generator) -> list[Any]:
    """Memories of a server under which users' messages are tried: the first one, and others where users see them."""
    if rule.whiten is None:
        return [None]
    kind, count = type(rule.memory), len(rule.memory)
    return [None, *(kind(*(size * rng.standard_normal((count, p)) ** 2)) for size in (1e-3, 1.0, 1e3))]


def _extremes(
    rule: Rule, problem: LinearPredictorProblem, rng: np.random.Generator, enough: float
) -> tuple[float, float]:
    """How far apart and how long messages get in a search, which ends where the distance exceeds `enough`."""
    lengths = [0.0]

    def send(gradients: np.ndarray, memory: Any) -> np.ndarray:
        sent = rule.sent(gradients, memory=memory)
        lengths.append(float(np.linalg.norm(sent, axis=-1).max()))
        return sent

    memories = _memories(rule, problem.p, rng)
    reached = [furthest(problem, rng, partial(send, memory=memory), enough) for memory in memories]
    return float(np.max(reached)), max(lengths)


def messages(subject: Kind) -> str:
    """No two users send messages further apart, nor any one a longer message, than is stated: an adversary's search.

    What a user makes of its gradient is a public function of it.
    """
    if not issubclass(subject.value, OnePassAlgorithm):
        raise NotTried("what a user sends is not known: it is no rule of one pass")
    first = {toy.problem: cells[0] for toy in sorted_toys(subject) if (cells := toy.private())}
    settings: list[tuple[Any, Any]] = [(cell.algorithm, cell.problem) for cell in first.values()]
    if not settings:
        raise NotTried("takes no private budget")
    # Where a gradient is sent as it is, one problem is enough: each problem has such a check of its own.
    settings = settings[: 1 if settings[0][0].rule().rescale is None else None]
    # Parameters of the algorithm are also tried at a tenth and ten times their size, on the first problem.
    settings += [(other, settings[0][1]) for other in _scaled(settings[0][0])]
    rng, closest = np.random.default_rng(9), 0.0
    for algorithm, problem in settings:
        rule, exact = algorithm.rule(), algorithm.sensitivities(problem).exact
        # Who clips divides by a length, and that of a gradient at the optimum may be 0.
        if not np.isfinite(rule.sent(np.zeros((1, problem.p)))).all():
            raise Breach("a gradient of length 0 is sent as something that is no number", rule.rescale)
        farthest, length = _extremes(rule, algorithm.messages(problem), rng, exact * (1 + ROUNDING))
        for reached, limit, words, member in (
            (farthest, exact, "two users send messages {:.6g} apart, the sensitivity says", "sensitivities"),
            (farthest / 2, algorithm.radius(problem), "messages need a ball of radius {:.6g}, it is", "radius"),
            (length, algorithm.longest(problem), "a message has the length {:.6g}, the longest is", "longest"),
        ):
            if not reached <= limit * (1 + ROUNDING):  # nor is nan
                message = f"on {problem.name} {words.format(reached)} {limit:.6g} ({algorithm})"
                raise Breach(message, getattr(subject.value, member))
        closest = max(closest, farthest / exact)
    return f"{counted(len(settings), 'setting')}, two users at most {closest:.4g} of what is stated apart"


def _scaled(algorithm: Any) -> Iterator[Any]:
    """The algorithm with one of its numbers at a tenth or ten times its size, where that is accepted."""
    for name, value in algorithm.model_dump().items():
        for factor in (0.1, 10.0) if isinstance(value, float) and math.isfinite(value) else ():
            with suppress(ValidationError):
                yield type(algorithm).model_validate(algorithm.model_dump() | {name: value * factor})


def estimates(subject: Kind) -> str:
    kind, cell = subject.value, _toy(subject).any_cell()
    if cell is None:
        raise NotTried("no toy setting is accepted")
    sizes = [cell.run.n, 4 * cell.run.n, 64 * cell.run.n]
    times = [float(cell.algorithm.seconds(cell.problem, n)) for n in sizes]
    if not 0 < times[0] < times[1] < times[2] < math.inf:
        raise Breach(f"seconds is {times} for {sizes} steps: it is positive and grows with them", kind.seconds)
    # Sixty-four times the steps, ten times the checkpoints and eight settings at once need no less.
    bytes_of = [cell.algorithm.memory(cell.problem, n, k, s) for n, k, s in ((sizes[0], 4, 1), (sizes[2], 40, 8))]
    if not all(isinstance(b, int) and b > 0 for b in bytes_of) or bytes_of[0] > bytes_of[1]:
        raise Breach(f"memory is {bytes_of}: whole positive numbers of bytes that grow with the work", kind.memory)
    return f"{times[0]:.2g} s to {times[2]:.2g} s for {sizes[0]} to {sizes[2]} steps; {bytes_of[0]:,} bytes and more"


def metric_alone(subject: Subject[Any]) -> str:
    """Two replicates together have the numbers of each alone, on every problem where the metric gives some."""
    tried, errors = list[str](), list[Exception]()
    cells: Iterator[Any] = (toy.any_cell() for name in PROBLEMS if (toy := toy_of("problem", name)))
    for cell in cells:
        try:
            theta = _simulate([cell], [0, 1]).parameters[0]
            alone = measured(subject.name, theta, cell.problem)
            numbers = np.asarray(subject.value(theta.copy(), cell.problem))
        except Exception as error:  # it may be of other problems
            errors.append(error)
            continue
        if numbers.shape != alone.shape or not np.allclose(numbers, alone, equal_nan=True):
            raise Breach(f"{cell.problem.name}: two replicates have other numbers than each alone", subject.value)
        tried.append(cell.problem.name)
    if not tried:
        raise errors[0]
    return f"numbers [estimators, replicates] on {', '.join(tried)}"


CHECKS: tuple[Promise[type[Any]], ...] = (
    Promise("members", "Every required member is there, and of its type.", registered_members),
    Promise("shapes", "One toy cell on every problem that it takes: shapes, names and finite numbers.", shapes),
    Promise("chunks", "A replicate has the same bits alone, in any chunk and in any order.", chunks),
    Promise("other cells", "A setting has the same bits alone, among others and in any order.", cells_alone),
    Promise("jobs", "The same bits when computed again and on several threads.", again_and_in_parallel),
    Promise("seeds", "Replicates differ from each other, and so do seeds.", seeds_matter),
    Promise("noise", "What the noise changes shrinks as the noise that the mechanism states does.", noise_scales),
    Promise("statement", "The mechanism states who is protected, how, and every analysis with its reason.", statement),
    Promise("budget stated", "A stated guarantee is at most the configured budget.", within_budget),
    ATTACK,
    Promise("messages", "No two messages are further apart and none is longer than stated, by a search.", messages),
    Promise("estimates", "Estimated seconds and bytes are positive and grow with the work.", estimates),
)
