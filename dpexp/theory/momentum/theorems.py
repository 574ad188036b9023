"""The statements of `momentum`, with what each bounds and when it may be trusted."""

from functools import partial

from dpexp.theory.momentum.formulas import (
    lemma5_printed,
    lemma5_sharp,
    lemma7_printed,
    theorem4_rdp,
    theorem4_sigma,
    theorem4_sigma_best_order,
    theorem6_printed,
    theorem6_schedule,
    theorem8_rdp,
    theorem8_sigma,
    theorem8_sigma_best_order,
    theorem9_printed,
    theorem9_schedule,
)
from dpexp.theory.theorem import Theorem

_NORMALISED = ("L-smooth", "every step has length eta")
_LOSSES = ("gradients bounded by G", "L-smooth", "normalised steps")
_TREE = ("gradients bounded by G", "a record is in at most V nodes of the tree")
_of = partial(Theorem, "momentum")

THEOREMS: dict[str, Theorem] = {
    "momentum/lemma-5": _of(
        "Lemma 5", "printed", "upper", "mean_grad_norm", "last", _NORMALISED, "eta > 0, T >= 1", lemma5_printed,
    ),
    "momentum/lemma-5/sharp": _of(
        "Lemma 5, with the constants of its proof", "completed", "upper", "mean_grad_norm", "last", _NORMALISED,
        "eta > 0, T >= 1", lemma5_sharp,
    ),
    "momentum/lemma-7": _of(
        "Lemma 7", "printed", "upper", "momentum_noise", "last", _LOSSES,
        "alpha >= 1 / N, gamma <= 1/2, T >= 2; needs node sensitivities 4 L eta N", lemma7_printed,
    ),
    "momentum/theorem-4": _of("Theorem 4", "printed", "guarantee", "rdp", "last", _TREE, "order > 1", theorem4_rdp),
    "momentum/theorem-4/sigma": _of(
        "Theorem 4, sigma", "printed", "prescription", "noise_multiplier", "last", _TREE,
        "eps up to 2.34 log(1 / delta), though printed with delta >= exp(-eps)", theorem4_sigma,
    ),
    "momentum/theorem-4/sigma/best-order": _of(
        "Theorem 4, sigma at the best order", "completed", "prescription", "noise_multiplier", "last", _TREE,
        "eps > 0", theorem4_sigma_best_order,
    ),
    "momentum/theorem-6": _of(
        "Theorem 6", "printed", "upper", "mean_grad_norm", "last", _LOSSES, "the prescribed schedule, T >= N",
        theorem6_printed,
    ),
    "momentum/theorem-6/schedule": _of(
        "Theorem 6, schedule", "printed", "prescription", "schedule", "last", _LOSSES, "feasible where T >= N",
        theorem6_schedule,
    ),
    "momentum/theorem-8": _of("Theorem 8", "printed", "guarantee", "rdp", "last", _TREE, "order > 1", theorem8_rdp),
    "momentum/theorem-8/sigma": _of(
        "Theorem 8, sigma", "printed", "prescription", "noise_multiplier", "last", _TREE,
        "eps up to 4.13 log(1 / delta)", theorem8_sigma,
    ),
    "momentum/theorem-8/sigma/best-order": _of(
        "Theorem 8, sigma at the best order", "completed", "prescription", "noise_multiplier", "last", _TREE,
        "eps > 0", theorem8_sigma_best_order,
    ),
    "momentum/theorem-9": _of(
        "Theorem 9", "printed", "upper", "mean_grad_norm", "last", _LOSSES, "the prescribed schedule, gamma <= 1/2",
        theorem9_printed,
    ),
    "momentum/theorem-9/schedule": _of(
        "Theorem 9, schedule", "printed", "prescription", "schedule", "last", _LOSSES, "feasible where gamma <= 1/2",
        theorem9_schedule,
    ),
}  # fmt: skip
