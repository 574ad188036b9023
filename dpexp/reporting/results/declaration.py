"""A figure as data: what is shown of which results, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dpexp.core.errors import UsageError

STEP, DOTS = "step", "dots"
"""horizontal axes that are no setting: the step, and rows of final values"""
WIDTH = 7.2
"""inches of a figure: the text width of a page"""


@dataclass(frozen=True)
class Declaration:
    """The keys of a figure in a `paper.yaml`, and the options of `dpexp plot`. What is empty `choose` fills in.

    Raises UsageError for a value that no figure has.
    """

    y: str = ""
    """metric"""
    x: str = ""
    """STEP, DOTS or a setting that is a number"""
    colour: str = ""
    panel: tuple[str, ...] = ()
    style: str = ""
    estimators: tuple[str, ...] = ()
    where: str = ""
    """conditions on cells, as `dpexp run --only` takes them"""
    log: str = ""
    """logarithmic axes: x, y, xy or none"""
    statistic: str = "mean"
    """of the replicates: a name of `statistic.STATISTICS`"""
    kind: str = "line"
    """line, or box: final values of the replicates as boxes, a row for each setting"""
    theory: bool = False
    """whether curves of theory are drawn over the measured ones"""
    title: str = ""
    width: float = WIDTH

    def __post_init__(self) -> None:
        for name, known in (("log", ("", "x", "y", "xy", "none")), ("kind", ("line", "box"))):
            if (value := getattr(self, name)) not in known:
                listed = ", ".join(filter(None, known[:-1]))
                raise UsageError(f"--{name} is {listed} or {known[-1]}, not {value!r}")
        if self.statistic != "mean" and self.theory and self.kind != "box":
            raise UsageError(f"--statistic {self.statistic}: theory is of means", "leave out --theory")


def declaration_of(words: Mapping[str, Any]) -> Declaration:
    """The declaration of a figure in a `paper.yaml`; a list may be one word. Other keys are not read."""
    said: dict[str, Any] = {field.name: words[field.name] for field in fields(Declaration) if field.name in words}
    for name in {"panel", "estimators"} & said.keys():
        said[name] = (said[name],) if isinstance(said[name], str) else tuple(said[name])
    return Declaration(**said)
