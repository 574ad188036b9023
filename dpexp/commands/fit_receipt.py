"""Receipts of what deployments of `dpexp fit` have spent, in the folders of their results.

A receipt is there before any noise is drawn, as begun, so that a fit which dies on its way counts as spent: what left
is unknown. It holds no statistic of the records. The receipt of `fit.json` is `fit.receipt.json`, that of a further
release `fit-2.json` is `fit-2.receipt.json`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpexp.accounting.gaussian import eps_of
from dpexp.core.digests import digest
from dpexp.core.errors import UsageError
from dpexp.core.files import atomically
from dpexp.core.standard_json import standard_json
from dpexp.core.text import counted, up
from dpexp.store import receipts as store
from dpexp.store.folder import experiments_in

DELTA = 1e-5


def not_covered(pure_eps: float) -> str:
    """What no number of the budget counts, of messages that are pure_eps-differentially private, or 0 if Gaussian."""
    if pure_eps:
        return "a record that sends a second message elsewhere"
    return "floating-point noise: its last digits can depend on the records as exact noise would not"


@dataclass(frozen=True)
class Receipt:
    """One release that has begun."""

    result: Path
    """where its document is written"""
    begun: store.Receipt

    def done(self, document: Mapping[str, Any]) -> None:
        """Write the result, and then that it is there: a receipt with the status released has a result."""
        write(self.result, document)
        self.begun.done()


def write(path: Path, document: Mapping[str, Any]) -> None:
    """A JSON document, written as a unit or not at all."""
    atomically(path, lambda temporary: temporary.write_text(standard_json(document) + "\n", encoding="utf-8"))


def check(out: Path, deployment: bool, again: bool) -> None:
    """Raises UsageError where nothing can be written there, or a budget was spent and `again` is not said."""
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder", f"name the file, such as {out / 'fit.json'}")
    earlier = receipts(out)
    # a rehearsal must not take the place of a deployment's file either
    if earlier and not (deployment and again):
        spent = f"{counted(len(earlier), 'deployment')} spent {together(earlier)} here, the last on {earlier[-1]['at']}"
        hint = "name another file for a rehearsal"
        if deployment:
            hint = "a further one adds to it: mu of all is the root of the sum of squares. --again spends another "
            hint += f"budget, and writes {out.stem}-{len(earlier) + 1}{out.suffix}"
        raise UsageError(f"{out}: {spent} ({earlier[-1]['status']})", hint)


def begin(
    out: Path, document: Mapping[str, Any], words: Mapping[str, Any], records: store.Records, again: bool
) -> Receipt:
    """Write down what is about to be spent: by its document, which has no estimates yet, and in `words`.

    Raises UsageError unless it is `again` where a fit or a run released these records into the same results before.
    """
    beside = out.parent.parent
    results = beside if experiments_in(beside) else out.parent
    with store.alone(results):
        check(out, True, again)  # another process may have begun meanwhile
        if not again and (refusal := store.why_refused(results, records))[0]:
            raise UsageError(*refusal)
        out.parent.mkdir(parents=True, exist_ok=True)
        budget = document["budget"]
        pure_eps = budget["eps"][0][1] if budget["eps"][0][0] == 0 else None
        spent = {
            **words, "not_covered": not_covered(pure_eps or 0.0), "records": records,
            # the order of the records is drawn anew for each fit, and is no input
            "public_inputs": digest({key: v for key, v in document["public"].items() if key != "order_seed"}),
            "mu": budget["mu"],
            "eps": [pair for pair in budget["eps"] if pair[0] == DELTA], "pure_eps": pure_eps,
            "neighboring_relation": "replace-one",
        }  # fmt: skip
        begun = store.begin(out.with_suffix(""), spent)
        return Receipt(out.with_name(begun.path.name.removesuffix(store.ENDING) + out.suffix), begun)


def receipts(out: Path) -> Sequence[Mapping[str, Any]]:
    """The receipts of a result, the first one first. Raises UsageError for one that cannot be read."""
    pattern = re.compile(rf"{re.escape(out.stem)}(-(\d+))?{re.escape(store.ENDING)}")
    numbers = {int(m[2] or 1): path for path in out.parent.glob("*") if (m := pattern.fullmatch(path.name))}
    receipts_ = []
    for _, path in sorted(numbers.items()):
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            # JSON has no infinity
            mu, pure_eps = (math.inf if stored[key] is None else float(stored[key]) for key in ("mu", "pure_eps"))
            receipts_.append({"status": stored["status"], "at": stored["at"], "mu": mu, "pure_eps": pure_eps})
        except (OSError, ValueError, KeyError, TypeError):
            hint = "what it counted is not known, so nothing more is released here"
            raise UsageError(f"{path} is no receipt that can be read", hint) from None
    return receipts_


def together(spent: Sequence[Mapping[str, Any]]) -> str:
    """The budget of the releases of some receipts; epsilons that hold with delta = 0 add up."""
    budgets = [receipt["mu"] for receipt in spent]
    mu = math.sqrt(math.fsum(budget**2 for budget in budgets))
    sum_ = f" = sqrt({' + '.join(f'{budget:g}^2' for budget in budgets)})" if len(budgets) > 1 else ""
    # both hold: composition in Gaussian DP, and the sum of pure epsilons
    eps = min(eps_of(mu, DELTA), math.fsum(receipt["pure_eps"] for receipt in spent))
    return f"mu = {up(mu, 5)}{sum_}, eps = {up(eps, 5)} at delta = {DELTA:g}"
