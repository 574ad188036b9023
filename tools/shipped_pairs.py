"""Makes and examines the pairs that come with the package: `python -m tools.shipped_pairs`.

It searches for what is missing from the map (seconds each, minutes in all). `python -m tools.shipped_pairs recheck`
certifies every stored pair again and computes the bounds anew.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from typing import Any

from dpexp.core.digests import digest
from dpexp.privacy.mechanisms.clipped_noisy_sgd import ClippedNoisySgd
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd
from dpexp.privacy.pairs.kept import DELTA, STORE, Entry, document_of, one_a_decade, pair_of, stored

SECONDS = {DELTA: 10.0, 1e-3: 4.0, 1e-8: 4.0}
"""of CPU time for the search of one pair, by delta"""
SLACK = 1e-5
"""relative difference of recomputed values that rounding on another processor explains"""

CLIPPED = (
    *(("fixed-size", "replace-one", *size) for size in (
        (1000, 100, 5.0, 1.0, 1000), (1000, 100, 5.0, 1.0, 100_000), (5, 1, 1.0, 1.0, 1000), (100, 10, 5.0, 1.0, 200),
        (500, 10, 8.0, 3.0, 2000), (50, 10, 3.0, 0.5, 500), (200, 20, 2.0, 1.0, 100), (1000, 10, 4.0, 0.5, 1000),
        (50, 5, 2.0, 2.0, 50), (100, 10, 10.0, 1.0, 1000), (20, 1, 1.0, 0.5, 20), (20, 2, 5.0, 1.0, 100),
    )),
    *(("poisson", "replace-one", *size) for size in (
        (100, 10, 5.0, 1.0, 200), (50, 10, 3.0, 0.5, 500), (40, 8, 3.0, 1.0, 300), (20, 4, 2.0, 1.0, 100),
        (50, 5, 2.0, 2.0, 50),
    )),
    *(("poisson", "add-remove", *size) for size in ((100, 10, 5.0, 1.0, 200), (40, 8, 3.0, 1.0, 300))),
    *(("full-batch", "replace-one", *size) for size in (
        (100, 100, 5.0, 1.0, 100_000), (100, 100, 5.0, 1.0, 1000), (20, 20, 2.0, 1.0, 200), (10, 10, 4.0, 2.0, 500),
    )),
    ("full-batch", "add-remove", 20, 20, 3.0, 1.0, 300),
)  # fmt: skip
"""(sampling, relation, n, b, h, u, T): half width and longest step in noise units"""
CONVEX = (
    *(("fixed-size", "replace-one", *size) for size in (
        (1000, 100, 5.0, 1.0, 1000, 0.0), (100, 10, 5.0, 1.0, 200, 0.0), (50, 10, 3.0, 0.5, 500, 0.0),
        (20, 1, 1.0, 0.5, 1000, 0.0), (500, 10, 8.0, 3.0, 2000, 0.0), (100, 10, 15.0, 2.0, 5000, 0.0),
        (100, 10, 5.0, 1.0, 200, 0.05), (100, 10, 3.0, 1.0, 1000, 0.1),
    )),
    *(("poisson", "replace-one", *size) for size in (
        (100, 10, 5.0, 1.0, 200, 0.0), (50, 10, 3.0, 0.5, 500, 0.0), (40, 8, 3.0, 1.0, 300, 0.1),
    )),
    *(("poisson", "add-remove", *size) for size in ((100, 10, 5.0, 1.0, 200, 0.0), (50, 10, 3.0, 0.5, 500, 0.0))),
    *(("full-batch", "replace-one", *size) for size in (
        (100, 100, 5.0, 1.0, 1000, 0.0), (20, 20, 2.0, 1.0, 200, 0.0), (20, 20, 3.0, 1.0, 200, 0.1),
    )),
)  # fmt: skip
"""the same with eta m; eta M = 1"""


def mechanisms() -> Iterator[Mechanism]:
    """The grid, with noise 1 and step size 1."""
    for sampling, relation, n, b, h, u, steps in CLIPPED:
        run = {"n": n, "batch_size": b, "steps": steps, "sampling": sampling, "neighboring_relation": relation}
        unit = {"step_size": 1.0, "noise_std": 1.0, "diameter": 2 * h}
        yield ClippedNoisySgd.model_validate(run | unit | {"clip": u})
    for sampling, relation, n, b, h, u, steps, m in CONVEX:
        run = {"n": n, "batch_size": b, "steps": steps, "sampling": sampling, "neighboring_relation": relation}
        unit = {"step_size": 1.0, "noise_std": 1.0, "diameter": 2 * h}
        yield NoisySgd.model_validate(run | unit | {"lipschitz": u, "smoothness": 1.0, "strong_convexity": m})


def best_bound(mechanism: Mechanism, delta: float = DELTA) -> tuple[str, float]:
    """The smallest valid epsilon for the last iterate, which bounds on all iterates cover, and its analysis."""
    valid = [(a.eps(delta), a.name) for a in mechanism.analyses() if a.valid]
    eps, name = min(valid)
    return name, eps


def before(mechanism: Mechanism, delta: float = DELTA) -> float:
    """What today's pair attains: `exact-walk`."""
    return max((b.eps(delta) for b in mechanism.lower_bounds() if b.name == "exact-walk"), default=0.0)


def searched(mechanism: Mechanism) -> Entry:
    """An entry from scratch."""
    from dpexp.privacy.pairs.search import search
    from dpexp.privacy.pairs.stated import NotCertified, certified, evaluated

    space, found = mechanism.projected_run(), []
    larger = max(1.0, (space.half_width + 2 * space.reach) / 7)  # more places, and a farther way
    for delta, seconds in SECONDS.items():
        for pair in reversed(search(space, delta, larger * seconds, time.process_time)):
            rounded = pair_of(document_of(pair), space)  # what the file will hold
            try:
                found.append(certified(rounded, space))
                break
            except NotCertified as error:
                print(f"  {error}", flush=True)
    today, kept = before(mechanism), one_a_decade((c.pair, c.eps) for c in found)
    after = max(today, *(eps if p.delta == DELTA else evaluated(p, space, DELTA) for p, eps in kept))
    pairs, values = (tuple(part) for part in zip(*kept, strict=True))
    return Entry(mechanism, *best_bound(mechanism), today, after, pairs, values)


def write(entries: list[Entry]) -> None:
    """Replaces the file."""
    order = {m: k for k, m in enumerate(mechanisms())}
    documents = [_entry(e) for e in sorted(entries, key=lambda e: order[e.mechanism])]
    lines = ",\n".join(json.dumps(entry) for entry in documents)
    STORE.write_text(f'{{"sha256": "{digest(documents)}", "entries": [\n{lines}\n]}}\n', encoding="utf-8")


def _entry(e: Entry) -> dict[str, Any]:
    name = "clipped-noisy-sgd" if isinstance(e.mechanism, ClippedNoisySgd) else "noisy-sgd"
    pairs = [document_of(p) | {"eps": eps} for p, eps in zip(e.pairs, e.certified, strict=True)]
    return {"mechanism": name, "parameters": e.mechanism.model_dump(), "analysis": e.analysis, "bound": e.bound,
            "before": e.before, "after": e.after, "pairs": pairs}  # fmt: skip


def complaints(entry: Entry) -> list[str]:
    """What is no longer true of an entry: every pair certified again, the bound and today's pair computed anew."""
    from dpexp.privacy.pairs.stated import certified

    found = []
    for pair, eps in zip(entry.pairs, entry.certified, strict=True):
        if not certified(pair, entry.run).eps >= eps * (1 - SLACK):
            found.append(f"the pair at {pair.delta:g} no longer attains {eps:.6g}")
    for name, now, held in (
        ("bound", best_bound(entry.mechanism)[1], entry.bound),
        ("today's pair", before(entry.mechanism), entry.before),
    ):
        if not math.isclose(now, held, rel_tol=SLACK):
            found.append(f"{name}: {now:.6g}, stored {held:.6g}")
    if not max(entry.before, *(e for p, e in zip(entry.pairs, entry.certified, strict=True) if p.delta == DELTA)) <= (
        entry.after * (1 + SLACK)
    ):
        found.append("what is attained is more than is stored")
    return found


def main(words: list[str]) -> int:
    """Searches for what is missing, or examines what is stored."""
    if words == ["recheck"]:
        wrong = [f"{entry.mechanism}: {said}" for entry in stored() for said in complaints(entry)]
        print("\n".join(wrong) or f"{len(stored())} entries hold", flush=True)
        return 1 if wrong else 0
    held = {entry.mechanism: entry for entry in stored()}
    for mechanism in mechanisms():
        if mechanism in held:
            continue
        began = time.process_time()
        entry = held[mechanism] = searched(mechanism)
        write(list(held.values()))
        spent = time.process_time() - began
        gain = entry.after / entry.before if entry.before else math.inf
        print(f"{entry.run}: {entry.before:.4g} -> {entry.after:.4g} ({gain:.2f}), bound {entry.bound:.4g}"
              f" by {entry.analysis}, {spent:.0f} CPU seconds", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
