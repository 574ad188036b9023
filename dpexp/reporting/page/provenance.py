"""Where the numbers of a page come from: versions, machine and commit, and the time that was spent on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpexp.core.text import counted, duration
from dpexp.reporting.page.experiments import Stored
from dpexp.reporting.page.markup import Markup, join, tag


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
