"""What a fair comparison on softmax regression needs: momentum, averages, a start at 0, validation records."""

import math

import numpy as np
import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.core.seeds import generator
from dpexp.engine.softmax import softmax_loop as engine
from dpexp.engine.softmax.batches import SAMPLING
from dpexp.privacy.budgets import Target
from dpexp.problems.softmax import Softmax

DIGITS = Softmax(regulariser=1e-2)
TARGET, FREE = Target(eps=1.0, delta=1e-5), Target(eps=math.inf)
DP_SGLD, DP_SGD, SGD = (ALGORITHMS[name] for name in ("dp-sgld", "dp-sgd", "sgd"))
STEP = SCHEDULES["constant"](eta=0.7)


# --- momentum and averages -------------------------------------------------------------------------------------


def test_averaging_changes_no_iterate_and_company_no_average():
    train = DIGITS.train
    sizes = np.full(40, 0.5)
    runs = [engine.SoftmaxRun(np.zeros((10, 65), np.float32), sizes, 1e-2, momentum=m) for m in (0.0, 0.9)]

    def of(which, averaging=True):
        return engine.train(
            train.features, train.labels, which, SAMPLING["poisson"](len(train), 32, generator(1, 0, "order")),
            batch_size=32, checkpoints=[0, 7, 40], averaging=averaging,
        )  # fmt: skip

    both = of(runs)
    assert np.array_equal(both.last, of(runs, averaging=False).last)
    for k, run in enumerate(runs):
        alone = of([run])
        assert np.array_equal(alone.last[0], both.last[k])
        assert np.array_equal(alone.average[0], both.average[k])
    assert not both.average[:, 0].any()
    with pytest.raises(ValueError, match="without projection"):
        of([runs[1]._replace(radius=1.0)])


def test_momentum_costs_no_privacy():
    """The same noisy gradients are released, whatever is computed from them."""
    plain, heavy = DP_SGD(batch_size=32), DP_SGD(batch_size=32, momentum=0.9)
    rows = [a.mechanism(DIGITS, STEP, TARGET, 60).row((1e-5,)) for a in (plain, heavy)]
    assert rows[0] == rows[1]
    scales = [a.noise(DIGITS, STEP, TARGET, np.full(60, 0.7)).scale for a in (plain, heavy)]
    assert np.array_equal(*scales)


# --- a start at 0 ----------------------------------------------------------------------------------------------


def test_from_0_it_is_dp_sgd_that_never_clips():
    """Langevin noise and the noise of DP-SGD by two routes; records' gradients are at most L = 1.4577."""
    clip = DIGITS.lipschitz
    langevin = DP_SGLD(batch_size=32, sampling="poisson", start="zero", radius=1e6)
    clipped = DP_SGD(batch_size=32, clip=clip)
    found = [a.simulate(DIGITS, [(STEP, TARGET)], np.array([30]), 5, [0, 1]).values[:, 0] for a in (langevin, clipped)]
    assert found[0][..., 0, :] == pytest.approx(found[1][..., 0, :], rel=1e-4)
    assert found[0][..., 2, :] == pytest.approx(found[1][..., 2, :], rel=1e-4)
    prescribed = langevin.model_copy(update={"start": "prescribed"})
    assert prescribed.simulate(DIGITS, [(STEP, TARGET)], np.array([30]), 5, [0]).values[0, 0, 0, 0, 0] > found[0].max()


# --- validation records ----------------------------------------------------------------------------------------


def rows_of(data):
    return {record.tobytes() for record in data.features}


def test_validation_records_are_training_records_and_no_test_record_is_there():
    for test_fraction in (None, 0.3):
        whole = Softmax(test_fraction=test_fraction).split
        problem = Softmax(test_fraction=test_fraction, validation_fraction=0.25)
        train, held = problem.split
        assert (len(train), len(held)) == (problem.n, problem.held_out_records)
        assert len(held) == len(whole.train) // 4
        assert len(train) + len(held) == len(whole.train)
        assert rows_of(train) | rows_of(held) == rows_of(whole.train)
        only_test = rows_of(whole.test) - rows_of(whole.train)
        assert only_test
        assert not only_test & (rows_of(train) | rows_of(held))
        assert Softmax(test_fraction=test_fraction).held_out_records == len(whole.test)
