"""What a compiled function is: a hash of everything that its machine code depends on.

The function itself is walked as it is in this process, not the text that it was read from: its byte code, its
constants, its defaults, what its closure holds, and every function, number and array that it names, and what those name
in turn. A constant counts with its value, however it was computed, and an edit of a file that is not imported yet does
not count.

Some of it is found by type and not by name: what an operator means on lanes was taught to numba by `overload`. Whatever
was taught by code outside of numba counts too, that of `engine/lanes` for functions that use lanes.

Wherever numbers could change without a change of this hash, wrong numbers would follow without a word. So only kinds of
values are accepted of which it is known what they do to compiled code. Everything else raises `Unknown`, and a function
that names such a value is not kept. A hash that changes too often costs a compilation, no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from numba.core.dispatcher import Dispatcher

from dpexp.engine.taught import taught
from dpexp.engine.tools import settings, tools
from dpexp.engine.walk import Walk


def key_of(dispatcher: Dispatcher, sig: Any, form: str = "") -> str:
    """A hash of everything that the machine code of a function depends on, for arguments of these types.

    `form` says in which form it is kept.
    """
    walk = Walk()
    walk.value(dispatcher)
    for argument in sig:
        walk.numba_type(argument)
    taught(walk)
    return _hash([form, tools(), settings(), *walk.lines])[:32]


def code_of(functions: Iterable[Callable[..., Any]]) -> str:
    """A hash of the byte code of some functions, without what they name."""
    walk = Walk()
    for function in functions:
        walk.code(function.__code__)
    return _hash(walk.lines)


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
