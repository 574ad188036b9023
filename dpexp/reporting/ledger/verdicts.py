"""Verdicts that are kept: `results/claims.json`, every claim's verdict with its evidence and what it comes from.

A verdict counts as current by the rules of cells. It comes from code, the fingerprint of the claim's check, and from
stored results, of which the file names the numbers. `dpexp.reporting.ledger.standing` compares both with today's.

The file is written whole or not at all, carries its checksum, and is changed by one process at a time. What a claim
says is kept with its verdict, so that where not a byte of code or results has changed nothing else has to be loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.digests import digest
from dpexp.core.errors import DpexpError
from dpexp.core.files import Damaged
from dpexp.store.files import SCHEMA_VERSION, read_document, write_document
from dpexp.store.fingerprint import plugin_of, plugins_missing

if TYPE_CHECKING:
    from dpexp.reporting.claim import Claim, Outcome

FILE = "claims.json"
LOCK = ".claims.lock"
SAID = (
    *("id", "paper", "place", "source", "quote", "statement", "kind", "hypotheses"),
    *("false_if", "tolerance", "expected_verdict", "configs", "why"),
)
"""what is kept of a claim's words, in this order"""
PATIENCE_S = 30.0
"""how long a writer waits for another one, which holds the file for a moment"""


def described(claim: Claim) -> dict[str, Any]:
    """What a claim says, for programs."""
    others = {
        "hypotheses": [hypothesis.words for hypothesis in claim.hypotheses],
        "expected_verdict": claim.expected,
        "configs": [f"configs/{name}.yaml" for name in claim.experiments],
    }
    return {name: others[name] if name in others else getattr(claim, name) for name in SAID}


@dataclass(frozen=True)
class Verdict:
    """What a check found, and what it was judged from."""

    claim: dict[str, Any]
    found: dict[str, Any]
    code: dict[str, str]
    """hashes of the modules that it comes from"""
    results: dict[str, str]
    """by experiment, which numbers the check could read: `dpexp.store.generation.identity_of`"""

    @classmethod
    def of(cls, claim: Claim, outcome: Outcome, code: dict[str, str], results: dict[str, str]) -> Verdict:
        return cls(described(claim), asdict(outcome), code, results)


@dataclass(frozen=True)
class Unchanged:
    """The bytes from which every known verdict was found to be current, and the claims that were known."""

    code: str
    """`dpexp.store.fingerprint.hash_of_all`"""
    files: dict[str, str]
    """hashes of results and configs, by their path from the results folder; empty for one that is not there"""
    order: list[str]
    """the ids of all claims, in the papers' order"""
    headlines: dict[str, str] = field(default_factory=dict)
    """what the papers say to see first: `Paper.headlines`, all of them"""


@dataclass(frozen=True)
class Ledger:
    """The file, read."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    unchanged: Unchanged | None = None
    fault: str = ""
    """why the file cannot be used; empty also where there is none"""


def path_of(results: Path) -> Path:
    return results / FILE


def read(results: Path) -> Ledger:
    """The verdicts that are stored; none, with the reason, where the file is damaged."""
    try:
        document = read_document(path_of(results))
        codes = document["code"]
        verdicts = {
            name: Verdict(one["claim"], one["found"], codes[one["code"]], one["results"])
            for name, one in document["verdicts"].items()
        }
        if wrong := [name for name, one in verdicts.items() if one.claim["id"] != name]:
            raise Damaged(f"{FILE} has the verdict of another claim under {wrong[0]}")
        seen = document["unchanged"]
        return Ledger(verdicts, None if seen is None else Unchanged(**seen))
    except FileNotFoundError:
        return Ledger()
    except Damaged as error:
        return Ledger(fault=str(error))
    except (KeyError, TypeError, AttributeError):
        return Ledger(fault=f"{FILE} is damaged: it lacks a part")


@contextmanager
def held(results: Path) -> Iterator[None]:
    """Hold the file for a change. Raises DpexpError where another process does, or nothing can be written."""
    from filelock import FileLock, Timeout

    try:
        results.mkdir(parents=True, exist_ok=True)
        with FileLock(results / LOCK, timeout=PATIENCE_S):
            yield
    except Timeout:
        raise DpexpError(f"{path_of(results)} is being written by another process", "wait for it") from None
    except OSError as error:
        raise DpexpError(
            f"{path_of(results)} cannot be written: {error.strerror or error}", "use --results DIR for another folder"
        ) from None


def merged(ledger: Ledger, fresh: Mapping[str, Verdict], known: Iterable[str]) -> dict[str, Verdict]:
    """The stored verdicts with fresh ones in their places, in the order in which claims are known.

    A claim that is not known any more loses its verdict, unless it belongs to a plug-in that is not loaded now.
    """
    kept = {**ledger.verdicts, **fresh}
    order = list(dict.fromkeys(known))
    elsewhere = [name for name, one in kept.items() if name not in order and plugins_missing([one.code])]
    return {name: kept[name] for name in [*order, *elsewhere] if name in kept}


def write(results: Path, verdicts: Mapping[str, Verdict], unchanged: Unchanged | None) -> None:
    """Write the file. The caller holds it."""
    codes = {digest(one.code, 12): one.code for one in verdicts.values()}
    document = {
        "schema_version": SCHEMA_VERSION,
        "verdicts": {
            name: {"claim": one.claim, "found": one.found, "results": one.results, "code": digest(one.code, 12)}
            for name, one in verdicts.items()
        },
        "code": dict(sorted(codes.items())),
        "unchanged": None if unchanged is None else asdict(unchanged),
    }
    write_document(path_of(results), document)


def needs_plugin(verdict: Verdict) -> bool:
    return any(plugin_of(name) for name in verdict.code)
