"""Edges of the noisy SGD mechanisms: a value or a located refusal, never a traceback, a warning or a nan."""

import itertools
import math

import mpmath
import pytest

from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import mostly_slow, share

NOISY = {
    "n": 20, "batch_size": 4, "step_size": 0.5, "noise_std": 1.0, "lipschitz": 1.0, "diameter": 1.0, "smoothness": 1.0,
    "strong_convexity": 0.5, "steps": 30,
}  # fmt: skip
SAMPLINGS = ("fixed-size", "poisson", "cyclic", "shuffled", "reshuffled", "full-batch")
RELATIONS = ("replace-one", "add-remove")
EDGES = [
    {},
    {"smoothness": 2.0, "strong_convexity": 2.0},  # c = 0: a step forgets where it was
    {"smoothness": 4.0, "strong_convexity": 0.0},  # eta M = 2
    {"smoothness": 0.0, "strong_convexity": 0.0},
    {"smoothness": None, "strong_convexity": 0.0},
    {"smoothness": 5.0},  # eta M above 2
    {"steps": 1}, {"steps": 0}, {"steps": 10**12}, {"noise_std": 0.0}, {"noise_std": math.inf}, {"noise_std": 1e-9}, {"noise_std": 1e9},
    {"diameter": math.inf}, {"diameter": math.inf, "strong_convexity": 0.0}, {"diameter": 1e-9}, {"diameter": 1e9},
    {"lipschitz": 1e-9}, {"lipschitz": 1e9}, {"n": 1, "batch_size": 1}, {"n": 4_000_000},
    {"n": 4},  # q = 1
]  # fmt: skip


def mechanism(sampling, relation, changes):
    parameters = {**NOISY, **changes, "sampling": sampling, "neighboring_relation": relation}
    if sampling == "full-batch":
        parameters["batch_size"] = parameters["n"]
    return MECHANISMS["noisy-sgd"](**parameters)


@pytest.mark.parametrize("changes", mostly_slow(share(EDGES)), ids=str)
def test_every_edge_has_values(changes):
    """Every sampling, and both neighbouring relations in turn: every edge has each of them with three samplings."""
    for sampling, relation in zip(SAMPLINGS, itertools.cycle(RELATIONS[:: 1 if EDGES.index(changes) % 2 else -1])):
        found = mechanism(sampling, relation, changes)
        attained = {
            d: max((b.eps(d) for b in found.lower_bounds() if b.released == "last-iterate"), default=0.0)
            for d in (0.3, 1e-5)
        }
        for analysis in found.upper_bounds():
            if "iteration" in analysis.name and (not analysis.valid or changes.get("steps") != 1):
                continue  # half a second each; the command's tests below have them
            values = [analysis.eps(delta) for delta in (0.3, 1e-5)]
            assert 0 <= values[0] <= values[1] * (1 + 1e-9)
            assert analysis.valid == (not analysis.refused)
            if analysis.valid:
                for value, delta in zip(values, attained, strict=True):
                    assert value >= attained[delta] * (1 - 1e-6), (analysis.name, sampling, relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_tiny_noise_attains_what_a_few_uses_attain(relation):
    """Of ten draws with probability .01 three or more have 1e-4: all of three Gaussian steps, but for the rare draws."""
    values = {"noise_multiplier": 0.001, "sampling_probability": 0.01, "steps": 10, "neighboring_relation": relation}
    found = MECHANISMS["sampled-gaussian"](**values)
    (low,) = (b.eps(1e-5) for b in found.lower_bounds() if b.name == "exact-composition")
    assert 0.98 * 3 * 1000**2 / 2 < low < found.upper_bounds()[-1].eps(1e-5)
    assert found.upper_bounds()[-1].statement([1e-5])["mu"] >= 1000 * math.sqrt(10)


@pytest.mark.parametrize(("noise", "q", "delta"), [(0.001, 0.01, 1e-5), (0.02, 0.5, 1e-6), (0.02, 1e-3, 1e-5)])
def test_one_step_of_tiny_noise_attains_no_more_than_its_hockey_stick(noise, q, delta):
    """The curve of one step by its definition, with sixty digits."""
    found = MECHANISMS["sampled-gaussian"](noise_multiplier=noise, sampling_probability=q, steps=1)
    (low,) = (b.eps(delta) for b in found.lower_bounds() if b.name == "exact-composition")
    with mpmath.workdps(60):
        mu, scale = 1 / mpmath.mpf(noise), mpmath.exp(low)
        place = (mpmath.log((scale - 1 + q) / q) + mu**2 / 2) / mu
        absent, present = (mpmath.erfc((place - mean) / mpmath.sqrt(2)) / 2 for mean in (0, mu))
        assert (1 - q) * absent + q * present - scale * absent >= delta
    assert low > 0.4 / noise**2 * (1 - 32 * noise)
