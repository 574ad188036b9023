"""What we need of numba and llvmlite beyond what those two promise to keep, and whether the installed ones have it.

numba's documentation covers `njit`, `overload` and `intrinsic`. A new type whose values are vectors also needs its data
model, the builder of LLVM instructions and a few helpers, which any release may rename. Each is listed here with the
arguments that we pass, so that a numba that does not fit is named by what changed, before anything is compiled.

Keeping compiled code on disk (`dpexp.engine.compiled`) needs more of the same kind. What that module imports must be
there. Where something else is missing, no number is wrong but nothing can be kept: every process then compiles, and a
remark says why.
"""

from __future__ import annotations

import importlib
import inspect
import os
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
    of_instances: bool = False
    """an attribute that objects of the class are given when they are made: some method of the class must name it"""


_BINARY = ("fadd", "fsub", "fmul", "fdiv", "add", "sub", "mul", "xor", "and_", "or_", "shl", "lshr")

USED = (
    # what `compiled` and `identity` import
    Used("numba.core.caching", "_Cache"),
    Used("numba.core.compiler", "CompileResult"),
    Used("numba.core.event", "Listener"),
    Used("numba.core.event", "register", 2),
    Used("numba.core.entrypoints", "init_all", 0),
    Used("numba.core.runtime.nrt", "rtsys"),
    Used("numba.core.dispatcher", "Dispatcher"),
    Used("numba.core.funcdesc", "FunctionDescriptor"),
    Used("numba.core.serialize", "dumps", 1),
    Used("numba.core.typing.templates", "signature", 2),
    Used("numba.core.registry", "CPUDispatcher"),
    *(
        Used("numba.core.types", name)
        for name in ("Integer", "Float", "Complex", "NoneType", "UnicodeType", "StringLiteral")
    ),
    # the type and its data model
    Used("numba.core.types", "Type", 1),  # and `name`, which `Type.__init__` takes
    Used("numba.core.types", "Type.__init__", 1, ("name",)),
    *(
        Used("numba.core.types", name)
        for name in ("Number", "Literal", "Boolean", "boolean", "float32", "float64", "uint64", "intp", "none")
    ),
    Used("numba.core.types", "UniTuple", 2),
    Used("numba.core.datamodel", "register_default", 1),
    Used("numba.core.datamodel", "models.PrimitiveModel.__init__", 4),
    # the meaning of functions on the type
    Used("numba.extending", "intrinsic", 1),
    Used("numba.extending", "overload", 1),
    Used("numba.core.cgutils", "get_or_insert_function", 3),
    Used("numba.core.cgutils", "unpack_tuple", 3),
    Used("numba.core.cgutils", "for_range_slice", 4),
    Used("numba.core.base", "BaseContext.cast", 5),
    Used("numba.core.base", "BaseContext.make_array", 2),
    Used("numba.core.base", "BaseContext.make_tuple", 4),
    Used("numba.core.base", "BaseContext.get_value_type", 2),
    Used("numba.core.base", "BaseContext.get_dummy_value", 1),
    # types, constants and instructions of LLVM
    Used("llvmlite.ir", "VectorType", 2),
    Used("llvmlite.ir", "DoubleType", 0),
    Used("llvmlite.ir", "FloatType", 0),
    Used("llvmlite.ir", "VoidType", 0),
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
    Used("llvmlite.ir", "IRBuilder.extract_element", 3),
    Used("llvmlite.ir", "IRBuilder.shuffle_vector", 4),
    Used("llvmlite.ir", "IRBuilder.bitcast", 3),
    Used("llvmlite.ir", "IRBuilder.gep", 3),
    Used("llvmlite.ir", "IRBuilder.call", 3),
    Used("llvmlite.ir", "IRBuilder.load", 2, ("align",)),
    Used("llvmlite.ir", "IRBuilder.store", 3, ("align",)),
)
"""what `vectors` and `tiles` use and `compiled` and `identity` import; its tests compare this list with the source"""

KEPT = (
    # between numba's dispatcher and the file of a kernel
    Used("numba.core.dispatcher", "Dispatcher._cache", of_instances=True),
    Used("numba.core.dispatcher", "Dispatcher.py_func", of_instances=True),
    Used("numba.core.dispatcher", "Dispatcher.targetoptions", of_instances=True),
    Used("numba.core.caching", "_Cache.load_overload", 3),
    Used("numba.core.caching", "_Cache.save_overload", 3),
    Used("numba.core.runtime.nrt", "rtsys.initialize", 1),
    # what was compiled, as a file
    Used("numba.core.compiler", "CompileResult._find_referenced_environments", 1),
    *(
        Used("numba.core.compiler", f"CompileResult.{name}")
        for name in ("library", "fndesc", "environment", "lifted", "objectmode", "reload_init")
    ),
    Used("numba.core.funcdesc", "FunctionDescriptor.__slots__"),
    Used("numba.core.funcdesc", "FunctionDescriptor.llvm_func_name"),
    Used("numba.core.funcdesc", "FunctionDescriptor.llvm_cpython_wrapper_name"),
    Used("numba.core.funcdesc", "FunctionDescriptor.llvm_cfunc_wrapper_name"),
    Used("numba.core.codegen", "JITCodeLibrary.has_dynamic_globals"),
    Used("numba.core.funcdesc", "FunctionDescriptor.env_name", of_instances=True),
    Used("numba.core.codegen", "JITCodeLibrary._final_module", of_instances=True),
    Used("numba.core.codegen", "JITCPUCodegen._tm", of_instances=True),
    Used("llvmlite.binding", "parse_bitcode", 1),
    Used("llvmlite.binding", "ModuleRef.as_bitcode", 1),
    Used("llvmlite.binding", "ModuleRef.functions"),
    Used("llvmlite.binding", "ValueRef.is_declaration"),
    Used("llvmlite.binding", "ModuleRef.global_variables"),
    Used("llvmlite.binding", "ValueRef.linkage"),
    Used("llvmlite.binding", "ValueRef.name"),
    Used("llvmlite.binding", "TargetMachine.emit_object", 2),
    # and the way back
    Used("numba.core.cpu", "CPUContext.codegen", 1),
    Used("numba.core.cpu", "CPUContext.get_executable", 4),
    Used("numba.core.codegen", "JITCPUCodegen.unserialize_library", 2),
    Used("numba.core.codegen", "JITCPUCodegen.set_env", 3),
    # what a function is, for the key
    Used("numba.core.dispatcher", "Dispatcher.locals", of_instances=True),
    Used("numba.core.dispatcher", "Dispatcher._compiler", of_instances=True),
    Used("numba.core.dispatcher", "Dispatcher._can_compile", of_instances=True),
    Used("numba.core.dispatcher", "Dispatcher.nopython_signatures"),
    Used("numba.core.compiler", "Compiler"),
    *(
        Used("numba.core.extending", f"_Intrinsic.{n}", of_instances=True)
        for n in ("_defn", "_prefer_literal", "_ctor_kwargs")
    ),
    *(Used("numba.core.types", name) for name in ("Dispatcher", "BaseTuple", "BaseNamedTuple", "Array", "Record")),
    *(Used("numba.core.types", name) for name in ("Omitted", "Optional", "NumberClass")),
    *(Used("numba.core.typing.templates", f"builtin_registry.{name}") for name in ("functions", "attributes")),
    *(
        Used("numba.core.imputils", f"builtin_registry.{name}")
        for name in ("functions", "getattrs", "setattrs", "casts", "constants")
    ),
    Used("numba.core.datamodel.registry", "default_manager._handlers"),
    Used("numba.core.datamodel.models", "DataModel"),
    # the machine and its processor
    Used("llvmlite.binding", "get_process_triple", 0),
    Used("llvmlite.binding", "get_host_cpu_name", 0),
    Used("llvmlite.binding", "get_host_cpu_features", 0),
    Used("llvmlite.binding", "FeatureMap.flatten", 1),
)
"""what `compiled` uses to keep compiled code; its tests compare this list with the source"""


class CompilerMismatch(DpexpError):
    """The installed numba or llvmlite cannot compile lanes."""


def changed(used: Used) -> str | None:
    """What is different about one name, or None."""
    place = f"{used.module}.{used.name}"
    *outer, last = used.name.split(".")
    try:
        found: Any = importlib.import_module(used.module)
        for part in outer:
            found = getattr(found, part)
        if used.of_instances:
            return None if last in _named_in(found) else f"{place} is gone"
        found = getattr(found, last)
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


def _named_in(kind: type) -> set[str]:
    """The names that the methods of a class and of its bases set or read."""
    methods = [value for base in kind.__mro__ for value in vars(base).values() if inspect.isfunction(value)]
    return {name for method in methods for name in method.__code__.co_names}


def changes(names: tuple[Used, ...] = USED) -> list[str]:
    """Everything that is different."""
    return [found for found in map(changed, names) if found]


def keep_only_what_fits() -> str | None:
    """Turn keeping off, for this process and its workers, where numba has changed below it; a remark that says so.

    To be called before the first kernel is defined: that is when `compiled` asks for its folder.
    """
    if not (wrong := changes(KEPT)):
        return None
    os.environ["DPEXP_CACHE"] = "off"
    return f"compiled code is not kept on disk: {wrong[0]}, in numba {_installed('numba')}"


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
