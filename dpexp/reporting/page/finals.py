"""Final values on the page: the table of every result with its slopes, and the levels of its settings compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dpexp.reporting.page.markup import Markup, folded, join, table, tag


class Numbers(NamedTuple):
    """A table of the page: what it is, its head and rows, and the note below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str


class Final(NamedTuple):
    """The tables of one experiment, and why some are not there."""

    experiment: str
    tables: Sequence[Numbers]
    remarks: Sequence[str]
    command: str
    """prints the first table"""


def section(finals: Sequence[Final]) -> Markup:
    """One card an experiment, unfolded where it is the only one."""
    if not finals:
        return tag("p", "No result here is current, so there are no values.")
    cards = []
    for one in finals:
        parts: list[Markup] = []
        for numbers in one.tables:
            parts.append(tag("h4", numbers.title))
            parts.append(table(numbers.head, numbers.rows, f"{numbers.title} of {one.experiment}"))
            parts.append(tag("p", numbers.note, class_="remark"))
        parts += [tag("p", remark, class_="remark") for remark in one.remarks]
        title = tag("span", one.experiment, class_="name")
        cards.append(folded(title, *parts, tag("p", tag("code", one.command)), class_="card", open=len(finals) == 1,
                            id=f"final-{one.experiment}"))  # fmt: skip
    return join(cards)
