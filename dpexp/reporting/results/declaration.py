"""A figure as data: the keys of a figure in a `paper.yaml`, and the options of `dpexp plot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dpexp.core.errors import UsageError

STEP, DOTS = "step", "dots"
"""horizontal axes that are no setting: the step, and rows of final values"""


@dataclass(frozen=True)
class Declaration:
    """`choose` fills in what is empty. Raises UsageError for a value that no figure has."""

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
    statistic: str = "mean"
    """of the replicates: a name of `metrics.STATISTICS`"""
    kind: str = "line"
    """line, or box: final values of the replicates as boxes, a row for each setting"""
    theory: bool = False
    title: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("line", "box"):
            raise UsageError(f"--kind is line or box, not {self.kind!r}")
        if self.statistic != "mean" and self.theory and self.kind != "box":
            raise UsageError(f"--statistic {self.statistic}: theory is of means", "leave out --theory")


def declaration_of(words: Mapping[str, Any]) -> Declaration:
    """The declaration of a figure in a `paper.yaml`; a list may be one word. Other keys are not read."""
    own: dict[str, Any] = {field.name: words[field.name] for field in fields(Declaration) if field.name in words}
    lists = {name: own[name] for name in ("panel", "estimators") if name in own}
    return Declaration(**own | {k: (v,) if isinstance(v, str) else tuple(v) for k, v in lists.items()})
