"""What a starter config can say of a table: the names and kinds of its columns, and never a value in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from dpexp.data.columns import is_number
from dpexp.data.dataset import DataError
from dpexp.data.table import read_frame


class Draft(NamedTuple):
    """A source of data, and what a user should add to it, as lines of YAML in which values are to be filled in."""

    source: Mapping[str, str]
    template: tuple[str, ...]


def draft(path: Path, target: str | None) -> Draft:
    """What is known of a table without looking at its values.

    Raises DataError where the file cannot be read, or the target is not one of its columns.
    """
    if path.is_dir():
        return Draft({"path": str(path)}, ())
    frame = read_frame(path)
    names = [str(name) for name in frame.columns]
    listed = ", ".join(names[:20]) + ", ..." * (len(names) > 20)
    if target is None:
        raise DataError(f"{path}: which column is to be predicted?", f"give --target; columns: {listed}")
    if target not in names:
        close = get_close_matches(target, names, n=1)
        raise DataError(
            f"{path}: no column '{target}'", (f"did you mean '{close[0]}'? " if close else "") + f"columns: {listed}"
        )
    numbers = [name for name in names if name != target and is_number(frame[name])]
    words = [name for name in names if name not in numbers]
    template = []
    if numbers:
        template += ["# State limits that are known without the records, so that columns are of one magnitude:"]
        template += [_filled_in("ranges", numbers, "[LOW, HIGH]")]
    template += ["# State categories that are known without the records; those read off the records are not private:"]
    template += [_filled_in("categories", words, "[ONE, OTHER]")]
    return Draft({"path": str(path), "target": target}, tuple(template))


def _filled_in(key: str, names: list[str], value: str) -> str:
    """A commented line of YAML that a user completes."""
    inside = ", ".join(f"{_name(name)}: {value}" for name in names)
    return f"# {key}: {{{inside}}}"


def _name(name: str) -> str:
    """A column's name as YAML takes it."""
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)
