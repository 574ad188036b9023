"""A trial of the installed numba, as a process of its own for `internals`: what it lacks, as JSON on stdout."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numba import njit
from numba.core.errors import NumbaError

from dpexp.core.terminal import say

OTHER = (ImportError, AttributeError, TypeError, ValueError, RuntimeError, AssertionError)
"""what comes of a name that is gone, or takes other arguments; numba's own errors are told by what they wrap"""


def main() -> None:
    """Try both, and say what was missing."""
    say(json.dumps({"lanes": _lacks(vocabulary), "kept": _lacks(round_trip)}))


def _lacks(tried: Any) -> str | None:
    """What was missing when something was tried, in one line; None where it went well."""
    try:
        tried()
    except (*OTHER, NumbaError) as error:
        # numba says first in which of its steps it failed, and then what
        lines = [line for line in str(error).splitlines() if line and not line.startswith("Failed in nopython mode")]
        return lines[0] if lines else type(error).__name__
    return None


def round_trip() -> None:
    """Compile something, and load it again from what would be kept of it."""
    from dpexp.engine.compiled import kept_again

    function = njit(nogil=True)(lambda x: x + 1.0)
    function(1.0)
    kept_again(function)


def vocabulary() -> None:
    """Compile every word of `vectors` and `tiles` that is an instruction of its own."""
    array, rows = np.ones((4, 1, 8)), np.ones((4, 8))
    _kernel()(array, rows, np.ones((1, 16), np.float32))


def _kernel() -> Any:
    from dpexp.engine.compiled import compiled
    from dpexp.engine.lanes import tiles, vectormath, vectors
    from dpexp.engine.lanes.elementwise import exp, minimum, normal_cdf, normal_square_below, sqrt, where

    load, store, read, write, load_state = vectors.load, vectors.store, vectors.read, vectors.write, vectors.load_state
    add, fused, in_any, sine_cosine = vectors.add, vectors.fused, vectors.in_any, vectormath.sine_cosine
    no_sums, outer, rows_at, keep_totals = tiles.no_sums, tiles.outer, tiles.rows_at, tiles.keep_totals
    keep_rows, weighted, spread_at, fetch_row = tiles.keep_rows, tiles.weighted, tiles.spread_at, tiles.fetch_row

    @compiled(kept=True)
    def kernel(array, rows, singles):
        x, four = read(rows, (0,)), (0, 1, 2, 3)
        if in_any(x < 2.0):
            write(rows, (1,), fused(x, normal_square_below(x), normal_cdf(minimum(x, 1.0))))
        add(rows, (2,), where(x > 0.5, sqrt(load_state(rows, (1,))), sine_cosine(-x)[0]))
        store(singles, (0,), exp(load(singles, (0,))))
        sums = outer(no_sums(array, (0,), four), rows_at(array, (0,), 0), rows_at(array, four, 0))
        keep_totals(rows, (3,), 0, sums)
        fetch_row(rows, 0)
        factors = spread_at(rows, (3,), four)
        keep_rows(array, (0,), 0, weighted(rows_at(array, (0,), 0), factors, rows_at(array, four, 0)))

    return kernel


if __name__ == "__main__":
    main()
