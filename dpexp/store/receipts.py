"""Receipts: what deployments of runs and fits have spent, on which records, in one results folder.

(a) A receipt is there before any noise is drawn, as begun: a run that dies has spent, since nobody knows what left.
(b) Records are named by a hash of their content alone, keyed with a secret of this user. The same records are the same
however their file, the experiment or a setting is called, and whoever has the hash but not the secret can test no guess
of a record against it.
(c) A table that was sorted, or saved with other line ends, has the same records: neither order nor ends of lines count.
(d) Of a receipt that another secret keyed nobody here can tell whose records it is about.
"""

from __future__ import annotations

import codecs
import hashlib
import hmac
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpexp.core.digests import files_below
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.files import Held, atomically, home, lock, opened, read_ordinary
from dpexp.core.standard_json import standard_json
from dpexp.core.text import counted, up
from dpexp.store.folder import own_folders

ENDING = ".receipt.json"
MOST_BYTES = 1_000_000
Records = dict[str, str]
"""keyed `hash` of their content, and which `key` it was"""


def records_in(places: Sequence[Path]) -> Records:
    """What the records of some files, or folders of files, are called."""
    # (b): the name of a file is none of it, but in a folder names may be classes
    found = [(str(file.relative_to(place)), _hash_of_lines(file)) for place in places for file in files_below(place)]
    return records_of(repr(sorted(found)).encode())


def _hash_of_lines(file: Path) -> str:
    """A hash of a file's lines. Raises OSError."""
    # (c): a sum has no order; a byte order mark is no part of a line
    with open(file, "rb") as content:
        lines = (line.removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n") for line in content)
        return f"{sum(int.from_bytes(hashlib.sha256(line).digest()) for line in lines if line):x}"


@lru_cache(maxsize=1)
def _secret() -> bytes:
    """32 bytes in the home that this user alone can read; of this process alone where there is no place for them."""
    with suppress(OSError):
        if (own := home()) is not None:
            place = own / ".cache" / "dpexp" / "secret"
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # one that another process is about to write is not waited for
            with (
                suppress(FileExistsError),
                open(place, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as made,
            ):
                made.write(os.urandom(32))
            with opened(place) as file:
                state, content = os.fstat(file.fileno()), file.read(33)
            if state.st_uid == os.getuid() and not state.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and len(content) == 32:
                return content
    return os.urandom(32)


def records_of(content: bytes) -> Records:
    """What records with this content are called: nobody who lacks this user's secret can compute it."""
    of_records, of_key = (hmac.new(_secret(), told, "sha256").hexdigest() for told in (b"records " + content, b"key"))
    return {"hash": of_records, "key": of_key[:16]}


def receipts(results: Path) -> list[dict[str, Any]]:
    """The receipts in a results folder, the first one first. Raises UsageError for one that cannot be read."""
    found = []
    for path in [path for place in (results, *own_folders(results)) for path in sorted(place.glob(f"*{ENDING}"))]:
        try:
            told = json.loads(b"" if path.is_symlink() else read_ordinary(path, MOST_BYTES))
            delta, eps = (math.inf if value is None else float(value) for value in told["eps"][0])
            found.append({"path": path, "at": str(told["at"]), "eps": eps, "delta": delta, "records": told["records"],
                          "relation": str(told["neighboring_relation"])})  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            hint = "what it counted is not known, so nothing more is released beside it"
            raise UsageError(f"{path} is no receipt that can be read", hint) from None
    return sorted(found, key=lambda told: str(told["at"]))


def of_records(found: Sequence[Mapping[str, Any]], records: Records) -> list[Mapping[str, Any]]:
    """The receipts of these records."""
    return [told for told in found if (told["records"] or {}).get("hash") == records["hash"]]


def together(found: Sequence[Mapping[str, Any]]) -> str:
    """What releases of the same records spend: epsilons and deltas add up."""
    mixed = len({told["relation"] for told in found}) > 1
    pairs = [(told["eps"], told["delta"]) for told in found]
    # to replace a record is to remove one and to add one
    doubled = [
        (2 * eps, (1 + math.exp(min(eps, 700))) * delta) if mixed and told["relation"] == "add-remove" else (eps, delta)
        for told, (eps, delta) in zip(found, pairs, strict=True)
    ]
    eps, delta = (math.fsum(column) for column in zip(*doubled, strict=True))
    return f"epsilon = {up(eps, 5)} at delta = {min(delta, 1):.3g}"


def why_refused(results: Path, records: Records) -> tuple[str, str]:
    """Why these records may not be released into a folder unless that is asked for again, and a hint; else empty."""
    found = receipts(results)
    if same := of_records(found, records):
        times = f"{counted(len(same), 'release')}, the last on {same[-1]['at']} ({same[-1]['path']})"
        hint = "a further release adds to that: --again releases them once more"
        return f"these records were released before: {times}, spent {together(same)}", hint
    # (d)
    if foreign := [told for told in found if (told["records"] or {}).get("key") != records["key"]]:
        why = "was keyed with another secret, so it cannot be told whether it is about these records"
        hint = "release from the account that made it, use another results folder, or add --again if they are others"
        return f"{foreign[-1]['path']} {why}", hint
    return "", ""


@dataclass(frozen=True)
class Receipt:
    """One release that has begun."""

    path: Path
    told: Mapping[str, Any]

    def done(self) -> None:
        """Say that what it counts was released."""
        text = standard_json({**self.told, "status": "released"}) + "\n"
        atomically(self.path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


@contextmanager
def alone(results: Path) -> Iterator[None]:
    """Nobody else begins a release in this folder meanwhile. Raises DpexpError."""
    results.mkdir(parents=True, exist_ok=True)
    try:
        with lock(results / ".releases.lock"):
            yield
    except Held:
        raise DpexpError(f"{results}: another release is in progress", "wait for it, and run again") from None


def begin(folder: Path, told: Mapping[str, Any]) -> Receipt:
    """Write down what is about to be spent, beside the folder of a release."""
    number = 1
    while True:
        path = folder.with_name(f"{folder.name}{f'-{number}' * (number > 1)}{ENDING}")
        begun = {"status": "begun", "at": datetime.now(UTC).isoformat(timespec="seconds"), **told}
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(standard_json(begun) + "\n")
            return Receipt(path, begun)
        except FileExistsError:
            number += 1
