"""Random numbers: the generator against its published outputs and a plain transcription, the laws against theory."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dpexp.core.seeds import stream_states
from dpexp.engine.finite_sum.noise_designs import Normals
from dpexp.engine.lanes.streams import fill_normal, fill_uniform
from dpexp.engine.lanes.vectors import LANES
from tests.oracles.streams import normals, uniforms, xoshiro256pp


def test_the_transcription_gives_the_published_sequence():
    """First outputs of xoshiro256++ from the state (1, 2, 3, 4), as in the test suites of other implementations."""
    published = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205, 9973669472204895162]
    assert list(itertools.islice(xoshiro256pp([1, 2, 3, 4]), 6)) == published


@pytest.mark.parametrize(
    ("fill", "oracle", "tolerance"), [(fill_uniform, uniforms, 0.0), (fill_normal, normals, 3e-14)]
)
def test_every_lane_follows_the_transcription(fill, oracle, tolerance):
    states = stream_states(3, range(LANES), "noise")
    got = np.empty((500, LANES))
    fill(states.copy(), got, 500)
    for lane in range(LANES):
        want = list(itertools.islice(oracle(list(states[:, lane])), 500))
        np.testing.assert_allclose(got[:, lane], want, rtol=tolerance, atol=tolerance)


def test_a_stream_depends_neither_on_its_lane_nor_on_the_size_of_the_requests():
    states = stream_states(3, range(LANES), "data")
    whole, parts, turned = np.empty((240, LANES)), np.empty((240, LANES)), np.empty((240, LANES))
    fill_normal(states.copy(), whole, 240)
    moving = states.copy()
    for start in range(0, 240, 24):
        fill_normal(moving, parts[start:], 24)
    fill_normal(np.ascontiguousarray(states[:, ::-1]), turned, 240)
    np.testing.assert_array_equal(parts, whole)
    np.testing.assert_array_equal(turned[:, ::-1], whole)


def draws(fill, count=200_000):
    out = np.empty((count, LANES))
    fill(stream_states(11, range(LANES), "data"), out, count)
    return out


def test_normal_law():
    """Distribution, tails, independence of neighbours and of lanes; and the same test rejects a scale off by 1%."""
    z = draws(fill_normal)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    assert stats.kstest(1.01 * z.ravel(), "norm").pvalue < 1e-3
    tail = np.sum(np.abs(z) > 4)
    assert stats.binomtest(int(tail), z.size, 2 * stats.norm.sf(4)).pvalue > 1e-3
    for a, b in [(z[0::2], z[1::2]), (z[1:-1:2], z[2::2]), (z[:, :-1], z[:, 1:])]:
        for f, g in itertools.product([np.array, np.square], repeat=2):
            correlation = np.corrcoef(f(a).ravel(), g(b).ravel())[0, 1]
            assert abs(correlation) < 4 / np.sqrt(a.size)


def test_how_many_are_asked_for_at_a_time_changes_no_bit():
    whole, parts = Normals(3, 1, "noise"), Normals(3, 1, "noise")
    pieces = [parts.standard_normal((rows, 3)) for rows in (1, 0, 2, 5, 6, 1, 40, 945)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole.standard_normal((1000, 3)))
