"""Normals of one replicate: eight streams in turn, against the transcription; the law, and sources that know nothing of
each other."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from dpexp.core.seeds import stream_state
from dpexp.engine.finite_sum.noise_process import Normals
from tests.oracles.streams import normals


@pytest.mark.parametrize("source", [0, 2])
def test_number_k_is_the_next_one_of_stream_k_mod_8(source):
    lanes = [normals(list(stream_state(3, 1, "noise", 8 * (source + 1) + lane))) for lane in range(8)]
    want = [next(lane) for lane in itertools.islice(itertools.cycle(lanes), 700)]
    got = Normals(3, 1, "noise", source).standard_normal((100, 7))
    np.testing.assert_allclose(got.ravel(), want, rtol=3e-14, atol=3e-14)


def test_how_many_are_asked_for_at_a_time_changes_no_bit():
    whole, parts = Normals(3, 1, "noise"), Normals(3, 1, "noise")
    pieces = [parts.standard_normal((rows, 3)) for rows in (1, 0, 2, 5, 6, 1, 40, 945)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole.standard_normal((1000, 3)))


def test_what_is_kept_between_two_draws_does_not_grow():
    """One number at a time leaves fewer than a turn of 16: a long run holds no more than a short one."""
    source, held = Normals(3, 1, "noise"), []
    source.standard_normal((1, 1))  # compiles, where it was not
    tracemalloc.start()
    try:
        for _ in range(2):
            for _ in range(400):
                source.standard_normal((1, 1))
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert held[1] - held[0] < 16 * 8 * 20


def test_the_law_is_normal_and_sources_and_replicates_are_independent():
    """And the same test rejects a scale that is 1 % off."""
    kinds = [(0, "noise", 0), (0, "noise", 1), (1, "noise", 0), (0, "order", 0)]
    z = np.stack([Normals(11, *kind).standard_normal((1, 400_000))[0] for kind in kinds])
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    assert stats.kstest(1.01 * z.ravel(), "norm").pvalue < 1e-3
    for f in (np.array, np.square):
        correlations = np.corrcoef(f(z))[np.triu_indices(len(z), 1)]
        assert np.abs(correlations).max() < 4 / np.sqrt(z.shape[1])
    for lag in (1, 8, 16):  # neighbours, and numbers of one stream
        assert abs(np.corrcoef(z[0, lag:], z[0, :-lag])[0, 1]) < 4 / np.sqrt(z.shape[1])
