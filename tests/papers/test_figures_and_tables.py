"""Figures and tables come from stored results and show exactly their numbers."""

import io
import re
from collections import Counter

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from dpexp.papers import figures, overlays, tables
from dpexp.reporting.figure import STYLE
from dpexp.store.reading import load_summary
from tests.conftest import COSTLY, ROOT, at_length, in_share
from tests.reporting.referee import faults
from tests.toy_experiments import numbers_of

FIGURES, THEORY, TABLES = figures(), overlays(), tables()

pytestmark = pytest.mark.slow  # experiments run at toy size first


WITH_RESULTS = [name for name, figure in FIGURES.items() if figure.needs and not COSTLY & set(figure.needs)]
OF_THEIR_OWN = [name for name in WITH_RESULTS if in_share(name, 10 if re.search("_d(10|20)$", name) else 3)]
"""a third of them, and few of those that differ from another one by the dimension alone; `make soak` tries all"""


def needed(shown, toys):
    """Toy results of what a figure or table declares, and of nothing else."""
    return toys.results(shown.needs)


@pytest.mark.parametrize("name", OF_THEIR_OWN)
def test_means_are_those_that_are_stored(name, toys):
    """Every mean of a figure's CSV is the mean of some stored summary; that it is drawn at all is tested for all alike."""
    results = needed(FIGURES[name], toys)
    data = pd.read_csv(numbers_of(FIGURES[name], toys), comment="#")
    if "mean" not in data:
        pytest.skip("shows no means")
    if "ci_lo" in data:
        data = data[data.ci_lo.notna()]  # single replicates have no interval
    assert len(data)
    stored = np.sort(np.concatenate([load_summary(results, name)["mean"] for name in FIGURES[name].needs]))
    place = np.clip(np.searchsorted(stored, data["mean"]), 1, len(stored) - 1)
    nearest = np.minimum(np.abs(stored[place] / data["mean"] - 1), np.abs(stored[place - 1] / data["mean"] - 1))
    assert nearest.max() < 1e-5  # six digits are written
    if "ci_lo" in data:
        assert (data.ci_lo <= data["mean"]).all()
        assert (data["mean"] <= data.ci_hi).all()


def drawn(name, toys):
    """The numbers of a figure that needs no stored results."""
    assert not FIGURES[name].needs
    return pd.read_csv(numbers_of(FIGURES[name], toys), comment="#")


def test_the_figure_of_noisy_sgd(toys):
    data = drawn("noisy_sgd_figure1", toys)
    assert (data.exact_pm > data.exact_paper).all()
    assert (data.symmetrised_over_exact >= 1).all()
    assert data.literal_over_exact.min() == pytest.approx(19.2, abs=0.1)  # (3.6) itself accuses nobody here
    assert data[data.composition_over_exact < 1].steps.max() in range(25, 30)  # only T times the printed S_alpha does
    assert (data.composition_symmetrised_over_exact >= 1).all()


@at_length
@pytest.mark.parametrize("name", ["figure2", "figure4", "linear_loss_d10"])
def test_theory_is_laid_over_the_measured_means(name, toys):
    results = needed(THEORY[name], toys)
    assert THEORY[name].name == f"{name}_theory"
    content = THEORY[name].draw(results).files(name, [])[f"{name}.csv"]  # a picture takes longer than its numbers
    data = pd.read_csv(io.BytesIO(content), comment="#")
    assert {"mean", "bound", "prediction", "asymptote"} <= set(data.columns)
    last = data[(data.step == data.step.max()) & np.isinf(data.mu) & (data.alpha < 1)]
    assert len(last) == 6
    assert (last.bound > last["mean"]).all()
    assert (last.prediction / last["mean"]).between(0.1, 10).all()
    plain = load_summary(results, THEORY[name].needs[0])
    metric = "param_distance_sq" if name == "figure2" else "loss_gap"
    assert set(data["mean"]) <= {float(f"{v:.6g}") for v in plain[plain.metric == metric]["mean"]}


@pytest.mark.parametrize("name", ["figure1", pytest.param("figure4_d20", marks=at_length), "rates", "momentum_epochs"])
def test_a_figure_has_no_words_on_top_of_each_other_and_nothing_cut(name, toys):
    with mpl.rc_context(fname=STYLE):
        drawing = FIGURES[name].draw(needed(FIGURES[name], toys))
        assert faults(drawing.canvas) == []


def test_table1_holds_printed_exponents_beside_fitted_slopes(toys):
    results = needed(TABLES["table1"], toys)
    rows = pd.DataFrame(TABLES["table1"].build(results).records)
    row = rows[(rows.experiment == "rates_linear") & (rows.estimator == "asgd")]
    assert set(row[row.alpha < 0.4].table1) == {-1.0}
    assert row[row.alpha == 0.5].table1.isna().all()
    fitted = rows[rows.slope.notna()]
    assert (fitted.ci_lo <= fitted.slope).all()
    assert (fitted.slope <= fitted.ci_hi).all()


def test_what_the_page_says_of_intervals_is_in_the_table():
    table = (ROOT / "results/tables/coverage.md").read_text().splitlines()
    verdicts = Counter(row.split("|")[-2].strip() for row in table if re.search("(staged|central)-newton", row))
    page = " ".join((ROOT / "docs/inference.md").read_text().split())
    counts = f"{verdicts['holds']} hold and {verdicts['conservative']} are conservative"
    assert f"Of {verdicts.total()} settings of fits {counts}" in page
