"""What the page says of privacy, fits of own records, and the origin: read from what a run or a fit left.

(a) Privacy is what every setting guarantees, as it is stated beside its numbers. `dpexp run` stores the guarantee of
each cell with the cell, and the readers refuse it where the code that states it has changed. So the page prints what is
stored, and the whole statement, which weighs analyses for minutes where there are many, only where it is given.
(b) A fit is what `dpexp fit --out FOLDER` left in a folder of the results folder.
(c) The origin is where the numbers come from: versions, machine and commit, and the time that was spent on them.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dpexp.config.settings import varying
from dpexp.core.text import counted, up
from dpexp.reporting.of_results.gather import Gathered
from dpexp.reporting.page.experiments import Stored
from dpexp.reporting.statement import stated_by

NOT_A_GUARANTEE = "not a guarantee"


class Guarantees(NamedTuple):
    """The privacy of one experiment."""

    name: str
    command: str
    """states it in full"""
    statement: Sequence[str | Sequence[list[str]]]
    """what `dpexp privacy` prints, as far as it is given, by block: a table as it is, or its lines; a line of two parts
    is a fact with its name"""
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def guarantees_of(gathered: Gathered, command: str, statement: str) -> Guarantees:
    """The settings with what is stated of each; those that differ in nothing that is stated are one row."""
    rows = [run.row for run in gathered.runs]
    told, deltas = _told(gathered), [column for column in rows[0] if column.startswith("eps_")]
    numbers = ["noise_multiplier", "gdp_mu", *deltas]
    head = [*told, "budget", "stated by", "noise multiplier", "mu of Gaussian DP"]
    lines = {
        (
            *(gathered.words.value(name, run.settings.get(name)) for name in told),
            str(run.row["budget"]),
            _by(run.row),
            *(_number(run.row.get(column)) for column in numbers),
        ): None
        for run in gathered.runs
    }
    head += [f"eps at {column.removeprefix('eps_')}" for column in deltas]
    return Guarantees(gathered.sources[0].name, command, _blocks(statement), head, list(lines))


def _blocks(statement: str) -> list[str | list[list[str]]]:
    """Tables as they are; else lines, each in the parts between which wide gaps stand, two at most."""
    return [
        block
        if re.search(r"^ *--", block, re.MULTILINE)
        else [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in block.splitlines()]
        for block in (statement.split("\n\n") if statement else ())
    ]


def _told(gathered: Gathered) -> list[str]:
    """The settings besides the budget by which the guarantees of cells are told apart."""
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
    return told


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


PNG = b"\x89PNG\r\n\x1a\n"


REHEARSAL = "A rehearsal"


class Fit(NamedTuple):
    """A private regression, or why a file is none."""

    name: str
    why: str = ""
    what: str = ""
    guarantee: str = ""
    """what the budget is and for whom; of a rehearsal, that it guarantees nothing"""
    refused: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    plot: str = ""
    """the source of its forest plot; empty where there is none"""

    @property
    def is_rehearsal(self) -> bool:
        """Whether its noise can be taken away."""
        return self.guarantee.startswith(REHEARSAL)


def fit_of(name: str, document: Mapping[str, Any], rows: Sequence[Sequence[str]], plot: bytes) -> Fit:
    """One fit: its document, the rows of its table, and its forest plot as png, empty where there is none.

    Raises KeyError, ValueError or TypeError where the document is not that of a fit.
    """
    what = f"{document['model']} of {document['public']['target']['name']}, n = {document['diagnostics']['n']:,}"
    level = f"{document['method']}, {100 * document['level']:.4g}% intervals"
    refused = [f"{said['rule']}: {said['reason']}" for said in document["refused"]]
    source = f"data:image/png;base64,{base64.b64encode(plot).decode()}" if plot.startswith(PNG) else ""
    return Fit(name, "", f"{what}; {level}", _guarantee(document), refused, rows, source)


def _guarantee(document: Mapping[str, Any]) -> str:
    budget, noise = document["budget"], str(document["public"]["noise"])
    mu = math.inf if budget["mu"] is None else float(budget["mu"])  # JSON has no infinity
    eps = ", ".join(f"eps = {up(float(e), 4)} at delta = {delta:g}" for delta, e in budget["eps"] if e is not None)
    held = f"{up(mu, 5)}-GDP for every {document.get('unit', 'record')}: {eps}" if math.isfinite(mu) else "no privacy"
    if noise.startswith("operating system"):
        return f"{held}. A deployment; noise: {noise}."
    return f"{REHEARSAL}: whoever knows the seed can take the noise away. A deployment would give {held}."


def origins_of(experiments: Iterable[Stored]) -> dict[tuple[str, str, str], list[str]]:
    """Commit, machine and versions, and the experiments of each origin that is known."""
    origins: dict[tuple[str, str, str], list[str]] = {}
    for one in experiments:
        if one.provenance:
            origins.setdefault(_origin(one.provenance), []).append(one.name)
    return origins


def _origin(provenance: dict[str, Any]) -> tuple[str, str, str]:
    commit = str(provenance.get("commit") or "not from a git checkout")
    changed = " with uncommitted changes" if provenance.get("dirty") else ""
    machine = provenance.get("machine", {})
    cores = f", {counted(machine['cores'], 'core')}" if isinstance(machine.get("cores"), int) else ""
    where = (
        f"{machine.get('processor', 'unknown')}{cores}, {machine.get('system', '')} {machine.get('architecture', '')}"
    )
    versions = ", ".join(f"{name} {number}" for name, number in provenance.get("versions", {}).items())
    return commit + changed, where.strip(), versions
