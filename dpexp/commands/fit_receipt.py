"""Receipts of what deployments of `dpexp fit` have spent, beside the results that they wrote.

A receipt is there before any noise is drawn, as begun, so that a fit which dies on its way counts as spent: nobody
knows what left. Its file is made only where none is (two fits at once cannot make one), and holds no statistic of the
records. `fit.json` has `fit.receipt.json` beside it, a further release `fit-2.json` and `fit-2.receipt.json`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpexp.accounting.gaussian import eps_of
from dpexp.core.digests import digest
from dpexp.core.errors import UsageError
from dpexp.core.files import atomically
from dpexp.core.standard_json import standard_json
from dpexp.core.text import counted, up
from dpexp.store.folder import experiments_in
from dpexp.store.receipts import Records, alone, why_refused

DELTA = 1e-5


def not_covered(pure_eps: float) -> str:
    """What no number of the budget counts, of messages that are pure_eps-differentially private, or 0 if Gaussian."""
    if pure_eps:
        return "a record that sends a second message elsewhere"
    return "floating-point noise: its last digits can depend on the records as exact noise would not"


@dataclass(frozen=True)
class Receipt:
    """One release, begun or done."""

    path: Path
    result: Path
    told: Mapping[str, Any]

    def done(self, document: Mapping[str, Any]) -> None:
        """Write the result, and then that it is there."""
        # The result first: a receipt that says released has one beside it.
        write(self.result, document)
        write(self.path, {**self.told, "status": "released"})


def write(path: Path, document: Mapping[str, Any]) -> None:
    """A JSON document, whole or not at all."""
    atomically(path, lambda temporary: temporary.write_text(standard_json(document) + "\n", encoding="utf-8"))


def check(out: Path, deployment: bool, again: bool) -> None:
    """Raises UsageError where nothing can be written there, or something was spent and `again` is not said."""
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder", f"name the file, such as {out / 'fit.json'}")
    found = receipts(out)
    # A rehearsal must not take the place of a deployment's file either.
    if found and not (deployment and again):
        spent = together(found)
        said = f"{out}: {counted(len(found), 'deployment')} spent {spent} here, the last on {found[-1]['at']}"
        hint = "name another file for a rehearsal"
        if deployment:
            hint = "a further one adds to it: mu of all is the root of the sum of squares. --again spends another "
            hint += f"budget, and writes {_named(out, len(found) + 1).name}"
        raise UsageError(f"{said} ({found[-1]['status']})", hint)


def begin(
    out: Path,
    mu: float,
    pure_eps: float,
    public: Mapping[str, Any],
    words: Mapping[str, Any],
    records: Records,
    again: bool,
) -> Receipt:
    """Write down what is about to be spent: mu, and an epsilon that holds with delta = 0, or 0.

    Raises UsageError where another process does the same, and unless it is `again` where a fit or a run released these
    records into the same results before.
    """
    beside = out.parent.parent
    results = beside if experiments_in(beside) else out.parent
    with alone(results):
        if not again and (refusal := why_refused(results, records))[0]:
            raise UsageError(*refusal)
        result = _named(out, len(receipts(out)) + 1)
        path = result.with_suffix(".receipt.json")
        told = {
            "status": "begun", "at": datetime.now(UTC).isoformat(timespec="seconds"), "result": result.name, **words,
            "records": records, "public_inputs": digest(public), "mu": mu,
            "eps": [[DELTA, pure_eps or eps_of(mu, DELTA)]], "pure_eps": pure_eps or None,
            "neighboring_relation": "replace-one",
        }  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # The file system lets one of two through.
            with path.open("x", encoding="utf-8") as file:
                file.write(standard_json(told) + "\n")
        except FileExistsError:
            said = f"{path} was written this moment: another deployment is on its way"
            raise UsageError(said, "wait for it") from None
        return Receipt(path, result, told)


def receipts(out: Path) -> Sequence[Mapping[str, Any]]:
    """The receipts beside a result, the first one first. Raises UsageError for one that cannot be read."""
    pattern = re.compile(rf"{re.escape(out.stem)}(-(\d+))?\.receipt\.json")
    places = {int(m[2] or 1): path for path in out.parent.glob("*.receipt.json") if (m := pattern.fullmatch(path.name))}
    found = []
    for _, path in sorted(places.items()):
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            # JSON has no infinity.
            spent = math.inf if told["mu"] is None else float(told["mu"])
            pure = float(told.get("pure_eps") or math.inf)
            found.append({"status": told["status"], "at": told["at"], "mu": spent, "pure_eps": pure})
        except (OSError, ValueError, KeyError, TypeError):
            hint = "what it counted is not known, so nothing more is spent beside it"
            raise UsageError(f"{path} is no receipt that can be read", hint) from None
    return found


def together(found: Sequence[Mapping[str, Any]]) -> str:
    """What the releases of some receipts give away; epsilons that hold with delta = 0 add up."""
    spent = [told["mu"] for told in found]
    mu = math.sqrt(math.fsum(one**2 for one in spent))
    sum_ = f" = sqrt({' + '.join(f'{one:g}^2' for one in spent)})" if len(spent) > 1 else ""
    # Both hold: composition in Gaussian DP, and adding up pure epsilons.
    eps = min(eps_of(mu, DELTA), math.fsum(told["pure_eps"] for told in found))
    return f"mu = {up(mu, 5)}{sum_}, eps = {up(eps, 4)} at delta = {DELTA:g}"


def _named(out: Path, number: int) -> Path:
    return out if number == 1 else out.with_name(f"{out.stem}-{number}{out.suffix}")
