"""Tables in LaTeX: numbers and symbols in mathematics, every other character as it is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpexp.reporting.results.metrics import METRICS

_NUMBER = re.compile(
    r"(?<![\w.^/+\u2212-])([-+\u2212]?)(inf|\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?(?:\(\d+(?:\.\d+)?\))?)(?:e([-+]?\d+))?(?![\w./(])"
)
"""sign, digits with what is in brackets after them, and a power of ten"""
_SYMBOLS = {
    "mu": r"$\mu$", "alpha": r"$\alpha$", "eta": r"$\eta$", "eps": r"$\varepsilon$", "delta": r"$\delta$",
    "lambda": r"$\lambda$", "gamma": r"$\gamma$", "sigma": r"$\sigma$", "-": "--", "d": "$d$", "N": "$N$", "n": "$n$",
    "T": "$T$",
} | {name: f"${metric.symbol}$" for name, metric in METRICS.items() if metric.symbol}  # fmt: skip
_CHARACTERS = str.maketrans({
    "\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
    "^": r"\^{}", "~": r"\textasciitilde{}", "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "\u00b1": r"$\pm$", "\u2212": "$-$", "\u00d7": r"$\times$", "\u00b7": r"$\cdot$", "\u2264": r"$\le$",
    "\u2265": r"$\ge$", "\u2192": r"$\to$", "\u221e": r"$\infty$", "\u00e9": r"\'e",
})  # fmt: skip


def escaped(text: str) -> str:
    """Text in which every character is itself."""
    return text.translate(_CHARACTERS)


def cell(text: str) -> str:
    """One cell: numbers and symbols in mathematics, all else as text."""
    text = text.strip()
    if text in _SYMBOLS:
        return _SYMBOLS[text]
    parts, end = [], 0
    for match in _NUMBER.finditer(text):
        sign, digits, power = match.groups()
        digits = r"\infty" if digits == "inf" else digits.replace(",", "{,}")
        number = sign.replace("\u2212", "-") + digits + (rf"\times 10^{{{int(power)}}}" if power else "")
        parts += [escaped(text[end : match.start()]), f"${number}$"]
        end = match.end()
    return "".join([*parts, escaped(text[end:])])


def table(name: str, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A float with caption and label, never wider than the text. It needs \usepackage{booktabs,adjustbox}.

    Columns of numbers are set to the right, others to the left.
    """
    first, *body = [" & ".join(map(cell, row)) + r" \\" for row in [head, *rows]]
    sides = "".join("r" if rows and all(_NUMBER.fullmatch(row[k]) for row in rows) else "l" for k in range(len(head)))
    lines = [f"\\begin{{tabular}}{{{sides}}}", r"\toprule", first, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([
        r"% \usepackage{booktabs,adjustbox}",
        r"\begin{table}",
        r"\centering",
        f"\\caption{{{escaped(caption)}}}",
        f"\\label{{tab:{re.sub('[^A-Za-z0-9]+', '-', name)}}}",
        r"\begin{adjustbox}{max width=\textwidth}",
        *lines,
        r"\end{adjustbox}",
        r"\end{table}",
    ])  # fmt: skip
