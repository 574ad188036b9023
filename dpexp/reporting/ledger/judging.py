"""Judging claims from stored results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from dpexp.core.errors import ResultsMissing
from dpexp.core.terminal import each
from dpexp.core.text import few
from dpexp.plugins.loaded import shell
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.ledger.judgement import Judgement, words_of
from dpexp.reporting.ledger.verdicts import Ledger, stored_rows
from dpexp.reporting.verdict import seeds
from dpexp.store import Folder
from dpexp.store.reading import config_typed, numbers_held, require_trajectories

Carry = Callable[[Sequence[Claim], Path], Iterator[tuple[str, Outcome]]]
"""carries out the checks of some claims, in any order: ids and outcomes"""


def experiments_of(claims: Iterable[Claim]) -> list[str]:
    """The experiments whose results some claims read, each once."""
    return list(dict.fromkeys(name for claim in claims for name in claim.experiments))


def missing_results(claims: Sequence[Claim], results: Path) -> dict[str, str]:
    """By experiment, why its stored results cannot be judged from."""
    missing = {}
    for experiment in experiments_of(claims):
        try:
            require_trajectories(results, experiment)
        except ResultsMissing as error:
            missing[experiment] = error.message
    return missing


def require(claims: Sequence[Claim], results: Path) -> None:
    """Raise ResultsMissing, with the command that runs everything that these claims need."""
    if missing := missing_results(claims, results):
        configs = [word for name in missing for word in shlex.split(config_typed(Folder(results, name)))]
        message = f"claims need results that are missing or stale: {few(list(missing.values()), 1)}"
        raise ResultsMissing(message, f"run: {shell(['run', *configs], results)}")


def one_by_one(claims: Sequence[Claim], results: Path) -> Iterator[tuple[str, Outcome]]:
    """The checks of some claims in this process, which reads an experiment once."""
    evidence = Evidence(results)
    for claim in each(claims, "judging claim", lambda claim: claim.id):
        yield claim.id, claim.judged(evidence.only(claim.experiments))


def judge(claims: Sequence[Claim], results: Path, carry: Carry = one_by_one) -> dict[str, Judgement]:
    """Fresh rows by the ids of the claims. Raises ResultsMissing."""
    require(claims, results)
    # read before the checks: results that change meanwhile make the row stale, and never a false one current
    numbers = numbers_held(results, experiments_of(claims))
    outcomes = dict(carry(claims, results))
    rows = {}
    for claim in claims:
        read = {name: numbers[name][0] for name in claim.experiments}
        outcome = asdict(outcomes[claim.id])
        rows[claim.id] = Judgement(words_of(claim), outcome, read, "judged", seeds=seeds(results).get(claim.id))
    return rows


def judge_or_read(claims: Sequence[Claim], results: Path, ledger: Ledger, carry: Carry = one_by_one) -> list[Judgement]:
    """Every claim judged now; the stored row of those whose replicates are not here, as in a fresh clone."""
    missing = missing_results(claims, results)
    fresh = judge([claim for claim in claims if not missing.keys() & set(claim.experiments)], results, carry)
    stored = {row.id: row for row in stored_rows(results, ledger, [claim for claim in claims if claim.id not in fresh])}
    for claim in claims:
        if claim.id in stored and stored[claim.id].state == "missing":
            reason = next(missing[name] for name in claim.experiments if name in missing)
            stored[claim.id] = replace(stored[claim.id], reason=reason)
    return [(fresh | stored)[claim.id] for claim in claims]
