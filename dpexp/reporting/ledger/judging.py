"""Judging claims anew by stored results, and keeping the verdicts: `results/claims.json` is brought up to date."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from dpexp.core.errors import DpexpError, ResultsMissing
from dpexp.core.terminal import each
from dpexp.core.text import few
from dpexp.plugins.loaded import shell
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.judgement import Judgement, said
from dpexp.reporting.ledger.standing import code_of_claim, experiments_of, hashes, standing
from dpexp.store import Folder
from dpexp.store.fingerprint import edited_after, plugins_missing
from dpexp.store.reading import config_typed, numbers_held, require_trajectories

Carry = Callable[[Sequence[Claim], Path], Iterator[tuple[str, Outcome]]]
"""carries the checks of some claims out on results, in any order: the id, and what was found"""


def require(claims: Sequence[Claim], results: Path) -> None:
    """Raise ResultsMissing that names everything that has to be run before these claims can be judged."""
    missing = {}
    for experiment in experiments_of(claims):
        try:
            require_trajectories(results, experiment)
        except ResultsMissing as error:
            missing[experiment] = error.message
    if missing:
        configs = [word for name in missing for word in shlex.split(config_typed(Folder(results, name)))]
        raise ResultsMissing(
            f"claims need results that are missing or stale: {few(list(missing.values()), 1)}",
            f"run: {shell(['run', *configs], results)}",
        )


def one_by_one(claims: Sequence[Claim], results: Path) -> Iterator[tuple[str, Outcome]]:
    """The checks of some claims, one after the other: what one has read, the next need not."""
    evidence = Evidence(results)
    for claim in each(claims, "judging claim", lambda claim: claim.id):
        yield claim.id, claim.settled(evidence.only(claim.experiments))


def judge(claims: Sequence[Claim], results: Path, carry: Carry = one_by_one) -> dict[str, Judgement]:
    """Run every check on stored results: fresh rows, by the ids of the claims.

    Raises ResultsMissing; OutsideHypotheses where a claim would be judged on settings that its theorem does not cover;
    and DpexpError where code or results change meanwhile, since nobody could say what the verdicts come from.
    """
    require(claims, results)
    # looked at before and after: nobody could say what a verdict comes from that changed meanwhile
    codes = {claim.id: code_of_claim(claim) for claim in claims}
    before = numbers_held(results, experiments_of(claims))
    found = dict(carry(claims, results))
    # the process has read its modules, and hashes are those of the files
    if late := edited_after(codes.values()):
        raise DpexpError(f"{few(late)} changed after this process had read it", "judge the claims again")
    if now := {name for name, held in numbers_held(results, before).items() if held != before[name]}:
        raise DpexpError(f"results of {few(sorted(now))} changed while they were judged", "judge the claims again")
    rows = {}
    for claim in claims:
        code = codes[claim.id]
        read = {name: before[name][0] for name in claim.experiments}
        rows[claim.id] = Judgement(said(claim), asdict(found[claim.id]), code, read)
    return rows


def keep(
    results: Path, fresh: Mapping[str, Judgement], known: Sequence[Claim], headlines: Mapping[str, str]
) -> list[Judgement]:
    """Put fresh rows into the file, beside those of other claims, with what claims say now; all rows as they stand.

    A claim that is not known any more loses its row, unless it belongs to a plug-in that is not loaded now.
    """
    with verdicts.held(results):
        rows = {**verdicts.read(results).rows, **fresh}
        everything = standing(results, verdicts.Ledger(rows), known, numbers_held(results, experiments_of(known)))
        ids = {claim.id for claim in known}
        kept = [one for one in everything if one.found]
        kept += [one for name, one in rows.items() if name not in ids and plugins_missing([one.code])]
        unchanged = hashes(results, kept) if all(one.is_current for one in everything) else {}
        verdicts.write(results, verdicts.Ledger({one.id: one for one in kept}, headlines, unchanged))
    return everything
