"""Every mechanism: epsilon falls with delta and with noise, grows with steps, and is never below what is attained."""

import itertools
import math
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import ValidationError

from dpexp.privacy.lower_bounds import covers, refuted, with_last_iterate
from dpexp.privacy.mechanisms import MECHANISMS

DIGITS = 1 + 1e-9
DELTAS = (1e-9, 1e-5, 1e-2, 0.5)
PLAIN = {bool: (True, False), int: (100, 10, 20, 1), float: (1.0, 0.1, 0.5, 2.0, 10.0)}
SHAPES = (1.0, (0.5, 2.0), (0.5, 1.0, 2.0), {"values": (1.0, 2.0), "probabilities": (0.5, 0.5)}, 3)


def values_for(annotation: Any):
    """Plain values worth trying for a field, by its types."""
    if get_origin(annotation) is Annotated:
        yield from values_for(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from values_for(part)
    elif get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif annotation is not type(None):
        yield from PLAIN.get(annotation, SHAPES)


def example(kind):
    """The first setting in which an analysis states a positive, finite epsilon."""
    fields = {
        name: values_for(field.annotation)
        for name, field in kind.model_fields.items()
        if field.is_required() or name == kind.noise_field
    }
    for values in itertools.islice(itertools.product(*fields.values()), 4000):
        try:
            value = kind.model_validate(dict(zip(fields, values, strict=True)))
        except ValidationError:
            continue
        if any(one.valid and 0 < one.eps(1e-5) < math.inf for one in value.upper_bounds()):
            return value
    raise AssertionError("no setting states anything")


def along(value, field, factors):
    """analysis -> epsilons at 1e-5 of valid analyses, with the field times each factor."""
    given, found = {name: getattr(value, name) for name in type(value).model_fields}, {}
    start = value.model_dump()[field]
    for factor in factors:
        changed = type(value).model_validate(given | {field: type(start)(start * factor)})
        for one in changed.upper_bounds():
            if one.valid:
                found.setdefault(one.name, []).append(one.eps(1e-5))
    return found


def falls(values):
    return all(0 <= b <= a * DIGITS for a, b in itertools.pairwise(values))


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_epsilon_moves_as_it_should_and_is_never_below_what_is_attained(name):
    value = example(MECHANISMS[name])
    analyses = list(value.upper_bounds())
    for one in analyses:
        assert falls([one.eps(delta) for delta in DELTAS]), one.name
        assert one.valid or one.refused.strip(), one.name
    less = (2.0, 1.0, 0.5) if not value.more_noise_is_larger else (0.5, 1.0, 2.0)
    for analysis, eps in along(value, value.noise_field, less).items():
        assert falls(eps), f"{analysis}: {eps} along {value.noise_field}"
    if "steps" in type(value).model_fields and not value.noise_for_all_steps:
        for analysis, eps in along(value, "steps", (5.0, 2.0, 1.0)).items():
            assert falls(eps), f"{analysis}: {eps} along steps"
    bounds = with_last_iterate(value.lower_bounds())
    assert not refuted(analyses, bounds, (1e-5, 1e-2))
    assert all(0 <= one.eps(1e-2) <= one.eps(1e-5) * DIGITS for one in bounds)
    assert not bounds or any(one.valid and covers(one, bound) for one in analyses for bound in bounds)
