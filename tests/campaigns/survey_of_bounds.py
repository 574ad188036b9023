"""Every analysis of every mechanism held against exact laws: `python -m tests.campaigns.survey_of_bounds`.

For each sampling scheme and neighbouring relation, settings fill the space of parameters; at each of them every valid
analysis is compared, at two deltas and where it has a Renyi curve at one order, with every pair that its assumptions
admit. An analysis of all iterates is also compared with last iterates, which are part of what is released. The table
shows the worst ratio of bound to exact value: above 1 the bound held, and 1 means that a pair attains it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.judge.families import FAMILIES, admitted, normal
from dpexp.privacy.judge.setting import DIMENSIONS, KINDS, Assumes, AttainedLaw, Setting, attained, from_cube, level
from dpexp.privacy.judge.worst_setting import FLOOR, MARGIN, SHAPES, SHRINK, STEP, confirmed
from dpexp.privacy.mechanisms import MECHANISMS, Mechanism, momentum
from tests.oracles import literal_epochs
from tests.oracles.literal_momentum import constant_gradients, iterates_alone
from tools.momentum_certificates import computed

SCHEMES = tuple(
    (sampling, relation)
    for sampling in ("fixed-size", "poisson", "full-batch", "cyclic", "shuffled", "reshuffled")
    for relation in ("replace-one", "add-remove")
    if (sampling, relation) != ("fixed-size", "add-remove")
)
BOUNDED = ("noisy-sgd", "noisy-sgd-convex", "noisy-sgd-strong", "clipped-noisy-sgd", "langevin")
"""mechanisms on a set, noisy-sgd without and with smooth convex and strongly convex losses"""
SUMS = ("sampled-gaussian", "sampled-gaussian-phases")
MOMENTUM = ("tree-momentum", "reduced-momentum", "gradient-recursion", "local-gaussian")
EPOCHS = "epoch-gaussian"
FILLING = 0.5
"""share of the comparisons that fills the space"""
CERTIFY = cache(computed)
ITERATES_ALONE = "certified-iterates"
"""holds where the nodes of the tree stay secret: it is held against what the estimates alone attain, and a pair that
shows the nodes says nothing against it"""
NEAR = 1.02
"""a ratio below this is computed again by finer means before it counts"""


@dataclass(frozen=True)
class Case:
    """One mechanism under one sampling scheme and relation."""

    mechanism: str
    sampling: str
    relation: str


@dataclass(frozen=True)
class Row:
    """Ratios of bound to exact value of one analysis in one case."""

    case: Case
    analysis: str
    released: str
    ratios: tuple[float, ...]
    violations: int
    worst: str = ""
    refused: str = ""
    """why there is nothing to compare"""


@dataclass(frozen=True)
class Ratio:
    """One comparison of one analysis."""

    analysis: str
    family: str
    seen: str
    """whether the pair's all iterates or its last one is looked at"""
    convex: bool
    """whether the pair is convex and smooth"""
    kind: str
    """eps or rdp"""
    ratio: float = math.inf
    violated: bool = False
    at: float = 0.0
    cube: tuple[float, ...] = ()
    words: str = ""

    @property
    def where(self) -> str:
        return f"{self.family}, {self.kind} at {self.at:.6g}, {self.words}"


Held = dict[tuple[str, str], list[Ratio]]
"""(analysis, released) -> its comparisons"""
Refused = dict[tuple[str, str], str]
"""(analysis, released) -> why there is nothing to compare"""


def cases() -> list[Case]:
    """Every mechanism with every scheme that it has."""
    found = [Case(m, s, r) for m in (*BOUNDED, *SUMS) for s, r in SCHEMES]
    found = [c for c in found if c.mechanism != "sampled-gaussian-phases" or c.sampling in ("poisson", "full-batch")]
    found += [Case(EPOCHS, s, r) for s in literal_epochs.SAMPLINGS for r in ("add-remove", "replace-one")]
    return found + [Case(m, "one record a step", "replace-one") for m in MOMENTUM]


def _assumes(case: Case, convex: bool, released: str) -> Assumes:
    strong = convex and case.mechanism in ("noisy-sgd-strong", "langevin")
    losses = {"convex": convex, "smooth": convex, "strongly_convex": strong, "clipped": True, "bounded": True}
    return Assumes(sampling=case.sampling, relation=case.relation, released=released, **losses)  # type: ignore[arg-type]


def _mechanism(case: Case, s: Setting) -> Mechanism:
    name, given = case.mechanism, {"sampling": case.sampling, "neighboring_relation": case.relation}
    if name in SUMS:
        # two phases of the same noise are one of as many steps
        phases = name == "sampled-gaussian-phases" and s.steps > 1
        steps: Any = [s.steps // 2, s.steps - s.steps // 2] if phases else s.steps
        given |= {"steps": steps, "noise_multiplier": s.multiplier, "sampling_probability": s.q}
        return MECHANISMS["sampled-gaussian"].model_validate(given)
    sizes = ["steps", "n", "batch_size", "step_size", "diameter"]
    if name != "clipped-noisy-sgd":
        sizes += ["lipschitz"] if name == "noisy-sgd" else ["lipschitz", "smoothness", "strong_convexity"]
    given |= {size: getattr(s, size) for size in sizes}
    if name == "clipped-noisy-sgd":
        given |= {"clip": s.lipschitz, "noise_std": s.parameter_noise_std}
    elif name == "langevin":
        given |= {"sigma": s.parameter_noise_std / math.sqrt(2 * s.step_size)}
    else:
        given |= {"noise_std": s.noise_std}
    return MECHANISMS[name if name in MECHANISMS else "noisy-sgd"].model_validate(given)


def _needs_convexity(case: Case, a: Analysis) -> bool:
    """Whether only convex pairs test this analysis."""
    convex = case.mechanism in ("noisy-sgd-convex", "noisy-sgd-strong", "langevin")
    return convex and a.released != ALL and "no convexity of the losses" not in a.assumptions


def survey(case: Case, comparisons: int, settings: int = 2, climbs: int = 2) -> list[Row]:
    """The rows of one case, from at least so many comparisons where the case has any; deterministic.

    `settings` are tried at a time before it is asked whether there are enough, and `climbs` is the least number of
    steps of the search from each analysis' worst point: 1 and 0 are the least that a survey can do.
    """
    with threadpool_limits(1):
        if case.mechanism in MOMENTUM:
            return _momentum(case, comparisons, settings)
        if case.mechanism == EPOCHS:
            return _epochs(case, comparisons, settings)
        return _survey(case, comparisons, settings, climbs)


def _survey(case: Case, comparisons: int, settings: int, climbs: int) -> list[Row]:
    """Space-filling for all analyses together, then from the worst point of each a search for a worse one."""
    sobol, tried = qmc.Sobol(DIMENSIONS + 1 + SHAPES, seed=7), 0
    held: Held = {}
    refused: Refused = {}
    while sum(map(len, held.values())) < FILLING * comparisons and tried < 400 and (held or tried < 40):
        for x in sobol.random(settings):
            tried += 1
            s = _setting(case, x)
            valid = _valid(_mechanism(case, s), refused)
            _at(case, s, x, [a for a in valid if a.name != "nothing-released"], held)
    left = comparisons - sum(map(len, held.values()))
    rng = np.random.default_rng(7)
    for ratios in list(held.values()):
        _climb(case, ratios, max(climbs, left // len(held)), rng)
    return _rows(case, held, refused)


def _valid(mechanism: Mechanism, refused: Refused) -> list[Analysis]:
    """The analyses that say something; of the others why not."""
    found = mechanism.upper_bounds()
    for a in found:
        if not a.valid:
            refused.setdefault((a.name, a.released), f"refused: {a.refused}")
    return [a for a in found if a.valid]


def _climb(case: Case, ratios: list[Ratio], count: int, rng: np.random.Generator) -> None:
    """Local search from the tightest ratio of one analysis, within its family: half of the coordinates at a time."""
    best, step = min(ratios, key=lambda r: r.ratio), STEP
    for _ in range(count):
        x = np.array(best.cube)
        moved = rng.random(len(x)) < 0.5
        x[moved] += step * rng.uniform(-1, 1, int(moved.sum()))
        found = _again(case, best, np.clip(x, 0.0, 1.0))
        if found is not None:
            ratios.append(found)
        if found is not None and found.ratio < best.ratio:
            best = found
        else:
            step = max(0.01, step * SHRINK)


def _again(case: Case, like: Ratio, x: np.ndarray) -> Ratio | None:
    """The same analysis, family and kind of statement at another point."""
    s = _setting(case, x)
    analysis = next((a for a in _mechanism(case, s).upper_bounds() if a.valid and a.name == like.analysis), None)
    family = next(f for f in FAMILIES if f.name == like.family)
    if analysis is None:
        return None
    shape = tuple(float(v) for v in x[DIMENSIONS + 1 :])
    exact = family.build(s, _assumes(case, like.convex, like.seen), shape)
    if exact is None:
        return None
    at = level(KINDS[like.kind], float(x[DIMENSIONS]), exact.variation)
    return _ratio(analysis, exact, s, x, at, like)


def _ratio(a: Analysis, exact: AttainedLaw, s: Setting, x: np.ndarray, at: float, like: Ratio) -> Ratio | None:
    """One comparison; None where one of the two says nothing."""
    here = replace(like, cube=tuple(float(v) for v in x), at=at, words=_words(s))
    try:
        bound = a.eps(at) if like.kind == "eps" or a.rdp is None else a.rdp(at)
    except (ArithmeticError, ValueError) as error:  # an analysis that fails is a finding like a violation
        return replace(here, ratio=0.0, violated=True, words=f"fails with {error!r} at {here.words}")
    low = attained(exact, KINDS[like.kind], at)
    if not math.isfinite(bound) or low <= FLOOR:
        return None
    if bound < NEAR * low:
        low = confirmed(exact, KINDS[like.kind], at)[0]
    if low <= FLOOR:
        return None
    return replace(here, ratio=bound / low, violated=bool(low > bound * (1 + MARGIN)))


def _setting(case: Case, x: np.ndarray) -> Setting:
    convex = case.mechanism in ("noisy-sgd-convex", "noisy-sgd-strong", "langevin")
    seen = ALL if case.mechanism in SUMS else "last-iterate"
    return from_cube(x[:DIMENSIONS], _assumes(case, convex, seen))


def _at(case: Case, s: Setting, x: np.ndarray, valid: list[Analysis], held: Held) -> None:
    """All analyses at one setting."""
    shape = tuple(float(v) for v in x[DIMENSIONS + 1 :])
    kinds = [("all-iterates", False)]
    if case.mechanism not in SUMS:
        convex = {_needs_convexity(case, a) for a in valid}
        kinds += [("last-iterate", k) for k in sorted(convex, reverse=True)]
    for seen, convex_only in kinds:
        assumes = _assumes(case, convex_only, seen)
        laws = [(f, f.build(s, assumes, shape)) for f in admitted(assumes)]
        here = [(f, exact) for f, exact in laws if exact is not None]
        if not here:
            continue
        variation = max(exact.variation for _, exact in here)
        for kind, place in (("eps", x[DIMENSIONS]), ("eps", 0.7 + 0.3 * x[DIMENSIONS]), ("rdp", 0.7 * x[DIMENSIONS])):
            at = level(KINDS[kind], float(place), variation)
            for family, exact in here:
                for a in valid:
                    if (seen == "all-iterates" and a.released != ALL) or (kind == "rdp" and a.rdp is None):
                        continue
                    if seen == "last-iterate" and convex_only != _needs_convexity(case, a):
                        continue
                    like = Ratio(a.name, family.name, seen, convex_only, kind)
                    found = _ratio(a, exact, s, x, at, like)
                    if found is not None:
                        held.setdefault((a.name, a.released), []).append(found)


def _words(s: Setting) -> str:
    shown = {
        "n": s.n, "b": s.batch_size, "T": s.steps, "z": s.multiplier, "width": s.width,
        "eta m": s.curvatures[0], "eta M": s.curvatures[1],
    }  # fmt: skip
    return ", ".join(f"{k} {v:.4g}" for k, v in shown.items() if math.isfinite(v))


def _rows(case: Case, held: Held, refused: Refused) -> list[Row]:
    """Of every analysis that was compared, and of those that there is nothing to compare with."""
    rows = []
    for (name, released), ratios in held.items():
        worst = min(ratios, key=lambda r: r.ratio).where
        rows.append(Row(case, name, released, tuple(r.ratio for r in ratios), sum(r.violated for r in ratios), worst))
    return rows + [Row(case, n, r, (), 0, "", why) for (n, r), why in refused.items() if (n, r) not in held]


def _against(
    held: Held, a: Analysis, family: str, low_at: Callable[[float], float], deltas: Sequence[float], words: str
) -> None:
    """A statement of all iterates against what one pair attains at some deltas."""
    for delta in deltas:
        low, bound = low_at(delta), a.eps(delta)
        if low > FLOOR and math.isfinite(bound):
            violated = bool(low > bound * (1 + MARGIN))
            found = Ratio(a.name, family, "all-iterates", True, "eps", bound / low, violated, delta, (), words)
            held.setdefault((a.name, a.released), []).append(found)


def _momentum(case: Case, comparisons: int, settings: int) -> list[Row]:
    """Gaussian statements against constant gradients, by the literal nodes or steps that are released."""
    rng = np.random.default_rng(11)
    held: Held = {}
    refused: Refused = {}
    drawn = [constant_gradients(case.mechanism, rng) for _ in range(max(2 * settings, comparisons // 6))]
    drawn = [(mechanism, {"constant gradients": mu}, False) for mechanism, mu in drawn]
    if case.mechanism == "reduced-momentum":
        drawn += [(*iterates_alone(rng), True) for _ in range(max(3, comparisons // 9))]
    for mechanism, pairs, alone in drawn:
        # small runs have no stored certificate: the prover makes theirs
        with patch.object(momentum, "certificate", CERTIFY):
            valid = _valid(mechanism, refused)
        for a in valid:
            if (a.name == ITERATES_ALONE) == alone and a.mu is not None and math.isfinite(a.mu):
                for family, mu in pairs.items():
                    if mu > 0:
                        pair = normal(mu)
                        _against(held, a, family, pair.eps, (0.2 * pair.variation, 1e-5, 1e-12), f"mu {mu:.6g}")
    return _rows(case, held, refused)


def _epochs(case: Case, comparisons: int, settings: int) -> list[Row]:
    """Batches that are drawn epoch by epoch, against constant gradients at three deltas."""
    rng = np.random.default_rng(13)
    held: Held = {}
    for _ in range(max(settings, comparisons // 6)):
        mechanism, pairs = literal_epochs.constant_gradients(case.sampling, case.relation, rng)
        words = ", ".join(f"{k} {v}" for k, v in mechanism.model_dump().items() if isinstance(v, int | float))
        for a in mechanism.upper_bounds():
            for family, low_at in pairs.items():
                _against(held, a, family, low_at, (0.03, 1e-3, 1e-6), words)
    return _rows(case, held, {})


def all_rows(comparisons: int, jobs: int) -> list[Row]:
    """Every case, in the same order and with the same numbers for any number of jobs."""
    todo = cases()
    with ProcessPoolExecutor(jobs) as pool:
        found = pool.map(survey, todo, [math.ceil(comparisons / len(todo))] * len(todo))
        return [row for rows in found for row in rows]


def table(rows: Sequence[Row]) -> str:
    """results/tables/judged.md."""
    total = sum(len(r.ratios) for r in rows)
    wrong = sum(r.violations for r in rows)
    lines = [
        "# Every analysis against exact laws",
        "",
        f"{total:,} comparisons, {wrong:,} violations. A comparison is one exact law of a run, rounded down, beside",
        "the bound: epsilon at a delta between 1e-14 and .3, or a Renyi divergence. *Tightest* is the least ratio of",
        "bound to exact value, *median* the middle one: how much is still open, or lies beyond these pairs. An",
        "analysis of all iterates is compared with last iterates too. Made by `python -m tests.campaigns.survey_of_bounds`.",
        "",
        "| mechanism | sampling | neighbours | analysis | released | comparisons | tightest | median | violations |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        where = f"| {r.case.mechanism} | {r.case.sampling} | {r.case.relation} | {r.analysis} | {r.released} |"
        if r.ratios:
            least, middle = min(r.ratios), float(np.median(r.ratios))
            lines.append(f"{where} {len(r.ratios)} | {_short(least)} | {_short(middle)} | {r.violations} |")
        else:
            lines.append(f"{where} {r.refused} | | | |")
    bad = [r for r in rows if r.violations]
    if bad:
        lines += ["", "## Violations", ""]
        lines += [f"- {r.case.mechanism}, {r.case.sampling}, {r.case.relation}, {r.analysis}: {r.worst}" for r in bad]
    return "\n".join(lines) + "\n"


def _short(ratio: float) -> str:
    return f"{ratio:.6f}" if ratio < 1.1 else f"{ratio:.3g}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where an analysis is violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.survey_of_bounds", description=__doc__)
    parser.add_argument("--comparisons", type=int, default=21_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    rows = all_rows(given.comparisons, given.jobs)
    if given.out is None:
        print(table(rows), end="")
    else:
        given.out.write_text(table(rows))
    return int(any(r.violations for r in rows))


if __name__ == "__main__":
    raise SystemExit(main())
