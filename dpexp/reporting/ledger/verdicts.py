"""The file of the ledger, `results/claims.json`: every verdict with its evidence, and what it comes from.

The file is written whole or not at all, carries its checksum, and is changed by one process at a time. What a claim
says is kept with its verdict, so that where not a byte of code or results has changed nothing else has to be loaded.

Nothing in it depends on a machine, a clock or a cache, so that two reproductions have the same file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from dpexp.core.digests import digest
from dpexp.core.errors import UsageError
from dpexp.core.files import Damaged
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.store.files import SCHEMA_VERSION, read_document, write_document

FILE = "claims.json"
LOCK = ".claims.lock"
KEPT = ("claim", "found", "results")
"""of a row, besides its code, which many rows share"""
PATIENCE_S = 30.0
"""how long a writer waits for another one, which holds the file for a moment"""


@dataclass(frozen=True)
class Ledger:
    """The file, read."""

    rows: Mapping[str, Judgement] = field(default_factory=dict)
    """by the id of the claim, in the order of the papers"""
    headlines: Mapping[str, str] = field(default_factory=dict)
    """what the papers say to see first: `Paper.headlines`, all of them"""
    unchanged: Mapping[str, str] = field(default_factory=dict)
    """of what all rows were found to be current: `dpexp.reporting.ledger.standing.hashes`; nothing if they were not"""
    fault: str = ""
    """why the file cannot be used; empty also where there is none"""


def read(results: Path) -> Ledger:
    """The verdicts that are stored; none, with the reason, where the file is damaged."""
    try:
        document = read_document(results / FILE)
        codes, rows = document["code"], {}
        for name, one in document["verdicts"].items():
            # a checksum does not tell that two rows have changed places
            if one["claim"]["id"] != name:
                raise Damaged(f"{FILE} has the verdict of another claim under {name}")
            rows[name] = Judgement(**{part: one[part] for part in KEPT}, code=codes[one["code"]])
        return Ledger(rows, document["headlines"], document["unchanged"])
    except FileNotFoundError:
        return Ledger()
    except Damaged as error:
        return Ledger(fault=str(error))
    except (KeyError, TypeError, AttributeError):
        return Ledger(fault=f"{FILE} is damaged: it lacks a part")


@contextmanager
def held(results: Path) -> Iterator[None]:
    """Hold the file for a change. Raises UsageError where another process does, or nothing can be written."""
    from filelock import FileLock

    try:
        results.mkdir(parents=True, exist_ok=True)
        with FileLock(results / LOCK, timeout=PATIENCE_S):
            yield
    except OSError as error:
        raise UsageError(
            f"{results / FILE} cannot be written: {error.strerror or error}", "use --results DIR for another folder"
        ) from None


def write(results: Path, ledger: Ledger) -> None:
    """Write the file, unless it says the same already. The caller holds it."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "verdicts": {
            name: {part: getattr(one, part) for part in KEPT} | {"code": digest(one.code, 12)}
            for name, one in ledger.rows.items()
        },
        # many rows share their code, which is kept once
        "code": {digest(one.code, 12): one.code for one in ledger.rows.values()},
        "headlines": dict(ledger.headlines),
        "unchanged": dict(ledger.unchanged),
    }
    # a file that says the same keeps its time, and is no change to commit
    with suppress(OSError, Damaged):
        if read_document(results / FILE) == document:
            return
    write_document(results / FILE, document)
