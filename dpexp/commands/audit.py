"""`dpexp audit`: a lower bound on the privacy loss of the runs of a config, beside what is claimed of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from dpexp.core.errors import UsageError
from dpexp.reporting.audit.bracket import Audited, audit, plan_of


def of_config(config: Path, sets: Sequence[str], runs: int, confidence: float, seed: int) -> Audited:
    """Audit every mechanism of a config. Raises UsageError where there is nothing to audit."""
    from dpexp.config.experiment_file import load_experiment

    ranges = (("--runs", runs, 100, 1e7), ("--confidence", confidence, 0.5, 1 - 1e-12), ("--seed", seed, 0, math.inf))
    for option, value, low, high in ranges:
        if not low <= value <= high:
            raise UsageError(f"{option} is a number from {low:g} to {high:g}, not {value:g}")
    experiment = load_experiment(config, sets)
    planned, skipped = plan_of(experiment)
    if not planned:
        takes = "audits take ldp-sgd, dp-sgd, dp-sgld, central-newton and algorithms of momentum, with a finite budget"
        raise UsageError(f"{config}: nothing to audit ({'; '.join(skipped)})", takes)
    # every audit gets an equal share of what may go wrong
    level, share = 1 - confidence, 1 / len(planned)
    return Audited([audit(one, runs, level, share, seed, experiment.deltas) for one in planned], skipped)
