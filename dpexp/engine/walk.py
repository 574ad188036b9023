"""A walk through a function and all that it names, which writes down everything that its machine code depends on.

Only kinds of values are accepted of which it is known what they do to compiled code; any other raises `Unknown`.
"""

from __future__ import annotations

import dis
import hashlib
import types as python_types
from collections.abc import Iterable
from enum import Enum, EnumMeta
from typing import Any

import numpy as np
from numba.core import compiler, datamodel, extending, types
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

from dpexp.engine.tools import is_known, is_versioned

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
NUMBERS = (types.Integer, types.Float, types.Complex, types.Boolean)
NAMED = (*NUMBERS, types.NoneType, types.UnicodeType, types.StringLiteral)
"""types whose name says all that there is to know of them"""
MEANINGLESS = frozenset({"__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__qualname__",
                         "__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl"})  # fmt: skip
"""what Python or ABC adds to every class"""


class Unknown(TypeError):
    """A value of which it is not known what it does to compiled code."""


class Walk:
    """Lines of text that are equal where compiled code is. Functions and classes are visited once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.seen: dict[int, int] = {}
        self.held: list[Any] = []
        """what was seen, so that no other object gets its id"""
        self.searched: set[tuple[object, ...]] = set()
        """modules, and the names that were looked up there"""
        self.modules: set[str] = set()
        """modules of the functions that were seen"""

    def say(self, *words: object) -> None:
        self.lines.append(" ".join(map(str, words)))

    def is_new(self, value: Any) -> bool:
        if id(value) in self.seen:
            self.say("again", self.seen[id(value)])
            return False
        self.seen[id(value)] = len(self.seen)
        self.held.append(value)
        return True

    # --- values -------------------------------------------------------------------------------------------------

    def value(self, value: Any) -> None:
        """Whatever a name or a closure may hold."""
        if type(value) in PLAIN:
            self.say(type(value).__name__, repr(value))
        elif isinstance(value, Dispatcher):
            self.dispatcher(value)
        elif isinstance(value, python_types.FunctionType):
            self.function(value)
        elif isinstance(value, extending._Intrinsic):
            self.say("intrinsic", value._prefer_literal, sorted(value._ctor_kwargs))
            self.function(value._defn)
        elif isinstance(value, types.Type):
            self.numba_type(value)
        elif isinstance(value, type):
            self.kind(value)
        elif isinstance(value, Enum):
            self.say("member", type(value).__qualname__, value.name)
            self.value(value.value)
        elif isinstance(value, tuple | list):
            self.say(type(value).__qualname__, _fields(type(value)), len(value))
            self.each(value)
        elif isinstance(value, set | frozenset):
            self.say(type(value).__qualname__, sorted(map(_plain, value)))
        elif isinstance(value, dict):
            self.say("dict", len(value))
            self.each(item for pair in value.items() for item in pair)
        elif isinstance(value, np.ndarray | np.generic):
            self.array(value)
        elif isinstance(value, np.dtype):
            self.say("dtype", value.descr, value.alignment)
        elif is_versioned(value):
            self.say("named", value.__module__, value.__name__)
        else:
            raise Unknown(f"nothing says what a {type(value).__qualname__} does to compiled code")

    def each(self, values: Iterable[Any]) -> None:
        for value in values:
            self.value(value)

    def array(self, value: np.ndarray | np.generic) -> None:
        """Its bytes, how they are to be read, and how they lie: compiled code may depend on all three."""
        if value.dtype.hasobject:
            raise Unknown("an array of Python objects has no bytes of its own")
        flags = value.flags.c_contiguous, value.flags.f_contiguous, value.flags.aligned, value.flags.writeable
        self.say("array", type(value).__qualname__, value.dtype.descr, value.dtype.alignment, value.shape, flags)
        self.say(hashlib.sha256(value.tobytes()).hexdigest())

    def dispatcher(self, value: Dispatcher) -> None:
        """A function that numba compiles, with the options of its compilation."""
        inside: Any = value  # numba's stubs leave out most of what a dispatcher has
        if type(value) is not CPUDispatcher or inside._compiler.pipeline_class is not compiler.Compiler:
            raise Unknown(f"{inside.py_func.__qualname__} is compiled by another compiler than numba's for processors")
        self.say("compiled")
        self.value(dict(sorted(inside.targetoptions.items())))
        self.value({name: inside.locals[name] for name in sorted(inside.locals)})
        if not inside._can_compile:  # its argument types were chosen where it is defined, and arguments are converted
            self.say([str(signature) for signature in inside.nopython_signatures])
        self.function(inside.py_func)

    def function(self, value: python_types.FunctionType) -> None:
        """A function of Python, which numba compiles, or which is called while it compiles."""
        module = value.__globals__.get("__name__")
        if is_known(module):
            self.say("named", module, value.__qualname__)
            self.each(cell.cell_contents for cell in value.__closure__ or () if _is_function(cell.cell_contents))
            return
        if not self.is_new(value):
            return
        self.modules.add(str(module))
        self.say("function", value.__module__, value.__name__)
        self.code(value.__code__, value.__doc__)
        self.each((value.__defaults__, value.__kwdefaults__))
        self.each(cell.cell_contents for cell in value.__closure__ or ())
        names = _names(value.__code__)
        for name in names:
            if name in value.__globals__:
                self.say("name", name)
                self.named(value.__globals__[name], names)

    def named(self, value: Any, names: list[str]) -> None:
        """What a global name stands for; of a module, what the function can take from it."""
        if not isinstance(value, python_types.ModuleType):
            self.value(value)
            return
        self.say("module", value.__name__)
        if is_known(value.__name__):
            return
        if (id(value), *names) in self.searched:
            return
        self.searched.add((id(value), *names))
        for name in names:
            if name in vars(value):
                self.say("name", name)
                self.named(vars(value)[name], names)

    def code(self, code: python_types.CodeType, docstring: str | None = None) -> None:
        """Byte code and constants, without the lines and the file that they stand in, and the docstring."""
        self.say(code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.say(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self.say(code.co_exceptiontable.hex())
        _refuse_imports(code)
        has_text = docstring is not None and code.co_consts[:1] == (docstring,) and not _uses_first_constant(code)
        for constant in code.co_consts[has_text:]:
            if isinstance(constant, python_types.CodeType):
                self.code(constant)
            else:
                self.value(constant)

    # --- types and classes --------------------------------------------------------------------------------------

    def numba_type(self, value: types.Type) -> None:
        """The type of an argument, or one that is named; a function that is an argument counts with all that it is."""
        inside: Any = value
        if isinstance(value, types.Dispatcher):
            self.dispatcher(inside.dispatcher)
        elif isinstance(value, types.BaseNamedTuple):
            self.say("named tuple", inside.instance_class.__qualname__, inside.fields, len(inside.types))
            self.numba_types(inside.types)
        elif isinstance(value, types.BaseTuple):
            self.say("tuple", len(inside.types))
            self.numba_types(inside.types)
        elif type(value) is types.Array and isinstance(inside.dtype, (*NUMBERS, types.Record)):
            self.say("array", value)
        elif isinstance(value, types.Omitted):
            self.say("omitted")
            self.value(inside.value)
        elif isinstance(value, types.Optional):
            self.say("optional")
            self.numba_type(inside.type)
        elif isinstance(value, NAMED) or (isinstance(value, types.NumberClass) and isinstance(inside.dtype, NUMBERS)):
            self.say(type(value).__qualname__, value)
        elif not is_known(type(value).__module__):
            self.say("type", value)
            self.kind(type(value))
        else:
            raise Unknown(f"nothing says what the type {value} does to compiled code")

    def numba_types(self, values: Iterable[types.Type]) -> None:
        for value in values:
            self.numba_type(value)

    def kind(self, value: type) -> None:
        """A class: of numba or of Python, a named tuple, an enumeration, or a type that was taught to numba."""
        if is_versioned(value):
            self.say("class", value.__module__, value.__qualname__)
        elif issubclass(value, tuple) and value.__bases__ == (tuple,) and type(value) is type:
            self.say("named tuple", value.__qualname__, _fields(value))
            defaults = vars(value).get("_field_defaults", {})
            self.value(dict(defaults))
        elif isinstance(value, EnumMeta):
            self.say("enumeration", value.__qualname__, [base.__qualname__ for base in value.__mro__])
            listed: dict[str, Enum] = dict(value.__members__)
            for name, member in listed.items():
                self.say(name)
                self.value(member.value)
        elif issubclass(value, types.Type | datamodel.models.DataModel):
            self.members(value)
        else:
            raise Unknown(f"nothing says what the class {value.__qualname__} does to compiled code")

    def members(self, value: type) -> None:
        """A class with its methods and constants, and its bases."""
        if not self.is_new(value):
            return
        self.say("class", value.__module__, value.__qualname__)
        for base in value.__bases__:
            self.kind(base)
        for name, content in sorted(vars(value).items()):
            if name not in MEANINGLESS:
                self.say("member", name)
                self.value(content)


def _is_function(value: Any) -> bool:
    return isinstance(value, python_types.FunctionType | Dispatcher)


def _fields(kind: type) -> object:
    return getattr(kind, "_fields", "")


def _plain(value: object) -> str:
    if type(value) not in PLAIN:
        raise Unknown("a set of something else than numbers and words")
    return f"{type(value).__name__} {value!r}"


def _names(code: python_types.CodeType) -> list[str]:
    """Names that a function and the functions inside it may look up."""
    inner = [c for c in code.co_consts if isinstance(c, python_types.CodeType)]
    return sorted({*code.co_names, *(name for c in inner for name in _names(c))})


def _uses_first_constant(code: python_types.CodeType) -> bool:
    """Whether the first constant, which is the docstring where there is one, is also loaded by the function."""
    pairs = zip(code.co_code[::2], code.co_code[1::2], strict=True)
    return any(argument == 0 and operation in dis.hasconst for operation, argument in pairs)


def _refuse_imports(code: python_types.CodeType) -> None:
    """What a function imports when it is called is not among its names; of known packages that does not matter."""
    if dis.opmap["IMPORT_NAME"] not in code.co_code[::2]:
        return
    before: list[Any] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and (0 not in before[-2:] or not is_known(instruction.argval)):
            raise Unknown(f"{code.co_name} imports {instruction.argval} when it is called")
        before.append(instruction.argval)
