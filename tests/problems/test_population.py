"""Populations: what configs say, the users that the engine draws, and means against other routes."""

import csv
import math
from io import StringIO
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from dpexp.config.experiment_file import read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import UsageError
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_losses import PinballLinear
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import gauss_panels
from dpexp.problems.population import Population
from dpexp.problems.population_means import clipped_optimum, places_of
from dpexp.problems.row_rules import rows_along
from tests.conftest import share

PLAIN, AR1 = {"d": 3}, {"design": {"correlation": {"ar1": 0.5}}, "coefficients": (1, 1, -2, 0.5)}
MIXED = {
    "design": {"columns": ({"law": "bernoulli", "p": 0.3}, {"law": "categorical", "p": (0.2, 0.3, 0.5)}, {"law": "normal"})},
    "coefficients": (1, 1, -2, 0.5, 1),
}  # fmt: skip
T5, BOX = ({"design": design, "coefficients": (1, 1, -2, 0.5)} for design in ({"law": "t", "df": 5}, "uniform"))
NORMAL, PROBIT = {"errors": {"law": "normal", "sd": 2.0}}, {"response": {"link": "probit"}}
CONTAMINATED = {"errors": {"law": "contaminated", "share": 0.1, "sd": 2.0, "far": 10.0}}
UNEQUAL = {"errors": {"law": "normal", "sd": 2.0, "heteroscedastic": (0.5, 0.5)}}
KNOWN, HUBER, LOGIT = ("huber-linear", {"scale": "known"}), ("huber-linear", {}), ("mallows-logistic", {})
AR1_5 = {"design": {"correlation": {"ar1": 0.5}}, "coefficients": (1, 1, -2, 0, 0.5, 0)}
PINBALL, BAND = ("pinball-linear", {"tau": 0.25}), ("insensitive-linear", {"width": 1.0})
CELLS = [
    (*KNOWN, PLAIN | NORMAL, (1, 1, 1, 1), 0.3600438, 0.1763546, 0.256809, 20.98241),
    (*KNOWN, MIXED | NORMAL, (1, 1, -2, 0.5, 1), 0.3941356, 0.01976782, 0.4184442, 120.3892),
    (*KNOWN, AR1 | CONTAMINATED, (1, 1, -2, 0.5), 0.3361177, 0.08349401, 0.2548792, 36.22958),
    (*KNOWN, PLAIN | UNEQUAL | {"coefficients": (1, 1, -2, 0.5)}, (1, 1, -2, 0.5), 0.5485184, 0.1624597, 0.277768, 16.2193),
    (*HUBER, AR1 | NORMAL, (1, 1, -2, 0.5, 2), 0.4950008, 0.09018395, 0.2753013, 31.38059),
    (*HUBER, BOX | NORMAL, (1, 1, -2, 0.5, 2), 0.6533977, 0.1190226, 0.3782927, 46.06236),
    (*LOGIT, MIXED, (1, 1, -2, 0.5, 1), 0.1517156, 0.00792006, 0.158531, 190.5072),
    (*LOGIT, T5, (1, 1, -2, 0.5), 0.1434735, 0.02173225, 0.08897133, 59.32111),
    (*LOGIT, MIXED | PROBIT, (1.750187, 1.787710, -3.502389, 0.8972788, 1.792079), 0.2682479, 0.004686376, 0.1018745, 335.7312),
    (*HUBER, AR1_5 | NORMAL, (1, 1, -2, 0, 0.5, 0, 2), 0.3742146, 0.05808597, 0.2400624, 50.78268),
    (*LOGIT, AR1_5, (1, 1, -2, 0, 0.5, 0), 0.09565222, 0.0148652, 0.09157475, 91.08876),
    (*LOGIT, AR1_5 | PROBIT, (1.755925, 1.760335, -3.52075, -4.740366e-05, 0.8801873, 1.498627e-05), 0.1605617, 0.005484483, 0.06316895, 181.0926),
    (*LOGIT, PLAIN | PROBIT, (1.754056, 1.758990, 1.758990, 1.758990), 0.2152126, 0.01238673, 0.08242049, 89.47894),
    (*PINBALL, AR1 | NORMAL, (-0.3489795, 1, -2, 0.5), 0.1094647, 0.03489071, 0.1065096, 48.97144),
    (*BAND, BOX | NORMAL, (1, 1, -2, 0.5), 0.3924661, 0.1020332, 0.3242947, 50.81511),
]  # fmt: skip
"""problem, its parameters, population; theta*, F(0) - F(theta*) (scale from 1), least and largest eigenvalue of the
Hessian and tr H^-1 S H^-1, by another program, whose users were also drawn 2e7 times"""
SCALARS = """\
huber-linear,known,laplace,0,.369730146,.778068770
huber-linear,known,logistic,0,.293310987,1.063033982
huber-linear,known,skewed,-.213264865,.446683784,.511264367
pinball-linear,.25,normal,-1.348979500,.158888286,.1875
pinball-linear,.25,t,-1.529784657,.128688307,.1875
pinball-linear,.9,t,3.275488707,.051226888,.09
pinball-linear,.25,laplace,-1.386294361,.125,.1875
pinball-linear,.25,skewed,-1.424635855,.375,.1875
pinball-linear,.9,skewed,2.605170186,.05,.09
pinball-linear,.9,contaminated,2.973442289,.063267115,.09
insensitive-linear,1,laplace,0,.303265330,.606530660
insensitive-linear,1,logistic,0,.235003712,.755081338
"""
"""shift of the intercept, curvature and mean squared score for errors of scale 2, of another program"""


@pytest.mark.parametrize("cell", share(CELLS, 2), ids=lambda cell: cell[0])
def test_means_over_populations_are_those_of_another_program(cell):
    name, extra, population, theta, gap, least, largest, trace = cell
    problem = PROBLEMS[name](population=population, **extra)
    best, start = problem.curvature(), np.zeros(problem.p)
    if problem.has_scale:
        start[-1] = 1
    inverse = np.linalg.inv(best.hessian)
    assert problem.optimum() == pytest.approx(np.array(theta, float), abs=6e-7)
    found = [best.m, best.M, np.trace(inverse @ best.score_covariance @ inverse), problem.risk_gap(start)]
    assert found == pytest.approx([least, largest, trace, gap], rel=1e-6)


@pytest.mark.parametrize("row", list(csv.reader(StringIO(SCALARS))), ids=lambda row: "-".join(row[:3]))
def test_numbers_of_losses_and_errors_are_those_of_another_program(row):
    name, option, law, shift, curvature, square = row
    extra = {"t": {"df": 3.0}, "contaminated": {"share": 0.1, "far": 10.0}}.get(law, {})
    size = "sd" if law in ("normal", "contaminated") else "scale"
    key = {"huber-linear": "scale", "pinball-linear": "tau", "insensitive-linear": "width"}[name]
    options = {key: option if option == "known" else float(option)}
    errors = {"law": law, size: 2.0, **extra}
    problem = PROBLEMS[name](population={"d": 1, "design": "uniform", "errors": errors}, **options)
    best = problem.curvature()
    rows = PROBLEMS["pinball-linear"](tau=0.5, population={"d": 1, "design": "uniform"}).curvature()
    # of the median under normal errors the curvature is 1 / (2 sqrt(2 pi)) and the squared score 1 / 4
    a_matrix, b_matrix = rows.hessian * 2 * math.sqrt(2 * math.pi), rows.score_covariance * 4
    assert problem.optimum()[0] - 1 == pytest.approx(float(shift), abs=2e-9)
    assert best.hessian == pytest.approx(float(curvature) * a_matrix, rel=1e-8)
    assert best.score_covariance == pytest.approx(float(square) * b_matrix, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "clip", "wanted"), share([
    (3, 1.0, (1.20000637, 1.27673438)), (3, 0.5, (1.73440416, 1.84097781)), (3, 2.0, (1.01209814, 1.01994622)),
    (2, 1.0, (1.11963092, 1.21160277)), (5, 0.5, (1.88821011, 1.94138247)),
], 2))  # fmt: skip
def test_clipped_logistic_gradients_have_the_published_fixed_point(d, clip, wanted):
    """Twice: the values of another program, and the clipped gradients of users that the engine draws have mean 0."""
    problem, count = PROBLEMS["mallows-logistic"](population={"d": d, "weights": "none"}), 200_000
    found = clipped_optimum(problem, clip)
    assert found == pytest.approx(np.append(wanted[0], np.full(d, wanted[1])), abs=2e-5)
    x, y = problem.sample(np.random.default_rng(7), count)

    def statistic(theta):
        g = problem.gradient(np.broadcast_to(theta, (count, d + 1)), x, y)
        g = g * np.minimum(1, clip / np.linalg.norm(g, axis=1, keepdims=True))
        return count * g.mean(axis=0) @ np.linalg.solve(np.cov(g.T), g.mean(axis=0))

    assert statistic(found) < stats.chi2(d + 1).ppf(0.9999)
    if clip <= 1:
        assert statistic(np.ones(d + 1)) > stats.chi2(d + 1).ppf(0.9999)


USERS = [
    ({"design": {"law": "t", "df": 5, "correlation": {"ar1": 0.6}}, "errors": {"law": "t", "df": 3.0, "scale": 2.0}}, "huber-linear"),
    ({"design": {"correlation": {"exchangeable": -0.2}}, "errors": {"law": "laplace"}, "bend": 0.5}, "pinball-linear"),
    ({**MIXED, "errors": {"law": "skewed"}}, "insensitive-linear"),
    ({"design": "uniform", "response": {"link": "cloglog"}, "weights": {"mallows": {"cap": 3.0}}}, "mallows-logistic"),
    ({"design": {"columns": ({"law": "t", "df": 4.5}, {"law": "uniform", "low": 0.0, "high": 2.0})}, "errors": {"law": "contaminated"}}, "pinball-linear"),
    ({"d": 3, "errors": {"law": "logistic", "heteroscedastic": (0.5, 0.5)}}, "huber-linear"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", share(USERS))  # each is compiled
def test_the_gradients_of_users_that_the_engine_draws_are_0_in_the_mean_at_the_optimum(case):
    """Drawing in lanes and quadrature share no code; the covariance of the gradients is the other number compared."""
    population, name = case
    problem = PROBLEMS[name](population=population)
    best, theta, count = problem.curvature(), problem.optimum(), 60_000
    x, y = problem.sample(np.random.default_rng(5), count)
    gradients = problem.gradient(np.broadcast_to(theta, (count, problem.p)), x, y)
    mean, covariance = gradients.mean(axis=0), np.cov(gradients.T)
    assert count * mean @ np.linalg.solve(covariance, mean) < stats.chi2(problem.p).ppf(0.9999)
    assert np.trace(covariance) == pytest.approx(np.trace(best.score_covariance), rel=0.03)
    means = problem.gradient(np.broadcast_to(theta + 0.1, (count, problem.p)), x, y).mean(axis=0)
    assert count * means @ np.linalg.solve(covariance, means) > stats.chi2(problem.p).ppf(0.9999)


@pytest.mark.slow
@pytest.mark.parametrize("law", share(["t", "laplace", "logistic", "skewed", "contaminated", "bounded"], 2))
def test_errors_have_their_law(law):
    extra = {"t": {"df": 4.5}, "contaminated": {"share": 0.2, "far": 5.0}}.get(law, {})
    problem = PROBLEMS["huber-linear"](population={"d": 1, "coefficients": 0.0, "errors": {"law": law, **extra}})
    _, y = problem.sample(np.random.default_rng(3), 40_000)
    known = {
        "t": stats.t(4.5).cdf, "laplace": stats.laplace.cdf, "logistic": stats.logistic.cdf,
        "skewed": lambda e: stats.expon.cdf(e + 1), "bounded": lambda e: np.where(e < 0, (1 + e) ** 4 / 2, 1 - (1 - e) ** 4 / 2),
        "contaminated": lambda e: 0.8 * stats.norm.cdf(e) + 0.2 * stats.norm.cdf(e / 5),
    }  # fmt: skip
    assert stats.kstest(y, known[law]).pvalue > 1e-4


@pytest.mark.parametrize("size", [1e-3, 1e4])
def test_a_quantile_moves_the_intercept_in_proportion_to_the_size_of_the_errors(size):
    problem = PROBLEMS["pinball-linear"](tau=0.25, population={"d": 1, "errors": {"law": "normal", "sd": size}})
    assert problem.optimum()[0] - 1 == pytest.approx(size * stats.norm.ppf(0.25), rel=1e-8)


@pytest.mark.parametrize("cap", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_sensitivities_of_other_caps_hold_and_are_nearly_attained(cap):
    weighted = {"design": "uniform", "weights": "none"} if math.isinf(cap) else {"weights": {"mallows": {"cap": cap}}}
    z = np.linspace(-1, 1, 401) if math.isinf(cap) else np.concatenate([np.linspace(-9, 9, 401), [-1, 1]])
    x = np.stack([np.ones_like(z), z], axis=1)
    for name, extra in (("pinball-linear", {"tau": 0.2}), ("huber-linear", {}), ("huber-linear", {"c": 6.0})):
        kind = PROBLEMS[name](population={"d": 1, **weighted}, **extra)
        theta = np.append(np.zeros(2), np.ones(kind.p - 2))
        ys = (-1.0, 1.0) if kind.p == 2 else np.linspace(-7, 7, 15)
        messages = np.concatenate([kind.gradient(np.tile(theta, (len(z), 1)), x, np.full(len(z), y)) for y in ys])
        ends = messages[np.argsort(-np.linalg.norm(messages, axis=1))[:100]]
        largest = max(float(np.linalg.norm(messages - end, axis=1).max()) for end in ends)
        assert largest <= kind.exact_sensitivity() * (1 + 1e-12)
        assert largest >= 0.98 * kind.exact_sensitivity()


@pytest.mark.parametrize(
    ("columns", "exact"), [([("bernoulli", 0, 1)] * 3, math.sqrt(13)), ([("bernoulli", 0, 1), ("categorical",)], math.sqrt(10)), ([("bernoulli", -1, 0.5)], math.sqrt(4.25))]
)  # fmt: skip
def test_unweighted_rows_of_few_values_have_the_sensitivity_of_their_pairs(columns, exact):
    """By enumeration: two rows have any two scores out of 0 and +-1 at some theta, one row has scores 1 apart."""
    laws = tuple({"law": "bernoulli", "p": 0.3, "low": float(c[1]), "high": float(c[2])} if c[1:] else {"law": "categorical", "p": (0.2, 0.3, 0.5)} for c in columns)  # fmt: skip
    values = [[(float(v),) for v in c[1:]] or [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)] for c in columns]
    rows = [np.array([1.0, *sum(row, ())]) for row in product(*values)]
    scores = list(product((-1, 0, 1), repeat=2))
    pairs = [(x, y, s, t) for x, y in product(rows, rows) for s, t in scores if x is not y or abs(s - t) <= 1]
    farthest = max(float(np.linalg.norm(s * x - t * y)) for x, y, s, t in pairs)
    population = {"design": {"columns": laws}, "weights": "none"}
    assert PROBLEMS["mallows-logistic"](population=population).exact_sensitivity() == pytest.approx(farthest, rel=1e-12)
    assert farthest == pytest.approx(exact)
    # of real responses one row has all scores
    farthest = max(
        float(np.linalg.norm(s * x - t * y)) for x, y in product(rows, rows) for s, t in product((-0.9, 0.1), repeat=2)
    )
    assert PROBLEMS["pinball-linear"](tau=0.9, population=population).exact_sensitivity() == pytest.approx(farthest)


def test_the_gap_of_public_rows_is_near_the_exact_one():
    problem, rng = PROBLEMS["huber-linear"](population=AR1 | NORMAL), np.random.default_rng(2)
    for distance, error in ((0.1, 2e-4), (1.0, 2e-2)):
        away = rng.standard_normal((8, problem.p))
        theta = problem.optimum() + distance * away / np.linalg.norm(away, axis=1)[:, None]
        found = problem.metrics(np.ascontiguousarray(theta.T[None]))
        assert found.loss_gap[0] == pytest.approx(problem.risk_gap(theta), rel=error)


class Bare(PinballLinear):
    """Quantile regression that says its score and its response alone."""

    conditional_risk: ClassVar = None
    mean_loss = LinearPredictorProblem.mean_loss


@pytest.mark.parametrize("law", [{}, {"population": {"d": 5, "errors": {"law": "laplace"}}}], ids=["own", "laplace"])
def test_a_score_and_a_response_are_enough_for_the_risk(law):
    """The closed forms of the pinball loss against integrals of its mean score; in one case the other rule for rows."""
    bare, full = Bare(tau=0.2, **law), PinballLinear(tau=0.2, **law)
    theta = full.optimum() + np.array([0.1, 1.0, 30.0])[:, None] * np.linspace(-1, 1, 6)
    assert bare.risk_gap(theta) == pytest.approx(full.risk_gap(theta), rel=1e-8)
    states = np.repeat(theta[:2, :, None], 8, axis=2)
    assert bare.metrics(states).loss_gap == pytest.approx(full.metrics(states).loss_gap, rel=2e-2)


class Brier(LinearPredictorProblem):
    name: str = "brier"
    labels: ClassVar = True
    response: ClassVar = staticmethod(lambda t, e, k: t)
    score: ClassVar = staticmethod(lambda t, y, scale, k: (2 * (expit(t) - y) * expit(t) * expit(-t), 0.0))


def test_a_response_that_errors_of_a_population_would_replace_is_refused():
    kind = type("Censored", (Bare,), {"response": staticmethod(lambda t, e, k: np.minimum(t + e, 1.0))})
    assert kind().model().shape.response is kind.response
    with pytest.raises(UsageError, match="response"):
        kind(population={"errors": "laplace"}).model()


def test_the_risk_of_any_loss_of_labels_is_the_mean_over_rows_and_labels():
    problem, z = Brier(population={"d": 1, "response": {"link": "probit"}}), np.linspace(-9, 9, 90_001)
    mass, p = stats.norm.pdf(z) * np.minimum(1, 2 / (1 + z * z)) * (z[1] - z[0]), stats.norm.cdf(1 + z)
    theta = np.array([[0.5, -1.0], [3.0, 1.0], problem.optimum()])
    s = expit(theta[:, :1] + theta[:, 1:] * z)
    risks = (p * (1 - s) ** 2 + (1 - p) * s * s) @ mass
    assert problem.risk_gap(theta) == pytest.approx(risks - risks[2], rel=1e-6, abs=1e-12)


def test_rules_of_rows_have_bounded_numbers_of_points_repeat_columns_and_do_not_depend_on_the_predictor():
    columns = ({"law": "bernoulli", "p": 0.5, "times": 13}, {"law": "normal", "times": 3})
    assert rows_along(Population(design={"columns": columns})).mass.shape[1] < 2e5
    assert rows_along(Population(d=3, design="uniform"), None, False, 10, 16).mass.shape[1] <= 4_000_000
    factors = Population(design={"columns": ({"law": "categorical", "p": (0.5, 0.3, 0.2), "times": 2},)})
    assert rows_along(factors).mean(0) == pytest.approx([1, 0.3, 0.2, 0.3, 0.2])
    close = {"d": 6, "design": {"correlation": {"exchangeable": 0.9}}}
    along, aside = (rows_along(Population(**close, coefficients=rule)).mean(1)[0] for rule in (1.0, {"nonzero": 1}))
    assert aside == pytest.approx(along, rel=5e-4)


@pytest.mark.parametrize(
    ("law", "sds"), [("normal", (10.0, 1.0)), ("normal", (2.0, 20.0)), ("uniform", (0.9, 0.9)), ("uniform", (6.0, 1.5))]
)
def test_means_over_rows_are_those_of_another_quadrature_within_the_stated_error(law, sds):
    """E w, E w |x_1| and E w p(1 - p) of a steep predictor, for columns of unequal scales and a kink across faces."""
    key = {"normal": lambda s: {"sd": s}, "uniform": lambda s: {"low": -s, "high": s}}[law]
    population = {"design": {"columns": tuple({"law": law, **key(s)} for s in sds)}, "coefficients": 1.0}
    problem, (a, b) = PROBLEMS["mallows-logistic"](population=population), sds
    places, folded = places_of(problem), rows_along(problem.law, None, True)
    p = places.spread
    ours = places.rows.mean(1)[0], folded.mean(1, np.abs(folded.x[:, 1]))[0], places.rows.mean(1, p * (1 - p))[0]
    u, du = gauss_panels(9 * np.sinh(np.linspace(-8, 8, 401)) / np.sinh(8), 8)
    u, du = (u / 9, du / 18) if law == "uniform" else (u, du * stats.norm.pdf(u))
    x, y = a * u[:, None], b * u
    mass = du[:, None] * du * np.minimum(1, 2 / (1 + x * x + y * y))
    other = mass.sum(), (mass * np.abs(x)).sum(), (mass * expit(1 + x + y) * expit(-1 - x - y)).sum()
    assert ours == pytest.approx(other, rel=max(3 * places.rows.error, 2e-6))


CONFIG = """experiment: e
problem: {{name: {name}}}
privacy: {{mu: {mu}}}
population: {population}
run: {{n: 100, replicates: 2}}
"""


def cells(population, name="huber-linear", mu="1"):
    return read_experiment(CONFIG.format(name=name, population=population, mu=mu), "e.yaml").cells


def test_what_the_short_forms_say_has_their_ids_in_either_spelling():
    text = "experiment: e\nproblem: {name: huber-linear, d: 3, sigma_z: 0.7, beta: 2, sigma: 3}\nprivacy: {mu: 1}\nrun: {n: 100, replicates: 2}\n"
    short = read_experiment(text, "e.yaml")
    said = "{d: 3, design: {sd: 0.7}, coefficients: {intercept: 2, slopes: [2, 2, 2]}, errors: {law: normal, sd: 3}, weights: {mallows: {cap: 2}}}"
    assert cells(said)[0].cell_id == short.cells[0].cell_id
    assert "population" not in cells(said)[0].parameters["problem"]


def test_lists_sweep_but_where_a_key_takes_one():
    assert len(cells("{coefficients: [1, 2, 3]}")) == 1
    assert len(cells("{coefficients: [[1, 1, -2], [1, 0, 0]]}")) == 2
    assert len(cells("{coefficients: {nonzero: 2, value: [1, 2, 3]}}")) == 3
    swept = "{errors: {law: t, df: [3, 5], scale: [1, 2]}, design: {correlation: [{ar1: 0.5}, {exchangeable: 0.2}]}}"
    assert len({cell.cell_id for cell in cells(swept)}) == 8


WRONG = [
    ("{d: 3, design: {correlation: [[1, .9, -.9], [.9, 1, .9], [-.9, .9, 1]]}}", "not positive definite: its least eigenvalue is -0.8", "0.555", "[[1"),
    ("{d: 5, coefficients: [1, 1, -2, 0.5]}", "has 4 numbers; d = 5 needs 6", "one vector", "[1,"),
    ("{design: {columns: [{law: categorical, p: [.2, .3, .6]}]}}", "sum to 1.1, not 1", "", "[.2"),
    ("{weights: none}", "the sensitivity is infinite", "", ""),
    ("{weights: none, design: {columns: [{law: t, df: 2}]}}", "E x x' is infinite", "mallows", "none"),
    ("{d: 5, design: {columns: [{law: normal, times: 4}]}}", "makes 4 columns", "leave out `d`", "5,"),
    ("{errors: {law: cauchy}}", "unknown law of errors 'cauchy'", "df: 1", "cauchy"),
    ("{design: 5}", "support, columns, rows, correlation, got 5", "", "5"),
    ("{designs: uniform}", "'designs'", "", "designs"),
]  # fmt: skip


@pytest.mark.parametrize(("population", "message", "hint", "place"), WRONG, ids=[row[1] for row in WRONG])
def test_bad_input_is_said_at_its_place(population, message, hint, place):
    with pytest.raises(ConfigError) as caught:
        cells(population)
    issue = caught.value.issues[0]
    assert message in issue.message
    assert hint in issue.hint
    if place:
        line = CONFIG.format(name="huber-linear", population=population, mu="1").splitlines()[issue.where.line - 1]
        assert line[issue.where.column - 1 :].startswith(place)


def test_unweighted_rows_run_without_privacy_where_they_are_bounded_or_clipped():
    assert cells("{weights: none}", mu="inf")
    bounded = cells("{design: uniform, d: 3, weights: none}")[0]
    noise = bounded.algorithm.sensitivities(bounded.problem).noise
    assert noise == pytest.approx(math.hypot(2 * 1.345 * 2, 1.345**2 / 2))
    text = CONFIG.format(name="huber-linear", population="{weights: none}", mu="1")
    assert read_experiment(text + "algorithm: {name: clipped-ldp-sgd, clip: 1}\n", "e.yaml").cells
