"""`design: {rows: FILE}`: users are drawn from a public table, and means over rows are finite sums."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpexp.config.experiment_file import load_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.engine.linear.linear_pass import draw_users

CONFIG = """experiment: t
problem: {{name: mallows-logistic}}
population: {{design: {{{design}}}, {rest}coefficients: [0.5, 1, -1]}}
privacy: {{mu: 1}}
run: {{n: 100, replicates: 8}}
"""
ROWS = np.random.default_rng(4).standard_normal((37, 2)).round(3)


def load(folder, design="rows: rows.csv", rest="", rows=ROWS):
    np.savetxt(folder / "rows.csv", rows, "%.3f", ",", header="a,b", comments="")
    path = folder / "t.yaml"
    path.write_text(CONFIG.format(design=design, rest=rest))
    return load_experiment(path).cells[0]


def test_users_are_drawn_uniformly_and_risks_are_sums_over_the_rows(tmp_path):
    problem = load(tmp_path).problem
    x, _ = draw_users(problem.model(), 37_000, 1)
    places = np.argmin(np.abs(x[:, None, 1:] - ROWS).sum(axis=2), axis=1)
    np.testing.assert_allclose(x[:, 1:], ROWS[places], atol=1e-12)
    counts = np.bincount(places, minlength=37)
    # chi-square with 36 degrees of freedom: 1e-4 beyond 78
    assert np.sum((counts - 1000) ** 2 / 1000) < 78
    # by another route: the sum written out, and another program's minimum
    z = np.insert(ROWS, 0, 1.0, axis=1)
    weight, chance = np.minimum(1, 2 / np.sum(z * z, axis=1)), 1 / (1 + np.exp(-z @ [0.5, 1, -1]))

    def risk(theta):
        t = z @ theta
        return float(np.mean(weight * (np.logaddexp(0, t) - chance * t)))

    best = minimize(risk, np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(problem.optimum(), best.x, atol=1e-5)
    states = np.array([[0.0, 0, 0], [1, -1, 0.3], [0.4, 0.9, -1.1]])
    gaps = [risk(state) - risk(problem.optimum()) for state in states]
    np.testing.assert_allclose(problem.risk_gap(states), gaps, rtol=1e-10)
    looked = problem.metrics(np.repeat(states[:, :, None], 8, axis=2)).loss_gap
    np.testing.assert_allclose(looked[:, 0], gaps, rtol=1e-8)
    p = chance * (1 - chance) * weight
    np.testing.assert_allclose(problem.curvature().hessian, (z * p[:, None]).T @ z / 37, rtol=1e-9)


def test_the_cell_is_that_of_the_content(tmp_path):
    first = load(tmp_path).cell_id
    assert load(tmp_path).cell_id == first
    assert load(tmp_path, rows=ROWS + 0.5).cell_id != first
    # rows are bounded, so that weights are not needed for a budget
    longest = np.sqrt(1 + np.max(np.sum(ROWS**2, axis=1)))
    bare = load(tmp_path, rest="weights: none, ").problem
    assert bare.exact_sensitivity() == pytest.approx(2 * longest)


@pytest.mark.parametrize(("rest", "attained"), [("weights: none, ", False), ("", True)])
def test_a_bound_on_what_two_rows_of_a_table_can_send_is_not_called_attained(tmp_path, rest, attained):
    cell = load(tmp_path, rest=rest, rows=np.abs(ROWS))
    mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    assert any(row.side == "below" for row in mechanism.in_random_order()) == attained
    if not attained:
        # by enumeration: messages of different rows, with scores of at most 1
        z = np.insert(np.abs(ROWS), 0, 1.0, axis=1)
        farthest = max(np.linalg.norm(a + b) for k, a in enumerate(z) for b in z[:k])
        assert farthest < cell.problem.exact_sensitivity() - 1e-9


@pytest.mark.parametrize(
    ("design", "rest", "rows", "place", "key"),
    [
        ("rows: none.csv", "", ROWS, "3:29", "no such file"),
        ("rows: rows.csv, correlation: {ar1: 0.5}", "", ROWS, "3:52", "correlation"),
        ("rows: rows.csv", "", np.array([[1, 2], [np.nan, 2]]), "3:29", "rows.csv:3"),
        ("rows: rows.csv", "", ROWS[:, :1] * [1, 2], "3:29", "dependent: a, b"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_at_its_place(tmp_path, design, rest, rows, place, key):
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, design, rest, rows)
    assert f"t.yaml:{place}" in str(refused.value)
    assert key in str(refused.value)
