"""Judging claims from stored results: in this process, or many of them in two."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from dpexp.core.errors import ResultsMissing
from dpexp.core.terminal import each
from dpexp.core.text import few
from dpexp.plugins.loaded import shell
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.ledger.judgement import Judgement, said
from dpexp.reporting.ledger.verdicts import Ledger, stored_rows
from dpexp.reporting.verdict import power_and_seeds
from dpexp.reporting.worker_processes import in_processes
from dpexp.store import Folder
from dpexp.store.reading import config_typed, numbers_held, require_trajectories

GROUP = 5
"""claims of one task: neighbours read the same results, and each task reads its own"""
WORTH_PROCESSES = 20
"""claims from which it pays to start processes, each of which loads and compiles for itself"""


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
    """Raise ResultsMissing that names everything that has to be run before these claims can be judged."""
    if missing := missing_results(claims, results):
        configs = [word for name in missing for word in shlex.split(config_typed(Folder(results, name)))]
        raise ResultsMissing(
            f"claims need results that are missing or stale: {few(list(missing.values()), 1)}",
            f"run: {shell(['run', *configs], results)}",
        )


def judge(claims: Sequence[Claim], results: Path, jobs: int = 1) -> dict[str, Judgement]:
    """Run every check on stored results: fresh rows, by the ids of the claims.

    Raises ResultsMissing, and OutsideHypotheses where a claim would be judged on settings that its theorem does not
    cover.
    """
    require(claims, results)
    # read before the checks: results that change meanwhile make the row stale, and never a false one current
    held = numbers_held(results, experiments_of(claims))
    found = dict(_outcomes(claims, results, jobs))
    return {
        claim.id: Judgement(
            said(claim),
            asdict(found[claim.id]),
            {name: held[name][0] for name in claim.experiments},
            "judged",
            noticed=power_and_seeds(results, claim.id),
        )
        for claim in claims
    }


def judge_or_read(claims: Sequence[Claim], results: Path, ledger: Ledger, jobs: int = 1) -> list[Judgement]:
    """Every claim judged now; the stored row of those whose replicates are not here, as in a fresh clone."""
    missing = missing_results(claims, results)
    whole = [claim for claim in claims if not missing.keys() & set(claim.experiments)]
    fresh = judge(whole, results, jobs)
    stored = {row.id: row for row in stored_rows(results, ledger, [one for one in claims if one.id not in fresh])}
    for claim in claims:
        if claim.id in stored and stored[claim.id].state == "missing":
            reason = next(missing[name] for name in claim.experiments if name in missing)
            stored[claim.id] = replace(stored[claim.id], reason=reason)
    return [fresh.get(claim.id) or stored[claim.id] for claim in claims]


def one_by_one(claims: Sequence[Claim], results: Path) -> Iterator[tuple[str, Outcome]]:
    """The checks of some claims, one after the other: what one has read, the next need not."""
    evidence = Evidence(results)
    for claim in each(claims, "judging claim", lambda claim: claim.id):
        yield claim.id, claim.settled(evidence.only(claim.experiments))


def _outcomes(claims: Sequence[Claim], results: Path, jobs: int) -> Iterator[tuple[str, Outcome]]:
    """A few checks in this process, and many in several; the verdicts are the same."""
    if jobs < 2 or len(claims) < WORTH_PROCESSES:
        yield from one_by_one(claims, results)
        return
    ids = [claim.id for claim in claims]
    # names travel to other processes, and claims, which hold functions, do not
    groups = [ids[k : k + GROUP] for k in range(0, len(ids), GROUP)]
    names = [f"{group[0]} and its neighbours" for group in groups]
    work = [(group, results) for group in groups]
    for found in in_processes(_by_id, work, "judging group", names, f"judging claims, groups of {GROUP}"):
        yield from found


def _by_id(ids: Sequence[str], results: Path) -> list[tuple[str, Outcome]]:
    """The checks of a few claims, in a process of its own."""
    from dpexp.papers import claims

    known = {claim.id: claim for some in claims().values() for claim in some}
    return list(one_by_one([known[name] for name in ids], results))
