"""What a statement of privacy does not cover when the runs of one experiment leave the house.

All settings of an experiment are driven by the same random numbers (`dpexp.core.seeds`: streams are keyed by seed,
replicate and role, never by a setting), so that differences between settings are paired. On private records that is a
leak: with noise s Z in one run and 2 s Z in the other, and linear steps, 2 w1 - w2 is free of noise. Composition
theorems ask for independent noise and so do not cover such a pair. Runs with other seeds, and replicates, have noise of
their own: they compose. And whoever knows the seed can compute the noise.

Simulated users (`ldp-sgd`) and made-up records are nobody's, so nothing is said of them.
"""

from __future__ import annotations

from collections import Counter

from dpexp.config import Cell, Experiment
from dpexp.config.noise import is_noisy


def cautions(experiment: Experiment, own: bool = False) -> list[str]:
    """What must be known before results on real records are released; or only where they are a user's own."""
    found = []
    private = [cell for cell in experiment.cells if is_noisy(cell)]
    for records in dict.fromkeys(name for cell in private if (name := _records(cell, own))):
        cells = [cell for cell in private if _records(cell, own) == records]
        seeds = Counter(cell.run.seed for cell in cells)
        if len(cells) * experiment.replicates > 1:
            found.append(_together(records, len(cells), experiment.replicates, max(seeds.values())))
        found.append(
            f"Seed: the noise of {'these runs' if len(cells) > 1 else 'this run'} on {records} follows from run.seed, "
            "which the config and manifest.json show: whoever knows it can subtract the noise. The guarantee is that "
            "of a run whose seed stays secret and is used once, and the generator is not a cryptographic one."
        )
    return found


def _together(records: str, cells: int, replicates: int, sharing: int) -> str:
    runs = f"{cells} settings" if cells > 1 else "one setting"
    if replicates > 1:
        runs += f", {replicates} replicates{' each' if cells > 1 else ''},"
    words = [f"Together: {runs} learn from the same records ({records}); a statement is of one of these runs alone."]
    if sharing > 1:
        words.append(
            "Settings of one seed share their noise, which composition does not cover: with noise s in one and 2 s in "
            "another, 2 w1 - w2 has none (exactly so for linear steps)."
        )
    if sharing < cells or replicates > 1:
        words.append("Replicates and other seeds have their own noise: their losses add up by composition.")
    words.append("Choosing a setting by its measured accuracy is not covered either.")
    return " ".join(words)


def _records(cell: Cell, own: bool) -> str:
    """The real data that a cell learns from, by name or path; empty where its records are made up."""
    data = cell.problem.model_dump().get("data")
    if isinstance(data, dict):
        return str(data.get("path") or ("" if own else data.get("name") or ""))
    return "" if own or data in (None, "synthetic") else str(data)
