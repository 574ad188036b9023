"""Tables in LaTeX, as pandas writes them: symbols in mathematics, every other character as it is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpexp.reporting.results.labels import SYMBOLS
from dpexp.reporting.results.metrics import METRICS

_SYMBOLS = {name: f"${symbol}$" for name, symbol in SYMBOLS.items()} | {"-": "--", "T": "$T$"}
_SYMBOLS |= {name: f"${metric.symbol}$" for name, metric in METRICS.items() if metric.symbol}
_CHARACTERS = str.maketrans({
    "\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
    "^": r"\^{}", "~": r"\textasciitilde{}", "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "\u00b1": r"$\pm$", "\u2212": "$-$", "\u00d7": r"$\times$", "\u00b7": r"$\cdot$", "\u2264": r"$\le$",
    "\u2265": r"$\ge$", "\u2192": r"$\to$", "\u221e": r"$\infty$", "\u00e9": r"\'e",
})  # fmt: skip


def escaped(text: str) -> str:
    """Text in which every character is itself."""
    # a minus before a number, which a hyphen is not
    return re.sub(r"(?<![\w.)])-(?=[\d.])", "\u2212", text).translate(_CHARACTERS)


def cell(text: str) -> str:
    """One cell: symbols in mathematics, all else as text."""
    return _SYMBOLS.get(text.strip()) or escaped(text.strip())


def table(name: str, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A float with caption and label, never wider than the text. It needs \usepackage{booktabs,adjustbox}."""
    from pandas import DataFrame

    cells = DataFrame([list(map(cell, row)) for row in rows], columns=list(map(cell, head)))
    label = f"tab:{re.sub('[^A-Za-z0-9]+', '-', name)}"
    text = cells.to_latex(index=False, escape=False, caption=escaped(caption), label=label)
    for old, new in (
        ("\\begin{table}", "\\begin{table}\n\\centering"),
        ("\\begin{tabular}", "\\begin{adjustbox}{max width=\\textwidth}\n\\begin{tabular}"),
        ("\\end{tabular}", "\\end{tabular}\n\\end{adjustbox}"),
    ):
        text = text.replace(old, new)
    return f"% \\usepackage{{booktabs,adjustbox}}\n{text.rstrip()}"
