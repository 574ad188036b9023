"""What a compiled function is: a hash of everything that its machine code depends on.

(a) The function itself is looked at as it is in this process, not the text that it was read from: its code, its
defaults, what its closure holds, and every function, number and array that it names, and what those name in turn. A
constant counts with its value, however it was computed, and an edit of a file that is not imported yet does not count.

(b) Some of it is found by type and not by name: what an operator means on lanes was taught to numba by `overload`. Of
`dpexp.engine.lanes`, where we do so, all files count with their text. What a plug-in has taught with `overload` is
looked at like any function; types of its own are not understood.

(c) Only kinds of values are accepted of which it is known what they do to compiled code. Everything else raises
`Unknown`, and a function that names such a value is compiled in every process.

(d) The tools that compile count with their versions, their settings and the processor.
"""

from __future__ import annotations

import dis
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba.core import compiler, config, datamodel, extending, imputils, types
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.core.typing import templates

from dpexp.core.bytecode import altered
from dpexp.core.version import IMPORTED_AT

PACKAGES = ("numba", "llvmlite", "numpy", "scipy")
"""packages whose functions are known by the version of the package"""
VERSIONED = frozenset({"builtins", *PACKAGES, *sys.stdlib_module_names})
"""these, and what is known by the version of Python"""
STANDARD = sysconfig.get_paths()["stdlib"]
EXCLUDED = ("CACHE", "NUM_THREADS", "THREADING", "CUDA", "COLOR", "SHOW_HELP", "FUNCTION_CACHE", "CHROME_TRACE", "GDB")
"""parts of the names of numba's settings that do not reach the machine code of one thread; some differ from worker to
worker, or hold the paths of a machine"""


@lru_cache(maxsize=1024)
def is_known(module: object) -> bool:
    """Whether a module is one of Python's own or of a package that counts with its version."""
    root = module.partition(".")[0] if isinstance(module, str) else ""
    if root not in VERSIONED:
        return False
    # by place too: a file of the user may be called like one of Python's
    origin = getattr(getattr(sys.modules.get(root), "__spec__", None), "origin", None)
    if origin in ("built-in", "frozen") or root in PACKAGES:
        return True
    return isinstance(origin, str) and "site-packages" not in origin and Path(origin).is_relative_to(STANDARD)


def is_versioned(value: Any) -> bool:
    """Whether a function or class is what a package of a known version, or Python, has under its name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", None))
    if not isinstance(name, str) or not is_known(module):
        return False
    # a name that was given to something else since then would not be what it says
    found: Any = sys.modules.get(str(module))
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


@lru_cache(maxsize=1)
def tools() -> str:
    """Versions, and the processor as LLVM sees it."""
    versions = [sys.version, *(f"{name} {version(name)}" for name in PACKAGES)]
    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return repr((versions, machine))


def settings() -> str:
    """numba's settings, from wherever they were set."""
    # a file in the working folder or a program may have set them as well as variables
    found = {name: repr(value) for name, value in vars(config).items() if name.isupper()}
    left = sorted(item for item in found.items() if not any(word in item[0] for word in EXCLUDED))
    flags = sorted(v for v in os.environ if v.startswith("NUMBA_") and not any(word in v for word in EXCLUDED))
    return repr((left, [(name, os.environ[name]) for name in flags]))


LANES = "dpexp.engine.lanes"
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
NUMBERS = (types.Integer, types.Float, types.Complex, types.Boolean)
NAMED = (*NUMBERS, types.NoneType, types.UnicodeType, types.StringLiteral)
"""types whose name says all that there is to know of them"""


class Unknown(TypeError):
    """A value of which it is not known what it does to compiled code."""


def key_of(dispatcher: Dispatcher, sig: Any) -> str:
    """A hash of everything that the machine code of a function depends on, for arguments of these types.

    And of the form in which it is kept. Raises Unknown.
    """
    seen = _Seen()
    # (a)
    seen.value(dispatcher)
    for argument in sig:
        seen.numba_type(argument)
    # (b)
    _see_what_was_taught(seen)
    lines = [tools(), settings(), _text(), *seen.lines]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@lru_cache(maxsize=1)
def _text() -> str:
    """A hash of the files of lanes, and of this room, which says how code is kept. Raises Unknown where these are not
    what this process runs."""
    room = Path(__file__).parent
    # an edit of one of them compiles every kernel anew
    files = sorted([*(room / "lanes").glob("*.py"), room / "compiled.py", room / "identity.py"])
    texts = [path.read_bytes() for path in files]
    if any(max((state := path.stat()).st_mtime_ns, state.st_ctime_ns) > IMPORTED_AT for path in files):
        raise Unknown("files were edited after this process had begun to read them")
    return hashlib.sha256(b"".join(texts)).hexdigest()


class _Seen:
    """Lines of text that are equal where compiled code is."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.functions: list[FunctionType] = []
        self.searched: set[tuple[object, ...]] = set()
        """modules, and the names that were looked up there"""

    def say(self, *words: object) -> None:
        self.lines.append(" ".join(map(str, words)))

    def value(self, value: Any) -> None:
        """Whatever a name or a closure may hold."""
        if type(value) in PLAIN:
            self.say(type(value).__name__, repr(value))
        elif isinstance(value, Dispatcher):
            self.dispatcher(value)
        elif isinstance(value, FunctionType):
            self.function(value)
        elif isinstance(value, extending._Intrinsic):
            self.say("intrinsic", value._prefer_literal, sorted(value._ctor_kwargs))
            self.function(value._defn)
        elif isinstance(value, types.Type):
            self.numba_type(value)
        elif isinstance(value, type):
            self.kind(value)
        elif isinstance(value, tuple | list):
            self.say(type(value).__qualname__, getattr(value, "_fields", ""), len(value))
            self.each(value)
        elif isinstance(value, dict):
            self.say("dict", len(value))
            self.each(item for pair in value.items() for item in pair)
        elif isinstance(value, set | frozenset) and all(type(item) in PLAIN for item in value):
            self.say(type(value).__qualname__, sorted(map(repr, value)))
        elif isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            # its numbers are constants of the code, and its layout decides how they are read
            flags = value.flags.c_contiguous, value.flags.f_contiguous, value.flags.aligned, value.flags.writeable
            self.say("array", type(value).__qualname__, value.dtype.descr, value.dtype.alignment, value.shape, flags)
            self.say(hashlib.sha256(value.tobytes()).hexdigest())
        elif isinstance(value, np.dtype):
            self.say("dtype", value.descr, value.alignment)
        elif is_versioned(value):
            # what numpy or Python has is the same wherever the version is the same, so that a name is enough
            self.say("named", value.__module__, value.__name__)
        else:
            # (c): a number that could change without a change of the hash would be wrong without a word; a hash that
            # changes too often costs a compilation
            raise Unknown(f"nothing says what a {type(value).__qualname__} does to compiled code")

    def each(self, values: Iterable[Any]) -> None:
        for value in values:
            self.value(value)

    def dispatcher(self, value: Dispatcher) -> None:
        """A function that numba compiles, with the options of its compilation."""
        inside: Any = value  # numba's stubs leave out most of what a dispatcher has
        if type(value) is not CPUDispatcher or inside._compiler.pipeline_class is not compiler.Compiler:
            raise Unknown(f"{inside.py_func.__qualname__} is compiled by another compiler than numba's for processors")
        self.say("compiled")
        self.each((dict(sorted(inside.targetoptions.items())), dict(sorted(inside.locals.items()))))
        # where its argument types were chosen when it was defined, arguments are converted to these
        if not inside._can_compile:
            self.say([str(signature) for signature in inside.nopython_signatures])
        self.function(inside.py_func)

    def function(self, value: FunctionType) -> None:
        """A function of Python, which numba compiles, or which is called while it compiles."""
        module = value.__globals__.get("__name__")
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        if is_known(module):
            # what a function of a known package was made from may be a function of the user
            self.say("named", module, value.__qualname__)
            self.each(one for one in held if isinstance(one, FunctionType | Dispatcher))
            return
        # each function is visited once: functions may call each other in circles
        for number, other in enumerate(self.functions):
            if other is value:
                self.say("again", number)
                return
        self.functions.append(value)
        self.say("function", value.__module__, value.__name__)
        self.code(value.__code__, may_import=str(module).startswith(LANES))
        self.each((value.__defaults__, value.__kwdefaults__, *held))
        self.named(value.__globals__, _names(value.__code__))

    def named(self, where: dict[str, Any], names: list[str]) -> None:
        """What global names stand for; of a module, what the function can take from it."""
        for name in names:
            # what is not there is one of Python's own, or an attribute of something
            value = where.get(name, where)
            if value is where:
                continue
            self.say("name", name)
            if not isinstance(value, ModuleType):
                self.value(value)
            elif not is_known(value.__name__) and (value, *names) not in self.searched:
                self.searched.add((value, *names))
                self.named(vars(value), names)

    def code(self, code: CodeType, may_import: bool = False) -> None:
        """Byte code and constants."""
        # What a function imports when it is called is not among its names; the text of lanes says what that is.
        if dis.opmap["IMPORT_NAME"] in code.co_code[::2] and not may_import:
            raise Unknown(f"{code.co_name} imports something when it is called")
        # the lines and the file that it stands in are left out: moving a function compiles nothing
        self.say(code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.say(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self.say(code.co_exceptiontable.hex())
        for constant in code.co_consts:
            self.code(constant, may_import) if isinstance(constant, CodeType) else self.value(constant)

    def numba_type(self, value: types.Type) -> None:
        """The type of an argument, or one that is named."""
        inside: Any = value
        self.say("type", type(value).__module__, type(value).__qualname__)
        if isinstance(value, types.Dispatcher):
            # a function that is an argument counts with all that it is
            self.dispatcher(inside.dispatcher)
        elif isinstance(value, types.BaseTuple):
            self.kind(getattr(value, "instance_class", tuple))
            self.say(len(inside.types))
            self.each(inside.types)
        elif isinstance(value, types.Omitted):
            self.value(inside.value)
        elif isinstance(value, types.Optional):
            self.numba_type(inside.type)
        elif type(value) is types.Array and isinstance(inside.dtype, (*NUMBERS, types.Record)):
            self.say(value)
        elif isinstance(value, NAMED) or (isinstance(value, types.NumberClass) and isinstance(inside.dtype, NUMBERS)):
            self.say(value)
        elif type(value).__module__.startswith(LANES):
            self.say(value)
        else:
            raise Unknown(f"nothing says what the type {value} does to compiled code")

    def kind(self, value: type) -> None:
        """A class: of numba or of Python, of lanes, or a named tuple."""
        self.say("class", value.__module__, value.__qualname__)
        if issubclass(value, tuple) and value.__bases__ == (tuple,) and type(value) is type:
            self.say(getattr(value, "_fields", ""))
            self.value(dict(vars(value).get("_field_defaults", {})))
        elif not is_versioned(value) and not value.__module__.startswith(LANES):
            raise Unknown(f"nothing says what the class {value.__qualname__} does to compiled code")


def _names(code: CodeType) -> list[str]:
    """Names that a function and the functions inside it may look up."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return sorted({*code.co_names, *(name for c in inner for name in _names(c))})


def _see_what_was_taught(seen: _Seen) -> None:
    """What numba was taught by others than numba itself and lanes.

    Raises Unknown for what is taught in another way than by `overload`, or where something else has been put in the
    place of a part of lanes.
    """
    # all that a plug-in has taught may take part, whatever the function names
    for template in [*templates.builtin_registry.functions, *templates.builtin_registry.attributes]:
        members = vars(template)
        taught = getattr(members.get("_overload_func"), "__func__", None)
        # numba lists an intrinsic when it is first used; it is called by its name, so it was seen
        if "_definition_func" in members or _is_ours(template.__module__ if taught is None else _module(taught)):
            continue
        if taught is None:
            raise Unknown(f"nothing says what {template.__qualname__} taught to numba")
        of = members["key"]
        seen.say("overload", getattr(of, "__module__", ""), getattr(of, "__qualname__", of))
        seen.say(*(members.get(name) for name in ("_attr", "_strict", "prefer_literal")))
        seen.value(dict(sorted(members.get("_jit_options", {}).items())))
        if "_inline" in members:
            seen.say(vars(members["_inline"].__func__))
        seen.function(taught)
    # what generates instructions by itself cannot be looked at: only numba and lanes may
    lowered = imputils.builtin_registry
    listed = (lowered.functions, lowered.getattrs, lowered.setattrs, lowered.casts, lowered.constants)
    emitting = (function for some in listed for one, *_ in some for function in _functions_in(one))
    models = datamodel.registry.default_manager._handlers.values()
    if not all(map(_is_ours, [*map(_module, emitting), *(model.__module__ for model in models)])):
        raise Unknown("something outside of numba generates instructions")
    if altered(LANES):
        raise Unknown("lanes are not what their text says")


def _is_ours(module: object) -> bool:
    """Whether what a module teaches is known by a version, or by the text of lanes."""
    return is_known(module) or str(module).startswith(LANES)


def _module(function: FunctionType) -> object:
    return function.__globals__.get("__name__")


def _functions_in(value: Any) -> list[FunctionType]:
    """A function, and those that it was wrapped around."""
    if not isinstance(value, FunctionType):
        return []
    held = [cell.cell_contents for cell in value.__closure__ or ()]
    return [value, *(inner for one in held if one is not value for inner in _functions_in(one))]
