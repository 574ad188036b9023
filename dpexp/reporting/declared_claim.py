"""Claims that are data: what is measured, of which runs, and what the paper prints for it, as a paper's YAML says.

of: [rates_linear]                     experiments
where: alpha < 1/2                     which of their runs; all where it is left out
measured: slope of param_distance_sq   or `mean of`, at every checkpoint, or `final` (with `near`: the mean)
estimator: asgd                        or [asgd, sgd]: the first is compared with the second
printed: table1_exponent('asgd', 'strongly convex', alpha)
rule: near                             slopes; `below` of means (a theorem's bound) and of final values (the other)
source: Table 1                        what prints it, in words
room: 0.01                             of `final` and `near`: the largest relative difference
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.reporting.checks import Pair, bound_holds, in_order, predictions_agree, rates_agree, ratio_to
from dpexp.reporting.claim import Check, Outcome
from dpexp.reporting.evidence import Evidence, Run
from dpexp.reporting.formula import parse

KEYS = ("of", "where", "measured", "estimator", "printed", "rule", "source", "room")


@dataclass(frozen=True)
class Numbers:
    """What formulas of a paper may call: its functions by name, its theorems by id, and a run's plain numbers."""

    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    theorems: Mapping[str, Any] = field(default_factory=dict)
    constants: Callable[[Run], Mapping[str, Any]] = lambda run: {}


def settings_of(run: Run) -> dict[str, Any]:
    """The names that a formula may use of a run: the columns of its row, alpha and budget."""
    return {**run.row, "alpha": run.alpha, "budget": run.budget}


def check_of(name: str, said: Mapping[str, Any], numbers: Numbers) -> Check:
    """The check of a declared claim. Raises UsageError, naming it, for a form that is not known."""
    experiments = (said["of"],) if isinstance(said["of"], str) else tuple(said["of"])
    where = parse(str(said.get("where", "1 == 1")))
    kind, _, metric = str(said["measured"]).rpartition(" ")
    judge = _judge(name, kind, metric, said, numbers)

    def check(evidence: Evidence) -> Outcome:
        runs = [run for run in evidence.across(experiments) if where(settings_of(run), numbers.functions)]
        return judge(runs)

    return Check(check, experiments)


def _judge(
    name: str, kind: str, metric: str, said: Mapping[str, Any], numbers: Numbers
) -> Callable[[list[Run]], Outcome]:
    printed, rule, source = parse(str(said.get("printed", "1"))), said["rule"], str(said.get("source", ""))
    if (kind, rule) == ("slope of", "near"):
        return lambda runs: rates_agree(
            runs, said["estimator"], metric, lambda alpha: printed({"alpha": alpha}, numbers.functions), source
        )
    if (kind, rule) == ("mean of", "below"):
        theorem = printed({}, {"bound": numbers.theorems.__getitem__})
        if theorem.quantity != metric:
            raise UsageError(f"{name}: {printed.text} bounds {theorem.quantity}, and {metric} is measured")
        return lambda runs: bound_holds(runs, theorem, numbers.constants)
    if (kind, rule) == ("final", "near"):

        def close(runs: list[Run]) -> Outcome:
            ends = [(run, run.values(said["estimator"], metric)[-1]) for run in runs]
            ratios = [
                ratio_to(run.name, end, printed(settings_of(run), numbers.functions), len(runs)) for run, end in ends
            ]
            return predictions_agree(ratios, said["room"], source)

        return close
    if (kind, rule) == ("final", "below"):
        smaller, larger = said["estimator"]

        def ordered(runs: list[Run]) -> Outcome:
            pairs = [Pair(run.name, *(run.values(one, metric)[-1] for one in (smaller, larger))) for run in runs]
            return in_order(pairs, source)

        return ordered
    raise UsageError(f"{name}: no claim is measured by '{kind}' and judged by '{rule}'")
