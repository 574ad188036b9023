"""What it costs to rerun a claim: measured once on a machine that the file names, and kept in `results/costs.json`.

Times differ between two reproductions, and the file does not: only `dpexp claims --costs` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpexp.core.files import MOST_OF_DOCUMENT, Damaged, read_ordinary
from dpexp.core.text import duration
from dpexp.reporting.ledger.measuring import Cost
from dpexp.store.files import read_document, write_text
from dpexp.store.folder import Folder
from dpexp.store.provenance import machine

FILE = "costs.json"
SHORT = 0.05
"""seconds that are not worth a number"""


@dataclass(frozen=True)
class Costs:
    """Seconds on one core, and MiB."""

    measured_on: str = ""
    claims: dict[str, dict[str, float]] = field(default_factory=dict)
    """by id: `seconds` and `memory_mb` of judging, with results that are stored"""
    experiments: dict[str, float] = field(default_factory=dict)
    """by name: seconds of running"""

    def words(self, claim_id: str, experiments: Sequence[str]) -> str:
        """The cost of a claim in words; empty where it is not known."""
        own = self.claims.get(claim_id)
        if own is None:
            return ""
        parts = [f"{duration(own['seconds']) if own['seconds'] >= SHORT else 'no time'} to judge"]
        if experiments:
            known = all(name in self.experiments for name in experiments)
            parts.insert(0, f"{duration(self.running(experiments))} to run" if known else "time to run unknown")
        return f"{', '.join(parts)}, {own['memory_mb']:.0f} MB"

    def running(self, experiments: Sequence[str]) -> float:
        """Seconds to run some experiments on one core."""
        return sum(self.experiments.get(name, 0.0) for name in experiments)


def read(results: Path) -> Costs:
    """What is known; nothing where there is no such file."""
    with suppress(OSError, ValueError, TypeError):
        return Costs(**json.loads(read_ordinary(results / FILE, MOST_OF_DOCUMENT)))
    return Costs()


def keep(results: Path, judged: Mapping[str, Cost], experiments: Sequence[str], known: Sequence[str]) -> None:
    """Write what was measured, in two digits, beside what is known of other claims that are still there."""
    old = read(results)
    claims = old.claims | {
        name: {"seconds": _two_digits(cost.cpu_s), "memory_mb": _two_digits(cost.memory_mb)}
        for name, cost in judged.items()
    }
    ran = old.experiments | {
        name: _two_digits(seconds) for name in experiments if (seconds := _seconds_of_run(results, name)) is not None
    }
    document: dict[str, Any] = {
        "measured_on": str(machine()["processor"]),
        "claims": {name: claims[name] for name in known if name in claims},
        "experiments": dict(sorted(ran.items())),
    }
    write_text(results / FILE, json.dumps(document, indent=1))


def _seconds_of_run(results: Path, experiment: str) -> float | None:
    """What the run of an experiment took in all cells, on one core each; None where this machine does not know."""
    try:
        cells = read_document(Folder(results, experiment).provenance)["cells"]
    except (Damaged, OSError):
        return None
    return float(sum(cell["wall_s"] for cell in cells.values()))


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")
