"""What code a verdict comes from: the modules that a claim's check runs through, by the store's fingerprints.

It starts where the check is made and where a check is carried out. All that these import counts, as it does for a cell:
what a check is handed, the module that makes it has imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from dpexp.plugins.loaded import LOADED
from dpexp.reporting.claim import Claim
from dpexp.store.fingerprint import REGISTRIES, closure

SETTLING = "dpexp.reporting.ledger.settling"
"""what carries every check out"""
READING = frozenset({"dpexp.reporting.evidence"})
"""what reads stored results: it does not count for a claim that declares none, since `Evidence.only` gives it none"""
PAPERS = "dpexp.papers"


def code_of_claim(claim: Claim) -> dict[str, str]:
    """Hashes of the modules and shipped data that a claim's verdict comes from, by name, sorted."""
    modules = tuple(sorted({SETTLING, *_made_in(claim)}))
    return closure(modules, leave_out=frozenset() if claim.experiments else READING)


def _made_in(claim: Claim) -> Iterator[str]:
    """Where the check of a claim is made, with the numbers that it is made from: of ours the modules that list it.

    A claim of a plug-in counts with the plug-in's file. Its words, which no verdict comes from, are no code.
    """
    for loaded in LOADED.values():
        lists = (loaded.plugin.claims, *(paper.claims for paper in loaded.plugin.papers))
        if any(one is claim for some in lists for one in some):
            yield loaded.key(loaded.inside)
            return
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{PAPERS}.") and name not in REGISTRIES and claim.id in vars(module).get("CHECKS", ()):
            yield name
