"""Every analysis of every mechanism held against exact laws: `python -m dpexp.privacy.judge.survey`.

For each sampling scheme and neighbouring relation, settings fill the space of parameters; at each of them every valid
analysis is compared, at two deltas and where it has a Renyi curve at one order, with every pair that its assumptions
admit. An analysis of all iterates is also compared with last iterates, which are part of what is released. The table
shows the worst ratio of bound to exact value: above 1 the bound held, and 1 means that a pair attains it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.privacy.analysis import ALL, Analysis
from dpexp.privacy.judge.families import Exact, Family, Normal, admitted
from dpexp.privacy.judge.literal_momentum import constant_gradients
from dpexp.privacy.judge.search import FLOOR, MARGIN, SHAPES, confirmed, level, value
from dpexp.privacy.judge.setting import DIMENSIONS, Assumes, Setting, from_cube
from dpexp.privacy.mechanisms import MECHANISMS, Mechanism

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


@dataclass(frozen=True)
class Ratio:
    """One comparison."""

    ratio: float
    violated: bool
    where: str


def cases() -> list[Case]:
    """Every mechanism with every scheme that it has."""
    found = [Case(m, s, r) for m in (*BOUNDED, *SUMS) for s, r in SCHEMES]
    found = [c for c in found if c.mechanism != "sampled-gaussian-phases" or c.sampling in ("poisson", "full-batch")]
    return found + [Case(m, "one record a step", "replace-one") for m in MOMENTUM]


def _assumes(case: Case, convex: bool, released: str) -> Assumes:
    strong = convex and case.mechanism in ("noisy-sgd-strong", "langevin")
    return Assumes(
        sampling=case.sampling,  # type: ignore[arg-type]
        relation=case.relation,
        released=released,
        convex=convex,
        smooth=convex,
        strongly_convex=strong,
        clipped=True,
        bounded=True,
    )


def _mechanism(case: Case, s: Setting) -> Mechanism:
    shared: dict[str, Any] = {"steps": s.steps, "sampling": case.sampling, "neighboring_relation": case.relation}
    if case.mechanism in SUMS:
        # two phases of the same noise are one of as many steps
        phases = case.mechanism == "sampled-gaussian-phases" and s.steps > 1
        shared["steps"] = [s.steps // 2, s.steps - s.steps // 2] if phases else s.steps
        return MECHANISMS["sampled-gaussian"](noise_multiplier=s.multiplier, sampling_probability=s.q, **shared)
    shared |= {"n": s.n, "batch_size": s.batch_size, "step_size": s.step_size, "diameter": s.diameter}
    if case.mechanism == "clipped-noisy-sgd":
        return MECHANISMS[case.mechanism](**shared, clip=s.lipschitz, noise_std=s.parameter_noise_std)
    curvature = {"smoothness": s.smoothness, "strong_convexity": s.strong_convexity}
    if case.mechanism == "langevin":
        sigma = s.parameter_noise_std / math.sqrt(2 * s.step_size)
        return MECHANISMS["langevin"](**shared, **curvature, lipschitz=s.lipschitz, sigma=sigma)
    if case.mechanism == "noisy-sgd":
        curvature = {}
    return MECHANISMS["noisy-sgd"](**shared, **curvature, lipschitz=s.lipschitz, noise_std=s.noise_std)


def _needs_convexity(case: Case, a: Analysis) -> bool:
    """Whether only convex pairs test this analysis."""
    convex = case.mechanism in ("noisy-sgd-convex", "noisy-sgd-strong", "langevin")
    return convex and a.released != ALL and "no convexity of the losses" not in a.assumptions


def survey(case: Case, comparisons: int) -> list[Row]:
    """The rows of one case, from at least so many comparisons where the case has any; deterministic."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _momentum(case, comparisons) if case.mechanism in MOMENTUM else _survey(case, comparisons)


def _survey(case: Case, comparisons: int) -> list[Row]:
    from scipy.stats import qmc

    sobol = qmc.Sobol(DIMENSIONS + 1 + SHAPES, seed=7)
    held: dict[tuple[str, str], list[Ratio]] = {}
    refused: dict[tuple[str, str], str] = {}
    done = tried = 0
    while done < comparisons and tried < 400:
        for x in sobol.random(4):
            tried += 1
            s = _setting(case, x)
            found = _mechanism(case, s).analyses()
            for a in found:
                if not a.valid:
                    refused.setdefault((a.name, a.released), a.refused)
            valid = [a for a in found if a.valid and a.name != "nothing-released"]
            if not valid:
                continue
            before = sum(len(v) for v in held.values())
            _at(case, s, x, valid, held)
            done += sum(len(v) for v in held.values()) - before
        if not held and tried >= 40:
            break
    rows = [_row(case, name, released, ratios) for (name, released), ratios in held.items()]
    return rows + [Row(case, n, r, (), 0, "", why) for (n, r), why in refused.items() if (n, r) not in held]


def _setting(case: Case, x: np.ndarray) -> Setting:
    if case.mechanism in SUMS:
        return from_cube(x[:DIMENSIONS], _assumes(case, False, "all-iterates"))
    convex = case.mechanism != "clipped-noisy-sgd" and case.mechanism != "noisy-sgd"
    return from_cube(x[:DIMENSIONS], _assumes(case, convex, "last-iterate"))


def _pairs(case: Case, s: Setting, shape: Sequence[float], convex: bool) -> Iterator[tuple[Family, Exact]]:
    """Exact pairs of the last iterate."""
    assumes = _assumes(case, convex, "last-iterate")
    for family in admitted(assumes):
        if family.own_setting is None:
            exact = family.build(s, assumes, shape)
            if exact is not None:
                yield family, exact


def _at(case: Case, s: Setting, x: np.ndarray, valid: list[Analysis], held: dict[tuple[str, str], list[Ratio]]) -> None:
    """All analyses at one setting."""
    shape = tuple(float(v) for v in x[DIMENSIONS + 1 :])
    laws: list[tuple[str, Exact, bool]] = []
    """family, pair, whether it is convex"""
    if case.mechanism in SUMS or any(a.released == ALL for a in valid):
        assumes = _assumes(case, False, "all-iterates")
        for family in admitted(assumes):
            exact = family.build(s, assumes, shape)
            if exact is not None:
                laws.append((family.name, exact, True))
    count_of_sums = len(laws)
    if case.mechanism not in SUMS:
        some_convex = any(_needs_convexity(case, a) for a in valid)
        if some_convex:
            laws += [(f.name, e, True) for f, e in _pairs(case, s, shape, True)]
        if any(not _needs_convexity(case, a) for a in valid):
            known = {name for name, _, _ in laws[count_of_sums:]}
            laws += [(f.name, e, False) for f, e in _pairs(case, s, shape, False) if f.name not in known]
    if not laws:
        return
    variation = max(exact.variation for _, exact, _ in laws)
    levels = [("eps", level("eps", float(x[DIMENSIONS]), variation))]
    levels += [("eps", level("eps", 0.5 + float(x[DIMENSIONS]) / 2, variation))]
    levels += [("rdp", level("rdp", 0.7 * float(x[DIMENSIONS]), variation))]
    for k, (family, exact, is_convex) in enumerate(laws):
        for kind, at in levels:
            low: float | None = None
            for a in valid:
                if k < count_of_sums and a.released != ALL:
                    continue
                if not is_convex and _needs_convexity(case, a):
                    continue
                if kind == "rdp" and a.rdp is None:
                    continue
                bound = _bound(a, kind, at, s, held)
                if not math.isfinite(bound):
                    continue
                if low is None:
                    low = value(exact, kind, at)
                if low <= FLOOR:
                    break
                ratio = _compared(bound, low, exact, kind, at, f"{family}, {kind} at {at:.3g}, {_words(s)}")
                held.setdefault((a.name, a.released), []).append(ratio)


def _bound(a: Analysis, kind: str, at: float, s: Setting, held: dict[tuple[str, str], list[Ratio]]) -> float:
    """The analysis's value; one that fails to give any is reported like a violation."""
    try:
        return a.eps(at) if kind == "eps" or a.rdp is None else a.rdp(at)
    except ArithmeticError as error:
        failed = f"{type(error).__name__}: {error}"
    except ValueError as error:
        failed = f"ValueError: {error}"
    where = f"fails with {failed}: {kind} at {at:.6g}, {_words(s)}"
    held.setdefault((a.name, a.released), []).append(Ratio(0.0, True, where))
    return math.inf


def _compared(bound: float, low: float, exact: Exact, kind: str, at: float, where: str) -> Ratio:
    if bound < NEAR * low:
        low = confirmed(exact, kind, at)[0]
    ratio = bound / low if low > 0 else math.inf
    return Ratio(ratio, low > bound * (1 + MARGIN) and low > FLOOR, where)


def _words(s: Setting) -> str:
    shown = {
        "n": s.n, "b": s.batch_size, "T": s.steps, "z": s.multiplier, "width": s.width,
        "eta m": s.flattest, "eta M": s.steepest,
    }  # fmt: skip
    return ", ".join(f"{k} {v:.4g}" for k, v in shown.items() if math.isfinite(v))


def _row(case: Case, name: str, released: str, ratios: list[Ratio]) -> Row:
    worst = min(ratios, key=lambda r: r.ratio)
    return Row(case, name, released, tuple(r.ratio for r in ratios), sum(r.violated for r in ratios), worst.where)


def _momentum(case: Case, comparisons: int) -> list[Row]:
    """Gaussian statements against constant gradients, by the literal nodes or steps that are released."""
    rng = np.random.default_rng(11)
    held: dict[tuple[str, str], list[Ratio]] = {}
    refused: dict[tuple[str, str], str] = {}
    for _ in range(max(4, comparisons // 6)):
        mechanism, mu = constant_gradients(case.mechanism, rng)
        for a in mechanism.analyses():
            if not a.valid:
                refused.setdefault((a.name, a.released), a.refused)
            elif a.mu is not None and math.isfinite(a.mu) and mu > 0:
                pair = Normal(mu)
                for delta in (0.2 * pair.variation, 1e-5, 1e-12):
                    low = pair.eps(delta)
                    if low > FLOOR:
                        ratio = _compared(a.eps(delta), low, pair, "eps", delta, f"eps at {delta:.3g}, mu {mu:.4g}")
                        held.setdefault((a.name, a.released), []).append(ratio)
    rows = [_row(case, name, released, ratios) for (name, released), ratios in held.items()]
    return rows + [Row(case, n, r, (), 0, "", why) for (n, r), why in refused.items() if (n, r) not in held]


def all_rows(comparisons: int, jobs: int, progress: Callable[[Case], None] = lambda case: None) -> list[Row]:
    """Every case, in the same order and with the same numbers for any number of jobs."""
    todo = cases()
    each = math.ceil(comparisons / len(todo))
    rows: list[Row] = []
    if jobs == 1:
        for case in todo:
            progress(case)
            rows += survey(case, each)
        return rows
    with ProcessPoolExecutor(jobs) as pool:
        for case, found in zip(todo, pool.map(survey, todo, [each] * len(todo)), strict=True):
            progress(case)
            rows += found
    return rows


def table(rows: Sequence[Row]) -> str:
    """results/tables/judged.md."""
    total = sum(len(r.ratios) for r in rows)
    wrong = sum(r.violations for r in rows)
    lines = [
        "# Every analysis against exact laws",
        "",
        f"{total:,} comparisons, {wrong:,} violations. A comparison is one exact law of a run, rounded down, beside the "
        "bound: epsilon at a delta between 1e-14 and .3, or a Renyi divergence. *Tightest* is the least ratio of bound to "
        "exact value, *median* the middle one: how much is still open, or lies beyond these pairs. An analysis of all "
        "iterates is compared with last iterates too. Made by `python -m dpexp.privacy.judge.survey`.",
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
            lines.append(f"{where} refused: {r.refused} | | | |")
    bad = [r for r in rows if r.violations]
    if bad:
        lines += ["", "## Violations", ""]
        lines += [f"- {r.case.mechanism}, {r.case.sampling}, {r.case.relation}, {r.analysis}: {r.worst}" for r in bad]
    return "\n".join(lines) + "\n"


def _short(ratio: float) -> str:
    return f"{ratio:.6f}" if ratio < 1.1 else f"{ratio:.3g}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where an analysis is violated."""
    import sys

    parser = argparse.ArgumentParser(prog="python -m dpexp.privacy.judge.survey", description=__doc__)
    parser.add_argument("--comparisons", type=int, default=21_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    rows = all_rows(
        given.comparisons, given.jobs, lambda c: print(c.mechanism, c.sampling, c.relation, file=sys.stderr, flush=True)
    )
    text = table(rows)
    if given.out is None:
        print(text, end="")
    else:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(text)
    return 1 if any(r.violations for r in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
