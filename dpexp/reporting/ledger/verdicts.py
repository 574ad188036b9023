"""The file of the ledger, `results/claims.json`: every verdict with its evidence, and the results it was judged from.

The file is written whole or not at all, carries its checksum, and is changed by one process at a time. Nothing in it
depends on a machine, a clock or a cache, so that two reproductions have the same file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpexp.core.errors import UsageError
from dpexp.core.files import Damaged
from dpexp.reporting.claim import Claim
from dpexp.reporting.ledger.judgement import Judgement, said
from dpexp.reporting.verdict import seeds
from dpexp.store.documents import SCHEMA_VERSION, read_document, write_document
from dpexp.store.reading import numbers_held

FILE = "claims.json"
LOCK = ".claims.lock"
PARTS = ("claim", "found", "results")
PATIENCE_S = 30.0
"""how long a writer waits for another one, which holds the file for a moment"""


@dataclass(frozen=True)
class Ledger:
    """The file, read."""

    rows: Mapping[str, Judgement] = field(default_factory=dict)
    """by the id of the claim, in the order of the papers"""
    fault: str = ""
    """why the file cannot be used; empty also where there is none"""


def read_ledger(results: Path) -> Ledger:
    """The verdicts that are stored; none, with the reason, where the file is damaged."""
    try:
        rows = {}
        for name, row in read_document(results / FILE)["verdicts"].items():
            # a checksum does not see that two rows have changed places
            if row["claim"]["id"] != name:
                raise Damaged(f"{FILE} has the verdict of another claim under {name}")
            rows[name] = Judgement(**{part: row[part] for part in PARTS})
        return Ledger(rows)
    except FileNotFoundError:
        return Ledger()
    except Damaged as error:
        return Ledger(fault=str(error))
    except (KeyError, TypeError, AttributeError):
        return Ledger(fault=f"{FILE} is damaged: a part is missing")


def write_rows(results: Path, fresh: Mapping[str, Judgement], known: Sequence[Claim], papers: Collection[str]) -> None:
    """Put fresh rows into the file, beside those of other claims. Raises UsageError where it cannot be written.

    A row of a paper that is known goes with its claim; those of plug-ins that are not loaded stay.
    """
    from filelock import FileLock

    try:
        results.mkdir(parents=True, exist_ok=True)
        with FileLock(results / LOCK, timeout=PATIENCE_S):
            rows = {**read_ledger(results).rows, **fresh}
            ours = {claim.id: replace(rows[claim.id], claim=said(claim)) for claim in known if claim.id in rows}
            others = {name: row for name, row in rows.items() if row.paper not in papers}
            stored = {
                name: {part: getattr(row, part) for part in PARTS}
                for name, row in {**ours, **others}.items()
                if row.found
            }
            document = {"schema_version": SCHEMA_VERSION, "verdicts": stored}
            # a file that says the same keeps its time, and is no change to commit
            with suppress(OSError, Damaged):
                if read_document(results / FILE) == document:
                    return
            write_document(results / FILE, document)
    except OSError as error:
        raise UsageError(
            f"{results / FILE} cannot be written: {error.strerror or error}", "use --results DIR for another folder"
        ) from None


def stored_rows(results: Path, ledger: Ledger, claims: Sequence[Claim]) -> list[Judgement]:
    """The rows of claims, in their order: stored where they were judged from the results that are here."""
    experiments = {name for claim in claims for name in claim.experiments if claim.id in ledger.rows}
    held = numbers_held(results, experiments)

    def row(claim: Claim) -> Judgement:
        stored = ledger.rows.get(claim.id)
        if stored is None:
            return Judgement(said(claim), state="missing", reason=ledger.fault or "not judged yet")
        stored = replace(stored, claim=said(claim))
        for name in claim.experiments:
            numbers, trouble = held[name]
            if numbers != stored.results.get(name):
                why = f"result missing or stale: {trouble}" if trouble else f"result changed: {results / name}"
                return replace(stored, state="stale", reason=why)
        return stored

    return [replace(row(claim), seeds=seeds(results).get(claim.id)) for claim in claims]
