"""Compiled functions, cached on disk: a second process runs its first step without compiling anything.

`compiled` is numba's `njit` for kernels that hold no lock. With `cached=True`, for functions that Python calls, what
was compiled is stored and loaded again under a key of our own, which `dpexp.engine.identity` makes of everything that
the machine code depends on. numba's own cache asks for the file of the function alone, so an edit of a function that it
calls would not be noticed.

The code of two processes may meet in a third one, where symbols must not be mixed up: a stored function is named after
its key, and whatever else is in its library is made internal to it.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from copy import copy
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar, overload

import llvmlite.binding as llvm
import numba.cpython.hashing  # noqa: F401  stored code may ask for its symbols
from numba import njit
from numba.core import entrypoints
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.typing.templates import signature as signature_of

from dpexp.core.files import own_folder, read_bytes_sealed, write_bytes_sealed
from dpexp.engine.identity import key_of

F = TypeVar("F", bound=Callable[..., Any])


@overload
def compiled(function: F, *, cached: bool = False, **options: Any) -> F: ...


@overload
def compiled(function: None = None, *, cached: bool = False, **options: Any) -> Callable[[F], F]: ...


def compiled(function: Callable[..., Any] | None = None, *, cached: bool = False, **options: Any) -> Any:
    """`njit(nogil=True, **options)`, as a decorator with or without options; `cached` on disk if that is possible."""
    if function is None:
        return partial(compiled, cached=cached, **options)
    made: Any = njit(nogil=True, **options)(function)
    # where numba is turned off, nothing is made
    if cached and made is not function and (place := folder()) is not None:
        made._cache = CachedCode(made, place)
    return made


@lru_cache(maxsize=1)
def folder() -> Path | None:
    """Where compiled code is cached: DPEXP_CACHE, or the user's cache folder; None if that is off, or if others can
    write to it, since to load machine code is to run it."""
    return own_folder("kernels")


class CachedCode(_Cache):
    """The stored overloads of one compiled function; numba asks it before and after it compiles one."""

    def __init__(self, dispatcher: Dispatcher, place: Path) -> None:
        self.dispatcher, self.place = dispatcher, place
        self.name = dispatcher.py_func.__qualname__

    @property
    def cache_path(self) -> str:
        return str(self.place)

    def enable(self) -> None:
        """Part of numba's interface of a cache."""

    disable = flush = enable

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The stored code for arguments of these types, or None."""
        # what stored code calls, and what packages register; the rest of numba's own preparation is for compiling, and
        # takes a fifth of a second
        rtsys.initialize(target_context)
        entrypoints.init_all()
        function = self.dispatcher.py_func
        # it has another name after a compilation that failed
        function.__qualname__ = self.name
        # a function without a name (`Unknown`) is compiled in every process
        with contextlib.suppress(Exception):
            key = key_of(self.dispatcher, sig)
            if (stored := self._stored(key, sig, target_context)) is not None:
                return stored
            # numba names the symbol after this if it compiles now, under its lock; by numba's own numbers two closures
            # of one name would be one symbol if each were the fifth function of its process
            function.__qualname__ = f"{self.name}_{key}"
        return None

    def _stored(self, key: str, sig: Any, target_context: Any) -> Any:
        """The code of a key; None where it is damaged or of another version of numba, and then it is replaced."""
        with contextlib.suppress(Exception):
            content = read_bytes_sealed(self.place / key)
            if content.startswith(key.encode()):  # and was not copied here from the place of another function
                return _rebuilt(pickle.loads(content[len(key) :]), sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store what was compiled; a disk that is full or read-only keeps nothing."""
        function = self.dispatcher.py_func
        name, function.__qualname__ = function.__qualname__, self.name
        if name == self.name:
            return
        key = name.rpartition("_")[2]
        with contextlib.suppress(Exception):
            if _is_whole(data):
                write_bytes_sealed(self.place / key, key.encode() + dumps(_reduced(data, key)))


def _is_whole(made: Any) -> bool:
    """Whether all that the code needs is in its library: no address of this process, nothing to be started anew."""
    if made.lifted or made.reload_init or made.objectmode or made.library.has_dynamic_globals:
        return False
    # what a callee keeps in its environment, for instance words that it prints, is not in its library
    own = made.fndesc.env_name
    return all(other.env_name == own or not other.consts for other in made._find_referenced_environments())


def _reduced(made: Any, key: str) -> tuple[Any, ...]:
    """What a file holds."""
    library, described = made.library, made.fndesc
    outside = {described.llvm_func_name, described.llvm_cpython_wrapper_name, described.llvm_cfunc_wrapper_name}
    module = llvm.parse_bitcode(library._final_module.as_bitcode())
    defined = [function for function in module.functions if not function.is_declaration]
    # Inner functions and the environments of callees get unique names. To be internal is not enough: the dynamic linker
    # of LLVM's MCJIT lists internal symbols too, and resolves a weak symbol of another library to them.
    for function in defined:
        if function.name not in outside:
            function.linkage = "internal"
            function.name = f"{function.name}.{key}"
    others = {other.env_name for other in made._find_referenced_environments()} - {described.env_name}
    for variable in module.global_variables:
        if variable.name in others:
            variable.name = f"{variable.name}.{key}"
    machine_code = library.codegen._tm.emit_object(module)
    for function in defined:
        if function.name in outside:
            # as numba has it: it may be linked into several others
            function.linkage = "linkonce_odr"
    code = library.name, machine_code, module.as_bitcode()
    facts = copy(described)
    # the argument types are those that are asked for when it is loaded
    facts.typemap = facts.calltypes = facts.argtypes = None
    environments = [f"{name}.{key}" for name in sorted(others)]
    return code, facts, made.environment, made.signature.return_type, environments


def _rebuilt(content: tuple[Any, ...], sig: Any, target_context: Any) -> Any:
    """The other way, for these argument types."""
    (name, machine_code, bitcode), described, environment, return_type, environments = content
    described.argtypes = arguments = tuple(sig)
    code, signature = (name, "object", (machine_code, bitcode)), signature_of(return_type, *arguments)
    made = CompileResult._rebuild(target_context, code, described, environment, signature, False, (), "", [], ())
    # the environments of the callees hold nothing: any will do
    for name in environments:
        made.library.codegen.set_env(name, environment)
    return made
