"""Claims that are data: the runs, what is measured of them, and what the paper prints for it, as a paper's YAML says.

of: [rates_linear]                     experiments
where: alpha < 1/2                     which of their runs; all where it is left out
measured: slope of param_distance_sq   or `mean of`, at every checkpoint; or with `near` the mean of the `final` values,
                                       or `decade of`, the mean over the last decade of steps
estimator: asgd                        or [asgd, sgd]: the first is compared with the second
printed: table1_exponent(estimator, 'strongly convex', alpha)
rule: near                             slopes; `below` of means (a theorem's bound) and of final values (the other)
source: Table 1                        where it is printed, in words
room: 0.01                             of `final` and `decade of`: the largest relative difference

Formulas have a few nodes of Python's grammar, and Python evaluates none of them: names, also with dots, numbers, texts,
`and`, `or`, one comparison, + - * /, and calls of functions. Names are settings of a run; functions are those of the
paper. Numbers that agree to 1e-9 are equal, so that `alpha == 1/3` holds.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting import checks
from dpexp.reporting.claim import Check, Outcome
from dpexp.store.evidence import Evidence, Run, labels

KEYS = ("of", "where", "measured", "estimator", "printed", "rule", "source", "room")


@dataclass(frozen=True)
class Numbers:
    """What formulas of a paper may call: its functions by name, its theorems by id, and a run's plain numbers."""

    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    theorems: Mapping[str, Any] = field(default_factory=dict)
    constants: Callable[[Run], Mapping[str, Any]] = lambda run: {}


def settings_of(run: Run) -> dict[str, Any]:
    """The names that a formula may use of a run: the columns of its row, alpha, budget and itself."""
    return {**run.row, "alpha": run.alpha, "budget": run.budget, "run": run}


def check_of(name: str, claim: Mapping[str, Any], numbers: Numbers) -> Check:
    """The check of a declared claim. Raises UsageError, naming it, for a form that is not known."""
    experiments = (claim["of"],) if isinstance(claim["of"], str) else tuple(claim["of"])
    where = parse(str(claim.get("where", "1 == 1")))
    judge = _judge(name, claim, numbers)

    def check(evidence: Evidence) -> Outcome:
        every = [run for experiment in experiments for run in evidence.runs(experiment)]
        runs = [run for run in every if where(settings_of(run), numbers.functions)]
        return judge(runs) if runs else Outcome("not at this sample size", "", f"no run with {where.text}", "none")

    return Check(check, experiments)


def _judge(name: str, claim: Mapping[str, Any], numbers: Numbers) -> Callable[[list[Run]], Outcome]:
    printed, source = parse(str(claim.get("printed", "1"))), str(claim.get("source", ""))
    kind, _, metric = str(claim["measured"]).rpartition(" ")
    own: Any = claim.get("estimator")
    match kind, claim["rule"]:
        case "slope of", "near":
            return lambda runs: checks.rates_agree(
                runs, own, metric, lambda alpha: printed({"alpha": alpha, "estimator": own}, numbers.functions), source
            )
        case "mean of", "below":
            theorem = printed({}, {"bound": numbers.theorems.__getitem__})
            if theorem.quantity != metric:
                raise UsageError(f"{name}: {printed.text} bounds {theorem.quantity}, and {metric} is measured")
            return lambda runs: checks.bound_holds(runs, theorem, numbers.constants)
        case (("final" | "decade of"), "near"):

            def ratio(run: Run, label: str, looks: int) -> checks.Ratio:
                value = printed(settings_of(run), numbers.functions)
                if kind == "final":
                    return checks.ratio_to(run.name, run.values(own, metric)[-1], value, looks)
                return checks.ratio_over_decade(label, run, own, metric, value, looks)

            return lambda runs: checks.predictions_agree(
                [ratio(run, label, len(runs)) for run, label in zip(runs, labels(runs), strict=True)],
                claim["room"], source,
            )  # fmt: skip
        case "final", "below":
            smaller, larger = claim["estimator"]
            return lambda runs: checks.in_order(
                [checks.Pair(r.name, r.values(smaller, metric)[-1], r.values(larger, metric)[-1]) for r in runs],
                source,
            )
    raise UsageError(f"{name}: no claim is measured by '{kind}' and judged by '{claim['rule']}'")


# --- formulas

Names = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]


def _equal(a: Any, b: Any) -> bool:
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return math.isclose(a, b, rel_tol=1e-9) if numbers else bool(a == b)


OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Eq: _equal,
    ast.NotEq: lambda a, b: not _equal(a, b),
    ast.Lt: lambda a, b: a < b and not _equal(a, b), ast.LtE: lambda a, b: a < b or _equal(a, b),
    ast.Gt: lambda a, b: a > b and not _equal(a, b), ast.GtE: lambda a, b: a > b or _equal(a, b),
}  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """A formula that has been parsed."""

    text: str
    tree: ast.expr

    def __call__(self, names: Names, functions: Functions) -> Any:
        """Its value. Raises UsageError for an unknown name or function, and, with the column, for other grammar."""
        return self._value(self.tree, names, functions)

    def _value(self, tree: ast.expr, names: Names, functions: Functions) -> Any:
        of = partial(self._value, names=names, functions=functions)
        match tree:
            case ast.Constant(value=str(word)):
                return word
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return float(number)
            case ast.Name() | ast.Attribute(value=ast.Name() | ast.Attribute()):
                return _look_up(ast.unparse(tree), names, "name")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -of(operand)
            case ast.BoolOp(op=op, values=values):
                return (all if isinstance(op, ast.And) else any)(map(of, values))
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]) if (
                type(op) in OPERATORS
            ):
                return OPERATORS[type(op)](of(left), of(right))
            case ast.Call(func=ast.Name(id=name), args=values, keywords=[]):
                return _look_up(name, functions, "function")(*map(of, values))
        place = f"formula '{self.text}', column {tree.col_offset + 1}"
        raise UsageError(f"{place}: '{ast.get_source_segment(self.text, tree)}' is not allowed in a formula")


def parse(text: str) -> Formula:
    """Raises UsageError, with the column, for what is no formula."""
    try:
        return Formula(text, ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError) as error:
        column = error.offset if isinstance(error, SyntaxError) else 1
        raise UsageError(
            f"formula '{text}', column {column}: a value, operator or bracket is missing or wrong"
        ) from None


def _look_up(name: str, known: Mapping[str, Any], kind: str) -> Any:
    if name not in known:
        hint = f"{guess(name, known)}{kind}s: {', '.join(sorted(known))}"
        raise UsageError(f"a formula has the {kind} '{name}'", hint)
    return known[name]
