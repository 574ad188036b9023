"""Whether the installed numba and llvmlite compile lanes, and whether what they compile can be kept on disk.

numba's documentation covers `njit`, `overload` and `intrinsic`. A new type whose values are vectors also needs its data
model, the builder of LLVM instructions and a few helpers, and keeping compiled code (`dpexp.engine.compiled`) the parts
of a compiled function. Any release may rename them, but none changes any more once it is out. So the releases that the
tests pass with are taken as they are. A newer one is tried before anything is computed, and where it does not fit it is
named by what it lacks. Where only keeping fails, no number is wrong: every process then compiles, and a remark says
why.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from dpexp.core.errors import DpexpError

OLDEST, NEWEST = "0.61.0", "0.68.1"
"""the first and the last numba with which the tests pass; the first is also the floor in pyproject.toml"""
OTHER = (ImportError, AttributeError, TypeError, ValueError, RuntimeError, AssertionError)
"""what comes of a name that is gone, or takes other arguments; numba's own errors are told by what they wrap"""


class CompilerMismatch(DpexpError):
    """The installed numba or llvmlite cannot compile lanes."""


def require_compiler() -> str | None:
    """Raise CompilerMismatch where lanes cannot be compiled; a remark where this numba is newer than those tested."""
    found = _installed("numba")
    advice = f"the tests pass with numba {OLDEST} to {NEWEST}: pip install 'numba>={OLDEST},<={NEWEST}'"
    if _release(found) < _release(OLDEST):
        raise CompilerMismatch(f"numba {found} is too old", advice)
    try:
        import numba  # noqa: F401  it refuses a numpy that it does not know
    except ImportError as error:
        raise CompilerMismatch(f"numba {found} cannot be imported: {error}", advice) from None
    if _release(found) <= _release(NEWEST):
        return None
    if lacks := _lacks(_vocabulary):
        both = f"numba {found} with llvmlite {_installed('llvmlite')}"
        raise CompilerMismatch(f"{both} cannot compile lanes: {lacks}", advice)
    return f"numba {found} is newer than {NEWEST}, the newest with which the tests were run"


def keep_only_what_fits() -> str | None:
    """Turn keeping off, for this process and its workers, where numba has changed below it; a remark that says so."""
    found = _installed("numba")
    if _release(found) <= _release(NEWEST) or not (lacks := _lacks(_round_trip)):
        return None
    from dpexp.engine.compiled import folder

    os.environ["DPEXP_CACHE"] = "off"
    folder.cache_clear()
    return f"compiled code is not kept on disk: {lacks}, in numba {found}"


def _lacks(tried: Any) -> str | None:
    """What was missing when something was tried, in one line; None where it went well."""
    from numba.core.errors import NumbaError

    try:
        tried()
    except (*OTHER, NumbaError) as error:
        # numba says first in which of its steps it failed, and then what
        lines = [line for line in str(error).splitlines() if line and not line.startswith("Failed in nopython mode")]
        return lines[0] if lines else type(error).__name__
    return None


def _round_trip() -> None:
    """Compile something, and load it again from what would be kept of it."""
    from numba import njit

    from dpexp.engine.compiled import kept_again

    function = njit(nogil=True)(lambda x: x + 1.0)
    function(1.0)
    kept_again(function)


def _vocabulary() -> None:
    """Compile every word of `vectors` and `tiles` that is an instruction of its own."""
    array, rows = np.ones((4, 1, 8)), np.ones((4, 8))
    _kernel()(array, rows, np.ones((1, 16), np.float32))


@cache
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


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise CompilerMismatch(f"{name} is not installed", "pip install dpexp installs it") from None


def _release(text: str) -> tuple[int, ...]:
    """The numbers of a version; what follows them, as in 0.69.0rc1, does not count."""
    return tuple(map(int, re.findall(r"\d+", text)[:3]))
