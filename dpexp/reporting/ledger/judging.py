"""Judging claims anew by stored results, and keeping the verdicts: `results/claims.json` is brought up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpexp.core.errors import DpexpError, ResultsMissing
from dpexp.core.text import few
from dpexp.plugins import observed
from dpexp.plugins.loaded import as_options
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.code_of_claims import code_of_claim
from dpexp.reporting.ledger.settling import settled
from dpexp.reporting.ledger.standing import Standing, unchanged
from dpexp.reporting.ledger.verdicts import Verdict
from dpexp.store import Folder
from dpexp.store.fingerprint import edited_after
from dpexp.store.reading import config_typed

Carry = Callable[[Sequence[Claim], Path], Iterator[tuple[str, Outcome, float]]]
"""carries the checks of some claims out on results, in any order: the id, what was found, seconds of a processor"""


@dataclass(frozen=True)
class Judged:
    """Fresh verdicts by claim, and the seconds of a processor that each took, the reading of its results included."""

    verdicts: dict[str, Verdict]
    costs: dict[str, float]


def require(claims: Sequence[Claim], evidence: Evidence) -> None:
    """Raise ResultsMissing that names everything that has to be run before these claims can be judged."""
    missing = {}
    for experiment in dict.fromkeys(name for claim in claims for name in claim.experiments):
        try:
            evidence.require(experiment)
        except ResultsMissing as error:
            missing[experiment] = error.message
    if missing:
        where = "" if evidence.results == Path("results") else f" --results {evidence.results}"
        options = "".join(f" {word}" for word in as_options())
        configs = " ".join(config_typed(Folder(evidence.results, name)) for name in missing)
        first = next(iter(missing.values()))
        more = f", and {len(missing) - 1} more experiments" if len(missing) > 1 else ""
        raise ResultsMissing(
            f"claims need results that are missing or stale: {first}{more}", f"run: dpexp run {configs}{where}{options}"
        )


def one_by_one(claims: Sequence[Claim], results: Path) -> Iterator[tuple[str, Outcome, float]]:
    """The checks of some claims, one after the other: what one has read, the next need not, and it costs both."""
    evidence = Evidence(results)
    reading: dict[str, float] = {}
    for claim in claims:
        for name in claim.experiments:
            if name not in reading:
                begin = time.process_time()
                evidence.runs(name)
                reading[name] = time.process_time() - begin
        begin = time.process_time()
        outcome = settled(claim, evidence)
        spent = time.process_time() - begin + sum(reading[name] for name in claim.experiments)
        yield claim.id, outcome, spent


def judge(claims: Sequence[Claim], results: Path, carry: Carry = one_by_one) -> Judged:
    """Run every check on stored results.

    Raises ResultsMissing; OutsideHypotheses where a claim would be judged on settings that its theorem does not cover;
    and DpexpError where code or results change meanwhile, since nobody could say what the verdicts come from.
    """
    require(claims, Evidence(results))
    codes = {claim.id: code_of_claim(claim) for claim in claims}
    before = _identities(claims, results)
    outcomes = {name: (outcome, cost) for name, outcome, cost in carry(claims, results)}
    found = {}
    for claim in claims:
        read = {name: before[name] for name in claim.experiments}
        found[claim.id] = Verdict.of(
            claim, outcomes[claim.id][0], codes[claim.id] | observed.found(codes[claim.id]), read
        )
    if late := edited_after(codes.values(), 0):
        raise DpexpError(f"{few(late)} changed after this process had read it", "judge the claims again")
    if now := {name for name, identity in _identities(claims, results).items() if identity != before[name]}:
        raise DpexpError(f"results of {few(sorted(now))} changed while they were judged", "judge the claims again")
    return Judged(found, {claim.id: outcomes[claim.id][1] for claim in claims})


def _identities(claims: Sequence[Claim], results: Path) -> dict[str, str]:
    standing = Standing(results, verdicts.Ledger())
    return {name: standing.identity(name)[0] for claim in claims for name in claim.experiments}


def keep(
    results: Path, fresh: dict[str, Verdict], known: Sequence[Claim], headlines: Mapping[str, str] | None = None
) -> None:
    """Put fresh verdicts into the file, beside those of other claims, and what claims say now.

    Nothing is written where nothing changes.
    """
    with verdicts.held(results):
        ledger = verdicts.read(results)
        merged = verdicts.merged(ledger, fresh, [claim.id for claim in known])
        said = {claim.id: verdicts.described(claim) for claim in known}
        everything = {name: replace(one, claim=said.get(name, one.claim)) for name, one in merged.items()}
        standing = Standing(results, verdicts.Ledger(everything))
        current = all(standing.judgement(claim).is_current for claim in known)
        seen = unchanged(results, everything, [claim.id for claim in known], headlines or {}) if current else None
        if (everything, seen) != (ledger.verdicts, ledger.unchanged) or ledger.fault:
            verdicts.write(results, everything, seen)
