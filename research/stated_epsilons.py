"""Epsilons that widely read pages state of training runs, as a plug-in.

    dpexp claims shelf --plugin research/stated_epsilons.py

Is a stated epsilon that of its own parameters, and of the program that ran? Three others are computed: as the page's
accountant did, certified for Poisson batches, and attained by the batches that the program draws. One rule judges all.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.renyi import mixture_from_base
from dpexp.core.parameters import Parameters
from dpexp.plugins import Plugin
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.reporting.checks import by_rule
from dpexp.reporting.claim import Check, Claim, Outcome, Printing, Verdict
from dpexp.reporting.paper import Paper, ToKnow
from dpexp.reporting.templates import data_of
from dpexp.reporting.text_table import Column, Content, Table, by_column

WORDS = data_of(Path(__file__).with_suffix(".yaml"))
ORDERS = (*(1 + k / 10 for k in range(1, 100)), *range(12, 64))
"""the Renyi orders of the accountants that these pages used"""
RECORDS = 60_000
"""training images of MNIST, where a batch size is given"""


class Entry(Parameters):
    """One printed epsilon, with the run that it is of."""

    id: str
    place: str
    quote: str
    printed: float
    noise_multiplier: float
    epochs: int
    steps: int
    sampler: Literal["poisson", "shuffled"]
    """how the program draws batches; all were accounted as Poisson"""
    loader: str
    delta: float = 1e-5
    batch_size: int | None = None
    sampling_probability: float | None = None

    @property
    def q(self) -> float:
        return self.sampling_probability or (self.batch_size or 0) / RECORDS


class Found(NamedTuple):
    """Epsilons at the delta of the page. Attained ones are rounded down, the others up."""

    recomputed: float
    """by Renyi divergences and the conversion of 2017, as the page's accountant does it"""
    accounted: float
    """certified for Poisson batches, a record added or removed"""
    attained: float
    """by a pair, for the batches that the program draws, a record added or removed"""
    replaced: float
    """the same for a record that is replaced"""


def entries() -> tuple[Entry, ...]:
    """The rows of the shelf."""
    return tuple(Entry(**row) for row in WORDS["entries"])


@cache
def figures_of(entry: Entry) -> Found:
    """What holds and what is attained for a printed epsilon."""
    z, q, delta = entry.noise_multiplier, entry.q, entry.delta
    # as the page's own accountant: the orders and the conversion of its time (Mironov, 2017, Proposition 3)
    room = math.log(1 / delta)
    recomputed = min(entry.steps * mixture_from_base(order, q, z) + room / (order - 1) for order in ORDERS)
    accounted = step_loss(q, z, "add-remove").times(entry.steps).eps(delta)
    return Found(recomputed, accounted, *(_attained(entry, relation) for relation in ("add-remove", "replace-one")))


def _attained(entry: Entry, relation: str) -> float:
    """What constant gradients attain when all iterates are seen."""
    values: dict[str, Any] = {"noise_multiplier": entry.noise_multiplier, "neighboring_relation": relation}
    if entry.sampler == "poisson":
        name = "sampled-gaussian"
        values |= {"sampling_probability": entry.q, "steps": entry.steps}
    else:
        assert entry.batch_size is not None
        name = "epoch-gaussian"
        values |= {"batches": RECORDS // entry.batch_size, "epochs": entry.epochs, "sampling": "reshuffled"}
    lower = MECHANISMS[name].model_validate(values).lower_bounds()
    return max(bound.eps(entry.delta) for bound in lower if bound.released == "all-iterates")


PLACES, RELATIVE = 0.006, 0.001
"""half of the last printed digit, or a thousandth: early versions summed series of fractional orders less closely"""


def verdict(entry: Entry, printed: float) -> Verdict:
    """What is to be said of a printed epsilon."""
    at = figures_of(entry)
    # a pair of neighbours is proof, whatever the page assumed
    if printed < at.attained:
        return "false"
    if abs(printed - at.recomputed) > max(PLACES, RELATIVE * at.recomputed):
        return "misprint"
    # right for the batches that the program draws
    if entry.sampler == "poisson":
        return "holds as a bound"
    return "misleading" if at.replaced > printed else "not testable"


def epsilon(entry: Entry) -> Check:
    """The printed epsilon and three others."""

    def rule(printing: Printing) -> Outcome:
        at = figures_of(entry)
        printed = printing(entry.printed, round(at.recomputed, 2))
        measured = f"recomputed {at.recomputed:.4g}; certified for Poisson batches {at.accounted:.4g}; a pair attains "
        measured += f"{at.attained:.4g} of {entry.sampler} batches, and {at.replaced:.4g} if a record is replaced"
        return Outcome(
            verdict(entry, printed),
            f"epsilon {printed:.4g} at delta {entry.delta:g}",
            measured,
            "loss distributions rounded up, and exact laws rounded down",
            at._asdict(),
        )

    return by_rule(rule)


WHY = {
    "misleading": "the arithmetic is right, and loose, for Poisson batches and a record added or removed. The program shuffles. "
    "Nothing above the printed number is attained there if a record is added or removed, and much more is if one is replaced",
    "misprint": "the number belongs to other parameters than those printed with it; it is larger than theirs, so no claim is harmed",
    "holds as a bound": "right for the batches that the program draws, and loose: loss distributions give less",
}
EXPECTED: dict[str, Verdict] = {
    "opacus/mnist-15-epochs": "holds as a bound",
    "opacus/mnist-first-epoch": "holds as a bound",
    "opacus/mnist-head-7": "misprint",
    "opacus/mnist-head-3": "misprint",
    "opacus/mnist-head-1": "misprint",
    "opacus/char-lstm": "holds as a bound",
}
CHECKS = {f"shelf/{entry.id}": epsilon(entry) for entry in entries()}
CLAIMS: tuple[Claim, ...] = tuple(
    CHECKS[f"shelf/{entry.id}"].claim(
        f"shelf/{entry.id}",
        place=entry.place,
        statement=f"Epsilon is {entry.printed:g} at delta {entry.delta:g}.",
        kind="guarantee",
        tolerance="half of the last printed digit, or a thousandth",
        expected=expected,
        why=f"{WHY[expected]}. Batches: {entry.loader}",
        quote=entry.quote,
        false_if="A pair of neighbours attains more than the printed epsilon with the batches that the program draws.",
    )
    for entry in entries()
    for expected in [EXPECTED.get(entry.id, "misleading")]
)

NOTE = (
    "All are accounted as Poisson batches, a record added or removed. Recomputed: Renyi divergences with the conversion of "
    "2017. Certified: loss distributions, Poisson batches. Attained: by a pair, of the batches that the program draws."
)


def build(results: Path) -> Content:
    """A line for each printed epsilon."""
    records = [
        {
            "of": entry.id,
            "printed": entry.printed,
            "delta": entry.delta,
            "noise_multiplier": entry.noise_multiplier,
            "sampling_probability": entry.q,
            "steps": entry.steps,
            "batches": entry.sampler,
            **figures_of(entry)._asdict(),
            "verdict": verdict(entry, entry.printed),
        }
        for entry in entries()
    ]
    columns: dict[str, Column] = {
        "of": "{of}",
        "batches": "{batches}",
        "printed": "{printed:.4g}",
        "recomputed": "{recomputed:.4g}",
        "certified": "{accounted:.4g}",
        "attained": "{attained:.4g}",
        "attained, replaced": "{replaced:.4g}",
        "verdict": "{verdict}",
    }
    return by_column(columns, records, NOTE)


PAPER = Paper(
    id="shelf",
    title="Published epsilons of DP-SGD",
    authors="TensorFlow Privacy, Opacus",
    claims=CLAIMS,
    tables=(Table("shelf", "Published epsilons, what holds and what is attained", "shelf", (), build),),
    what_to_know=tuple(ToKnow(**entry) for entry in WORDS["what_to_know"]),
)
PLUGIN = Plugin(papers=(PAPER,), inputs=("stated_epsilons.yaml",))
