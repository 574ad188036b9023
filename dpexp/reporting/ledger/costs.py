"""What runs and claims cost, in seconds of a processor: measured where they are computed, kept in `results/costs.json`.

A cost counts as long as what it was measured of is what is stored: the numbers of an experiment, the code and results
of a verdict. It is measured anew with these and not otherwise, so that two reproductions do not differ in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from dpexp.core.digests import digest
from dpexp.core.files import MOST_OF_DOCUMENT, Damaged, read_ordinary
from dpexp.core.text import counted
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.verdicts import Verdict
from dpexp.store.files import read_document, write_text
from dpexp.store.folder import Folder
from dpexp.store.generation import identity_of
from dpexp.store.provenance import machine

FILE = "costs.json"


class Costs:
    """Seconds of a processor by claim and by experiment, as far as they are known of what a results folder holds."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.kept = _kept(results)

    @cached_property
    def claims(self) -> dict[str, float]:
        """By id: judging, the reading of the results included."""
        found, kept = verdicts.read(self.results).verdicts, self.kept["claims"]
        return {name: one["cpu_s"] for name, one in kept.items() if name in found and one["of"] == _of(found[name])}

    @cached_property
    def experiments(self) -> dict[str, float]:
        """By name: running all settings."""
        kept = self.kept["experiments"]
        return {name: one["cpu_s"] for name, one in kept.items() if one["of"] == _identity(self.results, name)}

    @property
    def measured_on(self) -> str:
        """The processors, in words; empty where nothing is known."""
        entries = [one for some in self.kept.values() for one in some.values()]
        return " and ".join(dict.fromkeys(str(one["on"]) for one in entries))

    def words(self, one: Judgement) -> str:
        """What a rerun of a claim takes, in words; empty where it is not known."""
        if one.id not in self.claims or any(name not in self.experiments for name in one.experiments):
            return ""
        judging = f"{_seconds(self.claims[one.id])} to judge"
        return f"{_seconds(self.running(one.experiments))} to run, {judging}" if one.experiments else judging

    def running(self, experiments: Iterable[str]) -> float:
        return sum(self.experiments[name] for name in experiments)


def keep(results: Path, judged: Mapping[str, float]) -> None:
    """Keep what was measured, in two digits, of what has no cost yet, beside what else is known and still there."""
    kept, on = _kept(results), str(machine()["processor"])
    verdict_of = verdicts.read(results).verdicts
    folders = sorted(path.parent.name for path in results.glob("*/manifest.json"))
    measured = {
        "claims": {name: (_of(one), judged.get(name)) for name, one in verdict_of.items()},
        "experiments": {name: (_identity(results, name), _seconds_of_run(results, name)) for name in folders},
    }
    document: dict[str, dict[str, Any]] = {"claims": {}, "experiments": {}}
    for kind, of_kind in measured.items():
        for name, (of, spent) in of_kind.items():
            before = kept[kind].get(name)
            if spent is not None and (before is None or before["of"] != of):
                before = {"cpu_s": float(f"{spent:.2g}"), "of": of, "on": on}
            if before is not None:
                document[kind][name] = before
    if document != kept:
        write_text(results / FILE, json.dumps(document, indent=1))


def _kept(results: Path) -> dict[str, dict[str, Any]]:
    """The file; nothing where there is none that can be used."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        document = json.loads(read_ordinary(results / FILE, MOST_OF_DOCUMENT))
        if all({"cpu_s", "of", "on"} <= set(one) for kind in document for one in document[kind].values()):
            return {kind: dict(document[kind]) for kind in ("claims", "experiments")}
    return {"claims": {}, "experiments": {}}


def _of(verdict: Verdict) -> str:
    return digest([verdict.code, verdict.results], 12)


def _identity(results: Path, experiment: str) -> str:
    """Which numbers are stored; empty where that cannot be said."""
    with suppress(OSError, Damaged, KeyError):
        return identity_of(read_document(Folder(results, experiment).manifest))
    return ""


def _seconds_of_run(results: Path, experiment: str) -> float | None:
    """What all cells took together; None where this folder does not know."""
    with suppress(OSError, Damaged, KeyError, TypeError):
        cells = read_document(Folder(results, experiment).provenance)["cells"]
        return float(sum(cell["cpu_s"] for cell in cells.values()))
    return None


def _seconds(spent: float) -> str:
    return "less than a CPU second" if spent < 1 else counted(round(spent), "CPU second")
