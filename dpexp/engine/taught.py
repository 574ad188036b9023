"""What numba was taught by others than numba itself: it is found by types, not by names.

That an operator acts on lanes was said once, by `overload`, and no kernel that uses it names the function that says so.
So all that was taught counts for every function, but what lanes mean counts only for functions that use lanes.
"""

from __future__ import annotations

import hashlib
import types as python_types
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba.core import datamodel, imputils
from numba.core.typing import templates

from dpexp.engine.tools import is_known
from dpexp.engine.walk import Unknown, Walk

LANES = "dpexp.engine.lanes"


def taught(walk: Walk) -> None:
    """Let a walk, which has seen a function and its arguments, see what was taught and may take part."""
    uses_lanes = any(module.startswith(LANES) for module in walk.modules)

    def counts(module: object) -> bool:
        return not is_known(module) and (uses_lanes or not str(module).startswith(LANES))

    for template in [*templates.builtin_registry.functions, *templates.builtin_registry.attributes]:
        members = vars(template)
        if "_definition_func" in members:
            continue  # numba lists an intrinsic when it is first used; it is called by its name, so it was seen
        if "_overload_func" not in members:
            if not is_known(template.__module__):
                raise Unknown(f"nothing says what {template.__qualname__} taught to numba")
        elif counts(_module(function := members["_overload_func"].__func__)):
            walk.say("overload", *(members.get(name) for name in ("_attr", "_strict", "prefer_literal")))
            _key(walk, members["key"])
            walk.value(dict(sorted(members.get("_jit_options", {}).items())))
            if "_inline" in members:
                walk.say(vars(members["_inline"].__func__))
            walk.function(function)
    lowered = imputils.builtin_registry
    for listed in (lowered.functions, lowered.getattrs, lowered.setattrs, lowered.casts, lowered.constants):
        for implementation, *_ in listed:
            if any(counts(_module(function)) for function in _functions_in(implementation)):
                raise Unknown("something outside of numba generates instructions")
    for kind, model in datamodel.registry.default_manager._handlers.items():
        if counts(model.__module__):
            walk.members(kind)
            walk.members(model)
    if uses_lanes:
        walk.say(_text_of_lanes())


def _module(function: python_types.FunctionType) -> object:
    return function.__globals__.get("__name__")


def _key(walk: Walk, value: Any) -> None:
    """What an overload gives a meaning to: of a function of Python its code counts too, of others the name."""
    if isinstance(value, python_types.FunctionType):
        walk.function(value)
    elif isinstance(value, str):
        walk.say(value)
    else:
        walk.say(getattr(value, "__module__", ""), getattr(value, "__qualname__", value))


def _functions_in(value: Any) -> Iterator[python_types.FunctionType]:
    """A function, and those that it was wrapped around."""
    if isinstance(value, python_types.FunctionType):
        yield value
        for cell in value.__closure__ or ():
            if cell.cell_contents is not value:
                yield from _functions_in(cell.cell_contents)


@lru_cache(maxsize=1)
def _text_of_lanes() -> str:
    """The files that define lanes, beside what was seen: a second belt."""
    folder = Path(__file__).parent / "lanes"
    texts = [path.read_bytes() for path in sorted(folder.glob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()
