"""Where in a file a thing is written: the line that its author has to look at."""

from __future__ import annotations

import inspect
import traceback
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any


def place_of(value: object) -> str:
    """file:line of a class or function, of the function behind a partial, or of one that a value holds."""
    written = _written(value)
    if written is None:
        return ""
    try:
        file = inspect.getsourcefile(written)
        _, line = inspect.getsourcelines(written)
    except (OSError, TypeError):
        return ""
    return f"{_short(file)}:{max(line, 1)}" if file else ""


def place_in_file_of(part: object, value: object) -> str:
    """Where a part is written, if that is the value's own file; else, as for what is inherited, the value's place."""
    own, inner = place_of(value), place_of(part)
    return inner if inner.rpartition(":")[0] == own.rpartition(":")[0] or not own else own


def place_of_error(error: BaseException, value: object) -> str:
    """The innermost line of the file in which the value is written that led to the error; else where it is written."""
    own = place_of(value)
    file = own.rpartition(":")[0]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if file and _short(frame.filename) == file:
            return f"{file}:{frame.lineno}"
    return own


def _written(value: Any) -> Any:
    while isinstance(value, partial):
        value = value.func
    if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismethod(value):
        return inspect.unwrap(value)
    if isinstance(value, tuple):
        return next(filter(None, map(_written, value)), None)
    if is_dataclass(value) and not isinstance(value, type):  # a figure, claim or paper: by the functions that it holds
        return next(filter(None, (_written(getattr(value, each.name)) for each in fields(value))), None)
    return None


def _short(file: str | None) -> str:
    """The path as it is seen from here, where that is shorter."""
    if not file:
        return ""
    path = Path(file).resolve()
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
