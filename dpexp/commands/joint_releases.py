"""What the runs of one experiment on the same records spend together, and what no statement covers.

A statement of privacy is about one run: one setting, one replicate. An experiment is more than that.

* Records that are made up or shipped with dpexp are nobody's. Settings on them share their noise (`dpexp.core.seeds`),
  so that differences between settings are paired. Were they private, that would be a leak: with noise s Z in one run
  and 2 s Z in the other, and linear steps, 2 w1 - w2 is free of noise, and no composition theorem covers the pair.
* On a user's own records every setting has batches and noise of its own (`dpexp.store.simulating`), so what is released
  adds up by composition, and that is stated here. Released are the replicates that `run.release` names.
* Whoever knows the seed can compute the noise. A reproducible run is therefore not private in deployment.

Simulated users (`ldp-sgd`) and made-up records are nobody's, so nothing is said of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.config.cell_settings import label
from dpexp.config.cells import Cell, Experiment, is_noisy
from dpexp.core.errors import UsageError
from dpexp.core.text import counted, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.composition import composable, composition_of_runs

NOT_PRIVATE = "Reproducible run: not private in deployment."
REPRODUCIBLE = (
    f"{NOT_PRIVATE} Noise and batches follow from run.seed, which the config and manifest.json show: whoever knows it "
    "can subtract the noise. Release with dpexp run --deployment, which draws them from the operating system and "
    "forgets them."
)
SECRET = (
    "noise, batches and start are drawn from seeds of the operating system, which are kept nowhere. The run cannot be "
    "reproduced, and running again would be a further release. The generator is not a cryptographic one, and "
    "floating-point noise is not covered."
)
NOT_MEASURED = "Accuracy and loss are not covered, nor is choosing a setting by them."
CHOSEN = (
    "These {count} settings are {count} releases at least: choosing the best of them by accuracy or loss on private "
    "records is not covered. The price of the best of a random number of runs: dpexp privacy --mechanism "
    "private-selection."
)
SHARED = (
    "Settings of one seed share their noise, which composition does not cover: with noise s in one and 2 s in another, "
    "2 w1 - w2 has none (exactly so for linear steps). On your own records they do not share it."
)
SEED = (
    "follows from run.seed, which the config and manifest.json show: whoever knows it can subtract the noise. The "
    "guarantee is that of a run whose seed is secret and is used once, and the generator is not a cryptographic one. "
    f"{NOT_PRIVATE}"
)
CHOSEN_REPLICATE = "Choosing a replicate by its measured accuracy is not covered either."


class Joint(NamedTuple):
    """All that is released of one user's records."""

    records: str
    """by path"""
    places: Sequence[Path]
    """the files"""
    settings: int
    """that release anything"""
    releases: int
    """runs whose parameters are released, over all settings"""
    relation: str
    """which data sets are neighbours; empty where the settings disagree, so that nothing can be said of all"""
    analysis: Analysis | None

    def document(self, deltas: Sequence[float]) -> dict[str, Any]:
        """For programs."""
        found = self.analysis
        return {
            "records": self.records,
            "settings": self.settings,
            "releases": self.releases,
            "neighboring_relation": self.relation or None,
            "source": None if found is None else found.source,
            "eps": [[delta, None if found is None else found.eps(delta)] for delta in deltas],
        }


def joint(experiment: Experiment) -> list[Joint]:
    """What is released of each of the user's own records, by all settings together."""
    found = []
    private = [cell for cell in experiment.cells if cell.problem.files() and _estimators(cell)]
    for records in dict.fromkeys(_records(cell, own=True) for cell in private):
        cells = [cell for cell in private if _records(cell, own=True) == records]
        counts = [experiment.replicates if cell.run.release == "all" else 1 for cell in cells]
        mechanisms = [c.algorithm.mechanism(c.problem, c.schedule, c.privacy.mu, c.run.n) for c in cells]
        relations = {mechanism.neighboring_relation for mechanism in mechanisms}
        analysis = None
        if len(relations) == 1:
            # A setting that releases every replicate is as many runs of it.
            runs = [
                (composable(mechanism.upper_bounds(), experiment.deltas[0], _estimators(cell) == ("last",)), count)
                for mechanism, cell, count in zip(mechanisms, cells, counts, strict=True)
            ]
            analysis = composition_of_runs(runs)
        relation = relations.pop() if len(relations) == 1 else ""
        found.append(Joint(records, cells[0].problem.places(), len(cells), sum(counts), relation, analysis))
    return found


def require_private_records(experiment: Experiment) -> None:
    """Raises UsageError unless every cell learns from a user's own records under a guarantee.

    Nothing else is worth a secret: simulated and published records are nobody's, and without a guarantee the parameters
    show the records themselves.
    """
    # All cells or none: part of a secret experiment would look like all of it.
    if any(not cell.problem.files() for cell in experiment.cells):
        hint = "it is for data: {path: ...}; simulated users and shipped data have nothing to hide"
        raise UsageError(f"{experiment.path}: --deployment is for runs on your own records", hint)
    uncovered = [cell for cell in experiment.cells if not _estimators(cell)]
    if uncovered:
        first = " ".join(filter(None, [uncovered[0].cell_id, label(uncovered[0])]))
        which = first if len(uncovered) == 1 else f"{len(uncovered)} settings, the first is {first}"
        hint = "a deployment releases only what an analysis covers: see dpexp privacy"
        raise UsageError(f"{experiment.path}: no guarantee covers {which}", hint)


def cautions(experiment: Experiment, own: bool = False, deployed: bool = False) -> list[str]:
    """What must be known before results on real records are released; or only where they are a user's own.

    The noise of a deployment is secret.
    """
    found = []
    released = {one.records: one for one in joint(experiment)}
    noisy = [cell for cell in experiment.cells if is_noisy(cell) or cell.problem.files()]
    for records in dict.fromkeys(name for cell in noisy if (name := _records(cell, own))):
        cells = [cell for cell in noisy if _records(cell, own) == records]
        if not any(cell.problem.files() for cell in cells):
            found += _of_shipped_records(records, cells, experiment.replicates)
        elif records in released:
            what = _what_is_released(records, cells, experiment, released[records])
            found += [what, who_knows_the_noise(deployed)]
        else:
            what = f"Released: nothing of {records}. No guarantee covers these runs, so no parameters are stored."
            found += [what, who_knows_the_noise(deployed)]
    return found


def who_knows_the_noise(deployed: bool) -> str:
    """Whether the noise of settings on own records is secret, in words."""
    return f"Deployment: {SECRET}" if deployed else REPRODUCIBLE


def _what_is_released(records: str, cells: Sequence[Cell], experiment: Experiment, released: Joint) -> str:
    """What is released of a user's records, and what that spends together."""
    own = [cell for cell in cells if _estimators(cell)]
    estimators = " and ".join(dict.fromkeys(name for cell in own for name in _estimators(cell)))
    kinds = {cell.run.release for cell in own}
    which = "replicate 0" if "all" not in kinds else "every replicate"
    which = which if len(kinds) == 1 else "the replicates that run.release names"
    each = f" of each of {len(own)} settings" if len(own) > 1 else ""
    words = [f"Released of {records}: the parameters ({estimators}) of {which}{each}."]
    # Other replicates are computed and measured, and their parameters are dropped.
    if rest := sum(experiment.replicates - 1 for cell in own if cell.run.release == "first"):
        words.append(f"Not released: {counted(rest, 'other replicate')}; their parameters are not stored.")
    if released.analysis is None:
        words.append("Together: the settings have different neighbours, so no statement holds of all of them.")
    elif released.releases > 1:
        eps = ", ".join(f"epsilon = {up(released.analysis.eps(d))} at delta = {d:g}" for d in experiment.deltas)
        words.append(f"Together: these {released.releases} releases spend {eps} (neighbours: {released.relation}; "
                     f"{released.analysis.source}). The statement of one of them holds if that one alone is "
                     "published.")  # fmt: skip
    if len(cells) > 1:
        words.append("Every setting has batches and noise of its own, so no difference of two removes the noise.")
        words.append(CHOSEN.format(count=len(cells)))
    return " ".join([*words, NOT_MEASURED])


def _of_shipped_records(records: str, cells: Sequence[Cell], replicates: int) -> list[str]:
    """Real records that everybody has: what would be wrong with these runs if they were private."""
    found, words = [], []
    # Only runs of one seed share noise.
    sharing = max(Counter(cell.run.seed for cell in cells).values())
    if len(cells) * replicates > 1:
        runs = f"{len(cells)} settings" if len(cells) > 1 else "one setting"
        runs += f", {replicates} replicates{' each' if len(cells) > 1 else ''}," if replicates > 1 else ""
        words = [f"Together: {runs} learn from the same records ({records}); a statement is of one of these runs."]
        words += [SHARED] if sharing > 1 else []
        if sharing < len(cells) or replicates > 1:
            words.append("Replicates and other seeds have their own noise: their losses add up by composition.")
        words.append(CHOSEN.format(count=len(cells)) if len(cells) > 1 else CHOSEN_REPLICATE)
        found.append(" ".join(words))
    which = "these runs" if len(cells) > 1 else "this run"
    return [*found, f"Seed: the noise of {which} on {records} {SEED}"]


def _estimators(cell: Cell) -> tuple[str, ...]:
    """The estimators that a cell releases."""
    return cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)


def _records(cell: Cell, own: bool) -> str:
    """The real data that a cell learns from, by name or path; empty where its records are made up."""
    data = cell.problem.model_dump().get("data")
    if isinstance(data, dict):
        return str(data.get("path") or ("" if own else data.get("name") or ""))
    return "" if own or data in (None, "synthetic") else str(data)
