"""Whether the installed numba compiles lanes: it must be one of those that the tests pass with.

numba's documentation covers `njit`, `overload` and `intrinsic`. A new type whose values are vectors also needs its data
model, the builder of LLVM instructions and a few helpers, and keeping compiled code (`dpexp.engine.compiled`) the parts
of a compiled function. Any release may rename them, so the requirement in pyproject.toml has a ceiling.
"""

from __future__ import annotations

import os
import re
from importlib.metadata import PackageNotFoundError, version

from dpexp.core.errors import UsageError

OLDEST, NEWEST = "0.61.0", "0.68.1"
"""the first and the last numba with which the tests pass; pyproject.toml requires this range of minor versions"""


class CompilerMismatch(UsageError):
    """The installed numba cannot compile lanes, or was never tested."""


def require_compiler() -> None:
    """Raise CompilerMismatch where numba is missing, outside the tested range, broken or switched off."""
    advice = f"pip install 'numba>={OLDEST},<={NEWEST}'"
    try:
        found = version("numba")
    except PackageNotFoundError:
        raise CompilerMismatch("numba is not installed", "pip install dpexp installs it") from None
    if not _minor(OLDEST) <= _minor(found) <= _minor(NEWEST):
        raise CompilerMismatch(f"dpexp was not tested with numba {found}", advice)
    try:
        import numba  # noqa: F401  it refuses a numpy that it does not know
    except ImportError as error:
        raise CompilerMismatch(f"numba {found} cannot be imported: {error}", advice) from None
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise CompilerMismatch("NUMBA_DISABLE_JIT is set, and the loops of dpexp have to be compiled", "unset it")


def _minor(text: str) -> tuple[int, ...]:
    """The first two numbers of a version: 0.69.0rc1 is (0, 69)."""
    return tuple(map(int, re.findall(r"\d+", text)[:2]))
