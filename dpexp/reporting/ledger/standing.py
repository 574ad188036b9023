"""Whether stored verdicts still hold: against today's code, results and configs.

There are two ways to the same answer. Where not a byte of dpexp, of the results and of their configs has changed since
all verdicts were found to be current, they still are, and nothing has to be loaded or parsed. Otherwise every verdict
is compared with the code of its check and with the results that it was judged from.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.core.errors import ResultsMissing
from dpexp.core.files import Damaged
from dpexp.core.text import few
from dpexp.plugins.loaded import LOADED, as_options
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.verdicts import Ledger, Unchanged, Verdict, described, needs_plugin
from dpexp.store.fingerprint import changed, hash_of_all, plugins_missing
from dpexp.store.folder import Folder
from dpexp.store.generation import identity_of

if TYPE_CHECKING:
    from dpexp.reporting.claim import Claim

NEVER_JUDGED = "not judged yet"


def rerun(ids: Iterable[str], results: Path, how: str = "--rerun") -> str:
    """The command that judges some claims anew."""
    words = ["dpexp", "claims", *(shlex.quote(one) for one in ids), how]
    if results != Path("results"):
        words += ["--results", shlex.quote(str(results))]
    return " ".join([*words, *as_options()])


def at_once(results: Path, ledger: Ledger) -> list[Judgement] | None:
    """All claims as current, where no byte has changed since they all were; None where that cannot be said."""
    seen = ledger.unchanged
    if seen is None or LOADED or any(name not in ledger.verdicts for name in seen.order):
        return None
    if any(needs_plugin(ledger.verdicts[name]) for name in seen.order):
        return None
    if seen.code != hash_of_all() or seen.files != {path: _hash(results / path) for path in seen.files}:
        return None
    return [Judgement(ledger.verdicts[name].claim, ledger.verdicts[name].found, "current") for name in seen.order]


def unchanged(
    results: Path, verdicts: Mapping[str, Verdict], order: Sequence[str], headlines: Mapping[str, str]
) -> Unchanged | None:
    """What `at_once` compares next time, for verdicts that are all current; None where it could not know."""
    from dpexp.store.reading import load_generation

    if LOADED or any(name not in verdicts or needs_plugin(verdicts[name]) for name in order):
        return None
    files: dict[str, str] = {}
    for experiment in sorted({name for one in order for name in verdicts[one].results}):
        try:
            generation = load_generation(results, experiment)
        except ResultsMissing:
            return None
        if any(name.startswith("file ") for code in generation.manifest["code"].values() for name in code):
            return None  # the user's own data, which may lie anywhere and be large
        folder = Folder(results, experiment)
        paths = [path.relative_to(results).as_posix() for path in (folder.manifest, folder.cells, folder.summary)]
        if named := generation.manifest["config"]["path"]:
            paths.append(f"{experiment}/{named}")  # also where it is not there now: it may come back as another one
        files |= {path: _hash(results / path) for path in paths}
    return Unchanged(hash_of_all(), files, list(order), dict(headlines))


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return ""


class Standing:
    """What today's code and results say of stored verdicts; everything is looked at once."""

    def __init__(self, results: Path, ledger: Ledger) -> None:
        self.results, self.ledger = results, ledger
        self._identities: dict[str, tuple[str, str]] = {}

    def judgement(self, claim: Claim) -> Judgement:
        """A claim with its stored verdict, current or not."""
        verdict = self.ledger.verdicts.get(claim.id)
        remedy = rerun([claim.id], self.results)
        if verdict is None:
            return Judgement(described(claim), {}, "missing", self.ledger.fault or NEVER_JUDGED, remedy)
        if reason := self.why_stale(claim, verdict):
            return Judgement(described(claim), verdict.found, "stale", reason, remedy)
        if files := self.edited(claim, verdict):
            remedy = rerun([claim.id], self.results, "--confirm")
            return Judgement(described(claim), verdict.found, "unconfirmed", f"code changed: {few(files)}", remedy)
        return Judgement(described(claim), verdict.found, "current")

    def edited(self, claim: Claim, verdict: Verdict) -> list[str]:
        """Files of the check that have changed since the verdict was judged or confirmed."""
        from dpexp.reporting.ledger.code_of_claims import code_of_claim

        return changed(verdict.code, code_of_claim(claim))

    def why_stale(self, claim: Claim, verdict: Verdict) -> str:
        """Why a verdict does not speak of today's results and claims; empty where it does, by whatever code."""
        if absent := plugins_missing([verdict.code]):
            return f"judged with {few(absent)}, not loaded here"
        for experiment in claim.experiments:
            identity, trouble = self.identity(experiment)
            if trouble:
                return f"result {trouble}"
            if experiment not in verdict.results:
                return f"judged without {experiment}"
            if identity != verdict.results[experiment]:
                return f"result changed: {self.results / experiment}"
        return ""

    def identity(self, experiment: str) -> tuple[str, str]:
        """Which numbers an experiment's folder holds, and what is wrong with them, in words."""
        from dpexp.store.reading import load_generation

        if experiment not in self._identities:
            try:
                generation = load_generation(self.results, experiment)
                self._identities[experiment] = identity_of(generation.manifest), ""
            except ResultsMissing as error:
                self._identities[experiment] = "", f"missing or stale: {error.message}"
            except Damaged as error:
                self._identities[experiment] = "", f"damaged: {error}"
        return self._identities[experiment]
