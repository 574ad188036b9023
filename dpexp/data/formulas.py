"""Formulas such as `log(wage) ~ age + I(age**2) + C(job) + age:C(job)`: `formulaic` reads them, and computes nothing.

What a formula may do to a record is a function of this record and of the code book: levels, logarithms, roots, powers,
products. What looks at other records (center, scale, poly, bs) is refused.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpexp.core.errors import UsageError

FUNCTIONS = {"log": np.log, "log10": np.log10, "sqrt": np.sqrt, "exp": np.exp}
_FACTOR = re.compile(
    r"(?:(?:np\.)?(C|log|log10|sqrt|exp)\()?(`[^`]+`|[^\W\d]\w*)(\))?|I\((`[^`]+`|[^\W\d]\w*) \*\* (\d)\)"
)
_MISREAD = re.compile(rf"`([^`]+)`|(?<![\w%])(?:{'|'.join(keyword.kwlist)})(?![\w%])")
"""a name in backquotes, or a word of Python"""


class FormulaFactor(NamedTuple):
    """A column, or a function of one."""

    text: str
    column: str
    function: str = ""  # C, or a name of `FUNCTIONS`; empty: the column itself


class RegressionFormula(NamedTuple):
    """Target and terms: products of factors; a power repeats one factor."""

    target: FormulaFactor
    terms: tuple[tuple[FormulaFactor, ...], ...]

    @property
    def columns(self) -> list[str]:
        """Of the terms, each once."""
        return list(dict.fromkeys(factor.column for term in self.terms for factor in term))


def applied(function: str, values: np.ndarray) -> np.ndarray:
    """A function of values, each by itself; NaN or infinite where it has none, the values without one."""
    with np.errstate(all="ignore"):
        return np.asarray(FUNCTIONS.get(function, np.asarray)(values))


def function_limits(factor: FormulaFactor, limits: tuple[float, float] | None) -> tuple[float, float]:
    """Smallest and largest value of a function of a column with a public range. Raises UsageError."""
    if limits is None:
        raise UsageError(f"{factor.text}: no range of {factor.column} is stated", "--public FILE with ranges")
    # on a grid, since a function of the list need not have its ends at those of the range
    values = applied(factor.function, np.linspace(*limits, 257))
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
    # names that Python reads as something else are hidden from it
    names = list(dict.fromkeys(match[1] or match[0] for match in _MISREAD.finditer(text)))
    hidden = _MISREAD.sub(lambda match: f"column_{names.index(match[1] or match[0])}_", text)
    where, example = f"--formula {text!r}:", "for instance 'log(y) ~ x + C(g)'"
    try:
        parsed = formulaic.Formula(hidden)
        sides = (parsed.lhs, parsed.rhs) if isinstance(parsed, formulaic.formula.StructuredFormula) else ((), ())
        target_terms, row_terms = [
            [[_restored(str(factor.expr), names) for factor in term.factors] for term in side] for side in sides
        ]
    except SyntaxError as error:
        part = _restored((error.text or hidden).strip(), names)
        hint = "write a name with other characters than letters in backquotes: log(`my column`)"
        raise UsageError(f"{where} {part} is not understood", hint) from None
    except AttributeError:
        raise UsageError(f"{where} parts between | are not understood", example) from None
    except FormulaicError as error:
        raise UsageError(f"{where} {str(error).split('. ')[0].splitlines()[0]}", example) from None
    if len(target_terms) != 1 or len(target_terms[0]) != 1:
        raise UsageError(f"{where} write one target before ~", example)
    if ["1"] not in row_terms:
        raise UsageError(f"{where} the intercept cannot be left out", "leave out - 1 and + 0")
    terms = tuple(
        tuple(factor for part in term for factor in _parse_factors(part)) for term in row_terms if term != ["1"]
    )
    target, *more = _parse_factors(target_terms[0][0])
    if more or target.function == "C" or target.column in {factor.column for term in terms for factor in term}:
        name = text.partition("~")[0].strip()
        raise UsageError(f"--formula: the target is {name}", "a column, or log(y), sqrt(y), ...")
    present = {tuple(sorted(term)) for term in terms}
    for term in terms:
        for less in [term[:k] + term[k + 1 :] for k in range(len(term)) if len(term) > 1]:
            # without it the coefficients of the product would depend on public centres
            if tuple(sorted(less)) not in present:
                product, part = (":".join(factor.text for factor in factors) for factors in (term, less))
                raise UsageError(f"--formula: {product} needs {part} too", "a * b means a + b + a:b")
    return RegressionFormula(target, terms)


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
