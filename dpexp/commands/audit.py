"""`dpexp audit`: a lower bound on the privacy loss of the runs of a config, beside what is claimed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.reporting.audit.audit import Row, audit, plan_of, text

FEWEST, MOST = 100, 10_000_000


@dataclass(frozen=True)
class Audited:
    """The rows of an audit, and what was not audited."""

    rows: Sequence[Row]
    skipped: Sequence[str]

    def document(self) -> list[dict[str, Any]]:
        """With the keys of `dpexp audit --json`."""
        return [row.document() for row in self.rows]

    def text(self) -> str:
        """A page to read."""
        return text(self.rows, self.skipped)

    @property
    def exit_code(self) -> int:
        """1 where a lower bound exceeds what is claimed."""
        return int(any(row.alarm for row in self.rows))


def of_config(config: Path, sets: Sequence[str], runs: int, confidence: float, seed: int) -> Audited:
    """Audit every mechanism of a config. Raises UsageError where there is nothing to audit."""
    from dpexp.config.experiment_file import load_experiment

    if not FEWEST <= runs <= MOST:
        raise UsageError(f"--runs is a number from {FEWEST} to {MOST:,}, not {runs:,}")
    if not 0.5 <= confidence < 1:
        raise UsageError(f"--confidence is a number from 0.5 to below 1, not {confidence:g}")
    if seed < 0:
        raise UsageError(f"--seed is 0 or more, not {seed}")
    experiment = load_experiment(config, sets)
    planned, skipped = plan_of(experiment)
    if not planned:
        takes = "audits take ldp-sgd, dp-sgd, dp-sgld, central-newton and algorithms of momentum, with a finite budget"
        raise UsageError(f"{config}: nothing to audit ({'; '.join(skipped)})", takes)
    # every look gets an equal share of what may go wrong
    level, looks = 1 - confidence, sum(len(one.looks) for one in planned)
    rows = [row for one in planned for row in audit(one, runs, level, 1 / looks, seed, experiment.deltas)]
    return Audited(rows, skipped)
