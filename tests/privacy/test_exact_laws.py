"""Exact laws of the literal update: two implementations, simulated runs, and golden values of independent scripts."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.linear import linear, quadratic
from dpexp.privacy.exact.run_laws import pair
from dpexp.privacy.exact.update import Drift, Update, affine, constant
from dpexp.privacy.judge.families import composed
from tests.oracles import node_laws
from tests.oracles.composition import gaussian_eps

SAMPLINGS = ("fixed-size", "poisson", "full-batch", "cyclic")


def run(sampling, steps, record, others=None, n=6, b=2, half=1.5, **more):
    b = n if sampling == "full-batch" else b
    return Update(sampling, n, b, steps, half, others or constant(0.0), record, **more)


TRAP = Drift((-1.5, 0.3, 0.3, 1.0, 1.0, 1.5), (-1.2, -1.2, 0.1, 0.1, 1.2, 1.2))


@pytest.mark.parametrize("others", [affine(-0.4, 0.2, 1.5), TRAP], ids=["quadratic", "trap"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_two_implementations_agree(sampling, others):
    for steps in (1, 2, 4, 8):
        one = run(sampling, steps, constant(1.5), others, position=1)
        replaced = (constant(-1.5),) if sampling == "fixed-size" else (constant(-1.5), None)
        for record in replaced:
            other = replace(one, record=record)
            ours, nodes = pair(one, other), node_laws.pair(one, other)
            assert ours.renyi(4) == pytest.approx(nodes.renyi(4), rel=1e-8, abs=1e-12)
            assert ours.eps(1e-3) == pytest.approx(nodes.eps(1e-3), rel=2e-6, abs=1e-9)
            assert pair(one, other, 3).renyi(8) == pytest.approx(ours.renyi(8), rel=1e-9, abs=1e-12)
            assert pair(one, other, 3).eps(1e-5) == pytest.approx(ours.eps(1e-5), rel=1e-9, abs=1e-9)
    wrong = pair(replace(one, record=constant(1.501)), other)  # the agreement would see this much
    assert wrong.renyi(4) != pytest.approx(nodes.renyi(4), rel=1e-5)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_many_steps_are_one_after_the_other(sampling):
    """Powers of an epoch, or of a step, beside the program that takes nodes; 61 steps end within an epoch."""
    for steps in (61, 3000):
        one = run(sampling, steps, constant(1.5), affine(-0.4, 0.2, 1.5), start=0.7, position=2)
        other = replace(one, record=constant(-1.5))
        assert pair(one, other).eps(1e-4) == pytest.approx(node_laws.pair(one, other).eps(1e-4), rel=2e-6)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_simulated_batches_of_records_follow_the_law(sampling):
    """n records, batches drawn as the scheme says, the sum of their gradients over b."""
    update = run(sampling, 7, constant(2.0), affine(-0.5, 0.3, 1.5), position=2)
    n, b, count = update.n, update.batch_size, 100_000
    rng = np.random.default_rng(3)
    y = np.zeros(count)

    def orders():
        return rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)

    order = orders()
    cyclic = np.tile(np.roll(np.arange(n), update.position * b), (count, 1))  # record 0 is in that batch
    for t in range(update.steps):
        j = t % (n // b)
        if sampling == "fixed-size":
            order = orders()
        if sampling == "poisson":
            chosen = rng.random((count, n)) < b / n
        else:
            ids = cyclic[:, j * b : j * b + b] if sampling == "cyclic" else order[:, :b]
            chosen = np.zeros((count, n), dtype=bool)
            np.put_along_axis(chosen, ids, True, axis=1)
        moves = chosen[:, 0] * update.record(y) + chosen[:, 1:].sum(axis=1) * update.others(y)
        y = np.clip(y + moves / b + rng.standard_normal(count), -1.5, 1.5)
    law = pair(update, replace(update, record=constant(-2.0))).laws[0]
    edges = np.linspace(-1.5, 1.5, 7)
    expected = np.append(law.between(edges[1:-1]), law.masses[-2:])
    inner = np.histogram(y[(y > -1.5) & (y < 1.5)], edges)[0]
    found = np.append(inner, [(y == -1.5).sum(), (y == 1.5).sum()]) / count
    assert found == pytest.approx(expected, abs=4.5 * 0.5 / math.sqrt(count))
    assert expected.sum() == pytest.approx(1, abs=1e-12)


def test_linear_losses_without_walls():
    wide = run("poisson", 30, constant(0.8), n=10, b=2, half=60.0)
    walk, law = pair(wide, replace(wide, record=None)), linear("poisson", False, 0.2, 2.5, 30)
    assert walk.eps(1e-3) == pytest.approx(law.eps(1e-3), rel=1e-5)
    assert walk.renyi(4) == pytest.approx(law.renyi(4), rel=1e-7)


def test_composition_of_normal_steps_and_renyi():
    assert gaussian_eps(1.0, 1e-5) == pytest.approx(eps_of(1.0, 1e-5), rel=1e-9)
    assert composed("add-remove", 0.01, 1.0, 1).renyi(2) == pytest.approx(1.718134220745e-4, rel=1e-8)
    assert composed("add-remove", 0.01, 1.0, 1).renyi(32) == pytest.approx(11.24627593705, rel=1e-8)
    assert composed("replace-one", 0.01, 2.0, 1).renyi(8) == pytest.approx(4.03165248e-4, rel=1e-7)


def test_the_last_iterate_of_quadratics():
    """Full batches that contract by 1/2 (adversary.md 8): mu 1.6787 at T = 5 and 1.7321 at 100."""
    for steps, mu in ((5, 1.6787), (100, 1.7321)):
        law = quadratic("full-batch", False, 1.0, 0.5, steps, 1, 0)
        assert law.eps(1e-5) == pytest.approx(eps_of(mu, 1e-5), rel=2e-4)


def test_values_are_rounded_down():
    """Masses with an error of 1e-3 give less, and never more than the exact epsilon."""
    one = run("fixed-size", 5, constant(1.5))
    cells = node_laws.pair(one, replace(one, record=constant(-1.5))).cells
    exact = cells.eps(1e-3)
    assert 0 < replace(cells, relative=1e-3).eps(1e-3) < exact
    assert replace(cells, relative=1e-3).renyi(2) < cells.renyi(2)
    assert replace(cells, relative=1e-3).delta(0.1) < cells.delta(0.1)
