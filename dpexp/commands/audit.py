"""`dpexp audit`: a lower bound on the privacy loss of the runs of a config, and what is claimed of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from dpexp.commands.command_answer import Pathname
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import UsageError
from dpexp.reporting.audit.audit_cells import Audited, plan_of
from dpexp.reporting.audit.worlds import audit as audit_plan


def audit(
    config: Pathname, *, set: Sequence[str] = (), runs: int = 10_000, confidence: float = 0.999, seed: int = 0
) -> Audited:
    """A lower bound on the privacy loss of a config's runs, and what is claimed: `.rows`, `.text()`, `.document()`.

    Every mechanism of the config is audited. Raises UsageError where there is none to audit.
    """
    ranges = (("--runs", runs, 100, 1e7), ("--confidence", confidence, 0.5, 1 - 1e-12), ("--seed", seed, 0, math.inf))
    for option, value, low, high in ranges:
        if not low <= value <= high:
            raise UsageError(f"{option} is a number from {low:g} to {high:g}, not {value:g}")
    experiment = load_experiment(Path(config), set)
    plans, skipped = plan_of(experiment)
    if not plans:
        takes = "audits take ldp-sgd, dp-sgd, dp-sgld, central fits and algorithms of momentum, with a finite budget"
        raise UsageError(f"{config}: nothing to audit ({'; '.join(skipped)})", takes)
    # every audit gets an equal share of what may go wrong
    level, share = 1 - confidence, 1 / len(plans)
    rows = [audit_plan(plan, runs, level * share, seed, experiment.deltas) for plan in plans]
    return Audited([row | {"confidence": confidence} for row in rows], skipped)
