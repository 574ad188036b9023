"""Fits of own records on the page: what `dpexp fit --out FOLDER` left in a folder of the results folder."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpexp.core.text import up
from dpexp.reporting.page.markup import Markup, folded, table, tag

HEAD = ["name", "estimate", "se", "from", "to", "p"]
PNG = b"\x89PNG\r\n\x1a\n"


def fits_section(cards: Sequence[Markup]) -> Markup:
    """The fits; nothing where there is none."""
    title = tag("h2", "Private regressions", id="fits-title")
    return tag("section", title, cards, id="fits", aria_labelledby="fits-title") if cards else Markup("")


def card(name: str, document: Mapping[str, Any], rows: Sequence[Sequence[str]], plot: bytes) -> Markup:
    """One fit: its document, the rows of its table, and its forest plot as png, empty where there is none.

    Raises KeyError, ValueError or TypeError where the document is not that of a fit.
    """
    what = f"{document['model']} of {document['public']['target']['name']}, n = {document['diagnostics']['n']:,}"
    level = f"{document['method']}, {100 * document['level']:.4g}% intervals"
    parts = [tag("p", f"{what}; {level}."), _guarantee(document)]
    parts += [tag("p", f"{said['rule']}: {said['reason']}", class_="warning") for said in document["refused"]]
    parts.append(table(HEAD, rows, f"Estimates of {name}"))
    if plot.startswith(PNG):
        source = f"data:image/png;base64,{base64.b64encode(plot).decode()}"
        parts.append(tag("img", src=source, alt=f"Forest plot of {name}: what each column does, with intervals"))
    return _folded(name, *parts)


def not_shown(name: str, why: str) -> Markup:
    """The card of a file that is no fit."""
    return _folded(name, tag("p", tag("strong", "Not shown: "), why, class_="warning"))


def _folded(name: str, *parts: Markup) -> Markup:
    return folded(tag("span", name, class_="name"), *parts, class_="card", open=True, id=f"fit-{name}")


def _guarantee(document: Mapping[str, Any]) -> Markup:
    """What the budget is and for whom; of a rehearsal, that it guarantees nothing."""
    budget, noise = document["budget"], str(document["public"]["noise"])
    mu = math.inf if budget["mu"] is None else float(budget["mu"])  # JSON has no infinity
    eps = ", ".join(f"eps = {up(float(e), 4)} at delta = {delta:g}" for delta, e in budget["eps"] if e is not None)
    held = f"{up(mu, 5)}-GDP for every {document.get('unit', 'record')}: {eps}" if math.isfinite(mu) else "no privacy"
    if noise.startswith("operating system"):
        return tag("p", f"{held}. A deployment; noise: {noise}.")
    return tag("p", f"A rehearsal: whoever knows the seed can take the noise away. A deployment would give {held}.")
