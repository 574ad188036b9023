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
from dpexp.core.files import Damaged, lock
from dpexp.reporting.claim import Claim
from dpexp.reporting.ledger.judgement import Judgement, words_of
from dpexp.reporting.verdict import seeds
from dpexp.store.documents import SCHEMA_VERSION, read_document, write_document
from dpexp.store.reading import numbers_held

FILE = "claims.json"
LOCK = ".claims.lock"
PARTS = ("claim", "found", "results")
PATIENCE_S = 30.0
"""how long a writer waits for another one"""


@dataclass(frozen=True)
class Ledger:
    """The file, read."""

    rows: Mapping[str, Judgement] = field(default_factory=dict)
    """by the id of the claim, in the order of the papers"""
    fault: str = ""
    """why the file cannot be used; empty also where no file is"""


def read_ledger(results: Path) -> Ledger:
    """The verdicts that are stored; none, with the reason, where the file is damaged."""
    rows = {}
    try:
        for name, row in read_document(results / FILE)["verdicts"].items():
            # a checksum does not see that two rows have changed places
            if row["claim"]["id"] != name:
                return Ledger(fault=f"{FILE} has the verdict of another claim under {name}")
            rows[name] = Judgement(**{part: row[part] for part in PARTS})
    except FileNotFoundError:
        return Ledger()
    except Damaged as error:
        return Ledger(fault=str(error))
    except (KeyError, TypeError, AttributeError):
        return Ledger(fault=f"{FILE} is damaged: a part is missing")
    return Ledger(rows)


def write_rows(results: Path, fresh: Mapping[str, Judgement], known: Sequence[Claim], papers: Collection[str]) -> None:
    """Put fresh rows into the file, beside those of other claims. Raises UsageError where it cannot be written.

    A row of a paper that is known goes with its claim; those of plug-ins that are not loaded stay.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        with lock(results / LOCK, PATIENCE_S):
            rows = {**read_ledger(results).rows, **fresh}
            own = {claim.id: replace(rows[claim.id], claim=words_of(claim)) for claim in known if claim.id in rows}
            others = {name: row for name, row in rows.items() if row.paper not in papers}
            judged = {name: row for name, row in {**own, **others}.items() if row.found}
            verdicts = {name: {part: getattr(row, part) for part in PARTS} for name, row in judged.items()}
            document = {"schema_version": SCHEMA_VERSION, "verdicts": verdicts}
            # an unchanged file keeps its time
            with suppress(OSError, Damaged):
                if read_document(results / FILE) == document:
                    return
            write_document(results / FILE, document)
    except OSError as error:
        message = f"{results / FILE} cannot be written: {error.strerror or error}"
        raise UsageError(message, "use --results DIR for another folder") from None


def stored_rows(results: Path, ledger: Ledger, claims: Sequence[Claim]) -> list[Judgement]:
    """The rows of claims, in their order; stale where they were not judged from the results that are here."""
    numbers = numbers_held(results, {name for claim in claims for name in claim.experiments if claim.id in ledger.rows})
    rows = []
    for claim in claims:
        row = ledger.rows.get(claim.id)
        if row is None:
            row = Judgement(words_of(claim), state="missing", reason=ledger.fault or "not judged yet")
        elif name := next((name for name in claim.experiments if numbers[name][0] != row.results.get(name)), None):
            trouble = numbers[name][1]
            reason = f"result missing or stale: {trouble}" if trouble else f"result changed: {results / name}"
            row = replace(row, state="stale", reason=reason)
        rows.append(replace(row, claim=words_of(claim), seeds=seeds(results).get(claim.id)))
    return rows
