"""The page itself: its sections put into the template, with everything that it needs inside.

A browser that opens the file asks nobody for anything, and could not: the page forbids it (`_policy`). No script runs
but the two that come with dpexp, which the policy names by their hashes, whatever the results may hold.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from dpexp.core.version import VERSION
from dpexp.reporting.page import curves, ledger, overview
from dpexp.reporting.page.experiments import Stored
from dpexp.reporting.page.figures import Shown
from dpexp.reporting.page.ledger import Ledger
from dpexp.reporting.page.markup import Markup, copyable, data, folded, join, tag, text
from dpexp.reporting.page.sections import fits_section, origin_section, privacy_section

STATIC = files("dpexp.reporting.page") / "static"
_NUMBERED = re.compile(r'(?<=\s)(?:d|x|y|points)="[^"]*"')
"""attributes of a drawing whose decimals are rounded, in points: a screen shows no hundredth of one"""
_DECIMAL = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@dataclass(frozen=True)
class Page:
    """Everything that a page says."""

    title: str
    results: Path
    experiments: Sequence[Stored]
    absent: Mapping[str, Sequence[str]]
    """experiments of papers that are not here, by paper"""
    figures: Sequence[Shown]
    ledger: Ledger | None
    """None where no claim concerns these experiments"""
    statements: Mapping[str, str]
    """whole privacy statements, by experiment, where they are given"""
    finals: Sequence[overview.Final] = ()
    fits: Sequence[Markup] = ()
    """a card each"""
    text: str = ""
    """what the author says first, paragraphs with empty lines between them"""


def html(page: Page) -> str:
    """The page as text: the same results give the same characters."""
    scripts = {"uplot": _static("uplot/uPlot.iife.min.js"), "script": _static("page.js")}
    parts = {
        "title": text(page.title),
        "policy": _policy(scripts.values()),
        "style": f"{_static('uplot/uPlot.min.css')}\n{_static('page.css')}",
        "overview": overview.section(page.experiments, page.absent),
        "own": tag("section", (tag("p", part) for part in page.text.split("\n\n")), class_="own") if page.text else "",
        "finals": overview.final_values(page.finals),
        "fits": fits_section(page.fits),
        "explorer": _explorer(page),
        "figures": _figures(page),
        "claims": ledger.section(page.ledger) if page.ledger is not None else _no_claims(),
        "privacy": _privacy(page),
        "origin": origin_section(page.experiments),
        "about": _about(),
        **scripts,
    }
    return filled(_static("page.html"), parts)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with its parts in place of `{{name}}`; what a part holds is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _static(name: str) -> str:
    return STATIC.joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: Iterable[str]) -> str:
    """The page's Content Security Policy: nothing is loaded, and only these scripts run."""
    named = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {named}; base-uri 'none'"


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _explorer(page: Page) -> Markup:
    shown = [one for one in page.experiments if one.gathered is not None]
    if not shown:
        return tag("p", "No result here is current, so there is nothing to explore.")
    documents = [data(f"curves-{k}", curves.document(one.gathered)) for k, one in enumerate(shown) if one.gathered]
    names = [one.name for one in shown]
    return join([tag("div", id="explorer"), data("curves", names), *documents])


def _figures(page: Page) -> Markup:
    by_name = {one.name: one for one in page.experiments}
    groups: dict[str, list[Markup]] = {}
    for shown in page.figures:
        # in the order of the papers, and what belongs to none comes last
        groups.setdefault(shown.wanted.figure.paper or "Any result", []).append(_figure(shown, by_name))
    found = [join([tag("h3", name), *some]) for name, some in groups.items()]
    return join(found) if found else Markup("<p>There is no figure of these results.</p>")


def _figure(shown: Shown, by_name: Mapping[str, Stored]) -> Markup:
    figure, command = shown.wanted
    name = f"{figure.name} ({figure.place})" if figure.place else figure.name
    if shown.svg:
        label = f"Figure {figure.name}: {_first_sentence(shown.caption)}"
        drawing = tag("div", image(shown.svg, label), class_="drawing", tabindex=0, role="region",
                      aria_label=f"Figure {figure.name}")  # fmt: skip
    else:
        drawing = tag("div", tag("p", tag("strong", "Not shown: "), shown.why), tag("p", tag("code", shown.hint)),
                      class_="warning")  # fmt: skip
    # the runs come first, as a reader has to compute them before drawing
    runs = [by_name[need] for need in figure.needs if need in by_name]
    commands = "\n".join([*(one.command for one in runs), command])
    how = folded(
        "Command and config" if runs else "Command",
        copyable(commands, f"commands for {figure.name}"),
        *(overview.config(one, f", for {figure.name}") for one in runs),
    )
    head = tag("h4", name, id=f"figure-{figure.name}")
    return tag("figure", head, drawing, tag("figcaption", shown.caption), how)


def image(svg: str, label: str) -> Markup:
    """The drawing as an image, which `label` describes.

    So its ids and its style sheet are its own, and a browser runs no script of it and loads nothing for it. On a dark
    page it is shown with light and dark in each other's place (page.css).
    """
    # a screen shows no hundredth of a point, and decimals are most of a drawing
    short = _NUMBERED.sub(lambda match: " ".join(_DECIMAL.sub(_rounded, match[0]).split()), svg)
    return tag("img", src=f"data:image/svg+xml,{quote(short, safe=' /:=;,()')}", alt=label)


def _rounded(match: re.Match[str]) -> str:
    """Two decimals; a zero before or after the point says nothing."""
    short = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short in ("-0", "") else short


def _first_sentence(caption: str) -> str:
    return caption.partition(". ")[0].rstrip(".") or "a figure"


def _no_claims() -> Markup:
    return tag("p", "No claim of a paper speaks of these experiments. ", tag("code", "dpexp claims"),
               " settles the claims of the papers by the results of their own experiments.")  # fmt: skip


def _privacy(page: Page) -> Markup:
    found, alone = [], len(page.experiments) == 1
    for one in page.experiments:
        if one.gathered is not None:
            # a shipped config is named as `dpexp run` takes it
            path = one.config[0]
            command = f"dpexp privacy {path or f'@{one.name}'}"
            found.append(privacy_section(one.gathered, command, page.statements.get(one.name, ""), alone))
    return join(found) if found else tag("p", "No result here is current, so nothing is stated.")


def _about() -> Markup:
    licence = _static("uplot/LICENSE")
    return join([
        tag("p", f"Written by dpexp {VERSION} with ", tag("code", "dpexp report"), ". The page is one file: it loads "
                 "nothing and sends nothing. Curves are drawn by uPlot 1.6.32, which is part of the page."),
        folded("Licence of uPlot", tag("pre", licence, tabindex=0, role="region", aria_label="Licence of uPlot")),
    ])  # fmt: skip
