"""`dpexp privacy --users FILE`: the ledger of users' budgets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.commands.mechanisms import DELTAS
from dpexp.config.yamlfile import scalar
from dpexp.core.errors import UsageError
from dpexp.core.text import columns, up
from dpexp.data.users import read_users


def state(path: Path, pairs: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The statement of a file of users, with the columns mu and, if there, uses and group: document and text."""
    from dpexp.privacy.ledger import Ledger

    deltas = _deltas(pairs)
    rows = Ledger(*read_users(path)).groups(deltas)
    document = {
        "mechanism": "local-gaussian",
        "neighboring_relation": "replace-one",
        "sampling": "every user as often as stated",
        "groups": rows,
    }
    head = ["group", "users", "largest mu", *(f"eps at {d:g}" for d in deltas), "mu 5%", "median", "95%"]
    table = [
        [
            row["group"], f"{row['users']:,}", up(row["mu"]), *(up(eps) for _, eps in row["eps"]),
            f"{row['mu_q05']:.5g}", f"{row['mu_median']:.5g}", f"{row['mu_q95']:.5g}",
        ]
        for row in rows
    ]  # fmt: skip
    text = columns(table, head) + (
        "\n\nA user is protected by their own mu (k releases: sqrt(k) mu), a group by the largest of its members, "
        "everyone by the\nlargest of all (ldp-sgd, Theorems 1 and 2): records are disjoint. "
        "Neighbours replace one user's record."
    )
    return document, text


def _deltas(pairs: Sequence[str]) -> tuple[float, ...]:
    found: list[float] = []
    for pair in pairs:
        key, _, value = pair.partition("=")
        numbers = [scalar(part) for part in value.split(",")]
        if key != "delta" or not all(isinstance(x, int | float) and 0 < x < 1 for x in numbers):
            raise UsageError(f"--users takes delta=... between 0 and 1, not {pair}")
        found += [float(x) for x in numbers]
    return tuple(found) or DELTAS
