"""Claims about single sentences by a second route each: simulation, brute force, finite differences, closed forms."""

import math

import numpy as np
import pytest

from dpexp.papers.hidden_state.hidden_state_figures import CLOSE, crossing
from dpexp.papers.noisy_sgd.claims.instances import Q
from tests.papers.statements.dp_sgld import utility
from tests.papers.statements.momentum import lemmas, privacy
from tests.papers.statements.noisy_sgd import appendix, sections


def test_two_point_divergences_are_those_of_coins():
    p, r = np.array([0.6]), np.array([0.5])
    series = math.log(0.5 * (1.2**100 + 0.8**100)) / 99
    back = math.log(0.6 * (0.5 / 0.6) ** 100 + 0.4 * (0.5 / 0.4) ** 100) / 99
    assert appendix.largest_two_point(p, r) == pytest.approx(max(series, back), rel=1e-12)
    # what is below the least probability that is trusted counts as that
    assert appendix.largest_two_point(np.array([0.5]), np.array([0.0])) < math.log(1 / appendix.SEEN)


def test_walks_above_the_ends_of_panels_by_simulation():
    """P(w_t > -h), P(w_t > 0) and P(w_t = h) of the banded matrix in a small set, against 200,000 walks."""
    steps, half = 5, appendix.APART
    found = appendix._above(half, appendix._moves(0.5, 0.8), (steps,))[steps]
    rng = np.random.default_rng(3)
    for k, start in enumerate(appendix.STARTS):
        w = np.full(200_000, 2 * half * start)
        for _ in range(steps):
            w = np.clip(w + 0.8 * (rng.random(len(w)) < 0.5) + rng.standard_normal(len(w)), -half, half)
        drawn = [np.mean(w > -half), np.mean(w > 0), np.mean(w == half)]
        assert found[:, k] == pytest.approx(drawn, abs=0.005)


def test_the_private_regime_stops_with_the_mixing_of_a_reflected_walk():
    """A reflected Brownian path on a width W forgets at the rate pi^2 / (2 W^2): steps to half lie at log(2) times that."""
    limit, steps = sections._half(Q, sections.SLOPE / 10, 10_000)
    mixing = 2 * sections.WIDTH**2 / math.pi**2
    assert 0.3 < steps / (mixing * math.log(2)) < 3
    assert limit < 0.01


def test_jacobians_of_clipped_gradients_by_finite_differences():
    places, h = sections.PLACES, 1e-6

    def clip(gradient):
        size = np.linalg.norm(gradient, axis=1)
        return gradient * np.minimum(1, sections.CLIP / np.maximum(size, 1e-300))[:, None]

    def gradient(w):
        return clip(w * sections.CURVATURES)

    moves = h * np.eye(2)
    numeric = np.stack([(gradient(places + m) - gradient(places - m)) / (2 * h) for m in moves], axis=2)
    jacobian, smoothness = sections.quadratic()
    away = np.abs(np.linalg.norm(places * sections.CURVATURES, axis=1) - sections.CLIP) > 1e-3
    assert np.allclose(jacobian[away], numeric[away], atol=1e-6)
    assert smoothness == 9

    x = sections.FEATURES[0]
    share = lambda w: clip(-(1 / (1 + np.exp(w @ x)))[:, None] * x)  # noqa: E731
    numeric = np.stack([(share(places + m) - share(places - m)) / (2 * h) for m in moves], axis=2)
    jacobian, _ = sections.logistic(x)
    away = np.abs(np.linalg.norm(x) / (1 + np.exp(places @ x)) - sections.CLIP) > 1e-2
    assert np.allclose(jacobian[away], numeric[away], atol=1e-6)


def apart():
    """The factor by which a step with eta M = 2 takes two places a tenth apart, by the step itself: no derivative."""

    def step(w):
        gradient = w * sections.CURVATURES
        scale = sections.CLIP / np.maximum(np.linalg.norm(gradient, axis=1), sections.CLIP)
        return w - 2 / max(sections.CURVATURES) * scale[:, None] * gradient

    angles = np.linspace(0, math.pi, 24, endpoint=False)
    moves = 0.1 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = sections.PLACES
    return max(np.max(np.linalg.norm(step(places + m) - step(places), axis=1)) / 0.1 for m in moves)


def test_clipped_steps_of_the_quadratic_expand_and_unclipped_ones_do_not(monkeypatch):
    """The factor above 1 is owed to clipping alone."""
    assert 1.1 < apart() < 1.2
    assert 1.1 < max(sections.stretch(*sections.quadratic())) < apart()  # near places, on a grid
    monkeypatch.setattr(sections, "CLIP", 1e9)
    assert apart() <= 1 + 1e-9
    assert max(sections.stretch(*sections.quadratic())) <= 1 + 1e-12


@pytest.mark.parametrize("reshuffled", [False, True])
def test_weights_of_a_record_by_the_recursion_of_the_momentum(reshuffled):
    """m_t with a record's gradient 1 and all others 0, step by step; constant gradients, so that iterates do not matter."""
    n, alpha = 10, 0.1
    first = 0 if reshuffled else n - 1
    used = {first + n * k for k in range(lemmas.EPOCHS - 1)} | {n * lemmas.EPOCHS - 1}
    m = [0.0]
    for t in range(n * lemmas.EPOCHS):
        m.append((1 - alpha) * m[-1] + alpha * (t in used))
    share = abs(m[-1] - m[-1 - n]) / m[-1]
    assert lemmas.weight_left(n, alpha, reshuffled) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize(("n", "most"), [(9, 2 * (1 + (8 / 9) / (1 - (8 / 9) ** 9))), (10, 4.487)])
def test_the_largest_node_of_fresh_orders_by_every_node_of_a_run(n, most):
    """For each node the best place in every epoch by itself: places of different epochs do not depend on each other."""
    beta, steps, found = 1 - 1 / n, 200 * n, 0.0
    for length in (2**b for b in range(steps.bit_length())):
        for end in range(length, steps + 1, length):
            places = {}
            for t in range(end - length + 1, end + 1):
                places[(t - 1) // n] = beta ** (end - t)  # the latest step of an epoch weighs most
            found = max(found, 2 * sum(places.values()))
    assert privacy.of_fresh_orders(n) == pytest.approx(most, abs=1e-3)
    assert found == pytest.approx(privacy.of_fresh_orders(n), rel=1e-5)
    assert found <= privacy.of_fresh_orders(n)


def test_the_floor_of_the_noise_on_quadratics_in_closed_form():
    """A step eta on a curvature h ends at sigma^2 / (2 (1 - eta h / 2)) a direction, so within 4/3 for eta h <= 1/2."""
    toy = utility._toy(0.5)
    eta, sigma = 1 / (2 * toy.smoothness), 3.0
    curvatures = np.linalg.eigvalsh(toy.hessian)
    floor = float(np.sum(sigma**2 / (2 * (1 - eta * curvatures / 2))))
    risk = utility.full_batch_risks(toy, np.full(400, eta), sigma)[-1]
    assert risk == pytest.approx(floor, rel=1e-6)
    assert toy.d * sigma**2 / 2 <= floor <= 4 / 3 * toy.d * sigma**2 / 2


def test_where_an_increasing_delta_reaches_a_level():
    """To two percent, also of a jump; inf where it never does."""
    for place in (2, 17, 1000, 9e7):
        found = crossing(lambda steps, place=place: 1e-3 * steps / place, 1e-3)
        assert place <= found <= max(math.ceil(place), place * (1 + CLOSE))
    assert crossing(lambda steps: 1e-9, 1e-3) == math.inf
    assert crossing(lambda steps: 1e-9 if steps < 777 else 1.0, 1e-3) == pytest.approx(777, rel=CLOSE)
    assert crossing(lambda steps: 0.0 if steps < 21 else 1.0, 1e-3) == 21
