"""Tuning that is paid for: the law of K, the price, what is selected, and what an attacker can see of it."""

from __future__ import annotations

import json
import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms import tuned as module
from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.algorithms.tuned import TunedDpSgd, TunedDpSgld, TunedSgd
from dpexp.config.experiment_file import load_experiment, read_experiment
from dpexp.core.seeds import generator
from dpexp.engine.softmax import batches as drawn
from dpexp.engine.softmax import loop as engine
from dpexp.engine.softmax.measuring import tally
from dpexp.privacy.accounting.gdp import delta_of, eps_of, rdp_of
from dpexp.privacy.analyses.private_selection import NumberOfRuns, curve_of_run, number_of_runs, selection
from dpexp.privacy.budgets import Target
from dpexp.privacy.mechanisms.tuned_runs import TunedRuns
from dpexp.problems.softmax import Softmax
from dpexp.store import load_cells
from tests.conftest import call

CONFIG = """\
experiment: tuned
problem: {name: softmax, data: {name: digits}, regulariser: 1e-2}
algorithm: {name: dp-sgd, batch_size: 64, epochs: 2}
schedule: {name: constant, eta: 1}
tune: {over: {clip: [0.1, 1], eta: [0.5, 2]}, draws: poisson 4}
privacy: {eps: 2, delta: 1e-5}
run: {replicates: 4, seed: 3, checkpoints: 3}
"""
LAWS = ("poisson 4", "geometric 4", "logarithmic 4", "negative-binomial 0.5 4", "negative-binomial 3 4")
CONSTANT = SCHEDULES["constant"](eta=1.0)


def settled(text=CONFIG):
    """Cell, candidates and budget of one run."""
    cell = read_experiment(text, "tuned.yaml").cells[0]
    candidates = cell.algorithm.candidates(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    return cell, candidates, cell.algorithm.budget_of_a_run(cell.problem, candidates, cell.privacy.mu)


# --- the number of runs ----------------------------------------------------------------------------------------


def expected(law, most=400):
    """P(K = 0), P(K = 1), ... by scipy's laws, which the package does not use here; K >= 1 but for Poisson."""
    k = np.arange(most)
    name, *given = law.split()
    mean = float(given[-1])
    if name == "poisson":
        return stats.poisson(mean).pmf(k)
    if name == "geometric":
        return stats.geom(1 / mean).pmf(k)
    if name == "logarithmic":
        from scipy.optimize import brentq

        p = brentq(lambda p: stats.logser(p).mean() - mean, 1e-6, 1 - 1e-9)
        return stats.logser(p).pmf(k)
    from scipy.optimize import brentq

    shape = float(given[0])
    gamma = brentq(lambda g: stats.nbinom(shape, g).mean() / (1 - g**shape) - mean, 1e-9, 1 - 1e-9)
    return np.where(k > 0, stats.nbinom(shape, gamma).pmf(k), 0) / (1 - gamma**shape)


def improbable(counts, law):
    """P-value of Pearson's chi-square against the law; cells of fewer than five are put together."""
    wanted = expected(law) * counts.sum()
    groups = np.minimum(np.cumsum(wanted) // 5, counts.sum() // 5 - 1).astype(int)
    seen, hoped = np.bincount(groups, counts[: len(wanted)]), np.bincount(groups, wanted)
    kept = hoped > 0
    return stats.chisquare(seen[kept], hoped[kept] * seen[kept].sum() / hoped[kept].sum()).pvalue


@pytest.mark.parametrize("law", LAWS)
def test_the_number_of_runs_has_the_stated_law_and_no_other(law):
    source = generator(5, 0, "budget")
    counts = np.bincount([number_of_runs(law).drawn(source) for _ in range(4000)], minlength=400)
    assert improbable(counts, law) > 1e-4
    for other in (law.replace("4", "6"), law.replace("4", "2.6667"), *(name for name in LAWS if name != law)):
        assert improbable(counts, other) < 1e-4, other


@pytest.mark.parametrize("law", LAWS[1:])
def test_probabilities_of_the_number_of_runs(law):
    found = [p for p, _ in zip(number_of_runs(law).probabilities(), range(200), strict=False)]
    assert np.allclose(found, expected(law)[1:201], rtol=1e-8, atol=1e-300)


def test_laws_at_their_ends():
    assert {number_of_runs("geometric 1").drawn(generator(0, k, "budget")) for k in range(50)} == {1}
    many = number_of_runs("negative-binomial 100 20000")  # P(K = 1) is below any number
    assert 15_000 < many.drawn(generator(0, 0, "budget")) < 25_000
    for wrong in ("", "poisson", "poisson ten", "fixed 3", "geometric 0.5", "negative-binomial 3", "negative-binomial -1 3", "poisson nan"):  # fmt: skip
        with pytest.raises(ValueError, match=r"number of runs|number belongs|shape"):
            number_of_runs(wrong)


# --- the price -------------------------------------------------------------------------------------------------


class Coin:
    """Randomised response: 1 with probability `up` in one world and 1 - up in the other; its score is its output."""

    def __init__(self, up):
        self.up = up

    def rdp(self, order):
        p, r = math.log(self.up), math.log1p(-self.up)
        return float(np.logaddexp(order * p + (1 - order) * r, order * r + (1 - order) * p)) / (order - 1)

    def released(self, law):
        """P(nothing), P(0), P(1) of the best of K, in both worlds, by enumeration of K."""
        probabilities = expected(law)
        none = [sum(p * down**k for k, p in enumerate(probabilities)) for down in (1 - self.up, self.up)]
        return [np.array([probabilities[0], never - probabilities[0], 1 - never]) for never in none]


def eps_of_laws(one, other, delta):
    """The smallest epsilon at delta of two laws on the same few outcomes, whichever comes first."""

    def needed(p, r):
        at = sorted({0.0, *(math.log(a / b) for a, b in zip(p, r, strict=True) if a > b > 0)})
        low, high = 0.0, max(at)
        for _ in range(60):
            eps = (low + high) / 2
            low, high = (eps, high) if np.maximum(p - math.exp(eps) * r, 0).sum() > delta else (low, eps)
        return high

    return max(needed(one, other), needed(other, one))


@pytest.mark.parametrize("law", LAWS)
def test_the_price_covers_a_toy_whose_law_is_enumerated(law):
    """Two outcomes: what the best of K gives away is above what one run does, and never above what is stated."""
    for up in (0.6, 0.75, 0.9):
        coin, drawn_ = Coin(up), number_of_runs(law)
        stated = selection(coin.rdp, lambda eps: 1.0, drawn_.runs, drawn_.shape, "", ())
        laws = coin.released(law)
        alone = [np.array([1 - up, up]), np.array([up, 1 - up])]
        for delta in (1e-2, 1e-4):
            assert eps_of_laws(*laws, delta) < stated.eps(delta)
        assert eps_of_laws(*laws, 1e-4) > eps_of_laws(*alone, 1e-4) * 1.05
        for order in (2.0, 5.0):
            for p, r in (laws, laws[::-1]):
                kept = p > 0
                exact = math.log(np.sum(p[kept] ** order * r[kept] ** (1 - order))) / (order - 1)
                assert exact < stated.rdp(order)


@pytest.mark.slow
def test_a_held_out_record_costs_the_larger_curve_and_not_the_sum():
    """The exact law of one run with both parts of its output, for either kind of neighbour, by quadrature."""
    quiet = SimpleNamespace(analyses=lambda: [SimpleNamespace(valid=True, released="all-iterates", rdp=lambda a: rdp_of(0.6, a), steps=(), mu=0.6, assumptions=())], neighboring_relation="add-remove")  # fmt: skip
    both = TunedRuns((Hashable(quiet),), NumberOfRuns(4.0, 1.0), 2.0, 100, 1e-5)
    curve = both._curve
    grid = np.linspace(-14, 15, 6001)
    w, z = np.meshgrid(grid, grid[::20], indexing="ij")
    for order in (2.0, 6.0):
        for move_w, move_s in ((0.6, 0.0), (0.0, 0.5)):  # a training record, a held-out one: 1 / 2.0 noise units
            p = stats.norm.logpdf(w - move_w) + stats.norm.logpdf(z - move_s)
            r = stats.norm.logpdf(w) + stats.norm.logpdf(z)
            area = (grid[1] - grid[0]) * (grid[20] - grid[0])
            exact = math.log(np.exp(order * p + (1 - order) * r).sum() * area) / (order - 1)
            assert exact <= curve(order) * (1 + 1e-6)
        assert curve(order) == pytest.approx(max(rdp_of(0.6, order), rdp_of(0.5, order)))


class Hashable:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_langevin_steps_have_the_curve_of_their_kinds_of_steps():
    """From the loss distributions' steps: the Renyi conversion is above what the composition of the losses states."""
    problem = Softmax(regulariser=1e-2)
    for sampling in ("poisson", "fixed-size"):
        algorithm = ALGORITHMS["dp-sgld"](batch_size=64, epochs=2, sampling=sampling)
        n = algorithm.steps(problem, CONSTANT, Target(eps=1.0))
        found = algorithm.mechanism(problem, CONSTANT, Target(eps=1.0, delta=1e-5), n).analyses()
        curve = curve_of_run(found)
        from dpexp.privacy.accounting.conversions import eps_of_curve

        assert 1 < eps_of_curve(curve, 1e-5)[0] < 1.4


# --- what is selected ------------------------------------------------------------------------------------------


def test_the_released_run_is_the_best_by_its_private_score():
    """Every run made again, literally, from its own streams; the same bits as those released, and the largest score."""
    cell, candidates, one = settled()
    algorithm, problem = cell.algorithm, cell.problem
    steps = np.array([cell.run.n])
    settings = [(c, e) for c in (0.1, 1.0) for e in (0.5, 2.0)]
    multiplier = DpSgd(batch_size=64, epochs=2).multiplier(problem, one, cell.run.n)
    assert (
        multiplier
        == algorithm.mechanism(problem, cell.schedule, cell.privacy.mu, cell.run.n).row(())["noise_multiplier"]
    )
    sizes, others = [], 0
    for replicate in range(6):
        best = algorithm.selected(problem, candidates, one, steps, 3, replicate)
        count = number_of_runs("poisson 4").drawn(generator(3, replicate, "budget"))
        picks = generator(3, replicate, "budget", 1).integers(4, size=count)
        scores, ends = [], []
        for k, pick in enumerate(picks):
            clip, eta = settings[pick]
            etas = np.full(cell.run.n, eta)
            run = engine.Run(np.zeros((10, 65), np.float32), etas, 1e-2, clip, etas * multiplier * clip / 64)
            found = engine.train(
                problem.train.features, problem.train.labels, [run],
                drawn.poisson(1438, 64, generator(3, replicate, "order", k)),
                batch_size=64, noise=engine.gaussian(generator(3, replicate, "noise", k)), checkpoints=[cell.run.n],
                averaging=True,
            )  # fmt: skip
            ends.append(found.last[0, 0])
            noise = algorithm.score_noise(one) * generator(3, replicate, "response", k).standard_normal()
            scores.append(tally(ends[-1], problem.split.test.features, problem.split.test.labels).right + noise)
        sizes.append(count)
        assert best.runs == count
        if count:
            assert best.score == pytest.approx(max(scores))
            assert best.candidate == picks[int(np.argmax(scores))]
            assert np.array_equal(best.iterates[0, 0], ends[int(np.argmax(scores))])
            others += int(np.argmax(scores)) > 0
    assert max(sizes) > 3
    assert others  # not always the first


@pytest.mark.slow
def test_one_run_for_sure_is_the_algorithm_itself():
    """K = 1: the same bits as the algorithm with the same noise, for all three algorithms."""
    problem = Softmax(regulariser=1e-2)
    steps = np.array([1, 22])
    for kind, budget in (
        (TunedDpSgd, Target(eps=2.0)),
        (TunedDpSgld, Target(eps=2.0)),
        (TunedSgd, Target(eps=math.inf)),
    ):
        given = {"batch_size": 64, "epochs": 1}
        tuned = kind(draws="geometric 1", **given)
        plain = kind.base(**given)
        candidates = tuned.candidates(problem, CONSTANT, budget, 22)
        one = tuned.budget_of_a_run(problem, candidates, budget)
        assert one.target[0] <= budget.eps
        passed = tuned.simulate(problem, [(CONSTANT, budget)], steps, 3, [0, 1])
        wanted = plain.simulate(problem, [(CONSTANT, one)], steps, 3, [0, 1])
        assert np.array_equal(passed.values[:, :, :, :3], wanted.values)
        assert np.all(passed.values[:, :, :, 3] == 1)
        # the price of one run is that of its Renyi curve, which is a little above its own analysis
        assert tuned.mechanism(problem, CONSTANT, budget, 22).analysis.eps(1e-5) <= budget.eps


@pytest.fixture
def untrained(monkeypatch):
    """Runs that learn nothing, so that thousands of selections take a second."""
    zeros = np.zeros((2, 1, 1, 10, 65), np.float32)
    monkeypatch.setattr(module, "learnt", lambda *given: zeros)
    return Softmax(regulariser=1e-2)


def many(algorithm, problem, one, count, seed=3):
    candidates = algorithm.candidates(problem, CONSTANT, one, 10)
    return [algorithm.selected(problem, candidates, one, np.array([10]), seed, r) for r in range(count)]


@pytest.mark.slow
def test_candidates_are_uniform_and_the_number_of_runs_has_its_law(untrained):
    """Where all runs are alike every candidate is released equally often, by a noisy score as by ties."""
    for score, budget in (("public", Target(eps=math.inf)), ("noisy", Target(eps=1.0))):
        algorithm = TunedDpSgd(over={"clip": [0.1, 1.0], "eta": [0.5, 1.0, 2.0]}, draws="poisson 4", score=score)
        found = many(algorithm, untrained, budget, 900)
        counts = np.bincount([best.candidate for best in found if best.runs], minlength=6)
        assert stats.chisquare(counts).pvalue > 1e-4
        assert stats.chisquare(counts, counts.sum() * np.array([2, 1, 1, 1, 1, 1]) / 7).pvalue < 1e-4
        assert improbable(np.bincount([best.runs for best in found], minlength=400), "poisson 4") > 1e-4
        nothing = [best for best in found if not best.runs]
        assert nothing
        assert all(best.candidate == -1 and not best.iterates.any() for best in nothing)


@pytest.mark.slow
def test_an_attack_on_the_best_sees_more_than_one_run_gives_away_and_less_than_is_stated(untrained, monkeypatch):
    """One held-out record more or less, seen through the released score: K = 10 runs of noise 1 on a count.

    The claim of one run is contradicted, that of the selection is not. All bounds hold with 99.8% (Clopper-Pearson).
    """
    delta, runs = 0.05, 2000
    one = Target(eps=eps_of(1.0, delta), delta=delta)  # noise of standard deviation 1
    algorithm = TunedDpSgd(draws="poisson 10")
    assert algorithm.score_noise(one) == pytest.approx(1, rel=1e-6)
    score = {}
    for world in (0, 1):
        monkeypatch.setattr(module, "correct", lambda problem, weights, world=world: 40 + world)
        score[world] = np.array([best.score for best in many(algorithm, untrained, one, runs, seed=11 + world)])
    above = {world: int(np.sum(score[world] > 42.7)) for world in (0, 1)}
    low = stats.beta.ppf(1e-3, above[1], runs - above[1] + 1)
    high = stats.beta.ppf(1 - 1e-3, above[0] + 1, runs - above[0])
    attacked = math.log((low - delta) / high)
    stated = selection(lambda a: rdp_of(1.0, a), partial(delta_of, 1.0), 10, math.inf, "", ()).eps(delta)
    assert one.eps < attacked < stated
    # what the attack should see, from the normal law: both worlds have the maximum of a Poisson number of scores
    for world in (0, 1):
        wanted = -math.expm1(-10 * stats.norm.sf(2.7 - world))
        assert stats.binomtest(above[world], runs, wanted).pvalue > 1e-4
        assert stats.binomtest(above[world], runs, -math.expm1(-10 * stats.norm.sf((2.7 - world) * 1.5))).pvalue < 1e-4


# --- configs ---------------------------------------------------------------------------------------------------


def test_a_section_tune_is_the_tuned_algorithm_and_other_cells_keep_their_names():
    tuned = read_experiment(CONFIG, "tuned.yaml").cells[0]
    spelled = CONFIG.replace("tune: {over", "").replace("name: dp-sgd", "name: tuned-dp-sgd")
    spelled = spelled.replace(": {clip: [0.1, 1], eta: [0.5, 2]}, draws: poisson 4}\n", "")
    spelled = spelled.replace("epochs: 2}", "epochs: 2, over: {clip: [0.1, 1], eta: [0.5, 2]}, draws: poisson 4}")
    assert read_experiment(spelled, "tuned.yaml").cells[0].cell_id == tuned.cell_id
    plain = CONFIG.replace("tune: {over: {clip: [0.1, 1], eta: [0.5, 2]}, draws: poisson 4}\n", "")
    cell = read_experiment(plain, "tuned.yaml").cells[0]
    assert set(cell.parameters["algorithm"]) == {
        "name", "batch_size", "epochs", "sampling", "groups", "accountant", "clip", "momentum",
    }  # fmt: skip
    assert cell.cell_id != tuned.cell_id


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tune.over={clop: [1]}", "'clop' is no parameter of dp-sgd"),
        ("tune.over={clip: [1, 1]}", "'clip' needs a list of different values"),
        ("tune.over={clip: [-1]}", "'clip': -1"),
        ("tune.over={eta: [-1]}", "'eta' of schedule 'constant'"),
        ("tune.over={batch_size: [32, 5000]}", "candidate batch_size = 5000"),
        ("tune.over={sampling: [poisson, fixed-size]}", "different neighbours"),
        ("tune.draws=fixed 3", "the law of the number of runs is poisson MEAN"),
        ("tune.score=accuracy", "'tune.score' must be 'noisy' or 'public'"),
        ("tune.k=1", "unknown key in tune: 'k'"),
        ("tune=3", "'tune' must be a mapping"),
        ("algorithm={name: ldp-sgd}", "algorithm 'ldp-sgd' cannot be tuned"),
        ("algorithm.sampling=balls-in-bins", "times the epsilon of the run's own analysis"),
        ("privacy.eps=1e-3 & tune.draws=geometric 4", "no noise brings the price"),
    ],
)
def test_what_cannot_be_tuned_is_refused_in_a_line(tmp_path, change, said):
    path = tmp_path / "tuned.yaml"
    path.write_text(CONFIG)
    changes = [word for each in change.split(" & ") for word in ("--set", each)]
    error = call("validate", str(path), *changes, code=2).stderr
    assert said in error


def test_a_fault_of_a_candidate_is_shown_where_candidates_stand(tmp_path):
    path = tmp_path / "tuned.yaml"
    path.write_text(CONFIG.replace("clip: [0.1, 1]", "clip: [-1]"))
    assert f"{path}:5:8:" in call("validate", str(path), code=2).stderr


@pytest.mark.slow
def test_a_tuned_run_is_stored_with_its_price_and_stale_with_another_law(tmp_path):
    path, where = tmp_path / "tuned.yaml", ("--results", str(tmp_path))
    path.write_text(CONFIG)
    call("run", str(path), *where, "-q")
    assert "current" in call("run", str(path), *where, "--dry-run").stdout
    assert "missing" in call("run", str(path), "--set", "tune.draws=poisson 5", *where, "--dry-run").stdout
    assert json.loads(call("table", str(tmp_path / "tuned"), "--metric", "runs", "--format", "json").stdout)
    (row,) = load_cells(tmp_path, "tuned").to_dict("records")
    assert (row["accountant"], row["privacy.accountant"], row["guarantee"]) == ("pld", "private-selection", True)
    assert row["one_run_eps_1e-05"] < row["eps_1e-05"] <= 2


@pytest.mark.slow
def test_the_statement_has_all_three_prices(tmp_path):
    path = tmp_path / "tuned.yaml"
    path.write_text(CONFIG)
    said = " ".join(call("privacy", str(path)).stdout.split())
    cell, _, one = settled()
    found = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    assert "each of one of 4 candidates, drawn uniformly; nothing is released where K = 0" in said
    for eps in (found.one_run(1e-5), found.whole_grid(1e-5)):
        assert f"epsilon = {eps:.3g}"[:12] in said
    # the grid by composition, another way: four times as many of the same steps
    four = DpSgd(batch_size=64)._released(1438, 4 * cell.run.n, found.row(())["noise_multiplier"])
    assert found.whole_grid(1e-5) == pytest.approx(
        max(min(a.eps(1e-5) for a in four.analyses()), eps_of(2 / found.score_noise, 1e-5)), rel=1e-3
    )
    document = json.loads(call("privacy", str(path), "--json").stdout)
    (statement,) = document["statements"]
    assert statement["analysis"] == "private-selection"
    assert any("Gaussian noise of standard deviation" in text for text in statement["assumptions"])
    public = " ".join(call("privacy", str(path), "--set", "tune.score=public", "--json").stdout.split())
    assert "by which runs are compared, are public" in public
    assert one.target[0] < 2


def test_shorter_candidates_stay_where_they_ended():
    tuned = TunedSgd(over={"epochs": (1, 2), "batch_size": (64, 128)})
    problem, none = Softmax(regulariser=1e-2), Target(eps=math.inf)
    assert tuned.steps(problem, CONSTANT, none) == 45
    assert [c.steps for c in tuned.candidates(problem, CONSTANT, none, 45)] == [22, 11, 45, 22]
    halved = tuned.candidates(problem, CONSTANT, none, 20)
    assert [c.steps for c in halved] == [10, 5, 20, 10]
    # the last of the checkpoints is the end of a short run as well
    short = TunedSgd(over={"epochs": (1,)}, epochs=2, batch_size=64, draws="geometric 1")
    longer = TunedSgd(over={"epochs": (1, 2)}, batch_size=64, draws="geometric 1")
    ends = longer.simulate(problem, [(CONSTANT, none)], np.array([22, 45]), 3, range(4)).values[0, 0]
    alone = short.simulate(problem, [(CONSTANT, none)], np.array([22]), 3, range(4)).values[0, 0]
    stayed = ends[0, 4] == 0
    assert 0 < stayed.sum() < 4
    assert np.array_equal(ends[1, :3, stayed], alone[0, :3, stayed].squeeze())
    assert not np.array_equal(ends[1, :3, ~stayed], ends[0, :3, ~stayed])


def test_defaults_are_those_of_the_algorithm_that_is_tuned():
    for kind in (TunedDpSgd, TunedDpSgld, TunedSgd):
        plain = kind.base().model_dump()
        assert {key: value for key, value in kind().model_dump().items() if key in plain} == plain | {
            "name": kind().name
        }


def test_on_own_records_the_best_is_released_and_an_audit_says_what_it_does_not_cover(tmp_path):
    rows = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    lines = [f"{a:.4f},{b:.4f},{'yes' if a > 0 else 'no'}" for a, b in rows]
    (tmp_path / "people.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    path = tmp_path / "tuned.yaml"
    records = (
        "{path: people.csv, target: y, ranges: {a: [-1, 1], b: [-1, 1]}, categories: {y: [no, yes]}, records: 200}"
    )
    path.write_text(CONFIG.replace("{name: digits}", records).replace("batch_size: 64", "batch_size: 20"))
    call("run", str(path), "--results", str(tmp_path), "-q")
    model = call("model", "tuned", "--results", str(tmp_path)).stdout
    assert "epsilon = 2 at delta = 1e-05, by private-selection." in model
    assert "not the choice among them" in call("audit", str(path), code=None).stderr
    assert load_experiment(path).cells[0].problem.files()
