"""Privacy on the page: what every setting guarantees, as it is stored beside its numbers.

`dpexp run` stores the guarantee of each cell with the cell, and the readers refuse it where the code that states it has
changed. So the page prints what is stored, and the whole statement, which weighs analyses for minutes where there are
many, only where it is given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from dpexp.config.settings import varying
from dpexp.core.text import up
from dpexp.reporting.of_results.gather import Gathered
from dpexp.reporting.page.markup import Markup, folded, table, tag
from dpexp.reporting.statement import stated_by

NOT_A_GUARANTEE = "not a guarantee"


def privacy_section(gathered: Gathered, command: str, statement: str, unfolded: bool) -> Markup:
    """The privacy of one experiment; `statement` is what `dpexp privacy` prints, as far as it is given."""
    name = gathered.sources[0].name
    rows, told = _rows(gathered)
    deltas = [column for column in rows[0] if column.startswith("eps_")]
    head = [*told, "budget", "stated by", "noise multiplier", "mu of Gaussian DP"]
    head += [f"eps at {column.removeprefix('eps_')}" for column in deltas]
    found = []
    for row, settings in zip(rows, _settings(gathered, told), strict=True):
        line = [
            *settings,
            str(row["budget"]),
            _by(row),
            *(_number(row.get(key)) for key in ("noise_multiplier", "gdp_mu")),
        ]
        line += [_number(row.get(column)) for column in deltas]
        # settings that differ in nothing that is stated are one row
        if line not in found:
            found.append(line)
    parts = [
        tag("p", "Epsilons are rounded up. A budget of infinity adds no noise and guarantees nothing. ",
            tag("code", command), " weighs every analysis that applies, and says who is protected against what.")
    ]  # fmt: skip
    if statement:
        parts.append(tag("div", _said(statement), role="region", aria_label=f"Privacy statement of {name}"))
    parts.append(table(head, found, f"Privacy of the settings of {name}"))
    return folded(tag("span", name, class_="name"), *parts, class_="card", open=unfolded, id=f"privacy-{name}")


def _said(statement: str) -> list[Markup]:
    """Tables as they are, in a frame that scrolls; sentences and facts such that a narrow screen breaks their lines."""
    found = []
    for block in statement.split("\n\n"):
        lines = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in block.splitlines()]
        if re.search(r"^ *--", block, re.MULTILINE):
            found.append(tag("pre", block, tabindex=0))
            continue
        found += [tag("p", *line) for line in lines if len(line) == 1]
        facts = [(tag("dt", line[0]), tag("dd", line[1])) for line in lines if len(line) == 2]
        found += [tag("dl", facts)] if facts else []
    return found


def _rows(gathered: Gathered) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of cells.parquet, and the settings besides the budget by which their guarantees are told apart."""
    rows = [run.row for run in gathered.runs]
    keys = [key for key in rows[0] if key.startswith(("eps_", "noise_multiplier", "gdp_mu", "accountant", "guarantee"))]
    guarantees = [str({key: row.get(key) for key in ("budget", *keys)}) for row in rows]
    told = []
    for name in varying(run.settings for run in gathered.runs):
        # the budget has a column of its own
        if name in ("mu", "eps", "delta"):
            continue
        by_budget: dict[tuple[str, str], set[str]] = {}
        for row, run, guarantee in zip(rows, gathered.runs, guarantees, strict=True):
            others = str({k: v for k, v in run.settings.items() if k != name})
            by_budget.setdefault((others, str(row["budget"])), set()).add(guarantee)
        decides = any(len(found) > 1 for found in by_budget.values())
        if decides or name in ("algorithm", "data", "accountant"):
            told.append(name)
    return rows, told


def _settings(gathered: Gathered, names: list[str]) -> list[list[str]]:
    words = gathered.words
    return [[words.value(name, run.settings.get(name)) for name in names] for run in gathered.runs]


def _by(row: Mapping[str, Any]) -> str:
    """The analysis that states it, and whether it is a guarantee."""
    by = stated_by(row)
    words = str(by) if isinstance(by, str) and by else "Gaussian DP"
    held = row.get("guarantee", row.get("gdp_valid"))
    return f"{words}: {NOT_A_GUARANTEE}" if held is not None and held == held and not bool(held) else words


def _number(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return "infinite" if math.isinf(float(value)) else up(float(value), 4)
