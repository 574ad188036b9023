"""Judging claims from stored results, and the ledger, `results/claims.json`, in which the verdicts are stored.

The file is written whole or not at all, carries its checksum, and is changed by one process at a time. Nothing in it
depends on a machine, a clock or a cache, so that two reproductions have the same file.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dpexp.config.shipped import place_of
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.files import Damaged, lock
from dpexp.core.terminal import each
from dpexp.core.text import few
from dpexp.plugins.loaded import shell
from dpexp.reporting.claim import Claim
from dpexp.reporting.evidence import Evidence
from dpexp.store import Folder
from dpexp.store.folder import SCHEMA_VERSION, read_document, write_document
from dpexp.store.reading import config_typed, numbers_held, require_trajectories

FILE = "claims.json"
LOCK = ".claims.lock"
PARTS = ("claim", "found", "results")
PATIENCE_S = 30.0
"""how long a writer waits for another one"""
State = Literal["judged", "stored", "stale", "missing"]
"""judged now from the results that are here; read from the ledger, judged from the same results; from others; never"""
WORDS = ("id", "paper", "place", "source", "quote", "statement", "kind", "false_if", "tolerance", "why", "version",
         "authors_answer")  # fmt: skip
"""fields of a claim that are stored"""
OUTCOME = ("predicted", "measured", "uncertainty", "verdict", "numbers")
"""fields of its outcome"""


def words_of(claim: Claim) -> dict[str, Any]:
    """The words of a claim, for programs."""
    own = {name: getattr(claim, name) for name in WORDS}
    return own | {"expected_verdict": claim.expected, "configs": [place_of(name) for name in claim.experiments]}


@dataclass(frozen=True)
class Judgement:
    """One row, as it is stored and as it is printed."""

    claim: dict[str, Any]
    """`words_of` the claim"""
    found: dict[str, Any] = field(default_factory=dict)
    """the outcome of its check; empty if it was never judged"""
    results: dict[str, str] = field(default_factory=dict)
    """by experiment, the numbers that the check could read: `dpexp.store.generation.identity_of`"""
    state: State = "stored"
    reason: str = ""
    """why it is stale or missing"""

    @property
    def id(self) -> str:
        return str(self.claim["id"])

    @property
    def paper(self) -> str:
        return str(self.claim["paper"])

    @property
    def is_current(self) -> bool:
        return self.state in ("judged", "stored")

    @property
    def is_surprising(self) -> bool:
        """Whether a verdict is known and is not the expected one."""
        return self.is_current and self.found["verdict"] != self.claim["expected_verdict"]

    @property
    def verdict(self) -> str:
        """The verdict, with the expected one where it differs, or in brackets the state."""
        if not self.is_current:
            return f"[{self.state}; was: {self.found['verdict']}]" if self.found else "[not judged yet]"
        return self.found["verdict"] + f" (expected: {self.claim['expected_verdict']})" * self.is_surprising

    @property
    def short(self) -> str:
        """The first of several measurements."""
        return str(self.found["measured"]).split("; ")[0]

    @property
    def command(self) -> str:
        """Runs the experiments of the claim and judges it, for a page."""
        runs = f"dpexp run {' '.join(self.claim['configs'])} && " if self.claim["configs"] else ""
        return f"`{runs}dpexp claims {self.id}`"

    def document(self, results: Path) -> dict[str, Any]:
        """The row with stable keys; a row that is stale or missing has null as its verdict and values."""
        outcome = self.found if self.is_current else dict.fromkeys(OUTCOME)
        run = "" if self.is_current else shell(["claims", self.id], results)
        return {**self.claim, **outcome, "state": self.state, "reason": self.reason, "run": run}


class Ledger(NamedTuple):
    """The file, read: its rows by the id of the claim, and why it cannot be used; empty also where no file is."""

    rows: Mapping[str, Judgement] = {}
    fault: str = ""


def read_ledger(results: Path) -> Ledger:
    """The verdicts that are stored; none, with the reason, where the file is damaged."""
    try:
        stored = read_document(results / FILE)["verdicts"]
        rows = {name: Judgement(**{part: row[part] for part in PARTS}) for name, row in stored.items()}
        # a checksum does not see that two rows have changed places
        other = next((name for name, row in rows.items() if row.id != name), None)
    except FileNotFoundError:
        return Ledger()
    except Damaged as error:
        return Ledger(fault=str(error))
    except (KeyError, TypeError, AttributeError):
        return Ledger(fault=f"{FILE} is damaged: a part is missing")
    return Ledger(fault=f"{FILE} has the verdict of another claim under {other}") if other else Ledger(rows)


def write_rows(results: Path, fresh: Mapping[str, Judgement], known: Sequence[Claim], papers: Collection[str]) -> None:
    """Put fresh rows into the file, with those of other claims. Raises UsageError where it cannot be written.

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
    numbers = numbers_held(results, experiments_of(claim for claim in claims if claim.id in ledger.rows))
    rows = []
    for claim in claims:
        row = ledger.rows.get(claim.id) or Judgement({}, state="missing", reason=ledger.fault or "not judged yet")
        changed = [name for name in claim.experiments if row.found and numbers[name][0] != row.results.get(name)]
        for name in changed[:1]:
            trouble = numbers[name][1]
            reason = f"result missing or stale: {trouble}" if trouble else f"result changed: {results / name}"
            row = replace(row, state="stale", reason=reason)
        rows.append(replace(row, claim=words_of(claim)))
    return rows


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


def judge(claims: Sequence[Claim], results: Path) -> dict[str, Judgement]:
    """Fresh rows by the ids of the claims. Raises ResultsMissing, with the command that runs all that they need."""
    if missing := missing_results(claims, results):
        configs = [word for name in missing for word in shlex.split(config_typed(Folder(results, name)))]
        message = f"claims need results that are missing or stale: {few(list(missing.values()), 1)}"
        raise ResultsMissing(message, f"run: {shell(['run', *configs], results)}")
    # read before the checks: results that change meanwhile make the row stale, and never a false one current
    numbers = numbers_held(results, experiments_of(claims))
    # an experiment is read once for all claims
    evidence, rows = Evidence(results), {}
    for claim in each(claims, "claim", lambda claim: claim.id):
        read = {name: numbers[name][0] for name in claim.experiments}
        outcome = asdict(claim.judged(evidence.only(claim.experiments)))
        rows[claim.id] = Judgement(words_of(claim), outcome, read, "judged")
    return rows


def judge_or_read(claims: Sequence[Claim], results: Path, ledger: Ledger) -> list[Judgement]:
    """Every claim judged now; the stored row of those whose replicates are not here, as in a fresh clone."""
    missing = missing_results(claims, results)
    fresh = judge([claim for claim in claims if not missing.keys() & set(claim.experiments)], results)
    stored = {row.id: row for row in stored_rows(results, ledger, [claim for claim in claims if claim.id not in fresh])}
    for claim in claims:
        if claim.id in stored and stored[claim.id].state == "missing":
            reason = next(missing[name] for name in claim.experiments if name in missing)
            stored[claim.id] = replace(stored[claim.id], reason=reason)
    return [(fresh | stored)[claim.id] for claim in claims]
