"""Data sets as arrays, their preparation record by record, and their splits: seeded, or by a keyed hash of each record.

(a) A record is what the learner sees of it: its encoded features, its class, and whether it could be read.
(b) The k-th copy of a record has three numbers of its own, u(record, k), uniform in 0 .. 2^64 - 1 over keys: by the
first it is a test record, by the second one of validation, and by the third it falls into a group.
(c) Where a copy of x is added to a file or removed, let x have k copies with it: all pairs (record, number of the copy)
but (x, k) stay, and so do their numbers. So for every key, known or not: one part, and in it one group, has one record
more or less, and all others are as they were.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.seeds import generator
from dpexp.data.public_inputs import PublicColumn

BIAS = 0.25  # value of the constant entry that `prepare` appends
NORM = (1 + BIAS**2) ** 0.5  # norm of every prepared record: its square is 1.0625


@dataclass(frozen=True)
class Dataset:
    """Records with a class each."""

    name: str
    features: np.ndarray  # [n, p] float32
    labels: np.ndarray  # [n] int64, in 0 .. len(classes) - 1
    classes: tuple[str, ...]
    note: str = ""  # of a user's table: what was done to the records
    columns: tuple[PublicColumn, ...] = ()  # of a user's table, in the order of their entries in `features`
    draws: np.ndarray | None = (
        None  # [n, 3] uint64, by which a record finds its part (`split_by_draws`), else its place
    )
    usable: np.ndarray | None = None  # of a user's table [n]: whether a record could be read; others are prepared as 0

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, index: np.ndarray | slice) -> Dataset:
        """Some of the records."""
        draws, usable = (None if part is None else part[index] for part in (self.draws, self.usable))
        return replace(self, features=self.features[index], labels=self.labels[index], draws=draws, usable=usable)

    @property
    def prepared(self) -> Dataset:
        """The same records as `prepare` makes them."""
        return self.with_features(prepare(self.features))

    def with_features(self, features: np.ndarray) -> Dataset:
        """The records with other features; those that cannot be used are 0, so that they move no parameter."""
        # features of 0 have no gradient
        if self.usable is not None:
            features[~self.usable] = 0
        return replace(self, features=features)


class Split(NamedTuple):
    """Training records and held-out records."""

    train: Dataset
    test: Dataset


class DataShape(NamedTuple):
    """How large a data set is, known without reading it; the width of a record is that before `prepare`."""

    records: int
    width: int
    classes: int


def load_shipped(file: Path, digest: str) -> Any:
    """The arrays of a shipped npz file. Raises DataError where its SHA-256 is not `digest`.

    The digest is part of the code, so that the hash of the code identifies the records of a result.
    """
    content = file.read_bytes()
    if sha256(content).hexdigest() != digest:
        hint = "put the file back, or reinstall"
        raise DataError(f"{file}: these are not the records that come with this dpexp", hint)
    return np.load(BytesIO(content))


def prepare(features: np.ndarray) -> np.ndarray:
    """Every record scaled to norm 1, and a bias entry .25 appended: [n, p + 1] float32, all norms sqrt(1.0625).

    Uses each record alone, so it costs no privacy; a record that is 0 stays 0 and has norm .25.
    """
    out = np.full((len(features), features.shape[1] + 1), BIAS, np.float32)
    # some thousand at a time, so that what is there in double precision stays small
    for k in range(0, len(features), 4096):
        x = np.asarray(features[k : k + 4096], dtype=np.float64)
        norms = np.linalg.norm(x, axis=1, keepdims=True)
        out[k : k + 4096, :-1] = x / np.where(norms > 0, norms, 1)
    return out


def held_out(records: int, test_fraction: float) -> int:
    """How many of so many records a random split holds out: at least one, and not all."""
    return min(records - 1, max(1, int(records * test_fraction)))


def split(data: Dataset, test_fraction: float, generator: np.random.Generator) -> Split:
    """A random split: `held_out` records in the generator's order. Raises DataError unless both parts have records."""
    if not 0 < test_fraction < 1 or len(data) < 2:
        raise DataError(f"a split needs a test fraction in (0, 1) and at least 2 records; {data.name} has {len(data)}")
    order = generator.permutation(len(data))
    test = held_out(len(data), test_fraction)
    return Split(data.rows(order[test:]), data.rows(order[:test]))


TEST, VALIDATION, GROUP = range(3)  # what each of a record's numbers decides


def with_draws(data: Dataset, seed: int) -> Dataset:
    """The records with their numbers u, `draws` uint64 [n, 3], by the key that follows from the seed."""
    # a hash of the record alone is for records that may be added or removed; parts 0 and 1 of the role draw orders
    key = generator(seed, 0, "data", 2).bytes(32)
    draws, copies = np.empty((len(data), 3), np.uint64), Counter[bytes]()
    # (a): all records that cannot be read have the class -1, whatever stood there
    classes = data.labels if data.usable is None else np.where(data.usable, data.labels, -1)
    for place, (features, label) in enumerate(zip(data.features, classes, strict=True)):
        content = blake2b(features.tobytes() + label.tobytes(), key=key).digest()
        # (b); which of several equal lines is called the k-th has no effect: equal records are one to the learner. Were
        # all copies drawn together, whole patterns of a table of few categories would never be learnt
        copies[content] += 1
        number = blake2b(content + copies[content].to_bytes(8, "little"), key=key, digest_size=24)
        draws[place] = np.frombuffer(number.digest(), "<u8")
    return replace(data, draws=draws)


def split_by_draws(data: Dataset, fraction: float, which: int) -> Split:
    """Held out is every record whose number is below the fraction of 2^64; a part may be empty."""
    assert data.draws is not None
    # compared as integers of 64 bits, which floats would round
    test = data.draws[:, which] < np.uint64(int(fraction * 2**64))
    return Split(data.rows(~test), data.rows(test))
