"""Statements of `momentum` (Tran and Cutkosky), one a file: plain numbers in, bounds, schedules and multipliers out."""

from dpexp.theory.momentum.lemmas import lemma5_printed, lemma5_sharp, lemma7_printed, lemma7_terms
from dpexp.theory.momentum.multipliers import (
    theorem4_rdp,
    theorem4_sigma,
    theorem4_sigma_best_order,
    theorem8_rdp,
    theorem8_sigma,
    theorem8_sigma_best_order,
)
from dpexp.theory.momentum.schedules import (
    Prescription,
    theorem6_printed,
    theorem6_schedule,
    theorem6_terms,
    theorem9_printed,
    theorem9_schedule,
    theorem9_terms,
)

__all__ = [
    "Prescription",
    "lemma5_printed",
    "lemma5_sharp",
    "lemma7_printed",
    "lemma7_terms",
    "theorem4_rdp",
    "theorem4_sigma",
    "theorem4_sigma_best_order",
    "theorem6_printed",
    "theorem6_schedule",
    "theorem6_terms",
    "theorem8_rdp",
    "theorem8_sigma",
    "theorem8_sigma_best_order",
    "theorem9_printed",
    "theorem9_schedule",
    "theorem9_terms",
]
