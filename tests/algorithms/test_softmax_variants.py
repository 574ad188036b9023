"""What a fair comparison on softmax regression needs: a start at 0, and validation records."""

import numpy as np
import pytest

from dpexp.algorithms.schedules import SCHEDULES
from dpexp.problems.softmax import Softmax
from tests.algorithms.test_softmax_runs import DIGITS, DP_SGD, DP_SGLD, TARGET

STEP = SCHEDULES["constant"](eta=0.7)


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


def rows_of(data):
    return {record.tobytes() for record in data.features}


def test_validation_records_are_training_records_and_no_test_record_is_there():
    for test_fraction in (None, 0.3):
        whole = Softmax(test_fraction=test_fraction).split
        problem = Softmax(test_fraction=test_fraction, validation_fraction=0.25)
        train, held = problem.split
        assert (len(train), len(held)) == problem.parts
        assert len(held) == len(whole.train) // 4
        assert len(train) + len(held) == len(whole.train)
        assert rows_of(train) | rows_of(held) == rows_of(whole.train)
        only_test = rows_of(whole.test) - rows_of(whole.train)
        assert only_test
        assert not only_test & (rows_of(train) | rows_of(held))
        assert Softmax(test_fraction=test_fraction).parts[1] == len(whole.test)
