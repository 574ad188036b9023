"""`dpexp audit`: what the runs of a config give away at least, beside what is claimed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.reporting.audit.audit import Row, audit, exact_documents
from dpexp.reporting.audit.plan import plan_of
from dpexp.reporting.audit.shown import text

FEWEST, MOST = 100, 10_000_000


@dataclass(frozen=True)
class Audited:
    """The rows of an audit, and what was not audited."""

    rows: Sequence[Row]
    skipped: Sequence[str]

    def document(self) -> list[dict[str, Any]]:
        """With the keys of `dpexp audit --json`."""
        return [*(row.document() for row in self.rows), *self._exact]

    @cached_property
    def _exact(self) -> list[dict[str, Any]]:
        """Of exact laws, of each mechanism once."""
        audits = {row.audited.label + row.audited.size: row for row in self.rows}
        return [one for row in audits.values() for one in exact_documents(row.audited, row.deltas)]

    def text(self) -> str:
        """A page to read."""
        return text(self.rows, self.skipped)

    @property
    def exit_code(self) -> int:
        """1 where something gives away more than is claimed."""
        return int(any(row.alarm for row in self.rows) or any(one["alarm"] for one in self._exact))


def of_config(
    path: Path, sets: Sequence[str], runs: int, confidence: float, seed: int, figure: Path | None = None
) -> Audited:
    """Audit every mechanism of a config, and draw it. Raises UsageError where there is nothing to audit."""
    from dpexp.config import load_experiment
    from dpexp.reporting.audit.drawn import draw, require_format

    if figure is not None:
        require_format(figure)
    if not FEWEST <= runs <= MOST:
        raise UsageError(f"--runs is a number from {FEWEST} to {MOST:,}, not {runs:,}")
    if not 0.5 <= confidence < 1:
        raise UsageError(f"--confidence is a number from 0.5 to below 1, not {confidence:g}")
    if seed < 0:
        raise UsageError(f"--seed is 0 or more, not {seed}")
    experiment = load_experiment(path, sets)
    audited, skipped = plan_of(experiment)
    if not audited:
        raise UsageError(
            f"{path}: nothing to audit ({'; '.join(skipped)})",
            "audits take ldp-sgd, dp-sgd, dp-sgld and the algorithms of momentum, with a finite budget",
        )
    deltas = experiment.deltas
    level, looks = 1 - confidence, sum(len(one.looks) for one in audited)
    rows = [row for one in audited for row in audit(one, runs, level, 1 / looks, seed, deltas)]
    if figure is not None:
        draw(rows, figure)
    return Audited(rows, skipped)
