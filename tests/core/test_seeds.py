"""Random streams are named by content and do not collide."""

import numpy as np
import pytest

from dpexp.core.seeds import ROLES, generator, stream_state


def test_golden_states():
    """The numbers of every stored result rest on these."""
    assert [hex(int(v)) for v in stream_state(0, 0, "data")] == GOLDEN
    assert generator(1, 2, "noise").integers(1 << 30) == GOLDEN_DRAW


GOLDEN = ["0x3a231f3ddb40f5fe", "0xe11fcbc1a61a6419", "0xbd7d111347f92d37", "0x94d2393c1f47c244"]
GOLDEN_DRAW = 352279961


def test_every_key_has_its_own_stream():
    keys = [(s, r, role, part) for s in (0, 1, 2**40) for r in (0, 1, 199) for role in ROLES for part in (0, 1)]
    states = {tuple(int(v) for v in stream_state(*key)) for key in keys}
    assert len(states) == len(keys)


def test_neighbouring_streams_are_uncorrelated():
    draws = np.stack([generator(0, r, role).standard_normal(2000) for r in range(4) for role in ROLES])
    correlations = np.corrcoef(draws) - np.eye(len(draws))
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_wrong_keys_are_refused():
    with pytest.raises(ValueError, match="roles are data, response, noise"):
        generator(0, 0, "weather")
    for key in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="negative"):
            stream_state(*key, "data")
