"""What the iterates of Algorithm 2 give away: operators, certificates, stored values, and attacks that must find nothing.

Every certified number has a second route that shares no code with it: the covariance written out from equation (3) of
the paper, term by term, and dense algebra; simulated runs; published values that other code computed.
"""

import json
import math

import numpy as np
import pytest

from dpexp.papers.momentum.claims.momentum_privacy import attack
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.momentum import certificates
from dpexp.privacy.momentum.certificates import certificate
from dpexp.privacy.momentum.left_nodes import left_sensitivities
from dpexp.privacy.momentum.tree_streams import unit_split
from dpexp.privacy.momentum.trees import fixed_order
from dpexp.theory.momentum.momentum_formulas import theorem8_sigma
from tests.oracles.literal_momentum import estimate_noise
from tools import momentum_certificates as making
from tools.difference_bound import largest_form
from tools.solved_forms import grams, visits

DELTA = 1e-5


def dense_gram(n, steps, alpha, gamma, stds, position):
    """(A U)' Sigma^-1 (A U), by dense algebra."""
    noise = estimate_noise(n, steps, alpha, gamma, stds)
    lag = np.subtract.outer(np.arange(steps), np.arange(steps))
    momentum = np.where(lag >= 0, (1.0 - alpha) ** np.maximum(lag, 0), 0.0)
    columns = momentum[:, visits(n, steps, position) - 1]
    return columns.T @ np.linalg.solve(noise @ noise.T, columns)


CASES = [(13, 100, 1 / 13, 0.3), (8, 64, 0.2, 0.5), (1, 20, 0.3, 0.1), (5, 64, 0.4, 0.25), (37, 150, 1 / 37, 0.5)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "steps", "alpha", "gamma"), [case for case in CASES if case[2] <= 0.3])
@pytest.mark.parametrize("tolerance", [0.3, 0.1, 1e-6])
def test_the_gram_matrix_is_an_upper_bound_at_every_tolerance(n, steps, alpha, gamma, tolerance):
    stds = np.array([3.0, 2.0, 1.5, 0.7])
    for position in {0, n // 2, n - 1}:
        exact = dense_gram(n, steps, alpha, gamma, stds, position)
        found = grams(n, steps, alpha, gamma, stds, np.array([position]), tolerance)[0]
        slack = np.linalg.eigvalsh(found - exact)
        assert slack[0] >= -1e-12 * np.trace(exact)
        assert slack[-1] <= (0.02 if tolerance < 1e-3 else 10) * np.trace(exact)
        assert found.sum() >= exact.sum() * (1 - 1e-12)
        if tolerance < 1e-3:  # a difference that never changes is solved without any truncation
            assert found.sum() == pytest.approx(exact.sum(), rel=1e-6)


def test_the_bound_of_one_and_two_visits_is_the_closed_form():
    assert largest_form(np.array([[0.3]]), 2.0, 0.1).upper == pytest.approx(1.2, rel=1e-4)
    for other, step in ((0.2, 1.0), (-0.2, 1.0), (-0.2, 9.0), (0.2, 9.0)):
        inner = 4.0 if other > 0 else max(-4.0, 4.0 - step**2 / 2)  # |d| = 2 and the angle that the step allows
        bound = largest_form(np.array([[0.5, other], [other, 0.4]]), 2.0, step)
        assert bound.lower <= bound.upper
        assert bound.upper == pytest.approx(0.9 * 4 + 2 * other * inner, rel=1e-4)


def test_algorithm_1_through_the_same_code_is_its_exact_sensitivity():
    for n, steps in ((13, 60), (16, 64), (7, 50)):
        stds = np.array([0.0, 0.0, 0.0, 1.0])
        exact = left_sensitivities(fixed_order(n, steps), 1 / n)
        for position in range(n):
            gram = grams(n, steps, 1 / n, 0.5, stds, np.array([position]))[0]
            assert gram.sum() == pytest.approx(exact[position], rel=1e-12)
            assert gram.min() >= -1e-12  # so that the constant difference is the worst one


def test_the_printed_noise_shows_a_record_to_the_iterates_and_the_corrected_noise_does_not():
    """200,000 runs of each neighbour; the promise is delta = 1e-5 at eps = 1."""
    sigma = theorem8_sigma(1.0, DELTA)
    broken = attack(3, 8, 1e-3, sigma, 200_000)
    assert broken.delta(1.0) > 20 * DELTA
    assert broken.with_neighbour <= 3
    hidden = attack(3, 8, 1e-3, sigma, 200_000, corrected=True)
    assert hidden.delta(1.0) == 0.0
    assert hidden.with_record == pytest.approx(hidden.with_neighbour, rel=0.2)
    assert hidden.with_record > 500  # the event is not rare there: the attack has power


def test_stored_certificates_are_whole_and_agree_with_published_values():
    known = {(500, 10, 4.0): 0.374, (500, 10, 8.0): 0.3313, (2000, 10, 4.0): 0.374, (2000, 10, 8.0): 0.3335}
    for size, most in known.items():
        held = certificate(making.default_setting(*size))
        assert 0.99 * most < held.mu <= most
        assert held.stds == pytest.approx(unit_split(*held.setting), rel=1e-9)
    for held in certificates.stored():
        assert held.lower <= held.mu <= 1.04 * held.lower
        length = held.setting.ratio * held.setting.steps / held.setting.n
        # a short path leaves the differences of a record nearly constant, which is what the nodes are accounted for
        assert held.mu < (0.6 if length > 0.5 else 0.62)


def test_a_changed_file_is_refused(tmp_path, monkeypatch):
    document = json.loads(certificates.STORE.read_text())
    document["entries"][0]["mu"] *= 0.9
    changed = tmp_path / "iterates.json"
    changed.write_text(json.dumps(document))
    monkeypatch.setattr(certificates, "STORE", changed)
    certificates.stored.cache_clear()
    with pytest.raises(ValueError, match="does not match its hash"):
        certificates.stored()
    certificates.stored.cache_clear()


def test_a_stored_certificate_holds_at_random_positions():
    held = certificate(making.default_setting(500, 10, 4.0))
    rng = np.random.default_rng(7)
    positions = np.append(rng.choice(500, 7, replace=False), held.position)
    assert making.recheck(held, positions) <= held.mu
    assert making.recheck(held._replace(mu=0.9 * held.mu), positions) > 0.9 * held.mu


def test_a_certificate_covers_more_noise_and_scales():
    held = certificate(making.default_setting(500, 10, 4.0))
    stds = np.array(held.stds)
    assert held.mu_of(2 * stds) == pytest.approx(held.mu / 2)
    assert held.mu_of(stds * [1, 3, 1, 1]) == pytest.approx(held.mu)
    assert held.mu_of(stds * [1, 0.5, 1, 1]) == pytest.approx(2 * held.mu)
    assert held.mu_of(stds * [1, 1, 0, 1]) == math.inf


def test_the_statement_says_whether_iterates_or_nodes_are_accounted_for():
    def of(**changed):
        given = {"n": 500, "steps": 5000, "momentum": 0.002, "step_size": 8e-4, "lipschitz": 1.0, "smoothness": 1.0}
        return MECHANISMS["reduced-momentum"].model_validate(given | {"sigma": 2.0, "calibration": "exact"} | changed)

    def named(mechanism):
        return {a.name: a for a in mechanism.upper_bounds()}

    nodes, alone = named(of()), named(of(accounting="iterates"))
    share = nodes["certified-iterates"].mu / nodes["exact-sensitivities"].mu
    assert nodes["exact-sensitivities"].mu == alone["certified-iterates"].mu == 0.5
    assert 0.3 < share < 0.6
    assert alone["exact-sensitivities"].mu == pytest.approx(0.5 / share)
    assert alone["certified-iterates"].statement((1e-5,), ())["secret"] == "tree nodes"
    assert not named(of(steps=20_000))["certified-iterates"].valid  # there is no certificate
    with pytest.raises(ValueError, match="one order that repeats"):
        of(accounting="iterates", order="reshuffled")
    paper = named(of(calibration="paper"))
    assert paper["certified-iterates"].mu <= paper["exact-sensitivities"].mu
