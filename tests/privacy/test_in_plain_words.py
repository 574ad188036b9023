"""The sentence that every privacy statement begins with: the largest probability of a right guess about one row."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpexp.accounting.gaussian import eps_of
from dpexp.commands.privacy import of_config
from dpexp.privacy.analyses.analysis import Analysis, gaussian_analysis
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.reporting.digits import uncertain
from dpexp.reporting.guarantee_in_words import sentence, success
from dpexp.reporting.mechanism_statement import MechanismStatement
from tests.privacy.test_mechanisms import EXAMPLES

KNOWS = "An attacker who knows every other record"


def known_at(pairs):
    """Epsilon of delta -> epsilon where nothing more is known."""
    return lambda delta: min((eps for at, eps in pairs.items() if at <= delta), default=math.inf)


def stated(eps, **changes):
    return Analysis(eps, name="stated", source="", released="all-iterates", **changes)


def best_guess(p, q):
    """By all rules: of each outcome the likelier data set is guessed."""
    return sum(max(a, b) for a, b in zip(p, q, strict=True)) / 2


@pytest.mark.parametrize(("eps", "delta"), [(0.0, 0.1), (0.5, 1e-5), (1.0, 0.0), (1.0, 1e-2), (4.0, 1e-5), (0.2, 0.5)])
def test_epsilon_and_delta_allow_what_the_worst_pair_of_them_does_and_no_more(eps, delta):
    """The pair of Kairouz, Oh and Viswanath is (eps, delta)-private in both orders, and its best guess is the bound."""
    high, low = ((1 - delta) * part / (1 + math.exp(eps)) for part in (math.exp(eps), 1))
    p, q = (delta, high, low, 0.0), (0.0, low, high, delta)
    for one, other in ((p, q), (q, p)):
        assert sum(max(0.0, a - math.exp(eps) * b) for a, b in zip(one, other, strict=True)) == pytest.approx(delta)
    bound = success([stated(known_at({delta: eps}))], (delta,))
    assert best_guess(p, q) == pytest.approx(bound, rel=1e-12)
    assert bound == pytest.approx(1 - (1 - delta) / (1 + math.exp(eps)), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_guesses_about_a_gaussian_are_right_as_often_as_the_sentence_says(seed):
    rng, mu, guesses = np.random.default_rng(seed), 0.8, 200_000
    coins = rng.random(guesses) < 0.5
    right = np.mean((rng.normal(mu * coins, 1.0) > mu / 2) == coins)
    bound = success([gaussian_analysis("gauss", "", "all-iterates", mu, ())], (1e-5,))
    assert abs(right - bound) < 4 * 0.5 / math.sqrt(guesses)
    # and of epsilon at one delta the same guarantee allows more: still true, and far from the truth
    assert success([stated(known_at({1e-5: eps_of(mu, 1e-5)}))], (1e-5,)) > bound + 0.2
    assert success([stated(lambda delta: eps_of(mu, delta))], (1e-5,)) == pytest.approx(bound, rel=1e-3)


def test_the_least_of_all_deltas_counts_and_a_loss_distribution_knows_its_advantage():
    pairs = {1e-5: 3.0, 1e-2: 0.5}
    both, one = (success([stated(known_at(pairs))], deltas) for deltas in (tuple(pairs), (1e-5,)))
    assert both == pytest.approx(1 - 0.99 / (1 + math.exp(0.5)))
    assert one > both
    mechanism = MECHANISMS["sampled-gaussian"](**EXAMPLES["sampled-gaussian"])
    pld = next(a for a in mechanism.upper_bounds() if a.steps)
    ((loss, steps),) = pld.steps
    assert success([pld], (1e-5,)) == pytest.approx((1 + loss.delta(steps, 0.0)) / 2)


def test_no_promise_and_a_refused_one_limit_nothing():
    assert success([], (1e-5,)) == success([stated(lambda _: 0.1, refused="so")], (1e-5,)) == 1
    assert success([stated(lambda _: math.inf)], (1e-5, 1e-6)) == 1
    nothing = gaussian_analysis("nothing", "", "all-iterates", 0.0, ())
    assert success([stated(lambda _: 1.0), nothing], (1e-5,)) == 0.5  # the least of all that hold
    assert "at most" not in sentence(0.9996, "add-remove", "all iterates")
    assert "at most 73.2% success" in sentence(0.73106, "add-remove", "all iterates")  # rounded up


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_statement_begins_with_the_sentence_and_says_what_its_words_mean(name):
    mechanism = MECHANISMS[name](**EXAMPLES[name])
    statement = MechanismStatement(name, mechanism, (1e-5,))
    text, plain = statement.text(), statement.document()["plain"]
    assert text.startswith("\n".join(plain))
    assert all(line.startswith(KNOWS) for line in plain)
    assert f"  Neighbours   {mechanism.neighboring_relation}: two data sets" in text
    assert "e^epsilon times as likely" in text
    assert "stands for one person" in text
    assert "slope" not in text
    last = statement.best.get("last-iterate")
    assert len(plain) == (1 if last is statement.best.get("all-iterates") else 2)


CONFIG = """\
experiment: plain
problem:   {name: huber-linear, d: 5}
privacy:   {mu: MU}
run:       {n: 1000, replicates: 2}
"""


@pytest.mark.parametrize(("mu", "promised"), [("[1, 2]", (1, 2)), ("[1, 2, inf]", (1, 2)), ("inf", ())])
def test_a_config_has_a_sentence_for_each_budget_that_promises_anything(tmp_path, mu, promised):
    """Of one mechanism: the probability is that of the mu whose epsilon stands in the same row."""
    path = tmp_path / "plain.yaml"
    path.write_text(CONFIG.replace("MU", mu))
    document, text = of_config(path, []).document(), of_config(path, []).text()
    assert text.startswith("\n".join(document["plain"]) + "\n\n")
    assert len(document["plain"]) == max(1, len(promised))
    for budget, line in zip(promised, document["plain"], strict=False):
        exact = document["best"][str(budget)]["mu"]
        assert exact < budget
        assert line.startswith(f"mu = {budget} ({exact:.4g} with the exact sensitivity)")
        assert f"at most {100 * norm.cdf(exact / 2):.1f}% success" in line
        (row,) = (row.split() for row in text.splitlines() if row.startswith(f"  {budget} "))
        assert float(row[-2]) == pytest.approx(eps_of(exact, 1e-5), rel=1e-3)
    assert ("nothing is guaranteed" in document["plain"][0]) == (not promised)


def test_of_many_budgets_the_weakest_is_named(tmp_path):
    path = tmp_path / "plain.yaml"
    path.write_text(CONFIG.replace("MU", "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, inf]"))
    (line,) = of_config(path, []).document()["plain"]
    assert line.startswith("Weakest of 7 guarantees below, mu = 0.7 ")


def test_an_uncertainty_that_is_rounding_is_not_printed():
    assert uncertain(0.7600000000000001, 3e-16) == "0.76"
    assert uncertain(0.76, 3e-6) == "0.760000(3)"
    assert uncertain(0.0, 0.1) == "0.00(10)"


def test_lines_of_one_budget_say_of_which_algorithm_they_are(tmp_path):
    text = """experiment: two
problem: {name: huber-linear, d: 5, sensitivity: exact}
schedule: {eta: 0.2, alpha: 1/2}
privacy: {mu: [1, 2]}
run: {n: 700, replicates: 2, seed: 3}
cases:
  - algorithm: {name: ldp-sgd}
  - algorithm: {name: clipped-ldp-sgd, clip: CLIP}
"""
    path = tmp_path / "two.yaml"
    path.write_text(text.replace("CLIP", "0.5"))
    statement = of_config(path, [])
    lines = [line.split("  ")[1] for line in statement.text().splitlines() if " on huber-linear, " in line]
    names = ["ldp-sgd", "clipped-ldp-sgd"]
    assert lines == [f"{name} on huber-linear, {mu}" for name in names for mu in (1, 2)]
    told = {(one["of"], one["budget"]) for one in statement.document()["statements"]}
    assert told == {(f"{name} on huber-linear, {mu}", str(mu)) for name in names for mu in (1, 2)}
    path.write_text(text.replace("  - algorithm: {name: clipped-ldp-sgd, clip: CLIP}\n", ""))
    one = of_config(path, []).text()
    assert " on huber-linear" not in one  # budgets alone tell the lines apart
