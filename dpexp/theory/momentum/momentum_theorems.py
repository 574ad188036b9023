"""The statements of `momentum`, with what each bounds and when it may be trusted."""

from functools import partial

from dpexp.theory.momentum import momentum_formulas
from dpexp.theory.theorem import Theorem

_NORMALISED = ("L-smooth", "every step has length eta")
_LOSSES = ("gradients bounded by G", "L-smooth", "normalised steps")
_TREE = ("gradients bounded by G", "a record is in at most V nodes of the tree")
_of = partial(Theorem, "momentum", form="printed", estimator="last")
_norm = partial(_of, kind="upper", quantity="mean_grad_norm", assumes=_LOSSES)
_schedule = partial(_of, kind="prescription", quantity="schedule", assumes=_LOSSES)
_rdp = partial(_of, kind="guarantee", quantity="rdp", assumes=_TREE, valid="order > 1")
_sigma = partial(_of, kind="prescription", quantity="noise_multiplier", assumes=_TREE)
_best_order = partial(_sigma, form="completed", valid="eps > 0")

THEOREMS: dict[str, Theorem] = {
    "momentum/lemma-5": _norm(
        "Lemma 5", assumes=_NORMALISED, valid="eta > 0, T >= 1", function=momentum_formulas.lemma5_printed,
    ),
    "momentum/lemma-5/sharp": _norm(
        "Lemma 5, with the constants of its proof", form="completed", assumes=_NORMALISED, valid="eta > 0, T >= 1",
        function=momentum_formulas.lemma5_sharp,
    ),
    "momentum/lemma-7": _norm(
        "Lemma 7", quantity="momentum_noise", function=momentum_formulas.lemma7_printed,
        valid="alpha >= 1 / N, gamma <= 1/2, T >= 2; needs node sensitivities 4 L eta N",
    ),
    "momentum/theorem-4": _rdp("Theorem 4", function=momentum_formulas.theorem4_rdp),
    "momentum/theorem-4/sigma": _sigma(
        "Theorem 4, sigma", valid="eps up to 2.34 log(1 / delta), though printed with delta >= exp(-eps)",
        function=momentum_formulas.theorem4_sigma,
    ),
    "momentum/theorem-4/sigma/best-order": _best_order(
        "Theorem 4, sigma at the best order", function=momentum_formulas.theorem4_sigma_best_order,
    ),
    "momentum/theorem-6": _norm(
        "Theorem 6", valid="the prescribed schedule, T >= N", function=momentum_formulas.theorem6_printed,
    ),
    "momentum/theorem-6/schedule": _schedule(
        "Theorem 6, schedule", valid="feasible where T >= N", function=momentum_formulas.theorem6_schedule,
    ),
    "momentum/theorem-8": _rdp("Theorem 8", function=momentum_formulas.theorem8_rdp),
    "momentum/theorem-8/sigma": _sigma(
        "Theorem 8, sigma", valid="eps up to 4.13 log(1 / delta)", function=momentum_formulas.theorem8_sigma,
    ),
    "momentum/theorem-8/sigma/best-order": _best_order(
        "Theorem 8, sigma at the best order", function=momentum_formulas.theorem8_sigma_best_order,
    ),
    "momentum/theorem-9": _norm(
        "Theorem 9", valid="the prescribed schedule, gamma <= 1/2", function=momentum_formulas.theorem9_printed,
    ),
    "momentum/theorem-9/schedule": _schedule(
        "Theorem 9, schedule", valid="feasible where gamma <= 1/2", function=momentum_formulas.theorem9_schedule,
    ),
}  # fmt: skip
