"""Edges of the noisy SGD mechanisms: a value or a located refusal, never a traceback, a warning or a nan."""

import itertools
import math

import pytest

from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import mostly_slow

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
    {"steps": 1},
    {"steps": 0},
    {"noise_std": 0.0},
    {"noise_std": math.inf},
    {"diameter": math.inf},
    {"diameter": math.inf, "strong_convexity": 0.0},
    {"diameter": 1e-9},
    {"diameter": 1e9},
    {"lipschitz": 1e-9},
    {"lipschitz": 1e9},
    {"noise_std": 1e-9},
    {"noise_std": 1e9},
    {"n": 4},  # q = 1
    {"n": 1, "batch_size": 1},
    {"n": 4_000_000},
    {"steps": 10**12},
]


def mechanism(sampling, relation, changes):
    parameters = {**NOISY, **changes, "sampling": sampling, "neighboring_relation": relation}
    if sampling == "full-batch":
        parameters["batch_size"] = parameters["n"]
    return MECHANISMS["noisy-sgd"](**parameters)


@pytest.mark.parametrize("changes", mostly_slow(EDGES), ids=str)
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


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_step_that_forgets(sampling):
    """smoothness = strong_convexity = 1 / step_size: the factor is 0 where batches have b records."""
    forgets = {"smoothness": 2.0, "strong_convexity": 2.0, "lipschitz": 2.0}
    found = mechanism(sampling, "replace-one", {**forgets, "steps": 40})
    last = {a.name: a for a in found.upper_bounds() if a.valid and a.released == "last-iterate"}
    if sampling in ("fixed-size", "full-batch"):  # only the last step counts
        (attained,) = found.lower_bounds()
        one = mechanism(sampling, "replace-one", {**forgets, "steps": 1})
        (composed,) = [a.eps(0.1) for a in one.upper_bounds() if a.name in ("pld-composition", "gaussian-composition")]
        assert attained.eps(0.1) <= last["hybrid"].eps(0.1) <= composed * (1 + 1e-3) + 1e-9
        assert attained.eps(1e-3) > 0
    if sampling in ("cyclic", "full-batch"):
        assert last["shifted-interpolation"].mu == pytest.approx(2 * 2.0 / (4 if sampling == "cyclic" else 20))


def test_what_no_proof_covers_is_refused():
    refused = {
        ("poisson", "replace-one"): {"iteration-symmetrised": "fixed size"},
        ("poisson", "add-remove"): {"iteration-symmetrised": "replace-one"},
        ("fixed-size", "add-remove"): {"contraction": "replace-one", "hybrid": "replace-one"},
        ("reshuffled", "replace-one"): {
            "shifted-interpolation": "same batches",
            "contraction": "fresh",
            "hybrid": "fresh",
        },
        ("cyclic", "add-remove"): {"shifted-interpolation": "replace-one", "contraction": "fresh", "hybrid": "fresh"},
    }
    for (sampling, relation), reasons in refused.items():
        found = {a.name: a for a in mechanism(sampling, relation, {}).upper_bounds()}
        for name, words in reasons.items():
            assert any(word in found[name].refused for word in words.split("|")), (sampling, relation, name)
            assert not found[name].valid
