"""Receipts of deployments of `dpexp fit`: that of `fit.json` is `fit.receipt.json`.

A receipt holds no statistic of the records, and is there before any noise is drawn (`dpexp.store.receipts`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.files import digest
from dpexp.core.text import counted
from dpexp.store import receipts
from dpexp.store.folder import experiments_in


def not_covered(pure: bool) -> str:
    """What the budget does not count, of messages with delta = 0, or of Gaussian ones."""
    if pure:
        return "a record that sends a second message elsewhere"
    return "floating-point noise: its last digits can depend on the records as exact noise would not"


def earlier_receipts(out: Path) -> list[dict[str, Any]]:
    """The receipts of deployments of this name, by time. Raises UsageError where one near it cannot be read."""
    own = re.compile(rf"{re.escape(out.stem)}(-\d+)?{re.escape(receipts.ENDING)}")
    return [receipt for receipt in receipts.receipts(out.parent)
            if receipt["path"].parent == out.parent and own.fullmatch(receipt["path"].name)]  # fmt: skip


def check(out: Path, deployment: bool, further: bool) -> None:
    """Raises UsageError where a budget was spent under this name and no `further` one is meant."""
    earlier = earlier_receipts(out)
    # a rehearsal must not take the place of a deployment's file either
    if earlier and not (deployment and further):
        spent = f"{counted(len(earlier), 'deployment')} spent {receipts.together(earlier)} here"
        hint = f"--again spends a further budget, and writes {out.stem}-{len(earlier) + 1}.json"
        hint = hint if deployment else "name another file for a rehearsal"
        raise UsageError(f"{out}: {spent}, the last on {earlier[-1]['at']}", hint)


def begin(
    out: Path, document: Mapping[str, Any], data: str, records: receipts.Records, further: bool
) -> tuple[Path, receipts.Receipt]:
    """Write down what is about to be spent, from the document before the fit: where to write the fit, and the receipt.

    Raises UsageError unless it is a `further` one where these records were released into the same results before.
    """
    beside = out.parent.parent
    results = beside if experiments_in(beside) else out.parent
    with receipts.alone(results):
        check(out, True, further)  # another process may have begun meanwhile
        if not further and (refusal := receipts.why_refused(results, records))[0]:
            raise UsageError(*refusal)
        out.parent.mkdir(parents=True, exist_ok=True)
        budget = document["budget"]
        (delta, eps), *_ = budget["eps"]
        words = {key: document[key] for key in ("model", "method", "unit")}
        # the order of the records is drawn anew for each fit, and is no input
        public = {key: value for key, value in document["public"].items() if key != "order_seed"}
        begun = receipts.begin(out.with_suffix(""), {
            **words, "data": data, "target": document["glance"]["target"], "stated_by": budget.get("stated_by", ""),
            "not_covered": not_covered(delta == 0), "records": records, "public_inputs": digest(public),
            "mu": budget["mu"] if delta else None, "eps": [[delta, eps]], "neighboring_relation": "replace-one",
        })  # fmt: skip
    return out.with_name(begun.path.name.removesuffix(receipts.ENDING) + ".json"), begun
