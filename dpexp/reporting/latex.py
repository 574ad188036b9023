"""Tables in LaTeX: numbers in mathematics, uncertainties with matched digits, every other character as it is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpexp.reporting.digits import matched
from dpexp.reporting.results.metrics import METRICS

_NUMBER = re.compile(r"([-+\u2212]?)(\d[\d,]*(?:\.\d+)?(?:\(\d+(?:\.\d+)?\))?)(?:e([-+]?\d+))?")
_SYMBOLS = {
    "mu": r"$\mu$", "alpha": r"$\alpha$", "eta": r"$\eta$", "eps": r"$\varepsilon$", "delta": r"$\delta$",
    "lambda": r"$\lambda$", "gamma": r"$\gamma$", "sigma": r"$\sigma$", "inf": r"$\infty$", "-": "--",
    "d": "$d$", "N": "$N$", "n": "$n$", "T": "$T$",
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
    """One cell: numbers, intervals of numbers and symbols in mathematics, all else as text."""
    text = matched(text.strip())
    if text in _SYMBOLS:
        return _SYMBOLS[text]
    if number := _number(text):
        return f"${number}$"
    # an interval has its three numbers in mathematics, and the words after it as text
    if interval := re.fullmatch(r"(\S+) \[(\S+), (\S+)\](.*)", text):
        value, low, high = map(_number, interval.groups()[:3])
        if value and low and high:
            return f"${value}\\ [{low}, {high}]${escaped(interval[4])}"
    if (worded := re.fullmatch(r"(\S+) ([a-z]+)", text)) and (number := _number(worded[1])):
        return f"${number}$ {escaped(worded[2])}"
    return escaped(text)


def _number(text: str) -> str:
    """The number in mathematics; empty where the text is none."""
    if text == "inf":
        return r"\infty"
    if re.fullmatch(r"[-\u2212]?\d+/\d+", text):
        return text.replace("\u2212", "-")
    if not (number := _NUMBER.fullmatch(text)):
        return ""
    sign, digits, power = number.groups()
    digits = digits.replace(",", "{,}")
    return sign.replace("\u2212", "-") + digits + (rf"\times 10^{{{int(power)}}}" if power else "")


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A booktabs table; columns of numbers to the right, others to the left."""
    first, *body = [" & ".join(map(cell, row)) + r" \\" for row in [head, *rows]]
    sides = "".join("r" if rows and all(_number(matched(row[k])) for row in rows) else "l" for k in range(len(head)))
    lines = [f"\\begin{{tabular}}{{{sides}}}", r"\toprule", first, r"\midrule", "\n".join(body), r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}"])


def table(name: str, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A float with caption and label, never wider than the text. It needs \usepackage{booktabs,adjustbox}."""
    label = re.sub(r"[^A-Za-z0-9]+", "-", name)
    return (
        "% \\usepackage{booktabs,adjustbox}\n\\begin{table}\n\\centering\n"
        f"\\caption{{{escaped(caption)}}}\n\\label{{tab:{label}}}\n"
        f"\\begin{{adjustbox}}{{max width=\\textwidth}}\n{tabular(head, rows)}\n\\end{{adjustbox}}\n\\end{{table}}"
    )
