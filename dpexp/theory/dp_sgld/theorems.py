"""The statements of `dp-sgld`, with what each bounds and when it may be trusted."""

from functools import partial

from dpexp.theory.dp_sgld.privacy import corollary31, corollary32, corollary33, theorem31, theorem33
from dpexp.theory.dp_sgld.utility import (
    dp_sigma,
    lemma7,
    lemma11,
    lemma41,
    theorem41,
    theorem41_dp,
    theorem41_dp_steps,
    theorem41_sigma,
    theorem41_steps,
    theorem42,
    theorem42_dp,
    theorem42_dp_steps,
    theorem42_steps,
)
from dpexp.theory.theorem import Theorem

_PRIVATE = ("every record's gradient bounded by L", "every record's loss beta-smooth", "steps below 1 / beta")
_CONVEX = (*_PRIVATE, "lambda-strongly convex", "the prescribed start")
_FULL = "full batches: false for mini-batches"
_RISK = ("lambda-strongly convex", "every batch loss beta-smooth", "the minimiser inside the set")
_of = partial(Theorem, "dp-sgld")

THEOREMS: dict[str, Theorem] = {
    "dp-sgld/theorem-3-1": _of("Theorem 3.1", "printed", "guarantee", "rdp", "last", _CONVEX, _FULL, theorem31),
    "dp-sgld/theorem-3-3": _of(
        "Theorem 3.3", "printed", "guarantee", "rdp", "last",
        (*_PRIVATE, "the laws of the iterates satisfy a log-Sobolev inequality"), _FULL, theorem33,
    ),
    "dp-sgld/corollary-3-1": _of(
        "Corollary 3.1", "printed", "guarantee", "rdp", "last",
        (*_PRIVATE, "the laws of the iterates satisfy a log-Sobolev inequality"), _FULL, corollary31,
    ),
    "dp-sgld/corollary-3-2": _of("Corollary 3.2", "printed", "guarantee", "rdp", "last", _CONVEX, _FULL, corollary32),
    "dp-sgld/corollary-3-3": _of(
        "Corollary 3.3", "printed", "guarantee", "rdp", "last", _CONVEX,
        "full batches, steps eta_1 .. eta_K: false for mini-batches", corollary33,
    ),
    "dp-sgld/lemma-7": _of("Lemma (7)", "printed", "upper", "loss_gap", "last", _RISK, "eta <= 1 / (2 beta)", lemma7),
    "dp-sgld/lemma-7/proved": _of(
        "Lemma (7)", "completed", "upper", "loss_gap", "last", _RISK, "eta <= 1 / (2 beta)",
        partial(lemma7, form="proved"),
    ),
    "dp-sgld/lemma-4-1": _of(
        "Lemma 4.1", "printed", "upper", "loss_gap", "last", _RISK, "eta <= 1 / (2 beta)", lemma41,
    ),
    "dp-sgld/lemma-4-1/proved": _of(
        "Lemma 4.1", "completed", "upper", "loss_gap", "last", _RISK, "eta <= 1 / (2 beta)",
        partial(lemma41, form="proved"),
    ),
    "dp-sgld/lemma-11": _of(
        "Lemma (11)", "printed", "upper", "loss_gap", "mean", _RISK, "the decreasing steps", lemma11,
    ),
    "dp-sgld/lemma-11/proved": _of(
        "Lemma (11)", "completed", "upper", "loss_gap", "mean", _RISK, "the decreasing steps",
        partial(lemma11, form="proved"),
    ),
    "dp-sgld/theorem-4-1": _of(
        "Theorem 4.1", "printed", "upper", "loss_gap", "last", _RISK, "eps n^2 > order d", theorem41,
    ),
    "dp-sgld/theorem-4-1/proved": _of(
        "Theorem 4.1", "completed", "upper", "loss_gap", "last", _RISK, "eps n^2 > order d",
        partial(theorem41, form="proved"),
    ),
    "dp-sgld/theorem-4-1/sigma": _of(
        "Theorem 4.1, sigma", "printed", "prescription", "noise_sigma", "last", _RISK, "eps > 0", theorem41_sigma,
    ),
    "dp-sgld/theorem-4-1/steps": _of(
        "Theorem 4.1, K", "printed", "prescription", "steps", "last", _RISK, "eps n^2 > order d", theorem41_steps,
    ),
    "dp-sgld/theorem-4-1/eps-delta": _of(
        "Theorem 4.1, (eps, delta) form", "printed", "upper", "loss_gap", "last", _RISK, "eps <= 2 log(1 / delta)",
        theorem41_dp,
    ),
    "dp-sgld/theorem-4-1/eps-delta/proved": _of(
        "Theorem 4.1, (eps, delta) form", "completed", "upper", "loss_gap", "last", _RISK, "eps <= 2 log(1 / delta)",
        partial(theorem41_dp, form="proved"),
    ),
    "dp-sgld/theorem-4-1/eps-delta/sigma": _of(
        "Theorem 4.1, (eps, delta) form, sigma", "printed", "prescription", "noise_sigma", "last", _RISK,
        "eps <= 2 log(1 / delta)", dp_sigma,
    ),
    "dp-sgld/theorem-4-1/eps-delta/steps": _of(
        "Theorem 4.1, (eps, delta) form, K", "printed", "prescription", "steps", "last", _RISK,
        "eps <= 2 log(1 / delta)", theorem41_dp_steps,
    ),
    "dp-sgld/theorem-4-2": _of(
        "Theorem 4.2", "printed", "upper", "loss_gap", "mean", _RISK, "the decreasing steps", theorem42,
    ),
    "dp-sgld/theorem-4-2/steps": _of(
        "Theorem 4.2, K", "printed", "prescription", "steps", "mean", _RISK, "the decreasing steps", theorem42_steps,
    ),
    "dp-sgld/theorem-4-2/eps-delta": _of(
        "Theorem 4.2, (eps, delta) form", "printed", "upper", "loss_gap", "mean", _RISK, "eps <= 2 log(1 / delta)",
        theorem42_dp,
    ),
    "dp-sgld/theorem-4-2/eps-delta/steps": _of(
        "Theorem 4.2, (eps, delta) form, K", "printed", "prescription", "steps", "mean", _RISK,
        "eps <= 2 log(1 / delta)", theorem42_dp_steps,
    ),
}  # fmt: skip
