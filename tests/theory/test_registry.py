"""THEOREMS holds the statements of every paper; each can be evaluated from plain numbers alone."""

import math

import pytest

from dpexp.theory import THEOREMS
from dpexp.theory.theorem import Theorem

NUMBERS = {
    "momentum": {
        "N": 1000, "d": 10, "eps": 1.0, "delta": 1e-5, "steps": 10_000, "gap": 1.0, "G": 2.0, "L": 3.0,
        "alpha": 1e-3, "eta": 1e-3, "error": 0.1, "sigma": 8.0, "order": 4.0,
    },
    "dp-sgld": {
        "n": 1000, "d": 10, "eps": 1.0, "delta": 1e-5, "steps": 500, "step": 0.1, "order": 4.0, "lipschitz": 1.5,
        "smoothness": 2.0, "strong_convexity": 0.1, "sigma": 0.3, "lsi": 0.5, "total_step": 50.0, "xi_sq": 0.2,
        "delta0": 4.0,
    },
}  # fmt: skip
EVALUATED = {name: theorem for name, theorem in THEOREMS.items() if theorem.paper in NUMBERS}


def value(name, **changed):
    theorem = EVALUATED[name]
    found = theorem(NUMBERS[theorem.paper] | changed)
    return found.steps if theorem.quantity == "schedule" else found


def test_every_paper_with_a_folder_has_statements():
    assert {theorem.paper for theorem in THEOREMS.values()} == {"ldp-sgd", "dp-sgld", "momentum"}
    assert set(EVALUATED) > {"momentum/theorem-4", "momentum/theorem-9", "dp-sgld/theorem-3-1", "dp-sgld/theorem-4-2"}


def test_a_statement_needs_no_more_than_the_numbers_of_its_paper():
    assert all(0 < value(name) < math.inf for name in EVALUATED)


@pytest.mark.parametrize("name", [name for name, t in EVALUATED.items() if t.kind == "guarantee"])
def test_divergences_grow_with_the_order_and_fall_with_the_noise(name):
    assert value(name, order=8.0) > value(name)
    assert value(name, sigma=16.0) < value(name, sigma=8.0)


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("momentum/theorem-6", "N"),
        ("momentum/theorem-9", "N"),
        ("dp-sgld/theorem-4-1", "n"),
        ("dp-sgld/theorem-4-1/eps-delta", "n"),
        ("dp-sgld/theorem-4-2", "n"),
        ("dp-sgld/theorem-4-2/eps-delta", "n"),
    ],
)
def test_utility_improves_with_records(name, records):
    assert value(name, **{records: 4000}) < value(name)


def test_completed_forms_differ_from_the_printed_ones_as_they_say():
    for name in ("lemma-7", "lemma-4-1", "theorem-4-1", "theorem-4-1/eps-delta"):
        assert value(f"dp-sgld/{name}/proved") > value(f"dp-sgld/{name}")  # twice the batches' part
    assert value("momentum/lemma-5/sharp") == pytest.approx(value("momentum/lemma-5") / 1.5, rel=1e-12)
    for number in (4, 8):
        assert value(f"momentum/theorem-{number}/sigma/best-order") < value(f"momentum/theorem-{number}/sigma")


def test_a_form_is_chosen_by_the_statement_and_not_by_the_numbers():
    def twice(x, form="printed"):
        return 2 * x if form == "printed" else 3 * x

    theorem = Theorem("p", "Theorem 1", "printed", "upper", "loss_gap", "last", ("true",), "always", twice)
    assert theorem({"x": 2, "form": "proved"}) == 4
    with pytest.raises(KeyError, match="x"):
        theorem({"form": "proved"})
