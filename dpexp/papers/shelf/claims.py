"""One rule for all rows: is the printed epsilon that of its own parameters, and of the program that ran?"""

from __future__ import annotations

from dpexp.papers.shelf.entries import Entry, entries, found
from dpexp.reporting.claim import Claim, Outcome, Verdict
from dpexp.reporting.row import Printing, Rule, row

PLACES, RELATIVE = 0.006, 0.001
"""half of the last printed digit, or a thousandth: early versions summed series of fractional orders less closely"""


def verdict(entry: Entry, printed: float) -> Verdict:
    """What is to be said of a printed epsilon."""
    at = found(entry)
    if printed < at.attained:
        return "false"
    if abs(printed - at.recomputed) > max(PLACES, RELATIVE * at.recomputed):
        return "misprint"
    if entry.sampler == "poisson":
        return "holds as a bound"
    return "misleading" if at.replaced > printed else "not testable"


def epsilon(entry: Entry) -> Rule:
    """The printed epsilon beside three others."""

    def rule(printing: Printing) -> Outcome:
        at = found(entry)
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

    return rule


WHY = {
    "misleading": "the arithmetic is right, and loose, for Poisson batches and a record added or removed. The program shuffles. "
    "Nothing above the printed number is attained there if a record is added or removed, and much more is if one is replaced",
    "misprint": "the number belongs to other parameters than those beside it; it is larger than theirs, so nobody is harmed",
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
CLAIMS: tuple[Claim, ...] = tuple(
    row(
        f"shelf/{entry.id}", entry.place, f"Epsilon is {entry.printed:g} at delta {entry.delta:g}.", "guarantee",
        epsilon(entry), "half of the last printed digit, or a thousandth", expected, f"{WHY[expected]}. Batches: {entry.loader}",
        quote=entry.quote,
        false_if="A pair of neighbours attains more than the printed epsilon with the batches that the program draws.",
    )
    for entry in entries()
    for expected in [EXPECTED.get(entry.id, "misleading")]
)  # fmt: skip
