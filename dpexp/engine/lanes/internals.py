"""Whether the installed numba and llvmlite compile lanes, and whether what they compile can be kept on disk.

numba's documentation covers `njit`, `overload` and `intrinsic`. A new type whose values are vectors also needs its data
model, the builder of LLVM instructions and a few helpers, and keeping compiled code (`dpexp.engine.compiled`) the parts
of a compiled function. Any release may rename them, but none changes any more once it is out. So the releases that the
tests pass with are taken as they are. A newer one is tried before anything is computed, and where it does not fit it is
named by what it lacks. Where only keeping fails, no number is wrong: every process then compiles, and a remark says
why.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from dpexp.core.errors import DpexpError

OLDEST, NEWEST = "0.61.0", "0.68.1"
"""the first and the last numba with which the tests pass; the first is also the floor in pyproject.toml"""


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
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise CompilerMismatch("NUMBA_DISABLE_JIT is set, and the loops of dpexp have to be compiled", "unset it")
    if lacks := _lacks(found).get("lanes"):
        both = f"numba {found} with llvmlite {_installed('llvmlite')}"
        raise CompilerMismatch(f"{both} cannot compile lanes: {lacks}", advice)
    newer = _release(found) > _release(NEWEST)
    return f"numba {found} is newer than {NEWEST}, the newest with which the tests were run" if newer else None


def keep_only_what_fits() -> str | None:
    """Turn keeping off, for this process and its workers, where numba has changed below it; a remark that says so.

    To be called before the first kernel is defined: that is when `compiled` asks for its folder.
    """
    found = _installed("numba")
    if not (lacks := _lacks(found).get("kept")):
        return None
    os.environ["DPEXP_CACHE"] = "off"
    return f"compiled code is not kept on disk: {lacks}, in numba {found}"


@lru_cache(maxsize=1)
def _lacks(release: str) -> dict[str, str | None]:
    """What lanes and keeping need and this numba lacks, in words; nothing of one with which the tests pass."""
    if _release(release) <= _release(NEWEST):
        return {}
    # a compiler that does not fit may end its process
    command, places = [sys.executable, "-m", "dpexp.engine.lanes.trial"], os.pathsep.join(filter(None, sys.path))
    tried = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": places}
    )
    if tried.returncode:
        return {"lanes": tried.stderr.strip().rpartition("\n")[2] or "it crashes"}
    found: dict[str, str | None] = json.loads(tried.stdout)
    return found


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise CompilerMismatch(f"{name} is not installed", "pip install dpexp installs it") from None


def _release(text: str) -> tuple[int, ...]:
    """The numbers of a version; what follows them, as in 0.69.0rc1, does not count."""
    return tuple(map(int, re.findall(r"\d+", text)[:3]))
