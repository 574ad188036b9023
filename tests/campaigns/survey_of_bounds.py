"""Every analysis of every mechanism beside exact laws, results/tables/judged.md: `python -m tests.campaigns.survey_of_bounds`.

For each sampling scheme and neighbouring relation, settings fill the space of parameters; at each of them every valid
analysis is compared, at two deltas and where it has a Renyi curve at one order, with every pair that its assumptions
admit. An analysis of all iterates is also compared with last iterates, which are part of the release. The table has
the least ratio of bound to exact value: the bound holds at 1 and above, and at 1 a pair attains it.
"""

import argparse
import math
from collections import namedtuple
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from dpexp.privacy.analyses.analysis import ALL
from dpexp.privacy.judge.families import FAMILIES, admitted, normal
from dpexp.privacy.judge.setting import DIMENSIONS, KINDS, Assumes, attained, from_cube, level
from dpexp.privacy.judge.worst_setting import FLOOR, MARGIN, SHAPES, SHRINK, STEP, confirmed
from dpexp.privacy.mechanisms import MECHANISMS, momentum
from tests.oracles import literal_epochs
from tests.oracles.literal_momentum import constant_gradients, iterates_alone
from tools.momentum_certificates import computed

SCHEMES = tuple(
    (sampling, relation)
    for sampling in ("fixed-size", "poisson", "full-batch", "cyclic", "shuffled", "reshuffled")
    for relation in ("replace-one", "add-remove")
    if (sampling, relation) != ("fixed-size", "add-remove")
)
CONVEX = ("noisy-sgd-convex", "noisy-sgd-strong", "langevin")
BOUNDED = ("noisy-sgd", "noisy-sgd-convex", "noisy-sgd-strong", "clipped-noisy-sgd", "langevin")
"""mechanisms on a set, noisy-sgd without and with smooth convex and strongly convex losses"""
SUMS = ("sampled-gaussian", "sampled-gaussian-phases")
MOMENTUM = ("tree-momentum", "reduced-momentum", "gradient-recursion", "local-gaussian")
EPOCHS = "epoch-gaussian"
CERTIFY = cache(computed)
ITERATES_ALONE = "certified-iterates"
"""holds where the nodes of the tree stay secret, so a pair that shows the nodes says nothing against it"""
NOWHERE = (math.inf, False, 0.0, (), "")
NEAR = 1.02
"""a ratio below this is computed again by finer means before it counts"""


Case = namedtuple("Case", "mechanism sampling relation")
Row = namedtuple("Row", "case analysis released ratios violations worst refused", defaults=((), 0, "", ""))
"""ratios of bound to exact value of one analysis in one case, or why it was refused"""
Ratio = namedtuple("Ratio", "analysis family seen convex kind ratio violated at cube words")
"""one comparison: of eps or rdp (`kind`), on all iterates or the last (`seen`) of a pair that may be convex"""


def cases():
    """Every mechanism with every scheme that it has."""
    rows = [Case(m, s, r) for m in (*BOUNDED, *SUMS) for s, r in SCHEMES]
    rows = [c for c in rows if c.mechanism != "sampled-gaussian-phases" or c.sampling in ("poisson", "full-batch")]
    rows += [Case(EPOCHS, s, r) for s in literal_epochs.SAMPLINGS for r in ("add-remove", "replace-one")]
    return rows + [Case(m, "one record a step", "replace-one") for m in MOMENTUM]


def _assumes(case, convex, released):
    strong = convex and case.mechanism in ("noisy-sgd-strong", "langevin")
    losses = {"convex": convex, "smooth": convex, "strongly_convex": strong, "clipped": True, "bounded": True}
    return Assumes(sampling=case.sampling, relation=case.relation, released=released, **losses)


def _mechanism(case, s):
    name, values = case.mechanism, {"sampling": case.sampling, "neighboring_relation": case.relation}
    if name in SUMS:
        # two phases of the same noise are one of as many steps
        phases = name == "sampled-gaussian-phases" and s.steps > 1
        steps = [s.steps // 2, s.steps - s.steps // 2] if phases else s.steps
        values |= {"steps": steps, "noise_multiplier": s.multiplier, "sampling_probability": s.q}
        return MECHANISMS["sampled-gaussian"].model_validate(values)
    sizes = ["steps", "n", "batch_size", "step_size", "diameter"]
    if name != "clipped-noisy-sgd":
        sizes += ["lipschitz"] if name == "noisy-sgd" else ["lipschitz", "smoothness", "strong_convexity"]
    values |= {size: getattr(s, size) for size in sizes}
    if name == "clipped-noisy-sgd":
        values |= {"clip": s.lipschitz, "noise_std": s.parameter_noise_std}
    elif name == "langevin":
        values |= {"sigma": s.parameter_noise_std / math.sqrt(2 * s.step_size)}
    else:
        values |= {"noise_std": s.noise_std}
    return MECHANISMS[name if name in MECHANISMS else "noisy-sgd"].model_validate(values)


def _setting(case, x):
    return from_cube(
        x[:DIMENSIONS], _assumes(case, case.mechanism in CONVEX, ALL if case.mechanism in SUMS else "last-iterate")
    )


def survey(case, comparisons, settings=2, climbs=2):
    """The rows of one case, from at least so many comparisons where the case has any; deterministic.

    `settings` are tried at a time before it is asked whether there are enough, and `climbs` is the least number of
    steps of the search from each analysis' worst point.
    """
    ratios, refused = {}, {}  # by (analysis, released)
    with threadpool_limits(1):
        if case.mechanism in MOMENTUM:
            _momentum(case, comparisons, settings, ratios, refused)
        elif case.mechanism == EPOCHS:
            _epochs(case, comparisons, settings, ratios)
        else:
            _fill_and_climb(case, comparisons, settings, climbs, ratios, refused)
    rows = [
        Row(
            case, *key, tuple(r.ratio for r in each), sum(r.violated for r in each),
            "{0.family}, {0.kind} at {0.at:.6g}, {0.words}".format(min(each, key=lambda r: r.ratio)),
        )
        for key, each in ratios.items()
    ]  # fmt: skip
    return rows + [Row(case, *key, refused=why) for key, why in refused.items() if key not in ratios]


def _fill_and_climb(case, comparisons, settings, climbs, ratios, refused):
    """Half of them space-filling for all analyses together, then from the worst point of each a search for a worse one."""
    sobol, tried = qmc.Sobol(DIMENSIONS + 1 + SHAPES, seed=7), 0
    while sum(map(len, ratios.values())) < 0.5 * comparisons and tried < 400 and (ratios or tried < 40):
        for x in sobol.random(settings):
            tried += 1
            s = _setting(case, x)
            valid = _valid(_mechanism(case, s), refused)
            _at(case, s, x, [a for a in valid if a.name != "nothing-released"], ratios)
    rest = comparisons - sum(map(len, ratios.values()))
    rng = np.random.default_rng(7)
    for each in list(ratios.values()):  # half of the coordinates at a time
        best, step = min(each, key=lambda r: r.ratio), STEP
        for _ in range(max(climbs, rest // len(ratios))):
            x = np.array(best.cube)
            moved = rng.random(len(x)) < 0.5
            x[moved] += step * rng.uniform(-1, 1, int(moved.sum()))
            ratio = _ratio_at(case, best, np.clip(x, 0.0, 1.0))
            each += [ratio] if ratio else []
            if ratio and ratio.ratio < best.ratio:
                best = ratio
            else:
                step = max(0.01, step * SHRINK)


def _valid(mechanism, refused):
    """The valid analyses; of the others the reason is noted."""
    for a in mechanism.upper_bounds():
        if a.valid:
            yield a
        else:
            refused.setdefault((a.name, a.released), f"refused: {a.refused}")


def _ratio_at(case, like, x):
    """The same analysis, family and kind of statement at another point."""
    s = _setting(case, x)
    analysis = next((a for a in _mechanism(case, s).upper_bounds() if a.valid and a.name == like.analysis), None)
    family = next(f for f in FAMILIES if f.name == like.family)
    shape = tuple(map(float, x[DIMENSIONS + 1 :]))
    exact = analysis and family.build(s, _assumes(case, like.convex, like.seen), shape)
    return exact and _ratio(analysis, exact, s, x, level(KINDS[like.kind], float(x[DIMENSIONS]), exact.variation), like)


def _ratio(a, exact, s, x, at, like):
    """One comparison; None where one of the two says nothing."""
    sizes = {"n": s.n, "b": s.batch_size, "T": s.steps, "z": s.multiplier, "width": s.width}
    sizes |= {"eta m": s.curvatures[0], "eta M": s.curvatures[1]}
    words = ", ".join(f"{k} {v:.4g}" for k, v in sizes.items() if math.isfinite(v))
    here = like._replace(cube=tuple(map(float, x)), at=at, words=words)
    try:
        bound = a.eps(at) if like.kind == "eps" or a.rdp is None else a.rdp(at)
    except (ArithmeticError, ValueError) as error:  # an analysis that fails is a finding like a violation
        return here._replace(ratio=0.0, violated=True, words=f"fails with {error!r} at {words}")
    low = attained(exact, KINDS[like.kind], at)
    if low > FLOOR and bound < NEAR * low:
        low = confirmed(exact, KINDS[like.kind], at)[0]
    if not math.isfinite(bound) or low <= FLOOR:
        return None
    return here._replace(ratio=bound / low, violated=bool(low > bound * (1 + MARGIN)))


def _at(case, s, x, valid, ratios):
    """All analyses at one setting."""
    shape = tuple(map(float, x[DIMENSIONS + 1 :]))
    # only convex pairs test an analysis of the last iterate that needs convexity
    needs = {
        a.name: case.mechanism in CONVEX and a.released != ALL and "no convexity of the losses" not in a.assumptions
        for a in valid
    }
    kinds = [("all-iterates", False)]
    if case.mechanism not in SUMS:
        kinds += [("last-iterate", convex) for convex in sorted(set(needs.values()), reverse=True)]
    for seen, convex in kinds:
        assumes = _assumes(case, convex, seen)
        laws = [(f, f.build(s, assumes, shape)) for f in admitted(assumes)]
        laws = [(f, exact) for f, exact in laws if exact is not None]
        variation = max((exact.variation for _, exact in laws), default=0.0)
        for kind, place in (("eps", x[DIMENSIONS]), ("eps", 0.7 + 0.3 * x[DIMENSIONS]), ("rdp", 0.7 * x[DIMENSIONS])):
            at = level(KINDS[kind], float(place), variation) if laws else 0.0
            for family, exact in laws:
                for a in valid:
                    other = a.released != ALL if seen == "all-iterates" else convex != needs[a.name]
                    if other or (kind == "rdp" and a.rdp is None):
                        continue
                    ratio = _ratio(a, exact, s, x, at, Ratio(a.name, family.name, seen, convex, kind, *NOWHERE))
                    if ratio is not None:
                        ratios.setdefault((a.name, a.released), []).append(ratio)


def _against(ratios, a, family, low_at, deltas, words):
    """A statement of all iterates against the epsilon that one pair attains at some deltas."""
    for delta in deltas:
        low, bound = low_at(delta), a.eps(delta)
        if low > FLOOR and math.isfinite(bound):
            wrong = bool(low > bound * (1 + MARGIN))
            ratio = Ratio(a.name, family, "all-iterates", True, "eps", bound / low, wrong, delta, (), words)
            ratios.setdefault((a.name, a.released), []).append(ratio)


def _momentum(case, comparisons, settings, ratios, refused):
    """Gaussian statements against constant gradients, by the literal nodes or steps that are released."""
    rng = np.random.default_rng(11)
    drawn = [constant_gradients(case.mechanism, rng) for _ in range(max(2 * settings, comparisons // 6))]
    drawn = [(mechanism, {"constant gradients": mu}, False) for mechanism, mu in drawn]
    if case.mechanism == "reduced-momentum":
        drawn += [(*iterates_alone(rng), True) for _ in range(max(3, comparisons // 9))]
    for mechanism, pairs, alone in drawn:
        # small runs have no stored certificate: the prover makes theirs
        with patch.object(momentum, "certificate", CERTIFY):
            valid = [a for a in _valid(mechanism, refused) if (a.name == ITERATES_ALONE) == alone and a.mu is not None]
        for a in (a for a in valid if math.isfinite(a.mu)):
            for family, mu in ((family, mu) for family, mu in pairs.items() if mu > 0):
                deltas = (0.2 * normal(mu).variation, 1e-5, 1e-12)
                _against(ratios, a, family, normal(mu).eps, deltas, f"mu {mu:.6g}")


def _epochs(case, comparisons, settings, ratios):
    """Batches that are drawn epoch by epoch, against constant gradients at three deltas."""
    rng = np.random.default_rng(13)
    for _ in range(max(settings, comparisons // 6)):
        mechanism, pairs = literal_epochs.constant_gradients(case.sampling, case.relation, rng)
        words = ", ".join(f"{k} {v}" for k, v in mechanism.model_dump().items() if isinstance(v, int | float))
        for a in mechanism.upper_bounds():
            for family, low_at in pairs.items():
                _against(ratios, a, family, low_at, (0.03, 1e-3, 1e-6), words)


def table(rows):
    """results/tables/judged.md."""
    lines = [
        "# Every analysis against exact laws", "",
        f"{sum(len(r.ratios) for r in rows):,} comparisons, {sum(r.violations for r in rows):,} violations. A comparison is one exact law of a run, rounded down, beside",
        "the bound: epsilon at a delta between 1e-14 and .3, or a Renyi divergence. *Tightest* is the least ratio of",
        "bound to exact value, *median* the middle one: how much is still open, or lies beyond these pairs. An",
        "analysis of all iterates is compared with last iterates too. Made by `python -m tests.campaigns.survey_of_bounds`.", "",
        "| mechanism | sampling | neighbours | analysis | released | comparisons | tightest | median | violations |",
        "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for r in rows:
        where = f"| {' | '.join(r.case)} | {r.analysis} | {r.released} |"
        if r.ratios:
            shown = (f"{v:.6f}" if v < 1.1 else f"{v:.3g}" for v in (min(r.ratios), float(np.median(r.ratios))))
            lines.append(f"{where} {len(r.ratios)} | {' | '.join(shown)} | {r.violations} |")
        else:
            lines.append(f"{where} {r.refused} | | | |")
    bad = [f"- {', '.join(r.case)}, {r.analysis}: {r.worst}" for r in rows if r.violations]
    return "\n".join([*lines, *(["", "## Violations", "", *bad] if bad else [])]) + "\n"


def main():
    """Exit code 1 where an analysis is violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.survey_of_bounds", description=__doc__)
    parser.add_argument("--comparisons", type=int, default=21_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("/dev/stdout"))
    options = parser.parse_args()
    todo = cases()
    with ProcessPoolExecutor(options.jobs) as pool:
        every = list(pool.map(survey, todo, [math.ceil(options.comparisons / len(todo))] * len(todo)))
    rows = [row for part in every for row in part]
    options.out.write_text(table(rows))
    return int(any(r.violations for r in rows))


if __name__ == "__main__":
    raise SystemExit(main())
