"""Formulas such as `log(wage) ~ age + I(age**2) + C(job) + age:C(job)`: `formulaic` reads them, and computes nothing.

What a formula may do to a record is a function of this record and of the code book: levels, logarithms, roots, powers,
products. What looks at other records (center, scale, poly, bs) is refused.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpexp.core.errors import UsageError

FUNCTIONS = {"log": np.log, "log10": np.log10, "sqrt": np.sqrt, "exp": np.exp}
_FACTOR = re.compile(
    r"(?:(?:np\.)?(C|log|log10|sqrt|exp)\()?(`[^`]+`|[^\W\d]\w*)(\))?|I\((`[^`]+`|[^\W\d]\w*) \*\* (\d)\)"
)
_MISREAD = re.compile(rf"`([^`]+)`|(?<![\w%])(?:{'|'.join(keyword.kwlist)})(?![\w%])")
"""a name in backquotes, or a word of Python"""
GRID = 257
"""points of a range at which a function is looked at"""


class FormulaFactor(NamedTuple):
    """A column, or a function of one."""

    text: str
    column: str
    function: str = ""
    """C, or a name of `FUNCTIONS`; empty: the column itself"""


@dataclass(frozen=True)
class RegressionFormula:
    """Target and terms: products of factors; a power repeats one factor."""

    target: FormulaFactor
    terms: tuple[tuple[FormulaFactor, ...], ...]

    @property
    def columns(self) -> list[str]:
        """Of the terms, each once."""
        return list(dict.fromkeys(factor.column for term in self.terms for factor in term))


def applied(function: str, values: np.ndarray) -> np.ndarray:
    """A function of values, each by itself; NaN or infinite where it has none."""
    with np.errstate(all="ignore"):
        return np.asarray(FUNCTIONS[function](values))


def function_limits(factor: FormulaFactor, limits: tuple[float, float] | None) -> tuple[float, float]:
    """Smallest and largest value of a function of a column with a public range. Raises UsageError."""
    if limits is None:
        raise UsageError(f"{factor.text}: no range of {factor.column} is stated", "--public FILE with ranges")
    # on a grid, since a function of the list need not have its ends at those of the range
    values = applied(factor.function, np.linspace(*limits, GRID))
    if not np.isfinite(values).all():
        raise UsageError(f"{factor.text} is not finite on the stated range of {factor.column}", "state another range")
    return float(values.min()), float(values.max())


def read_formula(text: str) -> RegressionFormula:
    """Raises UsageError for what is no formula, or not understood here."""
    try:
        import formulaic
        from formulaic.errors import FormulaicError
    except ImportError:
        raise UsageError("--formula needs formulaic", "pip install 'dpexp[formula]'") from None
    hidden, names = _hidden(text)
    try:
        parsed = formulaic.Formula(hidden)
        sides = (parsed.lhs, parsed.rhs) if isinstance(parsed, formulaic.formula.StructuredFormula) else ((), ())
        target_terms, row_terms = [
            [[_restored(str(factor.expr), names) for factor in term.factors] for term in side] for side in sides
        ]
    except SyntaxError as error:
        part = _restored((error.text or hidden).strip(), names)
        hint = "write a name with other characters than letters in backquotes: log(`my column`)"
        raise UsageError(f"--formula {text!r}: {part} is not understood", hint) from None
    except AttributeError:
        hint = "one target, ~ and terms: 'y ~ x + C(g)'"
        raise UsageError(f"--formula {text!r}: parts between | are not understood", hint) from None
    except FormulaicError as error:
        raise UsageError(
            f"--formula {text!r}: {str(error).split('. ')[0].splitlines()[0]}", "for instance 'y ~ x + C(g)'"
        ) from None
    if len(target_terms) != 1 or len(target_terms[0]) != 1:
        raise UsageError(f"--formula {text!r}: write one target before ~", "for instance 'log(y) ~ x + C(g)'")
    if ["1"] not in row_terms:
        raise UsageError(f"--formula {text!r}: the intercept cannot be left out", "leave out - 1 and + 0")
    read = tuple(
        tuple(factor for text in term for factor in _parse_factors(text)) for term in row_terms if term != ["1"]
    )
    target = _parse_factors(target_terms[0][0])
    if len(target) > 1 or target[0].function == "C" or target[0].column in {f.column for term in read for f in term}:
        raise UsageError(
            f"--formula: the target is {text.partition('~')[0].strip()}", "a column, or log(y), sqrt(y), ..."
        )
    _require_lower(read)
    return RegressionFormula(target[0], read)


def _hidden(text: str) -> tuple[str, list[str]]:
    """A formula in which no column has a name that Python reads as something else, and these names."""
    names: list[str] = []

    def place(match: re.Match[str]) -> str:
        name = match[1] or match[0]
        if name not in names:
            names.append(name)
        return f"column_{names.index(name)}_"

    return _MISREAD.sub(place, text), names


def _restored(text: str, names: Sequence[str]) -> str:
    return re.sub(r"\bcolumn_(\d+)_\b", lambda match: f"`{names[int(match[1])]}`", text)


def _parse_factors(text: str) -> list[FormulaFactor]:
    """The factors between two colons; a power is a product of a column with itself."""
    match = _FACTOR.fullmatch(text)
    if match is None or bool(match[1]) != bool(match[3]):
        hint = f"understood: a column, C(g), I(x**2), {', '.join(f'{name}(x)' for name in FUNCTIONS)}, and products"
        raise UsageError(f"--formula: {text} is not understood, or looks at other records", hint)
    if match[4]:
        return [FormulaFactor(match[4].strip("`"), match[4].strip("`"))] * int(match[5])
    column = match[2].strip("`")
    return [FormulaFactor(text.replace(match[2], column), column, match[1] or "")]


def _require_lower(terms: Sequence[tuple[FormulaFactor, ...]]) -> None:
    """Raises UsageError for a product without what it is made of."""
    present = {tuple(sorted(term)) for term in terms}
    for term in terms:
        for k, _ in enumerate(term if len(term) > 1 else ()):
            less = [*term[:k], *term[k + 1 :]]
            # without it the coefficients of the product would depend on public centres
            if tuple(sorted(less)) not in present:
                names = [":".join(factor.text for factor in part) for part in (term, less)]
                raise UsageError(f"--formula: {names[0]} needs {names[1]} too", "a * b means a + b + a:b")
