"""Sections of the page that are read from what a run or a fit left: privacy, fits of own records, and the origin.

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
from collections.abc import Mapping, Sequence
from typing import Any

from dpexp.config.settings import varying
from dpexp.core.text import counted, duration, up
from dpexp.reporting.of_results.gather import Gathered
from dpexp.reporting.page.experiments import Stored
from dpexp.reporting.page.markup import Markup, folded, join, table, tag
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


HEAD = ["name", "estimate", "se", "from", "to", "p"]
PNG = b"\x89PNG\r\n\x1a\n"


def fits_section(cards: Sequence[Markup]) -> Markup:
    """The fits; nothing where there is none."""
    title = tag("h2", "Private regressions", id="fits-title")
    return tag("section", title, cards, id="fits", aria_labelledby="fits-title") if cards else Markup("")


def card(name: str, document: Mapping[str, Any], rows: Sequence[Sequence[str]], plot: bytes) -> Markup:
    """One fit: its document, the rows of its table, and its forest plot as png, empty where there is none.

    Raises KeyError, ValueError or TypeError where the document is not that of a fit.
    """
    what = f"{document['model']} of {document['public']['target']['name']}, n = {document['diagnostics']['n']:,}"
    level = f"{document['method']}, {100 * document['level']:.4g}% intervals"
    parts = [tag("p", f"{what}; {level}."), _guarantee(document)]
    parts += [tag("p", f"{said['rule']}: {said['reason']}", class_="warning") for said in document["refused"]]
    parts.append(table(HEAD, rows, f"Estimates of {name}"))
    if plot.startswith(PNG):
        source = f"data:image/png;base64,{base64.b64encode(plot).decode()}"
        parts.append(tag("img", src=source, alt=f"Forest plot of {name}: what each column does, with intervals"))
    return _folded(name, *parts)


def not_shown(name: str, why: str) -> Markup:
    """The card of a file that is no fit."""
    return _folded(name, tag("p", tag("strong", "Not shown: "), why, class_="warning"))


def _folded(name: str, *parts: Markup) -> Markup:
    return folded(tag("span", name, class_="name"), *parts, class_="card", open=True, id=f"fit-{name}")


def _guarantee(document: Mapping[str, Any]) -> Markup:
    """What the budget is and for whom; of a rehearsal, that it guarantees nothing."""
    budget, noise = document["budget"], str(document["public"]["noise"])
    mu = math.inf if budget["mu"] is None else float(budget["mu"])  # JSON has no infinity
    eps = ", ".join(f"eps = {up(float(e), 4)} at delta = {delta:g}" for delta, e in budget["eps"] if e is not None)
    held = f"{up(mu, 5)}-GDP for every {document.get('unit', 'record')}: {eps}" if math.isfinite(mu) else "no privacy"
    if noise.startswith("operating system"):
        return tag("p", f"{held}. A deployment; noise: {noise}.")
    return tag("p", f"A rehearsal: whoever knows the seed can take the noise away. A deployment would give {held}.")


def origin_section(experiments: Sequence[Stored]) -> Markup:
    """Experiments of one origin in one row, and those whose origin is not here in a sentence."""
    known = [one for one in experiments if one.provenance]
    unknown = [one.name for one in experiments if not one.provenance and one.is_current]
    parts: list[Markup | None] = []
    if known:
        origins: dict[tuple[str, ...], list[str]] = {}
        for one in known:
            origins.setdefault(_origin(one.provenance), []).append(one.name)
        parts += [_card(origin, names) for origin, names in origins.items()]
        parts.append(tag("p", "The commit is the one at which the files of a result were last written; "
                              "what is computed with unchanged code is kept."))  # fmt: skip
        parts.append(_spent(known))
    if unknown:
        parts.append(tag("p", "Not known here, since the times and the machine of a run are not committed with its "
                              f"results: {', '.join(unknown)}."))  # fmt: skip
    return join(parts)


def _card(origin: tuple[str, ...], names: Sequence[str]) -> Markup:
    facts = zip(("experiments", "commit", "machine", "versions"), (", ".join(names), *origin), strict=True)
    return tag("div", tag("dl", ((tag("dt", name), tag("dd", said)) for name, said in facts)), class_="card")


def _origin(provenance: dict[str, Any]) -> tuple[str, ...]:
    commit = str(provenance.get("commit") or "not from a git checkout")
    changed = " with uncommitted changes" if provenance.get("dirty") else ""
    machine = provenance.get("machine", {})
    cores = f", {counted(machine['cores'], 'core')}" if isinstance(machine.get("cores"), int) else ""
    where = (
        f"{machine.get('processor', 'unknown')}{cores}, {machine.get('system', '')} {machine.get('architecture', '')}"
    )
    versions = ", ".join(f"{name} {number}" for name, number in provenance.get("versions", {}).items())
    return commit + changed, where.strip(), versions


def seconds(one: Stored) -> float | None:
    """What all cells of an experiment took on one core; None where that is not known."""
    cells = one.provenance.get("cells")
    if not isinstance(cells, dict) or not cells:
        return None
    spent = [cell.get("cpu_s") for cell in cells.values()]
    # one cell without a time, and the sum is not known
    return None if None in spent else sum(map(float, spent))


def steps(one: Stored) -> int:
    """Replicate-steps of all cells of current results."""
    runs = () if one.gathered is None else one.gathered.runs
    return sum(run.cell.run.n * int(run.row["replicates"]) for run in runs)


def _spent(known: Sequence[Stored]) -> Markup:
    found = [(one, spent) for one in known if (spent := seconds(one)) is not None]
    total = sum(spent for _, spent in found)
    count = sum(steps(one) for one, _ in found)
    words = (f"Compute: {duration(total)} of one core for {counted(len(found), 'experiment')}, "
             f"{count:,} steps of all settings and replicates.")  # fmt: skip
    return tag("p", words, id="compute")
