"""Every check of a claim gives the expected verdict on good data, and another one on deliberately wrong data.

The replicates are surrogates: log-normal draws with the means and standard errors of the stored summaries, paired
across settings. The two privacy claims need real replicates and use toy-size runs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import pytest

from dpexp.config.cells import stored_cell
from dpexp.engine.result import CellData
from dpexp.papers import claims
from dpexp.papers.dp_sgld.claims import tuned
from dpexp.papers.ldp_sgd.claims import local_privacy
from dpexp.papers.momentum.claims.lemmas import lemma_5
from dpexp.papers.momentum.claims.run_claims import printed_bound, rate_6
from dpexp.papers.momentum.momentum_runs import PRESCRIBED, last_rows
from dpexp.plugins.loading import load_research
from dpexp.store.evidence import Evidence, Run
from dpexp.store.fingerprint import plugins_missing
from tests.conftest import AT_LENGTH, ROOT, using

RESULTS = ROOT / "results"
BY_ID = {claim.id: claim for each in claims().values() for claim in each}
METRICS = ("param_distance_sq", "coef_distance_sq", "loss_gap", "projections")
REPLICATES = 40
FEWER = 3
"""one checkpoint in so many is looked at, the last one among them, but by claims that average over all of them"""


class Surrogates(Evidence):
    """Evidence drawn from summaries, then corrupted. `forgets`: iterates forget their past in a twentieth of n."""

    def __init__(self, corrupt=None, forgets=False, fewer=FEWER):
        super().__init__(RESULTS)
        self.corrupt, self.how = corrupt, (forgets, fewer)

    def _load(self, experiment):
        runs = drawn_runs(experiment, *self.how)
        return self.corrupt(runs) if self.corrupt else runs


@lru_cache(maxsize=8)
def drawn_runs(experiment, forgets, fewer):
    """Surrogates of the runs of an experiment: many claims after each other read the same ones."""
    return [drawn(thinned(run, fewer), forgets) for run in stored_runs(experiment)]


def thinned(run, fewer):
    """The run at one checkpoint in so many, the last one among them."""
    seen = np.arange(len(run.steps))[::-fewer][::-1]
    return replace(run, data=run.data._replace(steps=run.steps[seen], values=run.data.values[:, seen]))


def drawn(run, forgets):
    rng = np.random.default_rng(7)  # the same for every run: paired
    common = rng.standard_normal(REPLICATES)
    mean, relative_se = run.data.values[..., 0], run.data.values[..., 1]
    values = np.empty((*mean.shape, REPLICATES))
    forgetful = forgets or run.cell.experiment.startswith(("rates", "long"))
    for e, shared in zip(range(len(mean)), (0.98, 0.995, 0.995), strict=False):
        own = rng.standard_normal((mean.shape[1], REPLICATES))
        if forgetful:  # runs that have forgotten their start: an average's memory is the root of the ratio of steps
            z = own.copy()
            for k in range(1, len(z)):
                rho = (run.steps[k - 1] / run.steps[k]) ** (0.5 if e else 40 if forgets else 8)
                z[k] = rho * z[k - 1] + np.sqrt(1 - rho**2) * own[k]
        else:
            z = shared * common + np.sqrt(1 - shared**2) * own
        z = (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, ddof=1, keepdims=True)
        s = np.sqrt(np.log1p(relative_se[e] ** 2 * REPLICATES))
        draw = np.exp(s[..., None] * z[:, None, :])
        values[e] = mean[e][..., None] * draw / draw.mean(axis=-1, keepdims=True)
    return replace(run, data=run.data._replace(values=values))


FORGETTING = {"ldp-sgd/prediction/linearised", "ldp-sgd/prediction/loss-gap", "ldp-sgd/prediction/loss-gap-of-rates"}
"""claims that average iterates over a decade, in which these forget their past"""


def evidence_of(name, corrupt=None):
    """The surrogates with which a claim is tried."""
    whole = name in FORGETTING or name == "ldp-sgd/section-5/asgd-slower"
    return Surrogates(corrupt, name in FORGETTING, 1 if whole else FEWER)


_STORED: dict[str, list[Run]] = {}


def stored_runs(experiment):
    """Runs whose values hold [mean, relative standard error] of the stored summary in place of replicates."""
    if experiment not in _STORED:
        folder = RESULTS / experiment
        manifest = json.loads((folder / "manifest.json").read_text())
        parameters = manifest["cells"]
        rows = pd.read_parquet(folder / "cells.parquet").to_dict("records")
        summary = pd.read_parquet(folder / "summary.parquet").sort_values("step", kind="stable")
        of_cells = {
            cell: dict(iter(part.groupby(["estimator", "metric"]))) for cell, part in summary.groupby("cell_id")
        }
        runs = []
        for row in rows:
            mine = of_cells[row["cell_id"]]
            steps = next(iter(mine.values())).step.to_numpy()
            estimators = tuple(sorted({estimator for estimator, _ in mine}, reverse=True))
            every = tuple(dict.fromkeys(metric for _, metric in mine))
            others = tuple(name for name in every if name.startswith("coefficient_") or name.endswith("_controlled"))
            metrics = (*METRICS, *others) if estimators == ("sgd", "asgd") else every
            values = np.empty((len(estimators), len(steps), len(metrics), 2))
            for e, estimator in enumerate(estimators):
                for m, metric in enumerate(metrics):
                    mean, se = (mine[estimator, metric][name].to_numpy() for name in ("mean", "se"))
                    values[e, :, m, 0] = mean
                    values[e, :, m, 1] = se / np.maximum(np.abs(mean), 1e-300)
            data = CellData(steps, estimators, metrics, values)
            with using():
                load_research(plugins_missing(manifest["code"].values()))
                cell = stored_cell(experiment, parameters[row["cell_id"]])
            runs.append(Run(cell, row, data))
        _STORED[experiment] = sorted(runs, key=lambda r: (r.alpha, np.nan_to_num(r.row["gdp_mu"]), r.budget))
    return _STORED[experiment]


def changed(run, values):
    return replace(run, data=run.data._replace(values=values))


def each(change):
    """Every run with other numbers: `change` gets the run, and a copy of its values that it changes in place."""

    def corrupt(runs):
        copies = [(run, run.data.values.copy()) for run in runs]
        for run, values in copies:
            change(run, values)
        return [changed(run, values) for run, values in copies]

    return corrupt


def swapped(runs):
    """The average's numbers under the iterate's name and the other way round."""
    return [changed(run, run.data.values[::-1]) for run in runs]


def average_like_iterate(runs):
    return [changed(run, run.data.values[[0, 0]]) for run in runs]


def of(run, number):
    """A number, or what it is for this run."""
    return number(run) if callable(number) else number


def errors(run):
    """Places of the squared errors and losses among a run's metrics."""
    return [m for m, name in enumerate(run.data.metrics) if name.removesuffix("_controlled") in METRICS[:3]]


def times(factor, estimators=("sgd", "asgd")):
    """Squared errors and losses multiplied: a wrong noise scale. `factor` may depend on the run."""

    def change(run, values):
        for e in estimators:
            values[("sgd", "asgd").index(e)][:, errors(run)] *= of(run, factor)

    return each(change)


def power(exponent, estimators=("sgd", "asgd")):
    """Means that fall exactly like step^exponent (which may depend on the run), from the same last value."""

    def change(run, values):
        wanted = (run.steps / run.steps[-1]) ** of(run, exponent)
        for e in estimators:
            own = values[("sgd", "asgd").index(e)]
            mean = own[:, errors(run)].mean(axis=-1, keepdims=True)
            own[:, errors(run)] *= wanted[:, None, None] * mean[-1:] / np.maximum(mean, 1e-300)

    return each(change)


def coefficients_times(factor):
    """All coefficients multiplied."""

    def change(run, values):
        values[:, :, [m for m, name in enumerate(run.data.metrics) if name.startswith("coefficient_")]] *= factor

    return each(change)


def errors_times(factor, algorithm):
    """Held-out errors of an algorithm's runs multiplied."""

    def change(run, values):
        if run.cell.algorithm.name == algorithm:
            m = run.data.metrics.index("test_accuracy")
            values[:, :, m] = 1 - factor * (1 - values[:, :, m])

    return each(change)


def by_budget(numbers):
    """Within an alpha, runs from the smallest budget on with the numbers that a function of all of them gives."""

    def corrupt(runs):
        groups = [[r for r in runs if r.alpha == alpha] for alpha in sorted({run.alpha for run in runs})]
        ordered = [sorted(group, key=lambda r: r.row["gdp_mu"]) for group in groups]
        return [
            changed(run, values)
            for group in ordered
            for run, values in zip(group, numbers([run.data.values for run in group]), strict=True)
        ]

    return corrupt


budgets_reversed = by_budget(lambda values: values[::-1])
budgets_in_order = by_budget(lambda values: [values[0] * 0.5**k for k in range(len(values))])


def mixes_like(budget):
    """Mixed budgets with the numbers of one budget for all."""

    def corrupt(runs):
        (like,) = [run for run in runs if run.budget == budget]
        return [changed(run, like.data.values) if len(run.budget) > 3 else run for run in runs]

    return corrupt


def like_p(run):
    return run.cell.problem.p / run.values("sgd", "param_distance_sq")[-1].mean()


def like_mu(run):
    return run.row["mu"] if np.isfinite(run.row["mu"]) else 1.0


def without_gain(run):
    """Stretched messages that leave the error of the others."""
    return 1 / 0.73 if run.cell.algorithm.name == "stretched-ldp-sgd" else 1.0


WRONG = {
    "ldp-sgd/theorem-3": (times(2.0), "false"),
    "ldp-sgd/theorem-4": (times(10.0), "false"),
    "ldp-sgd/theorem-4/squared": (times(0.01), "holds as a bound"),
    "ldp-sgd/remark-1/rate-of-the-error": (power(0.0), "false"),
    "ldp-sgd/remark-1/start": (power(-9.0), "false"),
    "ldp-sgd/remark-1/dimension-of-the-error": (times(like_p), "false"),
    "ldp-sgd/remark-1/budget-of-the-error": (times(like_mu), "false"),
    "ldp-sgd/introduction/sensitivity": (average_like_iterate, "reproduced"),
    "ldp-sgd/section-5/alpha-1": (power(-1.0), "false"),
    "ldp-sgd/section-5/unused": (times(without_gain), "false"),
    "ldp-sgd/remark-1/mean-inverse-square": (mixes_like("1"), "false"),
    "ldp-sgd/section-6/not-differentiable": (times(100.0), "false"),
    "ldp-sgd/remark-4/larger-loss": (swapped, "false"),
    "ldp-sgd/table-1/strong/asgd/below-half": (power(-1.0), "reproduced"),
    "ldp-sgd/table-1/bias": (times(2.0), "false"),
    "ldp-sgd/table-1/variance": (times(0.5), "false"),
    "ldp-sgd/prediction/linearised": (times(1.2), "false"),
    "ldp-sgd/prediction/loss-gap-of-rates": (times(1.3), "false"),
    "ldp-sgd/section-5/asgd-faster": (swapped, "false"),
    "ldp-sgd/section-5/asgd-slower": (power(-2.0, ["sgd"]), "reproduced"),
    "ldp-sgd/figure-1/between": (times(lambda run: 10.0 if "Uniform" in run.budget else 1.0), "false"),
    "ldp-sgd/figure-1/stable": (swapped, "false"),
    "ldp-sgd/figure-2/budget": (budgets_reversed, "false"),
    "ldp-sgd/figure-3/budget": (budgets_in_order, "reproduced"),
    "ldp-sgd/figure-3/converges": (power(0.3), "false"),
    "ldp-sgd/figure-3/nearest": (times(100.0), "false"),
    "ldp-sgd/figure-3/floor": (power(0.0), "reproduced"),
    "ldp-sgd/figure-4/asgd-faster": (power(-3.0, ["asgd"]), "reproduced"),
    "ldp-sgd/figure-4/consistent": (power(0.2), "false"),
    "ldp-sgd/successor/clipping-intercept": (coefficients_times(1 / 1.2), "false"),
    "dp-sgld/table-1/ordering": (errors_times(1.2, "dp-sgld"), "false"),
    "dp-sgld/table-1/theorem": (errors_times(0.4, "dp-sgld"), "false"),
    "dp-sgld/table-1/sound": (errors_times(0.5, "dp-sgld"), "reproduced"),
}
"""claim -> (corruption, verdict that it must then give): every check of its own, and one claim of each declared rule"""
UNDECIDED_BY_SURROGATES = {
    *("ldp-sgd/theorem-1", "ldp-sgd/theorem-2"),
    # whether runs are decided depends on how their replicates are paired, which surrogates do not know
    *("dp-sgld/table-1/ordering", "dp-sgld/table-2/ordering"),
}
SUMS = {
    "ldp-sgd/theorem-4", "ldp-sgd/theorem-5/last-iterate", "ldp-sgd/theorem-6/completed", "ldp-sgd/prediction/loss-gap-of-rates",
} - ({*BY_ID} if AT_LENGTH else set())  # fmt: skip
"""bounds that are sums over all steps, in seconds, with rows beside them; tests of theory have their formulas"""
FROM_RESULTS = [
    name for name, claim in BY_ID.items() if claim.experiments and name not in UNDECIDED_BY_SURROGATES | SUMS
]


@pytest.mark.slow
@pytest.mark.parametrize("name", FROM_RESULTS)
def test_the_expected_verdict_on_the_stored_means(name):
    outcome = BY_ID[name].judged(evidence_of(name))
    assert outcome.verdict == BY_ID[name].expected, outcome.measured


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WRONG if name not in SUMS])
def test_another_verdict_on_wrong_data(name):
    corrupt, verdict = WRONG[name]
    assert verdict != BY_ID[name].expected
    outcome = BY_ID[name].check(evidence_of(name, corrupt))
    assert outcome.verdict == verdict, outcome.measured


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ldp-sgd/theorem-1", "ldp-sgd/theorem-2"])
def test_privacy_claims_on_replicates_with_the_right_and_the_wrong_noise(name, toys, monkeypatch):
    monkeypatch.setattr(local_privacy, "POWER", 10.0)  # toys have too few replicates for the claim's own
    results = toys.results({*BY_ID[name].experiments, *BY_ID["ldp-sgd/theorem-1"].experiments})

    class Toy(Evidence):
        def __init__(self, corrupt=None):
            super().__init__(results)
            self.corrupt = corrupt

        def _load(self, experiment):
            runs = super()._load(experiment)
            return [self.corrupt(run) for run in runs] if self.corrupt else runs

    assert BY_ID[name].check(Toy()).verdict == "holds as a bound"

    def too_little_noise(run):
        """The numbers of a run with a quarter of the noise, under this run's name."""
        if run.budget == "non-private":
            return run
        public = toy[run.cell.experiment if run.cell.experiment != "figure1" else "linear_d5"]
        return changed(run, public.data.values + (run.data.values - public.data.values) / 4)

    whole = Toy()
    names = set(BY_ID["ldp-sgd/theorem-1"].experiments)
    toy = {e: whole.run(e, alpha=0.5, budget="non-private") for e in names}
    assert BY_ID[name].check(Toy(too_little_noise)).verdict == "false"

    def unsound_ledger(run, factor=2.5):
        return replace(run, row={**run.row, "gdp_mu_exact": factor * run.row["gdp_mu_exact"]})

    assert BY_ID[name].check(Toy(unsound_ledger)).verdict == "false"
    assert BY_ID[name].check(Toy(partial(unsound_ledger, factor=0.9))).verdict == "false"  # it promises too much


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "metric", "factor", "verdicts"),
    [
        (lemma_5, "lemma5_slack", lambda rows: -1.0, ("holds as a bound", "false")),
        (partial(printed_bound, 6), "mean_grad_norm", lambda rows: 100.0, ("holds as a bound", "false")),
        (partial(printed_bound, 9), "mean_grad_norm", lambda rows: 1e6, ("holds as a bound", "false")),
        (rate_6, "mean_grad_norm", lambda rows: np.where(rows.variant == "none", rows.N**0.4, 1.0),
         ("not testable", "reproduced")),
    ],
)  # fmt: skip
def test_claims_of_momentum_on_the_stored_means_and_on_others(check, metric, factor, verdicts):
    rows = last_rows(RESULTS, PRESCRIBED, metric)
    wrong = rows.assign(**{name: rows[name] * factor(rows) for name in ("mean", "se", "ci_lo", "ci_hi")})
    assert (check(rows).verdict, check(wrong).verdict) == verdicts


def differs(seeds, records):
    return {"seeds": seeds, "records": records}


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([differs(1, 1), differs(1, 0)], "reproduced"),
        ([differs(1, 1), differs(0, 0)], "not at this sample size"),
        ([differs(1, 0), differs(1, 0)], "not at this sample size"),  # on these test records only
        ([differs(1, 1), differs(-1, 0)], "not at this sample size"),
        ([differs(1, 1), differs(-1, -1)], "false"),
    ],
)
def test_a_tuned_order_is_settled_on_new_records(found, verdict):
    assert tuned.direction(found) == verdict
    assert tuned.direction([differs(-f["seeds"], -f["records"]) for f in found], -1) == verdict


OWN = {"free": 85, "published": 84.8, "prescribed": 80, "zero": 83, "plain": 82, "average": 82.5, "momentum": 82}


def tuned_rows(**changes):
    """Tuned accuracies of two data sets, in percent, with a small standard error over ten seeds."""
    same = {"se": 0.02, "seeds": 10, "test_records": 20_000, "edges": []}
    return [
        {"data": data, "method": method, "accuracy": accuracy, "validation": accuracy, **same}
        for data in ("fashion", "adult")
        for method, accuracy in (OWN | changes).items()
    ]


@pytest.mark.parametrize(
    ("name", "good", "changes", "bad"),
    [
        ("tuned", "reproduced", {"published": 80.0}, "false"),
        ("tuned-sound", "reproduced", {"prescribed": 84.0}, "false"),
        ("start", "reproduced", {"zero": 78.0}, "false"),
        ("reduces-gap", "misleading", {"published": 80.0}, "false"),
        ("reduces-gap", "misleading", {"prescribed": 84.7}, "reproduced"),
    ],
)
def test_tuned_orders_by_numbers_whose_answer_is_known(name, good, changes, bad):
    check = tuned.DECIDES[name]
    assert check(tuned_rows()).verdict == good
    assert check(tuned_rows(**changes)).verdict == bad
