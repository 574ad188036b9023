"""Which part each record falls into, by a keyed hash of the record alone: for records that may be added or removed.

(a) A record is what the learner sees of it: its encoded features, its class, and whether it could be read.
(b) The k-th copy of a record has three numbers of its own, u(record, k), uniform in 0 .. 2^64 - 1 over keys: by the
first it is a test record, by the second one of validation, and by the third it falls into a group.
(c) Where a copy of x is added to a file or removed, let x have k copies with it: all pairs (record, number of the copy)
but (x, k) stay, and so do their numbers. So for every key, known or not: one part, and in it one group, has one record
more or less, and all others are as they were.

Which of several equal lines is called the k-th has no effect, since equal records are one to the learner. If copies had
one number together, the same would hold, but in a table of few categories whole patterns would never be learnt.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import blake2b

import numpy as np

from dpexp.core.seeds import generator
from dpexp.data.dataset import Dataset, Split

TEST, VALIDATION, GROUP = range(3)
"""what each of a record's numbers decides"""
_KEY = 2
"""part of the role `data`: 0 and 1 draw orders of places"""


def with_draws(data: Dataset, seed: int) -> Dataset:
    """The records with their numbers u, `draws` uint64 [n, 3], by the key that follows from the seed."""
    key = generator(seed, 0, "data", _KEY).bytes(32)
    draws, copies = np.empty((len(data), 3), np.uint64), Counter[bytes]()
    # (a): all records that cannot be read have the class -1, whatever stood there
    classes = data.labels if data.usable is None else np.where(data.usable, data.labels, -1)
    for place, (features, label) in enumerate(zip(data.features, classes, strict=True)):
        content = blake2b(features.tobytes() + label.tobytes(), key=key).digest()
        # (b)
        copies[content] += 1
        number = blake2b(content + copies[content].to_bytes(8, "little"), key=key, digest_size=24)
        draws[place] = np.frombuffer(number.digest(), "<u8")
    return replace(data, draws=draws)


def split_by_draws(data: Dataset, fraction: float, which: int) -> Split:
    """Held out is every record whose number is below the fraction of 2^64; a part may be empty."""
    assert data.draws is not None
    # compared as integers of 64 bits, which floats would round
    held = data.draws[:, which] < np.uint64(int(fraction * 2**64))
    return Split(data.rows(~held), data.rows(held))
