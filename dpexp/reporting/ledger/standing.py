"""Whether stored verdicts still hold: against today's code and results.

There are two ways to the same answer. Where not a byte of dpexp and of the results has changed since
all verdicts were found to be current, they still are, and nothing has to be loaded or parsed. Otherwise every verdict
is compared with the code of its check and with the results that it was judged from.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.core.files import read_ordinary
from dpexp.core.text import few
from dpexp.plugins.loaded import LOADED
from dpexp.reporting.ledger.judgement import Judgement, said
from dpexp.reporting.ledger.verdicts import Ledger
from dpexp.reporting.verdict import power_and_seeds
from dpexp.store.files import read_document
from dpexp.store.fingerprint import changed, code_of_verdict, plugins_missing
from dpexp.store.folder import Folder
from dpexp.store.generation import own_data
from dpexp.store.stamps import FILE as STAMPS

if TYPE_CHECKING:
    from dpexp.reporting.claim import Claim

CODE = "dpexp"
"""stands for all code and shipped data among the files of `hashes`"""


def at_once(results: Path, ledger: Ledger) -> list[Judgement] | None:
    """All rows as current, where no byte has changed since they all were; None where that cannot be said."""
    if LOADED or not ledger.unchanged or ledger.unchanged != {one: _hash(results, one) for one in ledger.unchanged}:
        return None
    return [replace(one, noticed=power_and_seeds(results, name)) for name, one in ledger.rows.items()]


def hashes(results: Path, rows: Sequence[Judgement]) -> dict[str, str]:
    """What `at_once` compares next time, of rows that are all current: hashes by path from the results folder.

    It is nothing where plug-ins or the user's own data take part, which may lie anywhere and be large.
    """
    names = [CODE, STAMPS]
    for experiment in sorted({name for one in rows for name in one.results}):
        folder = Folder(results, experiment)
        manifest = read_document(folder.manifest)
        if own_data(manifest):
            return {}
        names += [path.relative_to(results).as_posix() for path in (folder.manifest, folder.cells, folder.summary)]
    of_plugins = LOADED or any(name.startswith("plugin ") for one in rows for name in one.code)
    return {} if of_plugins else {name: _hash(results, name) for name in names}


def _hash(results: Path, name: str) -> str:
    """Of a file; empty where it is not there."""
    if name == CODE:
        return code_of_verdict()["dpexp"].split()[0]
    # the ledger may be anybody's
    with suppress(OSError):
        ours = re.fullmatch(r"[\w-]+/(manifest\.json|cells\.parquet|summary\.parquet)", name)
        if ours and not (results / name).is_symlink() and not (results / name).parent.is_symlink():
            return hashlib.sha256(read_ordinary(results / name)).hexdigest()
    return ""


def standing(
    results: Path, ledger: Ledger, claims: Sequence[Claim], today: Mapping[str, tuple[str, str]]
) -> list[Judgement]:
    """Claims, in their order, with what is stored of them and what today's code and results say of that.

    `today` has which numbers the experiments of these claims hold: `dpexp.store.reading.numbers_held`.
    """

    def row(claim: Claim) -> Judgement:
        if claim.id not in ledger.rows:
            return Judgement(said(claim), state="missing", reason=ledger.fault or "not judged yet")
        stored = replace(ledger.rows[claim.id], claim=said(claim))
        # without its plug-in nobody can say what the code is now
        if absent := plugins_missing([stored.code]):
            return replace(stored, state="stale", reason=f"judged with {few(absent)}, not loaded here")
        for name in claim.experiments:
            numbers, trouble = today[name]
            if numbers != stored.results.get(name):
                why = f"result missing or stale: {trouble}" if trouble else f"result changed: {results / name}"
                return replace(stored, state="stale", reason=why)
        if files := changed(stored.code, code_of_claim(claim)):
            return replace(stored, state="unconfirmed", reason=f"code changed: {few(files)}")
        return stored

    return [replace(row(claim), noticed=power_and_seeds(results, claim.id)) for claim in claims]


def experiments_of(claims: Iterable[Claim]) -> list[str]:
    """The experiments whose results some claims read, each once."""
    return list(dict.fromkeys(name for claim in claims for name in claim.experiments))


def code_of_claim(claim: Claim) -> dict[str, str]:
    """What a claim's verdict comes from; a claim of a plug-in counts with that."""
    owners = [
        name
        for name, loaded in LOADED.items()
        if any(
            one is claim for some in (loaded.plugin.claims, *(p.claims for p in loaded.plugin.papers)) for one in some
        )
    ]
    return code_of_verdict(owners)
