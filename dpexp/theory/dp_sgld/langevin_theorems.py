"""The statements of `dp-sgld`, with what each bounds and when it may be trusted."""

from dataclasses import replace
from functools import partial

from dpexp.theory.dp_sgld import privacy_statements, utility
from dpexp.theory.theorem import Theorem

_PRIVATE = ("every record's gradient bounded by L", "every record's loss beta-smooth", "steps below 1 / beta")
_CONVEX = (*_PRIVATE, "lambda-strongly convex", "the prescribed start")
_SOBOLEV = (*_PRIVATE, "the laws of the iterates satisfy a log-Sobolev inequality")
_RISK = ("lambda-strongly convex", "every batch loss beta-smooth", "the minimiser inside the set")
_FULL, _FALLING = "full batches: false for mini-batches", "the decreasing steps"
_HALF, _RECORDS, _EPS = "eta <= 1 / (2 beta)", "eps n^2 > order d", "eps <= 2 log(1 / delta)"
_of = partial(Theorem, "dp-sgld", form="printed")
_loss = partial(_of, kind="guarantee", quantity="rdp", estimator="last", assumes=_CONVEX, valid=_FULL)
_last = partial(_of, kind="upper", quantity="loss_gap", estimator="last", assumes=_RISK)
_mean = partial(_last, estimator="mean")
_sigma = partial(_last, kind="prescription", quantity="noise_sigma")
_steps = partial(_last, kind="prescription", quantity="steps")


def _both(name: str, printed: Theorem) -> dict[str, Theorem]:
    """A statement as printed, and with the constant that its argument gives."""
    proved = replace(printed, form="completed", function=partial(printed.function, form="proved"))
    return {name: printed, f"{name}/proved": proved}


_4_1, _4_2 = ("Theorem 4.1, (eps, delta) form", "Theorem 4.2, (eps, delta) form")
THEOREMS: dict[str, Theorem] = {
    "dp-sgld/theorem-3-1": _loss("Theorem 3.1", function=privacy_statements.theorem31),
    "dp-sgld/theorem-3-3": _loss("Theorem 3.3", assumes=_SOBOLEV, function=privacy_statements.theorem33),
    "dp-sgld/corollary-3-1": _loss("Corollary 3.1", assumes=_SOBOLEV, function=privacy_statements.corollary31),
    "dp-sgld/corollary-3-2": _loss("Corollary 3.2", function=privacy_statements.corollary32),
    "dp-sgld/corollary-3-3": _loss(
        "Corollary 3.3", valid="full batches, steps eta_1 .. eta_K: false for mini-batches",
        function=privacy_statements.corollary33,
    ),
    **_both("dp-sgld/lemma-7", _last("Lemma (7)", valid=_HALF, function=utility.lemma7)),
    **_both("dp-sgld/lemma-4-1", _last("Lemma 4.1", valid=_HALF, function=utility.lemma41)),
    **_both("dp-sgld/lemma-11", _mean("Lemma (11)", valid=_FALLING, function=utility.lemma11)),
    **_both("dp-sgld/theorem-4-1", _last("Theorem 4.1", valid=_RECORDS, function=utility.theorem41)),
    "dp-sgld/theorem-4-1/sigma": _sigma("Theorem 4.1, sigma", valid="eps > 0", function=utility.theorem41_sigma),
    "dp-sgld/theorem-4-1/steps": _steps("Theorem 4.1, K", valid=_RECORDS, function=utility.theorem41_steps),
    **_both("dp-sgld/theorem-4-1/eps-delta", _last(_4_1, valid=_EPS, function=utility.theorem41_dp)),
    "dp-sgld/theorem-4-1/eps-delta/sigma": _sigma(f"{_4_1}, sigma", valid=_EPS, function=utility.dp_sigma),
    "dp-sgld/theorem-4-1/eps-delta/steps": _steps(f"{_4_1}, K", valid=_EPS, function=utility.theorem41_dp_steps),
    "dp-sgld/theorem-4-2": _mean("Theorem 4.2", valid=_FALLING, function=utility.theorem42),
    "dp-sgld/theorem-4-2/steps": _steps(
        "Theorem 4.2, K", estimator="mean", valid=_FALLING, function=utility.theorem42_steps,
    ),
    "dp-sgld/theorem-4-2/eps-delta": _mean(_4_2, valid=_EPS, function=utility.theorem42_dp),
    "dp-sgld/theorem-4-2/eps-delta/steps": _steps(
        f"{_4_2}, K", estimator="mean", valid=_EPS, function=utility.theorem42_dp_steps,
    ),
}  # fmt: skip
