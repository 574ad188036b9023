"""First statements about a table: what a user fills in, from its header alone and never from a record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core.errors import DataError
from dpexp.core.scalars import yaml_in_line
from dpexp.data.records import Header, read_header

RANGE, LEVELS = "[LOW, HIGH]", "[ONE, OTHER]"
HEAD = """\
# Public inputs of `dpexp fit {file} --target COLUMN --public THIS`: what is known of the columns without the records.
# Drafted from the header alone. Fill the blanks in from a code book, an earlier public sample or common knowledge.
# A mean, a range or a list of levels that is read off these records would be a release of its own.
"""
RANGES = """
# LOW and HIGH: about 19 of 20 values lie between them. Values beyond are used as they are, nothing is cut off. Have
# columns magnitudes of their own, such as years and dollars? Then this matters most: without a range a column of
# numbers is taken to lie between -2 and 2. A range of two days, [2001-01-01, 2020-12-31], makes a column one of days.
"""
UNKNOWN = """\
# A header does not say which columns hold words: move those to categories.
"""
CATEGORIES = """
# Every level, the reference first. A level called other stands for all that are not listed.
"""
REST = """
# A record with a value that is missing or cannot be read adds nothing. In these columns a missing value counts as the
# centre, with an entry that says so:
# missing: [COLUMN]
# Columns that are not used, such as names and numbers of persons:
# leave_out: [COLUMN]
# Marks in numbers such as 1.234,5; without these keys 1234.5 is one:
# decimal: ","
# thousands: "."
# The standard deviation of what the columns do not explain of the target, within a factor 3. Without it, it is taken
# to be a quarter of the width of the target's range:
# error_scale: 1
"""


class Draft(NamedTuple):
    """A source of data, and what a user should add to it, as lines of YAML in which values are to be filled in."""

    source: Mapping[str, Any]
    template: tuple[str, ...]


def draft(path: Path, target: str | None) -> Draft:
    """What is known of a table from its header.

    Raises DataError where the file cannot be read, or the target is not one of its columns.
    """
    header = read_header(path)
    if target is None:
        raise DataError(
            f"{path}: which column is to be predicted?", f"give --target; columns: {', '.join(header.kinds)}"
        )
    header.require([target], str(path))
    numbers, words = _split(header, target)
    template = ["# State what is known without the records. Classes come first; columns of words belong to categories."]
    if numbers:
        template.append(f"# ranges: {{{', '.join(f'{yaml_in_line(name)}: {RANGE}' for name in numbers)}}}")
    template.append("# missing: [COLUMN]        where values may be missing; without it such records add nothing")
    template.append("# leave_out: [COLUMN]")
    blanks = {name: ["ONE", "OTHER"] for name in [target, *words]}
    return Draft({"path": str(path), "target": target, "categories": blanks}, tuple(template))


def draft_public(path: Path, target: str | None) -> str:
    """The text of a first file for `dpexp fit --public`. Raises DataError as `draft` does."""
    header = read_header(path)
    header.require([] if target is None else [target], str(path))
    numbers, words = _split(header)
    parts = [HEAD.format(file=path)]
    for intro, key, blank, names in ((RANGES, "ranges", RANGE, numbers), (CATEGORIES, "categories", LEVELS, words)):
        if names:
            unknown = UNKNOWN if key == "ranges" and header.separator else ""
            lines = [f"  {yaml_in_line(name)}: {blank}{'  # the target' if name == target else ''}\n" for name in names]
            parts.append(f"{intro}{unknown}{key}:\n{''.join(lines)}")
    if not words:
        parts.append(f"{CATEGORIES}# categories:\n#   COLUMN: {LEVELS}\n")
    return "".join([*parts, REST])


def _split(header: Header, target: str | None = None) -> tuple[list[str], list[str]]:
    """Columns that may hold numbers or days, and those that hold words by their schema."""
    others = {name: kind for name, kind in header.kinds.items() if name != target}
    return [k for k, v in others.items() if v not in ("text", "truth")], [k for k, v in others.items() if v == "text"]
