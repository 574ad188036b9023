"""The random numbers of the engine, at length: their law to six sigma, streams of different keys, and dieharder.

    python -m tests.campaigns.random_numbers [--normals 5e9] [--streams 400] [--minutes 20]

- law: counts of normals in 56 bins of a quarter to seven sigma on both sides, against the normal law;
- keys: correlations of all pairs of streams whose keys differ by one in seed, replicate, role or part, of the numbers,
  of their squares and of their signs, at lags 0 and 1;
- dieharder, where that is installed (Debian has it): its tests on the bits of the generator, eight streams in turn, and
  on the uniform numbers that the normal distribution function makes of normals. It is stopped after so many minutes.

The exit code is 1 where something is off: at level 1e-6 for each test, of which there are a few hundred.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import time

import numpy as np
from scipy import special, stats

from dpexp.core.seeds import stream_states
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.noise_process import Normals
from dpexp.engine.lanes.streams import fill_normal, next_state
from dpexp.engine.lanes.vectors import LANES, load, store

LEVEL = 1e-6
BINS, REACH = 56, 7.0
"""of the normals: how many, from -7 to 7; beyond, there is one more on each side"""
BLOCK = 1 << 15


@compiled
def _count(numbers: np.ndarray, counts: np.ndarray) -> None:
    for z in numbers.flat:
        place = (z + REACH) * (BINS / (2 * REACH))
        counts[0 if place < 0 else BINS + 1 if place >= BINS else int(place) + 1] += 1


@compiled
def _fill_bits(state, out, count):  # type: ignore[no-untyped-def]
    s0, s1, s2, s3 = load(state, (0,)), load(state, (1,)), load(state, (2,)), load(state, (3,))
    for k in range(count):
        bits, s0, s1, s2, s3 = next_state(s0, s1, s2, s3)
        store(out, (k,), bits)
    store(state, (0,), s0)
    store(state, (1,), s1)
    store(state, (2,), s2)
    store(state, (3,), s3)


def law(total: float, seed: int = 20) -> list[tuple[str, float]]:
    """P-values: of all bins together, and of the numbers beyond 4, 5 and 6 sigma, by an exact Poisson law."""
    state, block = stream_states(seed, range(LANES), "noise"), np.empty((BLOCK, LANES))
    counts, blocks = np.zeros(BINS + 2, np.int64), round(total / block.size)
    for _ in range(blocks):
        fill_normal(state, block, BLOCK)
        _count(block, counts)
    drawn = blocks * block.size
    edges = np.linspace(-REACH, REACH, BINS + 1)
    share = np.diff(np.concatenate([[0.0], special.ndtr(edges), [1.0]]))
    share = (share + share[::-1]) / 2  # the upper tail loses no digits so
    often = share * drawn >= 10
    merged = np.append(counts[often], counts[~often].sum()), np.append(share[often], share[~often].sum()) * drawn
    chi = float(np.sum((merged[0] - merged[1]) ** 2 / merged[1]))
    found = [(f"{drawn:.3g} normals in {len(merged[0])} bins", float(stats.chi2.sf(chi, len(merged[0]) - 1)))]
    centres = np.concatenate([[-np.inf], edges])
    for sigma in (4, 5, 6):
        beyond = int(counts[: np.searchsorted(centres, -sigma)].sum() + counts[np.searchsorted(centres, sigma) :].sum())
        mean = 2 * float(special.ndtr(-sigma)) * drawn
        p = 2 * min(stats.poisson.cdf(beyond, mean), stats.poisson.sf(beyond - 1, mean))
        found.append((f"beyond {sigma} sigma: {beyond:,} of {mean:,.1f} expected", min(1.0, float(p))))
    return found


def keys(count: int, length: int = 200_000) -> list[tuple[str, float]]:
    """P-values of the largest correlation of all pairs of streams, by the union bound."""
    seeds = range(max(1, count // 40))
    chosen = list(itertools.product(seeds, range(5), ("data", "noise"), range(4)))[:count]
    z = np.stack([Normals(seed, r, role, part).standard_normal((1, length))[0] for seed, r, role, part in chosen])
    found = []
    for name, of in {"numbers": np.asarray, "squares": np.square, "signs": np.sign}.items():
        values = of(z)
        values = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
        for lag in (0, 1):
            product = values[:, lag:] @ values[:, : length - lag].T / length
            # without a lag a stream goes with every other, once; with one, every stream follows every other and itself
            told = product[np.triu_indices(len(z), 1)] if lag == 0 else product.ravel()
            largest = np.abs(told).max()
            p = min(1.0, 2 * told.size * float(special.ndtr(-largest * np.sqrt(length))))
            found.append((f"{name} of {len(z)} streams, lag {lag}: largest correlation {largest:.4f}", p))
    return found


def emit(name: str) -> None:
    """Write to stdout for ever: the generator's bits, eight streams in turn, or the normals by their distribution function."""
    if name == "bits":
        state, block = stream_states(21, range(LANES), "data"), np.empty((BLOCK, LANES), np.uint64)
    else:
        state, block = stream_states(22, range(LANES), "noise"), np.empty((BLOCK, LANES))
    with contextlib.suppress(BrokenPipeError):
        while True:
            (_fill_bits if name == "bits" else fill_normal)(state, block, BLOCK)
            sys.stdout.buffer.write(
                (block if name == "bits" else np.floor(special.ndtr(block) * 2.0**32).astype(np.uint32)).tobytes()
            )


def dieharder(name: str, minutes: float) -> list[tuple[str, float]]:
    """P-values of the tests that were done in time; each is that of one of its statistics."""
    words = ["dieharder", "-a", "-g", "200", "-D", "test_name", "-D", "ntuple", "-D", "pvalues"]
    source = subprocess.Popen(
        [sys.executable, "-m", "tests.campaigns.random_numbers", "--emit", name], stdout=subprocess.PIPE
    )
    try:
        done = subprocess.run(words, stdin=source.stdout, capture_output=True, timeout=60 * minutes).stdout
    except subprocess.TimeoutExpired as stopped:
        done = stopped.stdout or b""
    finally:
        source.kill()
    found = []
    for line in done.decode().splitlines():
        *what, value = (part.strip() for part in line.split("|"))
        with contextlib.suppress(ValueError):
            found.append((f"dieharder, {name}, {' '.join(what)}", min(1.0, 2 * min(float(value), 1 - float(value)))))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--normals", type=float, default=5e9)
    parser.add_argument("--streams", type=int, default=400)
    parser.add_argument("--minutes", type=float, default=20.0, help="of each run of dieharder; 0: none")
    parser.add_argument("--emit", choices=["bits", "normals"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.emit:
        emit(options.emit)
        return 0
    begin, found = time.monotonic(), law(options.normals) + keys(options.streams)
    for what, p in found:
        print(f"{what}: p = {p:.3g}", flush=True)
    if options.minutes and shutil.which("dieharder") is None:
        print("dieharder is not installed: its tests are left out")
    elif options.minutes:
        found += [one for name in ("bits", "normals") for one in dieharder(name, options.minutes)]
    off = [(what, p) for what, p in found if p < LEVEL]
    print(f"{len(found)} tests in {(time.monotonic() - begin) / 60:.1f} minutes, {len(off)} off at {LEVEL:g}")
    for what, p in off:
        print(f"OFF {what}: p = {p:.3g}")
    return 1 if off else 0


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
