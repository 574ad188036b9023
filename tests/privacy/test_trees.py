"""Trees of `momentum`: covers, counts, exact sensitivities, the streams of Algorithm 2 and what noise they need."""

import math

import numpy as np
import pytest

from dpexp.accounting.gaussian import delta_of, mu_of
from dpexp.engine.finite_sum.noise_designs import (
    square_root_noise,
    tree_variance,
)
from dpexp.engine.finite_sum.noise_windows import stream_variances
from dpexp.privacy.momentum import tree_streams as streams
from dpexp.privacy.momentum.left_nodes import left_sensitivities
from dpexp.privacy.momentum.trees import (
    cover,
    exact_node_std,
    fixed_order,
    node_counts,
    printed_count,
    printed_node_std,
    reshuffled_bound,
    reshuffled_order,
    square_root_sensitivity_fixed,
    squared_sensitivities,
)
from dpexp.theory.momentum import formulas
from tests.oracles import trees
from tests.oracles.trees import largest_count, largest_node_sensitivity

DELTA = 1e-5


def left_sensitivity(n, steps):
    return squared_sensitivities(fixed_order(n, steps), 1 / n).max()


def test_covers_are_disjoint_minimal_and_made_of_nodes():
    known = set(trees.nodes(130))
    for last in range(1, 131):
        assert all(y == 1 or (y - 1) // (z - y + 1) % 2 == 0 for y, z in cover(1, last))
        for first in range(1, last + 1, 1 if last <= 40 else 13):
            nodes = cover(first, last)
            assert [t for y, z in nodes for t in range(y, z + 1)] == list(range(first, last + 1))
            assert known.issuperset(nodes)
            assert len(nodes) == trees.smallest_cover(first, last)
    assert cover(5, 4) == cover(1, 0) == []
    with pytest.raises(ValueError):
        cover(0, 3)


@pytest.mark.parametrize(
    ("n", "steps", "attained", "printed"),
    [(3, 9, 9, 9), (3, 10, 11, 9.67), (4, 16, 15, 15), (4, 18, 17, 16.5), (5, 23, 17, 16.8)],
)
def test_counts_against_brute_force(n, steps, attained, printed):
    assert trees.most_nodes(n, steps) == attained
    assert node_counts(fixed_order(n, steps)).max() == attained
    assert printed_count(n, steps) == pytest.approx(printed, abs=5e-3)
    assert largest_count(n, steps) in (attained, attained + (n == 5))
    assert (printed_count(n, steps) < attained) == (steps % n != 0)


def test_the_corrected_count_is_an_upper_bound():
    attained = 0
    for n in range(1, 6):
        for steps in range(n, 5 * n + 1):
            true = trees.most_nodes(n, steps)
            assert true <= largest_count(n, steps)
            attained += true == largest_count(n, steps)
            if steps % n == 0:
                assert true <= printed_count(n, steps)
    assert attained == 55


@pytest.mark.parametrize(("n", "steps"), [(5, 37), (3, 10), (7, 64), (8, 64), (20, 13), (1, 9)])
@pytest.mark.parametrize("alpha", [0.05, 0.2, 1.0])
def test_sensitivities_are_the_sums_over_nodes(n, steps, alpha):
    for items in (fixed_order(n, steps), reshuffled_order(np.random.default_rng(steps), n, steps)):
        for left_only in (True, False):
            fast = squared_sensitivities(items, alpha, left_only=left_only)
            slow = [trees.squared_sensitivity(items, alpha, i, left_only) for i in range(len(fast))]
            np.testing.assert_allclose(fast, slow, rtol=1e-12)
            if left_only:
                np.testing.assert_allclose(left_sensitivities(items, alpha), slow, rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "steps", "paper", "every", "left", "bound"),
    [
        (100, 1000, 324, 73.4, 46.4, 167.5),
        (1000, 7265, 334.6, None, 55.8, 187),
        (1000, 10**4, 464, 114.7, 70.0, 235.6),
        (1000, 30000, 1416, None, 206, None),
        (1000, 10**5, 4764, 1070, 676, 2407),
    ],
)
def test_published_sensitivities(n, steps, paper, every, left, bound):
    assert paper == pytest.approx(4 * printed_count(n, steps), abs=0.05)
    assert left == pytest.approx(left_sensitivity(n, steps), rel=2e-3)
    if every:
        items = fixed_order(n, steps)
        assert every == pytest.approx(squared_sensitivities(items, 1 / n, left_only=False).max(), rel=1e-3)
    if bound:
        assert bound == pytest.approx(reshuffled_bound(n, steps, 1 / n), rel=1e-3)


def test_drawn_orders_need_less_than_the_printed_noise_and_the_bound():
    rng = np.random.default_rng(0)
    drawn = [squared_sensitivities(reshuffled_order(rng, 100, 1000), 0.01).max() for _ in range(20)]
    assert 41 < min(drawn) < max(drawn) < 50  # 43.6 to 47.2 in the sheet's draws
    assert max(drawn) < reshuffled_bound(100, 1000, 0.01) < 4 * printed_count(100, 1000)


def test_the_reshuffled_bound_holds_and_stays_below_four_times_the_count():
    rng = np.random.default_rng(1)
    for n in range(2, 12):
        for steps in (n, 2 * n + 1, 5 * n, 64):
            for alpha in (1 / n, min(1.0, 3 / n)):
                bound = reshuffled_bound(n, steps, alpha)
                every = reshuffled_bound(n, steps, alpha, left_only=False)
                assert bound <= every
                assert bound < 4 * largest_count(n, steps)
                items = reshuffled_order(rng, n, steps)
                assert squared_sensitivities(items, alpha).max() <= bound * (1 + 1e-12)
                assert squared_sensitivities(items, alpha, left_only=False).max() <= every * (1 + 1e-12)


def test_a_node_can_exceed_the_printed_sensitivity_under_reshuffling():
    assert 2 * largest_node_sensitivity(1000, 1e-3) == pytest.approx(3.16, abs=5e-3)
    for n, size in ((100, 5.12), (1000, 5.16)):
        assert 2 * largest_node_sensitivity(n, 1 / n, reshuffled=True) == pytest.approx(size, abs=0.01)
    n, alpha = 5, 0.2  # record 0 ends all epochs but the last, which it begins, at the end of the node [1, 16]
    items = np.array([1, 2, 3, 4, 0] * 3 + [0, 1, 2, 3, 4])
    last = trees.squared_sensitivity(items, alpha, 0, False, keep=lambda start, end: end - start == 15)
    exact = 1 + 0.8 * (1 - 0.8**15) / (1 - 0.8**5)
    assert math.sqrt(last) == pytest.approx(exact, rel=1e-12)
    assert 2 < exact < largest_node_sensitivity(n, alpha, reshuffled=True)
    for size, least in ((10, 1.6), (100, 3.3), (1000, 5.2), (10**4, 7.2)):
        values = np.linspace(0.5, 10, 9501) / size
        fine = [a for a in values if largest_node_sensitivity(size, min(1.0, a), reshuffled=True) <= 2]
        assert fine[0] * size == pytest.approx(least, abs=0.06)


def values(alpha, items, n, current, anchors):
    """Node values of G, D and r for gradients current[t, record] and anchors[epoch, record]."""
    steps, beta = len(items), 1 - alpha
    q = np.arange(steps) // n
    sequences = (
        anchors[q, items],
        anchors[q, items] - anchors[np.maximum(q - 1, 0), items],
        current[np.arange(steps), items] - anchors[q, items],
    )
    return [
        {(y, z): sum(beta ** (z - t) * s[t - 1] for t in range(y, z + 1)) for y, z in trees.nodes(steps)}
        for s in sequences
    ]


@pytest.mark.parametrize("n", [1, 4, 7])
def test_equation_3_is_exact_for_one_order_and_false_under_reshuffling(n):
    rng = np.random.default_rng(n)
    steps, alpha, gamma = 30, 0.15, 0.3
    current, anchors = rng.standard_normal((steps, n)), rng.standard_normal((steps // n + 1, n))

    def error(items):
        momentum = np.zeros(steps)
        for t in range(steps):
            momentum[t] = (1 - alpha) * momentum[t - 1] * (t > 0) + current[t, items[t]]
        tables = values(alpha, items, n, current, anchors)
        return np.max(np.abs(trees.equation3(*tables, cover, n, alpha, gamma, steps) - momentum))

    assert error(fixed_order(n, steps)) < 1e-13
    if n > 1:
        assert error(reshuffled_order(rng, n, steps)) > 0.5


def stream_counts(n, steps):
    """Nodes of each stream that hold each record, integers [4, N], in one order that repeats; N <= T."""
    counts, time = np.zeros((4, n), dtype=int), np.arange(steps)
    for level in range(steps.bit_length()):
        index, record = np.unique(np.stack([time >> level, fixed_order(n, steps)]), axis=1)
        start, end = (index << level) + 1, (index + 1) << level
        for stream, kept in enumerate((end <= 2 * n, end > 2 * n, start > n, end > 0)):
            counts[stream] += np.bincount(record[kept & (end <= steps)], minlength=n)
    return counts


def test_counts_of_the_four_streams():
    assert stream_counts(1000, 200000).max(axis=1).tolist() == [21, 2367, 2368, 2386]
    early, later, *_ = streams.printed_counts(1000, 200000)
    assert (early, later) == (pytest.approx(29.9, abs=0.01), pytest.approx(7973, abs=0.5))
    for n in range(2, 20):
        true = stream_counts(n, 40 * n).max(axis=1)[0]
        assert true == 2 * (n.bit_length() - 1) + 3
        assert (streams.printed_counts(n, 40 * n)[0] < true - 1e-9) == (n <= 5)


@pytest.mark.parametrize("n", [1, 3, 8, 13])
def test_streams_against_sums_over_nodes(n):
    steps, alpha = 60, 1 / (n + 1)
    fast = streams.stream_sensitivities(n, steps, alpha, used_only=False)
    used = streams.stream_sensitivities(n, steps, alpha)
    items = fixed_order(n, steps)
    keeps = [lambda y, z: z <= 2 * n, lambda y, z: z > 2 * n, lambda y, z: y > n, lambda y, z: True]
    for row, keep in enumerate(keeps):
        slow = [trees.squared_sensitivity(items, alpha, i, False, keep) for i in range(n)]
        np.testing.assert_allclose(fast[row], slow, rtol=1e-12)
    short = [trees.squared_sensitivity(items, alpha, i, False, lambda y, z: y > n and z - y < n) for i in range(n)]
    np.testing.assert_allclose(used[2], short, rtol=1e-12)
    np.testing.assert_allclose(used[3], squared_sensitivities(items, alpha), rtol=1e-12)


def test_the_share_of_the_budget_that_each_stream_uses():
    """Shares of 3, at the printed counts and node sensitivities 4 G and 4 L eta N."""
    sensitivities = streams.stream_sensitivities(1000, 200000, 1e-3, used_only=False)
    counts = np.array(streams.printed_counts(1000, 200000))
    shares = sensitivities.max(axis=1) / (4 * counts)
    np.testing.assert_allclose(shares, [0.172, 0.066, 0.066, 0.067], atol=5e-4)
    assert streams.stream_mu(sensitivities, [1] * 4, 2 * np.sqrt(counts)) ** 2 == pytest.approx(0.37, abs=2e-3)
    small = streams.stream_sensitivities(8, 64, 1 / 8, used_only=False).max(axis=1) / (
        4 * np.array(streams.printed_counts(8, 64))
    )
    assert small.sum() == pytest.approx(0.58, abs=2e-3)


def test_sensitivities_of_summands_and_nodes():
    assert streams.occurrence_sensitivities(10, 0.1, 3, 2) == (6, 6, 4, 4)
    assert streams.node_sensitivities(10, 0.1, 3, 2) == (12, 12, 8, 8)
    assert streams.printed_sensitivities(10, 0.1, 3) == (12, 12, 2, 2)


def test_the_optimal_split_meets_its_budget_and_nothing_is_better():
    costs, coefficients, mu = np.array([3.0, 0.2, 7.0, 1.0]), np.array([0.5, 4.0, 0.1, 2.0]), 0.7
    best = streams.optimal_split(costs, coefficients, mu)
    assert np.sum(costs / best**2) == pytest.approx(mu**2, rel=1e-12)
    rng = np.random.default_rng(6)
    for _ in range(200):
        other = best * np.exp(0.3 * rng.standard_normal(4))
        other *= math.sqrt(np.sum(costs / other**2)) / mu
        assert coefficients @ other**2 >= coefficients @ best**2 * (1 - 1e-12)
    assert streams.optimal_split([1, 0, 1, 1], [1, 1, 0, 1], 1).tolist()[1:3] == [0, math.inf]
    with pytest.raises(ValueError):
        streams.optimal_split([1], [1], 0)


def algorithm2(n, steps, d, eta, gamma, G=1.0, L=1.0, eps=1.0):
    """(printed, optimal split) root mean square of the noise in the momentum over the second half of a run."""
    mu = mu_of(eps, DELTA)
    whole = stream_variances(n, steps, 1 / n, gamma) / n**2
    sensitivities, units = streams.stream_sensitivities(n, steps, 1 / n), streams.occurrence_sensitivities(n, eta, G, L)
    best = streams.optimal_split(sensitivities.max(axis=1) * np.square(units), whole.mean(axis=1), mu)
    assert streams.stream_mu(sensitivities, units, best) <= mu * (1 + 1e-12)
    paper = (
        formulas.theorem8_sigma(eps, DELTA)
        * np.array(streams.node_sensitivities(n, eta, G, L))
        * np.sqrt(streams.printed_counts(n, steps))
    )
    late = whole[:, steps // 2 :].mean(axis=1)
    return (
        math.sqrt(d * (whole.mean(axis=1) @ paper**2)),
        math.sqrt(d * (whole.mean(axis=1) @ best**2)),
        math.sqrt(d * (late @ paper**2)),
    )


def test_the_split_of_the_budget_cuts_the_noise_of_algorithm_2():
    eta = 2 / 30000
    printed, split, _ = algorithm2(1000, 30000, 1, eta, 1000 * eta)
    assert printed == pytest.approx(1.559, rel=5e-3)
    assert split == pytest.approx(0.210, abs=5e-4)
    assert printed / split == pytest.approx(7.4, abs=0.1)


@pytest.mark.parametrize(
    ("n", "d", "eps", "paper", "exact"),
    [(250, 10, 1, 3.19, 0.74), (1000, 10, 1, 1.76, 0.395), (1000, 100, 1, 3.21, 0.78), (1000, 10, 4, 0.83, 0.20)],
)
def test_noise_of_algorithm_1_at_its_own_schedule(n, d, eps, paper, exact):
    schedule = formulas.theorem6_schedule(n, d, eps, DELTA)
    T, sigma = schedule.steps, formulas.theorem4_sigma(eps, DELTA)
    scale = math.sqrt(d * tree_variance(schedule.alpha, T).mean())  # over all steps; the published ones are sampled
    printed = printed_node_std(schedule.alpha, 1, sigma, printed_count(n, T)) * scale
    assert printed == pytest.approx(paper, rel=0.01)
    least = exact_node_std(schedule.alpha, 1, mu_of(eps, DELTA), left_sensitivity(n, T)) * scale
    assert least == pytest.approx(exact, rel=0.012, abs=0.005)


def test_noise_of_algorithm_2_at_its_own_schedule():
    schedule = formulas.theorem9_schedule(250, 10, 1, DELTA)
    *_, late = algorithm2(250, schedule.steps, 10, schedule.eta, schedule.gamma)
    assert late == pytest.approx(54.3, rel=2e-3)


@pytest.mark.parametrize(("epochs", "tree", "windows"), [(30, 0.135, 0.133), (100, 0.245, 0.135), (300, 0.42, 0.134)])
@pytest.mark.slow
def test_the_crossing_of_the_two_algorithms_at_a_fixed_path(epochs, tree, windows):
    """Rippled pseudo-Huber loss: G = 1.5, L = 2; noise in units of G."""
    n, path, G, L = 2000, 2.2, 1.5, 2.0
    steps = n * epochs
    scale = math.sqrt(tree_variance(1 / n, steps).mean())
    assert exact_node_std(1 / n, 1, mu_of(1, DELTA), left_sensitivity(n, steps)) * scale == pytest.approx(
        tree, rel=0.01
    )
    eta = path / steps
    _, split, _ = algorithm2(n, steps, 1, eta, min(0.5, L * eta * n / G), G, L)
    assert split / G == pytest.approx(windows, rel=0.01)


@pytest.mark.parametrize(
    ("eps", "printed", "best", "exact", "saving", "printed8", "exact8", "saving8"),
    [
        (0.1, 67.86, 48.09, 30.75, 2.21, 135.7, 53.3, 2.55),
        (0.5, 13.57, 9.70, 7.03, 1.93, 27.1, 12.2, 2.23),
        (1, 6.786, 4.901, 3.731, 1.82, 13.57, 6.46, 2.10),
        (4, 1.697, 1.296, 1.081, 1.57, 3.39, 1.87, 1.81),
        (8, 0.848, 0.690, 0.600, 1.41, 1.70, 1.04, 1.63),
    ],
)
def test_multipliers(eps, printed, best, exact, saving, printed8, exact8, saving8):
    """One stream, and three of 1 / sigma each: the noise that Gaussian DP asks for is `saving` times smaller."""
    four, eight, least = formulas.theorem4_sigma(eps, DELTA), formulas.theorem8_sigma(eps, DELTA), 1 / mu_of(eps, DELTA)
    found = (four, formulas.theorem4_sigma_best_order(eps, DELTA), least)
    assert found == tuple(pytest.approx(value, rel=1.5e-3) for value in (printed, best, exact))
    found = (four / least, eight, math.sqrt(3) * least, eight / (math.sqrt(3) * least))
    assert found == tuple(pytest.approx(value, rel=3e-3) for value in (saving, printed8, exact8, saving8))
    assert delta_of(1 / least, eps) == pytest.approx(DELTA, rel=1e-9)


@pytest.mark.parametrize(
    ("steps", "alpha", "paper", "left", "root", "independent"),
    [
        (1000, 0.1, 0.875, 0.2237, 0.1451, 0.229), (1000, 0.01, 0.1158, 0.0427, 0.0213, 0.0691),
        (1000, 0.001, 0.0135, 0.00622, 0.00278, 0.0169), (10**4, 0.01, 0.138, 0.0430, 0.0214, 0.0707),
        (10**4, 0.001, 0.0167, 0.00657, 0.00285, 0.0218), (10**4, 1e-4, 0.00185, 0.00086, 0.00035, 0.00533),
    ],
)  # fmt: skip
def test_errors_of_one_pass(steps, alpha, paper, left, root, independent):
    items = np.arange(steps)
    tree = alpha * math.sqrt(tree_variance(alpha, steps).mean())
    every = squared_sensitivities(items, alpha, left_only=False)
    assert every.max() == largest_count(steps, steps)  # attained at the longest node's end, without any discount
    assert int(every.argmax()) + 1 == 1 << (steps.bit_length() - 1)
    assert 2 * tree * math.sqrt(every.max()) == pytest.approx(paper, rel=4e-3)
    assert tree * math.sqrt(squared_sensitivities(items, alpha).max()) == pytest.approx(left, rel=7e-3)
    rms = math.sqrt(trees.square_root_variance(alpha, steps).mean())
    assert alpha * rms * math.sqrt(square_root_sensitivity_fixed(steps, steps, alpha)) == pytest.approx(root, rel=7e-3)
    assert alpha * math.sqrt(trees.independent_variance(alpha, steps).mean()) == pytest.approx(independent, rel=3e-3)


@pytest.mark.parametrize(
    ("n", "epochs", "every", "left", "root", "independent"),
    [(1000, 30, 2.09, 2.62, 5.08, 0.69), (100, 10, None, None, 4.57, 1.51)],
)
def test_errors_of_many_passes_beside_the_printed_calibration(n, epochs, every, left, root, independent):
    steps, alpha = n * epochs, 1 / n
    rms = math.sqrt(tree_variance(alpha, steps).mean())
    paper = 2 * math.sqrt(printed_count(n, steps)) * rms
    if every:
        all_nodes = squared_sensitivities(fixed_order(n, steps), alpha, left_only=False).max()
        assert 2 * math.sqrt(printed_count(n, steps) / all_nodes) == pytest.approx(every, abs=5e-3)
        assert 2 * math.sqrt(printed_count(n, steps) / left_sensitivity(n, steps)) == pytest.approx(left, abs=5e-3)
    error = math.sqrt(square_root_sensitivity_fixed(n, steps, alpha) * trees.square_root_variance(alpha, steps).mean())
    assert paper / error == pytest.approx(root, abs=5e-3)
    assert paper / math.sqrt(epochs * trees.independent_variance(alpha, steps).mean()) == pytest.approx(
        independent, abs=5e-3
    )


@pytest.mark.parametrize(("n", "steps", "alpha"), [(5, 37, 0.2), (7, 64, 0.05), (3, 20, 1.0), (20, 13, 0.1)])
def test_the_square_root_is_as_sensitive_as_its_largest_column(n, steps, alpha):
    root = square_root_noise(np.eye(steps), alpha)
    items = fixed_order(n, steps)
    marks = np.equal.outer(items, np.arange(items.max() + 1)).astype(float)
    slow = np.sum((root @ marks) ** 2, axis=0).max()
    assert square_root_sensitivity_fixed(n, steps, alpha) == pytest.approx(slow, rel=1e-12)


def test_impossible_numbers_are_refused():
    for call in (
        lambda: squared_sensitivities(fixed_order(3, 9), 0.0),
        lambda: largest_node_sensitivity(0, 0.5),
        lambda: exact_node_std(0.1, 1, 0, 1),
    ):
        with pytest.raises(ValueError):
            call()
