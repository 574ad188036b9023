"""The judge: unsound bounds are refuted, sound ones are not, and everything that can go wrong says where."""

import json
import math
from functools import partial

import numpy as np
import pytest

import dpexp
from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.search import eps_of_delta
from dpexp.core.errors import UsageError
from dpexp.privacy.analyses.hidden_state import last_iterate_delta
from dpexp.privacy.analyses.hybrid import convex, hybrid_eps
from dpexp.privacy.analyses.last_iterate import composed, last_iterate
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from tests.conftest import at_length, invoked
from tests.oracles import binned_epochs

LAST = {"relation": "replace-one", "released": "last-iterate", "bounded": True}
SMOOTH = {**LAST, "convex": True, "smooth": True}
STRONG = {**SMOOTH, "strongly_convex": True}
ALL = {"released": "all-iterates"}


def printed(order, *, batch_size, noise_std, lipschitz, sampling_probability, diameter, parameter_noise_std, steps):
    """noisy-sgd, equation (3.6) as printed, and the linear bound with the same one-step divergence."""
    multiplier = batch_size * noise_std / (2 * lipschitz)
    width = diameter / parameter_noise_std
    linear_bound = composed(order, sampling_probability, multiplier, steps, "literal")
    found = last_iterate(order, sampling_probability, multiplier, width, steps, "literal")
    return min(linear_bound, found)


def langevin(order, *, n, step_size, noise_std, lipschitz, strong_convexity, steps):
    """dp-sgld, Theorem 3.1; the noise of a step is sqrt(2 step_size) sigma."""
    sigma = noise_std * math.sqrt(step_size / 2)
    scale = 4 * order * lipschitz**2 / (strong_convexity * n**2 * sigma**2)
    return scale * -math.expm1(-strong_convexity * step_size * steps / 2)


def constant_contraction(
    delta, *, diameter, parameter_noise_std, noise_multiplier, sampling_probability, steps, contraction
):
    """A Poisson hybrid whose every step contracts by the c of a full batch."""
    width = diameter / parameter_noise_std
    loss = step_loss(sampling_probability, noise_multiplier, "replace-one")
    contracted = partial(convex, width=width, contraction=min(1.0, contraction))
    return hybrid_eps(lambda t, share: loss.times(t).eps(share), contracted, steps, delta)


def add_remove(delta, *, sampling_probability, noise_multiplier, steps):
    return step_loss(sampling_probability, noise_multiplier, "add-remove").times(steps).eps(delta)


def fresh_bins(delta, *, batches, noise_multiplier, epochs, steps):
    """A new secret partition in every epoch, for one that is kept; 2% for what a lower value lacks."""
    if steps % batches or epochs > 8 or batches > 8:
        return math.inf
    cells = binned_epochs.epochs(2 / noise_multiplier, batches, epochs)
    return 1.02 * max(cells.eps(delta), cells.swapped.eps(delta)) + 1e-3


def record_moves_once(delta, *, noise_multiplier, steps):
    """A replaced record moves the sum by 2, not 1."""
    return eps_of(math.sqrt(steps) / noise_multiplier, delta)


def narrow(delta, *, diameter, parameter_noise_std, sampling_probability, steps):
    """The contraction bound without the steps of the gradients."""
    reach = diameter / parameter_noise_std
    return eps_of_delta(lambda e: last_iterate_delta(e, reach, sampling_probability, steps), delta)


def batch_as_visit(delta, *, noise_multiplier, epochs):
    """Reshuffled orders with one use less than an epoch each."""
    return eps_of(math.sqrt(max(0, epochs - 1)) * 2 / noise_multiplier, delta)


WRONG = {
    "printed": (printed, {**SMOOTH, "sampling": "fixed-size"}),
    "langevin": (langevin, {**STRONG, "sampling": "fixed-size"}),
    "add-remove, Poisson": (add_remove, {**ALL, "sampling": "poisson", "relation": "replace-one"}),
    "add-remove, fixed size": (add_remove, {**LAST, "sampling": "fixed-size", "bounded": False}),
    "fresh bins": (fresh_bins, {**ALL, "sampling": "shuffled", "relation": "replace-one"}),
    "sensitivity": (record_moves_once, {**ALL, "sampling": "full-batch", "relation": "replace-one"}),
    "narrow": (narrow, {**LAST, "sampling": "full-batch", "clipped": True}),
    "a use less": (batch_as_visit, {**ALL, "sampling": "cyclic", "relation": "replace-one"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_unsound_bounds_are_refuted(name):
    """Within four comparisons."""
    function, assumes = WRONG[name]
    verdict = dpexp.judge(function, assumes=assumes, comparisons=4, seconds=1e6)
    worst = verdict.document()["worst"]
    assert verdict.refuted, verdict.text()
    assert worst["exact"] > worst["bound"] * (1 + 1e-6)
    assert verdict.text().startswith("refuted")
    point = worst["rerun"].split("--at ", 1)[1].strip("'")
    again = dpexp.judge(function, assumes, at=point)
    assert again.refuted
    assert again.document()["worst"]["exact"] == worst["exact"]


@pytest.mark.parametrize("steps", [2, 3, 7])
def test_of_known_orders_the_record_of_the_last_step_is_tried_which_shows_most(steps):
    """Three batches in turn: quadratics of curvature k, whose mean forgets a step by 1 - k in every later one."""
    point = {"n": 30, "batch_size": 10, "steps": steps, "step_size": 0.1, "noise_std": 2.0, "lipschitz": 1.0}
    point |= {"smoothness": 3.0, "strong_convexity": 3.0, "delta": 1e-3, "family": "quadratic-unbounded"}
    assumes = {**STRONG, "bounded": False, "sampling": "cyclic"}
    worst = dpexp.judge(lambda delta: 0.0, assumes, at=json.dumps(point | {"curvature": 0})).document()["worst"]
    weights = 0.7 ** np.arange(steps)[::-1]
    moved = max(2 / 20 * weights[place::3].sum() for place in range(3))
    assert worst["exact"] == pytest.approx(eps_of(moved / math.sqrt((weights**2).sum()), 1e-3), rel=1e-6)


# where a witness is known: parameters of the run, family and level
WITNESSES = {
    "printed": (
        printed,
        {**SMOOTH, "sampling": "fixed-size"},
        {"n": 100, "batch_size": 10, "steps": 1, "step_size": 0.1, "noise_std": 0.4, "lipschitz": 1, "diameter": 1,
         "smoothness": 1, "order": 8, "family": "linear", "against": 0},
        0.00996969, 0.0092402,
    ),
    "constant contraction": (
        constant_contraction,
        {**STRONG, "sampling": "poisson"},
        {"n": 10, "batch_size": 1, "steps": 20, "step_size": 1, "noise_std": 1, "lipschitz": 10.995, "diameter": 10,
         "smoothness": 0.999, "strong_convexity": 0.999, "delta": 0.12, "family": "linear", "against": 1},
        0.3013, 0.0,
    ),
    "add-remove, fixed size": (
        add_remove,
        {**LAST, "sampling": "fixed-size", "bounded": False},
        {"n": 100, "batch_size": 1, "steps": 1000, "step_size": 1, "noise_std": 1, "lipschitz": 1, "delta": 1e-5,
         "family": "linear-unbounded", "against": 0},
        2.9715, 1.8283,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WITNESSES)
def test_known_witnesses(name):
    function, assumes, point, exact, bound = WITNESSES[name]
    verdict = dpexp.judge(function, assumes, at=json.dumps(point))
    worst = verdict.document()["worst"]
    assert verdict.refuted, verdict.text()
    assert worst["exact"] == pytest.approx(exact, rel=3e-4)
    assert worst["bound"] == pytest.approx(bound, rel=1e-4, abs=1e-9)


FILE = """ASSUMES = {"sampling": "full-batch", "relation": "replace-one", "released": "all-iterates"}


def eps(delta, *, noise_multiplier, steps):
    return VALUE
"""
RIGHT = "__import__('dpexp.accounting.gaussian').accounting.gaussian.eps_of(2 * steps**.5 / noise_multiplier, delta)"


@pytest.fixture
def held(tmp_path):
    def hold(text, *arguments):
        path = tmp_path / "bound.py"
        path.write_text(text)
        return invoked("judge", path, *arguments), path

    return hold


def test_the_command(held):
    found, _ = held(FILE.replace("VALUE", "0.0"), "--comparisons", "20")
    assert found.exit_code == 1
    assert "refuted" in found.stdout
    found, path = held(FILE.replace("VALUE", RIGHT), "--comparisons", "20", "--json")
    document = json.loads(found.stdout)
    assert found.exit_code == 0
    assert document["verdict"] == "not-refuted"
    assert {"verdict", "comparisons", "worst", "looseness"} <= set(document)
    assert {"parameters", "pair", "at", "exact", "bound"} <= set(document["worst"])
    assert str(path) in document["worst"]["rerun"]


FAULTS = [
    (FILE.replace("noise_multiplier, steps", "noise_multipler, steps").replace("VALUE", "0"), ":4: eps takes 'noise_multipler'"),
    (FILE.replace("noise_multiplier, steps", "diameter").replace("VALUE", "0"), ":4: eps takes 'diameter'"),
    (FILE.replace("VALUE", "1 / 0"), ":5: ZeroDivisionError"),
    (FILE.replace("VALUE", "-1.0"), ":4: eps returns -1.0"),
    (FILE.replace("VALUE", "float('nan')"), ":4: eps returns nan"),
    (FILE.replace("VALUE", "None"), ":4: eps returns None"),
    (FILE.replace("VALUE", "0").replace("full-batch", "poison"), ":1:1: 'ASSUMES.sampling' must be"),
    (FILE.replace("VALUE", "0").replace('"relation"', '"relations"'), ":1:1: 'ASSUMES.relation' is missing\n"),
    (FILE.replace("VALUE", "0").replace('"relation": "replace-one", ', ""), ":1:1: 'ASSUMES.relation' is missing"),
    (FILE.replace("VALUE", "0").replace("full-batch", "fixed-size").replace("replace-one", "add-remove"), ":1:1: 'ASSUMES' is wrong: batches of fixed"),
    ("x = \n", ":1: "),
    ("import math\nmath.sqrt(-1)\n", ":2: ValueError"),
    ("import no_such_module\n", ":1: ModuleNotFoundError"),
    ("ASSUMES = 3\ndef eps(delta): return 0\n", ":1: ASSUMES is a dict"),
    ("def eps(delta): return 0\n", ":1: there is no ASSUMES"),
    (FILE.split("\n")[0], ": needs one function"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), FAULTS)
def test_faults_of_a_file_say_where(held, text, said):
    found, path = held(text)
    assert isinstance(found.exception, UsageError)
    assert found.exception.exit_code == 2
    assert f"{path}{said}" in found.exception.message


def test_a_search_without_a_comparison_is_no_pass_and_says_why(tmp_path):
    """It blamed the families when the clock had stopped it, and ended like a bound that holds."""
    file = tmp_path / "bound.py"
    file.write_text(f"ASSUMES = {WRONG['sensitivity'][1]!r}\ndef eps(delta):\n    return 1.0\n")
    result = invoked("judge", file, "--seconds", "1e-9", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 3
    assert (document["verdict"], document["comparisons"], document["worst"]) == ("nothing-compared", 0, None)
    assert "clock" in document["reason"]
    point = {"n": 2, "batch_size": 2, "steps": 1, "step_size": 1.0, "noise_std": 100.0, "lipschitz": 1.0}
    point |= {"strong_convexity": 0.0, "delta": 0.3, "family": "composition", "against": 0.5}
    zero = dpexp.judge(lambda delta: 1.0, WRONG["sensitivity"][1], at=json.dumps(point))
    assert zero.exit_code == 3


POISSON = {"sampling": "poisson", "relation": "add-remove", "released": "all-iterates"}


def of_sampled(name, factor=1.0):
    """What sampled steps keep, at delta and along the trade-off, times a factor."""

    def delta_bound(eps, sampling_probability, noise_multiplier, steps):
        return factor * step_loss(sampling_probability, noise_multiplier, "add-remove").times(steps).delta(eps)

    def beta_bound(alpha, sampling_probability, noise_multiplier, steps):
        own = SampledGaussian(noise_multiplier=noise_multiplier, sampling_probability=sampling_probability, steps=steps)
        return max(0.0, 1 - factor * (1 - Curve(own.upper_bounds()[0].eps).beta(alpha)))

    return {f.__name__: f for f in (delta_bound, beta_bound)}[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["delta_bound", pytest.param("beta_bound", marks=at_length)])
def test_a_sound_delta_or_trade_off_passes_and_one_a_tenth_too_small_is_refuted(name):
    """At the very place that refutes the one that is too small, which finds it again."""
    held = of_sampled(name, 0.9)
    found = dpexp.judge(held, POISSON, comparisons=2, seconds=1e6)
    worst = found.document()["worst"]
    assert found.refuted, found.text
    assert worst["exact"] > worst["bound"]
    place = worst["rerun"].split("--at ", 1)[1].strip("'")
    again, sound = (dpexp.judge(function, POISSON, at=place) for function in (held, of_sampled(name)))
    assert again.refuted
    assert again.document()["worst"]["exact"] == pytest.approx(worst["exact"], rel=1e-6)
    assert not sound.refuted
