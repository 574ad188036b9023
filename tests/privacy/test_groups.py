"""Several records at once, by the conversion of a guarantee for one: one number in all commands."""

from __future__ import annotations

import json

import pytest

from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import call


def test_the_epsilon_of_a_group_is_one_number_in_receipts_and_of_its_conversion():
    noise = {"noise_multiplier": 4.0, "sampling_probability": 0.05, "steps": 20}
    (by,) = [a for a in MECHANISMS["sampled-gaussian"](**noise).upper_bounds() if a.name == "pld-composition"]
    stated = by.of_group(3).eps(1e-6)
    words = ["relation=add-remove", "sampler=poisson", "records=100000", "records_public=true", "group=3"]
    words += [f"{key}={value}" for key, value in noise.items()]
    receipt = json.loads(call("receipt", *words, f"eps={stated}", "delta=1e-6", "--json").stdout)
    (line,) = receipt["readings"][0]["eps"]
    assert line["eps"] == pytest.approx(stated, rel=1e-9)


def test_the_generic_epsilon_of_a_group_is_that_of_its_delta():
    one = MECHANISMS["sampled-gaussian"](noise_multiplier=2, sampling_probability=0.05, steps=50).upper_bounds()[0]
    group = one.of_group(2)
    eps = group.eps(1e-5)
    assert group.delta(eps) <= 1e-5 < group.delta(eps * 0.999)
