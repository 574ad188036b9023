"""A first file of public inputs, from the names and types of a table's columns and never from a value in it."""

from __future__ import annotations

import json
from pathlib import Path

from dpexp.core.text import few, guess
from dpexp.data.dataset import DataError
from dpexp.data.regression import kinds_of
from dpexp.data.separators import separated_otherwise
from dpexp.data.table import read_frame

HEAD = """\
# Public inputs of `dpexp fit {file} --target COLUMN --public THIS`: what is known of the columns without the records.
# Drafted from names and types alone. Fill the blanks in from a code book, an earlier public sample or common knowledge.
# A mean, a range or a list of levels that is read off these records would be a release of its own.
"""
RANGES = """
# LOW and HIGH: about 19 of 20 values lie between them. Values beyond are used as they are, nothing is cut off. Have
# columns magnitudes of their own, such as years and dollars? Then this matters most: without a range a column of
# numbers is taken to lie between -2 and 2.
ranges:
"""
CATEGORIES = """
# Every level, the reference first. A level called other stands for all that are not listed.
categories:
"""
REST = """
# A missing value is an error. These columns may have some, which then count as the centre, with an entry that says so:
# missing: [COLUMN]
# Columns that are not used, such as names and numbers of persons:
# leave_out: [COLUMN]
# The standard deviation of what the columns do not explain of the target, within a factor 3. Without it, it is taken
# to be a quarter of the width of the target's range:
# error_scale: 1
"""


def draft_public(path: Path, target: str | None) -> str:
    """The text of the file. Raises DataError where the table cannot be read or has no such target."""
    frame = read_frame(path)
    frame.columns = [str(name) for name in frame.columns]
    kinds = kinds_of(frame)
    if target is not None and target not in kinds:
        hint = f"{separated_otherwise(kinds)}{guess(target, kinds)}columns: {few(list(kinds), 12)}"
        raise DataError(f"{path}: no column {target!r}", hint)
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    words = [name for name, kind in kinds.items() if kind == "text"]
    parts = [HEAD.format(file=path)]
    if numbers:
        parts.append(RANGES + "".join(f"  {_key(name)}: [LOW, HIGH]{_of_target(name, target)}\n" for name in numbers))
    if words:
        parts.append(
            CATEGORIES + "".join(f"  {_key(name)}: [ONE, OTHER]{_of_target(name, target)}\n" for name in words)
        )
    return "".join([*parts, REST])


def _key(name: str) -> str:
    """A column's name as YAML takes it, whatever is in it."""
    plain = name.isidentifier() and name.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "inf")
    return name if plain else json.dumps(name, ensure_ascii=False)


def _of_target(name: str, target: str | None) -> str:
    return "  # the target" if name == target else ""
