"""What one pair of neighbours attains, exactly, and the rule of one table: no guarantee is below it.

Where one is, one of the two is an error of dpexp. Which one is unknown, so the guarantee is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from dpexp.accounting.binomials import poisson_sizes
from dpexp.accounting.sampling import Relation, Sampling
from dpexp.core.text import down, up
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis, attained

WIDEST, MOST_WORK, MOST_SIZES = 120.0, 1.2e5, 400
"""width of the set in noise units, squared width times the number of maps, and numbers of records in a batch, up to
which the exact law is computed within a second"""
ROUNDING = 1e-9
"""of an epsilon: guarantees are rounded up and what is attained down, but for the last digits of a few closed forms"""


def exact_walk(
    drawn: tuple[Sampling, int, int, int],
    relation: Relation,
    width: float,
    reach: float,
    pair: str,
    turning: str = "",
    bend: float | None = None,
) -> list[Analysis]:
    """The last iterate of a run on an interval, by the program that judges every bound, rounded down.

    `drawn` is sampling, records, batch size and steps. In units of a step's noise the set is `width` wide and a batch
    moves by at most `reach`; `bend` is eta m of convex losses, which are quadratics with a linear part, and None for
    any losses. A step is y' = clip(y + f(y) + Z, -h, h) without the record and clip(y + (1 - 1/b) f(y) + r(y) / b + Z,
    -h, h) with it (of Poisson batches k / b times f, k ~ Bin(n - 1, q)). The others pull nowhere but by their
    curvature, and the record as hard as it may; the other data set has a record of the opposite slope, or none; both
    orders. Where a step can turn the set around, a slope may be easier to distinguish from a flat record than from the
    opposite one, and the larger holds, which `turning` adds to `pair`. Empty where the set is too wide or the maps are
    too many.
    """
    from dpexp.privacy.exact import run_laws
    from dpexp.privacy.exact.update import Drift, Update, affine, constant

    sampling, n, batch_size, steps = drawn
    h, curved = width / 2, bend or 0.0
    room = reach - curved * h  # the linear part that the clip leaves at the wall, where it and the curvature add up
    # flat losses move a batch of any size alike
    sizes = poisson_sizes(n - 1, batch_size / n).counts + 1 if sampling == "poisson" and curved else (batch_size,)
    fits = 0 < width <= WIDEST and len(sizes) <= MOST_SIZES and width * width * 2 * len(sizes) <= MOST_WORK
    if not (fits and room > 0):
        return []
    # y -> y (1 - bend k / b) turns round where the largest batch has bend k > b
    turns, signs = bool(curved * sizes[-1] > batch_size), (1, -1, 0)
    if bend is None:
        others, records = Drift((-h, h), (0.0, 0.0)), [constant(sign * reach) for sign in signs]
    else:
        others, records = affine(-curved, 0.0, h), [affine(-curved, sign * room, h) for sign in signs]
    one = Update(sampling, n, batch_size, steps, h, others, records[0])
    other = [None] if relation == "add-remove" else records[1:] if turns else records[1:2]
    pairs = [(one, replace(one, record=record)) for record in other]
    eps = cache(lambda delta: max(run_laws.pair(*both).eps(delta) for both in pairs))
    return [attained("exact-walk", LAST, pair + (turning if turns else ""), eps)]


def with_last_iterate(bounds: Sequence[Analysis]) -> list[Analysis]:
    """Who sees all iterates sees the last one: of them is attained at least what the last one attains."""
    cached = [replace(bound, eps=cache(bound.eps)) for bound in bounds]
    last = [bound for bound in cached if bound.released == LAST]
    return [_with_last(bound, last) if bound.released == ALL and last else bound for bound in cached]


def _with_last(bound: Analysis, last: Sequence[Analysis]) -> Analysis:
    names = " or ".join(one.name for one in last)
    return replace(
        bound,
        source=f"{bound.source}; or the pair of {names}, where that attains more",
        eps=cache(lambda delta: max(one.eps(delta) for one in (bound, *last))),
    )


def covers(analysis: Analysis, bound: Analysis) -> bool:
    """Whether what the pair shows is covered: who sees all iterates sees the last one, and not the other way round."""
    return bound.released == LAST or (analysis.released == bound.released and not analysis.secret)


def refuted(analyses: Iterable[Analysis], bounds: Sequence[Analysis], deltas: Sequence[float]) -> dict[str, str]:
    """The valid analyses that some pair refutes at one of the deltas, by name, with both lines in words."""
    complaints: dict[str, str] = {}
    lines = [(bound, bound.at(deltas)) for bound in bounds]
    for analysis in analyses:
        promised = analysis.at(deltas) if analysis.valid else []
        for bound, lower in lines if promised else []:
            for delta, eps, low in zip(deltas, promised, lower, strict=True):
                # an absolute 1e-12 too, for guarantees of epsilon 0
                if covers(analysis, bound) and low > eps * (1 + ROUNDING) + 1e-12:
                    sides = f"{analysis.name} promises {up(eps)}, and {bound.name} attains {down(low)}"
                    complaints.setdefault(
                        analysis.name, f"an error of dpexp, please report it: at delta = {delta:g} {sides}"
                    )
    return complaints
