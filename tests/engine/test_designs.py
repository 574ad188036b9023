"""Users whom the engine draws (`designs`, `kernel.user_drawing`) have the laws of their population."""

import numpy as np
import pytest
from scipy import stats

from dpexp.config.experiment_file import load_experiment
from dpexp.engine.linear.linear_pass import draw_users
from dpexp.problems import PROBLEMS

COLUMNS = (
    {"law": "normal", "sd": 2, "mean": 1}, {"law": "normal"}, {"law": "bernoulli", "p": 0.3, "low": -1, "high": 2},
    {"law": "categorical", "p": (0.2, 0.3, 0.5)}, {"law": "t", "df": 4.5}, {"law": "uniform", "low": 1, "high": 3},
    {"law": "t", "df": 3},
)  # fmt: skip


def users(**population):
    """Columns and errors of 40,000 users."""
    problem = PROBLEMS["huber-linear"](scale="known", population=population)
    x, y = draw_users(problem.model(), 40_000, 3)
    return x[:, 1:], y - x @ problem.true_coefficients


def test_columns_have_their_laws_and_normals_their_correlation():
    x, e = users(design={"columns": COLUMNS, "correlation": {"ar1": -0.6}}, errors={"law": "laplace", "scale": 2})
    laws = {0: stats.norm(1, 2), 1: stats.norm, 5: stats.t(4.5), 6: stats.uniform(1, 2), 7: stats.t(3)}
    assert min(stats.kstest(x[:, j], law.cdf).pvalue for j, law in laws.items()) > 1e-4
    assert np.corrcoef(x[:, :2].T)[0, 1] == pytest.approx(-0.6, abs=0.02)
    assert [np.mean(x[:, 2] == value) for value in (-1, 2)] == pytest.approx([0.7, 0.3], abs=0.01)
    assert x[:, 3:5].mean(axis=0) == pytest.approx([0.3, 0.5], abs=0.01)
    assert not np.any(x[:, 3] * x[:, 4])
    assert stats.kstest(e, stats.laplace(scale=2).cdf).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [{"exchangeable": 0.3}, ((1.0, 0.3, 0.3), (0.3, 1.0, 0.3), (0.3, 0.3, 1.0))])
def test_rows_of_t_have_one_factor_and_heteroscedastic_errors_grow(correlation):
    errors = {"law": "t", "df": 3, "scale": 1, "heteroscedastic": (0.5, 2.0)}
    x, e = users(d=3, design={"law": "t", "df": 5, "correlation": correlation}, errors=errors)
    length = np.einsum("ij,jk,ik->i", x, np.linalg.inv(0.7 * np.eye(3) + 0.3), x)
    assert stats.kstest(length / 3, stats.f(3, 5).cdf).pvalue > 1e-4
    assert stats.kstest(e / (0.5 + 2 * np.abs(x[:, 0])), stats.t(3).cdf).pvalue > 1e-4


def test_rows_of_more_columns_than_lanes_are_drawn_whole(tmp_path):
    table, path = np.round(np.random.default_rng(0).random((12, 9)), 3), tmp_path / "t.yaml"
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header="a,b,c,d,e,f,g,h,i", comments="")
    path.write_text("{experiment: t, problem: {name: huber-linear}, population: {design: {rows: rows.csv}}}")
    cell = load_experiment(path, ["run.n=9", "privacy.mu=1"]).cells[0]
    x, _ = draw_users(cell.problem.model(), 400, 3)
    assert {*map(tuple, x[:, 1:])} == {*map(tuple, table)}
