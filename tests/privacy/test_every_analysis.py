"""No upper bound of any mechanism lies below what an exact law attains, by the families of pairs of the judge.

`make soak` tries every case at twenty places, the ordinary run some of them at one.
"""

import math
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import qmc

from dpexp.accounting.gaussian import eps_of
from dpexp.privacy.judge.families import admitted
from dpexp.privacy.judge.setting import DIMENSIONS, KINDS, Assumes, attained, from_cube, level
from dpexp.privacy.judge.worst_setting import SHAPES, confirmed
from dpexp.privacy.mechanisms import MECHANISMS, momentum
from tests.conftest import AT_LENGTH, share
from tests.oracles import literal_epochs
from tests.oracles.literal_momentum import certificate, constant_gradients, iterates_alone

POINTS = 20 if AT_LENGTH else 1
DRAWS = 40 if AT_LENGTH else 2
MARGIN = 1 + 1e-6
NEAR = 1.02
"""a bound within this factor of what is attained is compared again with what finer means attain"""
SMOOTH = {"bounded": True, "convex": True, "smooth": True}
ASSUMED = {
    "noisy-sgd": {"bounded": True},
    "noisy-sgd, smooth convex losses": SMOOTH,
    "noisy-sgd, strongly convex losses": SMOOTH | {"strongly_convex": True},
    "clipped-noisy-sgd": {"bounded": True, "clipped": True},
    "langevin": SMOOTH | {"strongly_convex": True},
    "sampled-gaussian": {},
}
"""mechanisms with what they suppose about losses"""
SAMPLINGS = ("fixed-size", "poisson", "full-batch", "cyclic", "shuffled", "reshuffled")
CASES = [
    (mechanism, sampling, relation)
    for mechanism in ASSUMED
    for sampling in SAMPLINGS
    for relation in ("replace-one", "add-remove")[: 1 if sampling == "fixed-size" else 2]
]


def mechanism_of(name, sampling, relation, s, assumed):
    """The mechanism of a setting."""
    sizes = ["steps", "n", "batch_size", "step_size", "diameter", "lipschitz"]
    values = {key: getattr(s, key) for key in [*sizes, *["smoothness", "strong_convexity"] * ("smooth" in assumed)]}
    if name == "sampled-gaussian":
        values = {"steps": s.steps, "noise_multiplier": s.multiplier, "sampling_probability": s.q}
    elif name == "clipped-noisy-sgd":
        values |= {"clip": values.pop("lipschitz"), "noise_std": s.step_size * s.noise_std}
    elif name == "langevin":
        values["sigma"] = s.noise_std * math.sqrt(s.step_size / 2)
    else:
        values["noise_std"] = s.noise_std
    values |= {"sampling": sampling, "neighboring_relation": relation}
    return MECHANISMS[name.split(",")[0]].model_validate(values)


def test_the_steepest_setting_without_a_set_forgets_all_in_a_step_and_does_not_expand():
    given = {"sampling": "poisson", "relation": "add-remove", "released": "last-iterate"}
    assumes = Assumes(convex=True, smooth=True, strongly_convex=True, **given)
    run = from_cube(np.ones(DIMENSIONS), assumes)
    assert (run.diameter, run.step_size * run.strong_convexity) == (math.inf, pytest.approx(1))
    assert run.step_size * run.smoothness == pytest.approx(2)


@pytest.mark.parametrize("case", share(CASES, 5), ids=", ".join)
def test_every_analysis_of_batches(case):
    """Analyses of all iterates are compared with last iterates too, which are part of the release."""
    name, sampling, relation = case
    compared = 0
    for x in qmc.Sobol(DIMENSIONS + 1 + SHAPES, seed=7).random(32)[:: 32 // POINTS][:POINTS]:
        for released in ("all-iterates", *["last-iterate"] * (name != "sampled-gaussian")):
            assumes = Assumes(**ASSUMED[name], sampling=sampling, relation=relation, released=released)
            s = from_cube(x[:DIMENSIONS], assumes)
            analyses = [a for a in mechanism_of(*case, s, ASSUMED[name]).upper_bounds() if a.valid]
            laws = [family.build(s, x[DIMENSIONS + 1 :]) for family in admitted(assumes)]
            analyses = [a for a in analyses if a.released in ("all-iterates", released)]
            for law in (law for law in laws if law):
                for kind in ("eps", "rdp"):
                    at = level(KINDS[kind], x[DIMENSIONS], law.variation)
                    low, finer = attained(law, KINDS[kind], at), None
                    for a in analyses if low > 1e-9 else []:
                        bound = a.eps(at) if kind == "eps" else a.rdp(at) if a.rdp else math.inf
                        if bound < NEAR * low:
                            finer = confirmed(law, KINDS[kind], at)[0] if finer is None else finer
                        assert bound * MARGIN >= (low if finer is None else finer), (a.name, s, kind, at)
                        compared += math.isfinite(bound)
    assert compared


def against(mechanism, pairs, deltas=(), secret=False):
    """Analyses, those for which something stays `secret` or the others, against epsilon as pairs attain it.

    A pair is a function of delta, or a Gaussian-DP parameter.
    """
    analyses = [a for a in mechanism.upper_bounds() if a.valid and bool(a.secret) == secret]
    for pair, low in pairs.items() if analyses else ():
        for delta in deltas or (0.2 * math.erf(low / 2**1.5), 1e-5, 1e-12):
            attained = low(delta) if callable(low) else eps_of(low, delta) * (1 - 1e-12)
            for analysis in analyses:
                assert attained <= analysis.eps(delta) * MARGIN + 1e-9, (mechanism, analysis.name, pair, delta)


@pytest.mark.parametrize("sampling", literal_epochs.SAMPLINGS)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_every_analysis_of_epochs(sampling, relation):
    rng = np.random.default_rng(13)
    for _ in range(DRAWS):
        against(*literal_epochs.constant_gradients(sampling, relation, rng), (0.03, 1e-3, 1e-6))


def test_every_analysis_of_reduced_momentum():
    """Small runs have no stored certificate: the prover makes theirs. Other momentum has literal laws."""
    rng = np.random.default_rng(11)
    with patch.object(momentum, "certificate", certificate):
        for _ in range(DRAWS):
            mechanism, mu = constant_gradients(rng)
            against(mechanism, {"constant gradients": mu})
            against(*iterates_alone(rng), secret=True)
