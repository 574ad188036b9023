"""Receipts: what deployments of runs and fits have spent, on which records, in one results folder.

(a) A receipt is written before any noise is drawn, as begun: a run that dies has spent.
(b) Records are named by a hash of their content alone, keyed with a secret of this user, without which no guess of a
record can be tested against it.
(c) A table that was sorted, or saved with other line ends, has the same records: neither order nor ends of lines count.
(d) Whose records a receipt of another secret is about cannot be determined here.
"""

from __future__ import annotations

import codecs
import hashlib
import hmac
import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpexp.accounting.gaussian import eps_of
from dpexp.core.errors import UsageError
from dpexp.core.files import Held, atomically, files_below, home, lock, opened, read_ordinary
from dpexp.core.text import counted, standard_json, up
from dpexp.store.folder import own_folders

ENDING = ".receipt.json"
MAX_BYTES = 1_000_000
Records = dict[str, str]
"""keyed `hash` of their content, and the `key`"""


def records_in(places: Sequence[Path]) -> Records:
    """The name of the records of some files, or folders of files."""
    # (b): the name of a file does not count, but in a folder names may be classes
    hashes = [(str(file.relative_to(place)), _hash_of_lines(file)) for place in places for file in files_below(place)]
    return records_of(repr(sorted(hashes)).encode())


def _hash_of_lines(file: Path) -> str:
    """A hash of a file's lines. Raises OSError."""
    # (c): a sum has no order; a byte order mark is no part of a line
    with open(file, "rb") as content:
        lines = (line.removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n") for line in content)
        return f"{sum(int.from_bytes(hashlib.sha256(line).digest()) for line in lines if line):x}"


@lru_cache(maxsize=1)
def user_key() -> bytes:
    """32 bytes in the home that this user alone can read; of this process alone where there is no place for them."""
    with suppress(OSError):
        if (own := home()) is not None:
            place = own / ".cache" / "dpexp" / "secret"
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with open(handle, "wb") as file:
                    file.write(os.urandom(32))
            with opened(place) as secret:
                state, content = os.fstat(secret.fileno()), secret.read(33)
            if state.st_uid == os.getuid() and not state.st_mode & 0o077 and len(content) == 32:
                return content
    return os.urandom(32)


def records_of(content: bytes) -> Records:
    """The name of records with this content: it cannot be computed without this user's secret."""
    of_records, of_key = (hmac.new(user_key(), text, "sha256").hexdigest() for text in (b"records " + content, b"key"))
    return {"hash": of_records, "key": of_key[:16]}


def receipts(results: Path, strict: bool = True) -> list[dict[str, Any]]:
    """The receipts in a results folder, by time. Raises UsageError where one cannot be read, if `strict`."""
    documents = []
    for path in [path for place in (results, *own_folders(results)) for path in sorted(place.glob(f"*{ENDING}"))]:
        try:
            receipt = json.loads(b"" if path.is_symlink() else read_ordinary(path, MAX_BYTES))
            delta, eps = (math.inf if value is None else float(value) for value in receipt["eps"][0])
            mu = float(receipt["mu"]) if delta and isinstance(receipt.get("mu"), int | float) else None
            documents.append({
                "path": path, "at": str(receipt["at"]), "eps": eps, "delta": delta, "mu": mu,
                "records": receipt["records"] or {}, "relation": str(receipt["neighboring_relation"]),
            })  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            if strict:
                hint = "what it counted is not known, so nothing more is released next to it"
                raise UsageError(f"{path} is no receipt that can be read", hint) from None
    return sorted(documents, key=lambda receipt: str(receipt["at"]))


def of_records(documents: Iterable[Mapping[str, Any]], records: Records) -> list[Mapping[str, Any]]:
    """The receipts of these records."""
    return [receipt for receipt in documents if receipt["records"].get("hash") == records["hash"]]


def together(documents: Sequence[Mapping[str, Any]]) -> str:
    """What releases of the same records spend: mu of one relation and delta add up in squares, epsilons and deltas as
    such."""
    groups, parts = dict[tuple[str, float], float](), list[tuple[str, float, float]]()
    for receipt in documents:
        relation, delta, mu = receipt["relation"], receipt["delta"], receipt["mu"]
        if mu is None:
            parts.append((relation, receipt["eps"], delta))
        else:
            groups[relation, delta] = math.hypot(groups.get((relation, delta), 0.0), mu)
    gaussian = "" if parts or len({*(r for r, _ in groups)}) > 1 else f"mu = {up(math.hypot(*groups.values()), 5)}, "
    parts += [(relation, eps_of(mu, delta), delta) for (relation, delta), mu in groups.items()]
    mixed, spent = len({relation for relation, _, _ in parts}) > 1, []
    for relation, eps, delta in parts:
        # to replace a record is to remove one and to add one
        twice = mixed and relation == "add-remove"
        spent.append((2 * eps, (1 + math.exp(min(eps, 700))) * delta) if twice else (eps, delta))
    eps, delta = (math.fsum(column) for column in zip(*spent, strict=True))
    return f"{gaussian}epsilon = {up(eps, 5)} at delta = {up(min(delta, 1) * (1 - 1e-12), 3)}"


def why_refused(results: Path, records: Records) -> tuple[str, str]:
    """Why these records may not be released into a folder unless --again is added, and a hint; else empty."""
    documents = receipts(results)
    # a fit in the folder above, and folders next to this one, are found too; what is illegible there concerns others
    around = receipts(Path(os.path.abspath(results)).parent, strict=False)
    every = {receipt["path"].resolve(): receipt for receipt in (*around, *documents)}
    if same := sorted(of_records(every.values(), records), key=lambda receipt: str(receipt["at"])):
        times = f"{counted(len(same), 'release')}, the last on {same[-1]['at']} ({same[-1]['path']})"
        hint = "a further release adds to that: --again releases them once more"
        return f"these records were released before: {times}, spent {together(same)}", hint
    # (d)
    if foreign := [receipt for receipt in documents if receipt["records"].get("key") != records["key"]]:
        why = "was keyed with another secret, so whether it is about these records cannot be determined"
        hint = "release from the account that made it, use another results folder, or add --again if they are others"
        return f"{foreign[-1]['path']} {why}", hint
    return "", ""


@dataclass(frozen=True)
class Receipt:
    """One release that has begun."""

    path: Path
    document: Mapping[str, Any]

    def done(self) -> None:
        """Record that what it counts was released."""
        text = standard_json({**self.document, "status": "released"}) + "\n"
        atomically(self.path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


@contextmanager
def alone(results: Path) -> Iterator[None]:
    """No other process begins a release in this folder meanwhile. Raises UsageError."""
    results.mkdir(parents=True, exist_ok=True)
    try:
        with lock(results / ".releases.lock"):
            yield
    except Held:
        raise UsageError(f"{results}: another release is in progress", "wait for it, and run again") from None


def begin(folder: Path, spent: Mapping[str, Any]) -> Receipt:
    """Write down what is about to be spent, next to the folder of a release."""
    document = {"status": "begun", "at": datetime.now(UTC).isoformat(timespec="seconds"), **spent}
    for number in itertools.count(1):
        path = folder.with_name(f"{folder.name}{f'-{number}' * (number > 1)}{ENDING}")
        with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            file.write(standard_json(document) + "\n")
            return Receipt(path, document)
    raise AssertionError
