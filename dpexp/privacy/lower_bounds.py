"""Lower bounds: what no analysis can get below, because one pair of neighbouring data sets attains it.

The rule of one table: no guarantee is below what a pair attains of what it covers. Where it is, one of the two is an
error of dpexp. Nobody can tell which, so the guarantee is what is withdrawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache

from dpexp.accounting import linear
from dpexp.accounting.binomials import poisson_sizes
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.sampling import ONCE_AN_EPOCH, Relation, Sampling, Scheme
from dpexp.accounting.steps import step_loss
from dpexp.core.text import down, up
from dpexp.privacy.analyses.analysis import (
    ALL,
    LAST,
    Analysis,
    attained,
)
from dpexp.privacy.analyses.composition import trivial

WIDEST = 120.0
"""set in noise units up to which the exact law is computed within a second"""
MOST_WORK = 1.2e5
"""squared width times the number of maps, up to which it is"""
MOST_SIZES = 400
"""numbers of records in a batch up to which it is"""
LINEAR_PAIRS = {
    "add-remove": "linear losses: the record's gradient is C, against none",
    "replace-one": "linear losses: the record's gradient is C, against -C",
    "fixed-size": "linear losses: the record's gradient is C, against -C; all others' are C",
}
CONSTANT: dict[Relation, str] = {
    "add-remove": "constant gradients: the record's against no record's",
    "replace-one": "constant gradients: the record's against no record, or the opposite one",
}


def exact_walk(
    drawn: tuple[Sampling, int, int, int],
    relation: Relation,
    width: float,
    reach: float,
    pair: Callable[[bool], str],
    bend: float | None = None,
) -> list[Analysis]:
    """The last iterate of a run on an interval, by the program that judges every bound, rounded down.

    `drawn` is sampling, records, batch size and steps. In units of a step's noise the set is `width` wide and a batch
    moves by at most `reach`; `bend` is eta m of convex losses, which are quadratics with a linear part, and None for
    any losses. y' = clip(y + f(y) + Z, -h, h) in a step without the record and y + (1 - 1/b) f(y) + r(y) / b + Z in a
    step with it (of Poisson batches: k / b times f, k ~ Bin(n - 1, q)): the factor is the record's place in its batch.
    The others pull nowhere but by their curvature, and the record as hard as it may; the other data set has a record of
    the opposite slope, or none; both orders. Where a step can turn the set around, a slope may be told better from a
    flat record than from the opposite one, and the larger holds: `pair` describes both, by whether it can. Empty where
    the set is too wide or unbounded, or where the maps are too many to be done within a second.
    """
    from dpexp.privacy.exact import runs
    from dpexp.privacy.exact.update import Drift, Update, affine, constant

    sampling, n, batch_size, steps = drawn
    h, curved = width / 2, bend or 0.0
    room = reach - curved * h  # the linear part that the clip leaves at the wall, where it and the curvature add up
    # flat losses move a batch of any size alike
    sizes = poisson_sizes(n - 1, batch_size / n).counts + 1 if sampling == "poisson" and curved else (batch_size,)
    fits = 0 < width <= WIDEST and len(sizes) <= MOST_SIZES and width * width * 2 * len(sizes) <= MOST_WORK
    if not (fits and steps > 0 and room > 0):
        return []
    # y -> y (1 - bend k / b) turns round where the largest batch has bend k > b
    turning, signs = bool(curved * sizes[-1] > batch_size), (1, -1, 0)
    if bend is None:
        others, records = Drift((-h, h), (0.0, 0.0)), [constant(sign * reach) for sign in signs]
    else:
        others, records = affine(-curved, 0.0, h), [affine(-curved, sign * room, h) for sign in signs]
    one = Update(sampling, n, batch_size, steps, h, others, records[0])
    other = [None] if relation == "add-remove" else records[1:] if turning else records[1:2]
    pairs = [(one, replace(one, record=record)) for record in other]
    eps = cache(lambda delta: max(runs.pair(*both).eps(delta) for both in pairs))
    return [attained("exact-walk", LAST, pair(turning), eps)]


def linear_last(q: float, multiplier: float, steps: int, scheme: Scheme) -> list[Analysis]:
    """The last iterate of linear losses on an unbounded set, whose record is in a batch with probability q."""
    eps = linear.eps_of_scheme(q, multiplier, steps, scheme)
    return [attained("linear-loss", LAST, LINEAR_PAIRS[scheme], cache(eps))] if eps else []


def linear_cyclic(visits: int, multiplier: float, steps: int, distance: float) -> Analysis:
    """The same for a record that is in `visits` of the batches: the sum moves by visits distance in noise sqrt(T) z."""
    mu = visits * distance / (math.sqrt(steps) * multiplier)
    pair = "linear losses: the record's gradient is C, against " + ("-C" if distance == 2 else "none")
    return attained("linear-loss", LAST, pair, lambda delta: eps_of(mu, delta))


def sampled_sums(q: float, multiplier: float, steps: int, scheme: Scheme) -> Analysis:
    """All noisy sums released, constant gradients: the composition itself, rounded down."""
    loss, distance = step_loss(q, multiplier, scheme), 2.0 if scheme == "replace-one" else 1.0
    pair = CONSTANT["add-remove" if scheme == "add-remove" else "replace-one"]

    @cache
    def eps(delta: float) -> float:
        if q == 1:
            return eps_of(math.sqrt(steps) * distance / multiplier, delta)
        return loss.attained(steps, delta)

    return attained("exact-composition", ALL, pair, eps)


def constant_gradients(q: float, multiplier: float, steps: int, relation: Relation) -> list[Analysis]:
    """What all sums attain, and the last iterate, which shows no more than they do."""
    return [sampled_sums(q, multiplier, steps, relation), *linear_last(q, multiplier, steps, relation)]


def linear_lower(q: float, multiplier: float, steps: int, sampling: Sampling, relation: Relation) -> list[Analysis]:
    """What an unprojected run attains: linear losses, whose releases are sampled Gaussians whatever came before."""
    undefined = sampling == "fixed-size" and relation == "add-remove"
    if undefined or trivial(multiplier, steps) or sampling in ONCE_AN_EPOCH:
        return []
    # a record that is turned round among others of one gradient is one that is there or not, at half of the noise
    if sampling == "fixed-size":
        return [sampled_sums(q, multiplier / 2, steps, "add-remove"), *linear_last(q, multiplier, steps, "fixed-size")]
    return constant_gradients(1.0 if sampling == "full-batch" else q, multiplier, steps, relation)


def with_last_iterate(bounds: Sequence[Analysis]) -> list[Analysis]:
    """Who sees all iterates sees the last one: of them is attained at least what the last one attains."""
    found = [replace(bound, eps=cache(bound.eps)) for bound in bounds]
    last = [bound for bound in found if bound.released == LAST]
    return [_with_last(bound, last) if bound.released == ALL and last else bound for bound in found]


def _with_last(bound: Analysis, last: Sequence[Analysis]) -> Analysis:
    names = " or ".join(one.name for one in last)
    return replace(
        bound,
        source=f"{bound.source}; or the pair of {names}, where that attains more",
        eps=cache(lambda delta: max(one.eps(delta) for one in (bound, *last))),
    )


ROUNDING = 1e-9
"""of an epsilon: guarantees are rounded up and what is attained down, but for the last digits of a few closed forms"""


def covers(analysis: Analysis, bound: Analysis) -> bool:
    """Whether what the pair shows is covered: who sees all iterates sees the last one, and not the other way round."""
    return bound.released == LAST or (analysis.released == bound.released and not analysis.secret)


def refuted(analyses: Iterable[Analysis], bounds: Sequence[Analysis], deltas: Sequence[float]) -> dict[str, str]:
    """The valid analyses that some pair refutes at one of the deltas, by name, with both lines in words."""
    complaints: dict[str, str] = {}
    lines = [(bound, bound.at(deltas)) for bound in bounds]
    for analysis in analyses:
        promised = analysis.at(deltas) if analysis.valid else []
        for bound, shown in lines if promised else []:
            for delta, eps, low in zip(deltas, promised, shown, strict=True):
                # an absolute 1e-12 too, for guarantees of epsilon 0
                if covers(analysis, bound) and low > eps * (1 + ROUNDING) + 1e-12:
                    said = f"{analysis.name} promises {up(eps)}, and {bound.name} attains {down(low)}"
                    complaints.setdefault(
                        analysis.name, f"an error of dpexp, please report it: at delta = {delta:g} {said}"
                    )
    return complaints
