"""Named random streams, keyed by content: (seed, replicate, role), never by algorithm parameters.

So settings see the same users and noise directions, and a replicate's numbers do not depend on which others run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ROLES = {"data": 0, "response": 1, "noise": 2, "budget": 3, "order": 4, "init": 5, "message": 6}
"""what a stream is for; the numbers are part of the key and never change"""


def _sequence(seed: int, replicate: int, role: str, part: int = 0) -> np.random.SeedSequence:
    if role not in ROLES:
        raise ValueError(f"unknown role {role!r}; roles are {', '.join(ROLES)}")
    if min(seed, replicate, part) < 0:
        raise ValueError("seed, replicate and part must not be negative")
    return np.random.SeedSequence(entropy=seed, spawn_key=(replicate, ROLES[role], part))


def generator(seed: int, replicate: int, role: str, part: int = 0) -> np.random.Generator:
    """A numpy generator for one role of one replicate. Raises ValueError for an unknown role or a negative key."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, replicate, role, part)))


def stream_state(seed: int, replicate: int, role: str, part: int = 0) -> np.ndarray:
    """State of the engine's generator (xoshiro256++) for one role of one replicate, uint64 [4]."""
    # from a state of zeros it would give zeros for ever
    state = _sequence(seed, replicate, role, part).generate_state(4, np.uint64)
    return state if state.any() else np.array([1, 0, 0, 0], np.uint64)


def stream_states(seed: int, replicates: Sequence[int], role: str, part: int = 0) -> np.ndarray:
    """States of several replicates, uint64 [4, len(replicates)], C-contiguous."""
    return np.ascontiguousarray(np.stack([stream_state(seed, r, role, part) for r in replicates], axis=1))
