"""What lanes need of numba and llvmlite beyond what those two promise to keep, and whether the installed ones have it.

numba's documentation covers `njit`, `overload` and `intrinsic`. A new type whose values are vectors also needs its data
model, the builder of LLVM instructions and a few helpers, which any release may rename. Each is listed here with the
arguments that we pass, so that a numba that does not fit is named by what changed, before anything is compiled.
"""

from __future__ import annotations

import importlib
import inspect
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from dpexp.core.errors import DpexpError

OLDEST, NEWEST = "0.61.0", "0.68.1"
"""the first and the last numba with which the tests pass; the first is also the floor in pyproject.toml"""


class Used(NamedTuple):
    """One name of another library, and how it is called here."""

    module: str
    name: str
    """an attribute, or `Class.method`"""
    arguments: int | None = None
    """how many are passed by position, `self` included; None where it is not called"""
    keywords: tuple[str, ...] = ()


_BINARY = ("fadd", "fsub", "fmul", "fdiv", "add", "sub", "mul", "xor", "and_", "or_", "shl", "lshr")

USED = (
    # the type and its data model
    Used("numba.core.types", "Type", 1),  # and `name`, which `Type.__init__` takes
    Used("numba.core.types", "Type.__init__", 1, ("name",)),
    *(Used("numba.core.types", name) for name in ("Number", "Literal", "Boolean", "float64", "uint64", "intp", "none")),
    Used("numba.core.datamodel", "register_default", 1),
    Used("numba.core.datamodel", "models.PrimitiveModel.__init__", 4),
    # the meaning of functions on the type
    Used("numba.extending", "intrinsic", 1),
    Used("numba.extending", "overload", 1),
    Used("numba.core.cgutils", "get_or_insert_function", 3),
    Used("numba.core.cgutils", "unpack_tuple", 3),
    Used("numba.core.base", "BaseContext.cast", 5),
    Used("numba.core.base", "BaseContext.make_array", 2),
    Used("numba.core.base", "BaseContext.get_value_type", 2),
    Used("numba.core.base", "BaseContext.get_dummy_value", 1),
    # types, constants and instructions of LLVM
    Used("llvmlite.ir", "VectorType", 2),
    Used("llvmlite.ir", "DoubleType", 0),
    Used("llvmlite.ir", "IntType", 1),
    Used("llvmlite.ir", "Type.__call__", 2),
    Used("llvmlite.ir", "Type.as_pointer", 1),
    Used("llvmlite.ir", "FunctionType", 2),
    Used("llvmlite.ir", "Constant", 2),
    Used("llvmlite.ir", "Undefined"),
    Used("llvmlite.ir", "Module.add_metadata", 2),
    Used("llvmlite.ir", "Instruction.set_metadata", 3),
    Used("llvmlite.ir", "IRBuilder.module"),
    *(Used("llvmlite.ir", f"IRBuilder.{name}", 3) for name in _BINARY),
    Used("llvmlite.ir", "IRBuilder.fneg", 2),
    Used("llvmlite.ir", "IRBuilder.fcmp_ordered", 4),
    Used("llvmlite.ir", "IRBuilder.icmp_unsigned", 4),
    Used("llvmlite.ir", "IRBuilder.select", 4),
    Used("llvmlite.ir", "IRBuilder.insert_element", 4),
    Used("llvmlite.ir", "IRBuilder.shuffle_vector", 4),
    Used("llvmlite.ir", "IRBuilder.bitcast", 3),
    Used("llvmlite.ir", "IRBuilder.gep", 3),
    Used("llvmlite.ir", "IRBuilder.call", 3),
    Used("llvmlite.ir", "IRBuilder.load", 2, ("align",)),
    Used("llvmlite.ir", "IRBuilder.store", 3, ("align",)),
)
"""all that `vectors` uses; its tests compare this list with the source"""


class CompilerMismatch(DpexpError):
    """The installed numba or llvmlite cannot compile lanes."""


def changed(used: Used) -> str | None:
    """What is different about one name, or None."""
    place = f"{used.module}.{used.name}"
    try:
        found: Any = importlib.import_module(used.module)
        for part in used.name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return f"{place} is gone"
    if used.arguments is None:
        return None
    try:
        inspect.signature(found).bind(*[None] * used.arguments, **dict.fromkeys(used.keywords))
    except TypeError as error:
        return f"{place} takes other arguments ({error})"
    except ValueError:  # written in C: it has no signature to compare
        return None
    return None


def changes() -> list[str]:
    """Everything that is different."""
    return [found for found in map(changed, USED) if found]


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
    if wrong := changes():
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        both = f"numba {found} with llvmlite {_installed('llvmlite')}"
        raise CompilerMismatch(f"{both} cannot compile lanes: {wrong[0]}{more}", advice)
    if _release(found) > _release(NEWEST):
        return f"numba {found} is newer than {NEWEST}, the newest with which the tests were run"
    return None


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise CompilerMismatch(f"{name} is not installed", "pip install dpexp installs it") from None


def _release(text: str) -> tuple[int, ...]:
    """The numbers of a version; what follows them, as in 0.69.0rc1, does not count."""
    numbers = []
    for part in text.split(".")[:3]:
        digits = part[: next((k for k, c in enumerate(part) if not c.isdigit()), len(part))]
        numbers.append(int(digits or 0))
    return tuple(numbers)
