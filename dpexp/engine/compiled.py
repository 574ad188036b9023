"""Compiled functions, kept on disk: a second process runs its first step without compiling anything.

`compiled` is numba's `njit` for kernels that hold no lock. With `kept=True`, for functions that Python calls, what was
compiled is stored and loaded again under a key of our own: everything that the machine code depends on.

    the function        its byte code, constants, closure, and every function, number and array that it names, and
                        those that they name; and the files that define lanes, whose overloads are found by type
    its arguments       their types; a function that is an argument counts with its own code
    the machine         processor and its features
    the tools           Python, numba, llvmlite and numpy, and the options of the compilation

numba's own cache asks for the file of the function alone, so an edit of a function that it calls would not be seen.

The code of one process may meet that of another in a third one. Symbols must then not be mixed up: the stored function
is named after its key, and whatever else is in its library is made internal to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import types as python_types
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar, overload

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba import njit
from numba.core import compiler, types
from numba.core.caching import _Cache
from numba.core.dispatcher import Dispatcher
from numba.core.funcdesc import FunctionDescriptor
from numba.core.serialize import dumps
from numba.core.typing.templates import signature as signature_of

from dpexp.core.files import is_ours_alone, read_bytes_sealed, write_bytes_sealed

Result: Any = compiler.CompileResult  # its fields are those of a named tuple, which types do not see
OFF = ("0", "off", "no")
"""values of DPEXP_CACHE that say: keep nothing"""
MOST_FILES = 400
"""of the folder; the oldest go first. A kernel takes 50 to 400 kB"""
VERSIONED = frozenset({"math", "cmath", "operator", "numpy", "numba", "llvmlite", "scipy"})
"""packages whose functions are known by the version of the package, or of Python"""

F = TypeVar("F", bound=Callable[..., Any])


@overload
def compiled(function: F, *, kept: bool = False, **options: Any) -> F: ...


@overload
def compiled(function: None = None, *, kept: bool = False, **options: Any) -> Callable[[F], F]: ...


def compiled(function: Callable[..., Any] | None = None, *, kept: bool = False, **options: Any) -> Any:
    """`njit(nogil=True, **options)`, as a decorator with or without options; `kept` on disk where that is possible."""
    if function is None:
        return partial(compiled, kept=kept, **options)
    dispatcher = njit(nogil=True, **options)(function)
    if kept and (place := folder()) is not None:
        dispatcher._cache = Kept(dispatcher, place)
    return dispatcher


@lru_cache(maxsize=1)
def folder() -> Path | None:
    """Where compiled code is kept: DPEXP_CACHE, or the user's cache folder; None where that is off or not safe.

    Loading machine code is running it. A folder is used only if it is ours and nobody else may write to it.
    """
    asked = os.environ.get("DPEXP_CACHE", "")
    if asked.lower() in OFF:
        return None
    try:
        base = os.environ.get("XDG_CACHE_HOME", "")
        own = Path(base) if base.startswith("/") else Path.home() / ".cache"
        place = Path(asked).expanduser() if asked else own / "dpexp" / "kernels"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = place.stat()
    except (OSError, RuntimeError):
        return None
    return place if is_ours_alone(state) and os.access(place, os.R_OK | os.W_OK | os.X_OK) else None


class Kept(_Cache):
    """The stored overloads of one compiled function; numba asks it before and after it compiles one."""

    def __init__(self, dispatcher: Dispatcher, place: Path) -> None:
        self.dispatcher, self.place = dispatcher, place
        self.name = dispatcher.py_func.__qualname__

    @property
    def cache_path(self) -> str:
        return str(self.place)

    def enable(self) -> None:
        """Nothing to do: numba asks for this of every cache."""

    def disable(self) -> None:
        """Nothing to do."""

    def flush(self) -> None:
        """Nothing to do: stored code is never wrong, only unused."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The stored code for arguments of these types, or None; what is damaged or foreign counts as not there."""
        target_context.refresh()
        function = self.dispatcher.py_func
        try:
            key = key_of(self.dispatcher, sig)
        except (TypeError, ValueError):
            return None  # it names something that has no text; it is compiled in every process
        # What is damaged, open to others or of another version of numba is compiled again, and replaced.
        with contextlib.suppress(Exception):
            content = read_bytes_sealed(self.place / key, private=True)
            if content.startswith(key.encode()):  # and was not copied here from the place of another function
                return _rebuilt(pickle.loads(content[len(key) :]), sig, target_context)
        # numba names the symbol after this if it compiles now; one compilation at a time, under numba's lock
        function.__qualname__ = f"{self.name}_{key}"
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store what was compiled; a disk that is full or read-only keeps nothing."""
        function = self.dispatcher.py_func
        named, function.__qualname__ = function.__qualname__, self.name
        if named == self.name:
            return
        key = named.rpartition("_")[2]
        with contextlib.suppress(OSError, pickle.PicklingError, TypeError, AttributeError):
            if data.lifted or data.library.has_dynamic_globals:
                return
            write_bytes_sealed(self.place / key, key.encode() + dumps(_reduced(data)), private=True)
            _tidy(self.place)


def _reduced(made: Any) -> tuple[Any, ...]:
    """What a file holds. The argument types are left out: they are those that are asked for."""
    library, described = made.library, made.fndesc
    outside = {described.llvm_func_name, described.llvm_cpython_wrapper_name, described.llvm_cfunc_wrapper_name}
    module = llvm.parse_bitcode(library._final_module.as_bitcode())
    for function in module.functions:
        if not function.is_declaration and function.name not in outside:
            function.linkage = "internal"
    machine_code = library.codegen._tm.emit_object(module)
    code = library.name, machine_code, library._get_module_for_linking().as_bitcode()
    left_out = ("typemap", "calltypes", "argtypes")
    facts = {name: getattr(described, name) for name in FunctionDescriptor.__slots__ if name not in left_out}
    environments = tuple(made._find_referenced_environments())
    return code, type(described), facts, made.environment, made.signature.return_type, environments


def _rebuilt(content: tuple[Any, ...], sig: Any, target_context: Any) -> Any:
    """The other way, for these argument types."""
    (name, machine_code, bitcode), kind, facts, environment, return_type, environments = content
    arguments = tuple(sig)
    described = kind.__new__(kind)
    for field, value in {**facts, "typemap": None, "calltypes": None, "argtypes": arguments}.items():
        setattr(described, field, value)
    library = target_context.codegen().unserialize_library((name, "object", (machine_code, bitcode)))
    entry = target_context.get_executable(library, described, environment)
    made: Any = Result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=entry,
        fndesc=described,
        type_annotation="",
        signature=signature_of(return_type, *arguments),
        objectmode=False,
        lifted=(),
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=[],
        referenced_envs=(),
    )
    for other in environments:
        library.codegen.set_env(other.env_name, other)
    return made


# --- keys ---------------------------------------------------------------------------------------------------------


def key_of(dispatcher: Dispatcher, sig: Any) -> str:
    """A hash of everything that the machine code for these arguments depends on."""
    parts = [_tools(), _options(dispatcher), identity(dispatcher.py_func)]
    parts += [_type(argument) for argument in sig]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@lru_cache(maxsize=1)
def _tools() -> str:
    lanes = Path(__file__).parent / "lanes"
    own = [path.read_text(encoding="utf-8") for path in [Path(__file__), *sorted(lanes.glob("*.py"))]]
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    features = llvm.get_host_cpu_features().flatten()
    flags = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
    return repr((versions, llvm.get_process_triple(), llvm.get_host_cpu_name(), features, flags, own))


def _type(argument: types.Type) -> str:
    """A type as text; a function as its code, also inside of tuples."""
    if isinstance(argument, types.Dispatcher):
        return identity(argument.dispatcher)
    if isinstance(argument, types.Tuple | types.UniTuple | types.NamedTuple | types.NamedUniTuple):
        named = getattr(argument, "instance_class", tuple)
        return f"{named.__qualname__}{getattr(named, '_fields', '')}({', '.join(map(_type, argument.types))})"
    return str(argument)


def identity(function: Callable[..., Any]) -> str:
    """A hash of a function's code and of all that it names, and so on; of a compiled one with its options."""
    return hashlib.sha256("\n".join(_walk(function, {})).encode()).hexdigest()


def _walk(value: Any, seen: dict[int, int]) -> list[str]:
    """A value as lines of text that are equal where compiled code is; functions are visited once."""
    if isinstance(value, Dispatcher):
        return [_options(value), *_walk(value.py_func, seen)]
    if isinstance(value, python_types.FunctionType):
        if id(value) in seen:
            return [f"again {seen[id(value)]}"]
        seen[id(value)] = len(seen)
        lines = [f"function {value.__module__}.{value.__name__}", *_code(value.__code__)]
        lines += [line for default in value.__defaults__ or () for line in _walk(default, seen)]
        for cell in value.__closure__ or ():
            lines += _walk(cell.cell_contents, seen)
        names = _names(value.__code__)
        for name in names:
            if name in value.__globals__:
                lines += [name, *_named(value.__globals__[name], names, seen)]
        return lines
    if isinstance(value, tuple | list):
        return [type(value).__qualname__, *(line for item in value for line in _walk(item, seen))]
    if isinstance(value, np.ndarray):
        return [f"array {value.dtype.str} {value.shape}", hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, bool | int | float | complex | str | bytes | type(None) | np.generic | types.Type):
        return [f"{type(value).__qualname__} {value!r}"]
    if isinstance(value, type):
        return [f"class {value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"]
    if callable(value) and isinstance(getattr(value, "__name__", None), str) and isinstance(value.__module__, str):
        # a function of another language, or an intrinsic: its file counts, or the version of its package
        return [f"named {value.__module__}.{value.__name__}", _file(value.__module__)]
    raise TypeError(f"{value!r} has no text that says what it does to compiled code")


def _named(value: Any, names: list[str], seen: dict[int, int]) -> list[str]:
    """What a global name stands for; of a module, what the function can take from it."""
    if not isinstance(value, python_types.ModuleType):
        return _walk(value, seen)
    lines = [f"module {value.__name__}"]
    if value.__name__.partition(".")[0] not in VERSIONED:
        for name in names:
            if hasattr(value, name):
                lines += [name, *_named(getattr(value, name), names, seen)]
    return lines


@lru_cache(maxsize=256)
def _file(module: str) -> str:
    """A hash of a module's file; empty where a version stands for it, or Python's own."""
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None or module.partition(".")[0] in VERSIONED or not path.endswith(".py"):
        return ""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _options(dispatcher: Dispatcher) -> str:
    """The options of a compilation; sets in one order."""
    plain = {k: sorted(v) if isinstance(v, set | frozenset) else v for k, v in dispatcher.targetoptions.items()}
    return repr(sorted(plain.items()))


def _code(code: python_types.CodeType) -> list[str]:
    """Byte code and constants, without the lines and file they stand in."""
    lines = [code.co_code.hex(), repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))]
    lines.append(
        repr((code.co_argcount, code.co_kwonlyargcount, code.co_flags, getattr(code, "co_exceptiontable", b"")))
    )
    for constant in code.co_consts:
        lines += _code(constant) if isinstance(constant, python_types.CodeType) else [repr(constant)]
    return lines


def _names(code: python_types.CodeType) -> list[str]:
    """Names that a function and the functions inside it may look up."""
    inner = [c for c in code.co_consts if isinstance(c, python_types.CodeType)]
    return sorted({*code.co_names, *(name for c in inner for name in _names(c))})


# --- files --------------------------------------------------------------------------------------------------------


def _tidy(place: Path) -> None:
    """Forget what was made longest ago."""
    files = [p for p in place.iterdir() if p.is_file()]
    if len(files) > MOST_FILES:
        for path in sorted(files, key=lambda p: p.stat().st_mtime)[: len(files) - MOST_FILES]:
            path.unlink(missing_ok=True)
