"""The page itself: its sections put into the template, with everything that it needs inside.

A browser that opens the file asks nobody for anything, and could not: the page forbids it (`_policy`). No script runs
but the two that come with dpexp, which the policy names by their hashes, whatever the results may hold.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.version import VERSION
from dpexp.reporting.ledger.judgement import FACTS
from dpexp.reporting.page import curves
from dpexp.reporting.page.experiments import Stored, states_of
from dpexp.reporting.page.figures import Shown
from dpexp.reporting.page.sections import Fit, guarantees_of, origins_of
from dpexp.reporting.templates import Markup, filled
from dpexp.reporting.verdict import VERDICTS

if TYPE_CHECKING:
    from dpexp.reporting.paper import NotClaimed


NOT_CURRENT = "not current"
"""in place of the verdict of a claim whose results have changed since it was judged"""


@dataclass(frozen=True)
class Ledger:
    """The claims as `dpexp claims --json` gives them, and what is left out."""

    claims: Sequence[Mapping[str, Any]] = ()
    not_claimed: Mapping[str, Sequence[NotClaimed]] = field(default_factory=dict)

    @property
    def papers(self) -> Mapping[str, int]:
        """How many claims each paper has."""
        return Counter(str(claim["paper"]) for claim in self.claims)

    @property
    def verdicts(self) -> Mapping[str, int]:
        """How often each verdict occurs, known ones first, and behind them those of a later release."""
        found = Counter(map(verdict_of, self.claims))
        order = [*(verdict for verdict in VERDICTS if verdict in found), *sorted(found.keys() - set(VERDICTS))]
        return {verdict: found[verdict] for verdict in order}

    @property
    def counts(self) -> tuple[list[str], list[list[str | int]]]:
        """Head and rows of a table: verdicts by paper, those on its statements apart from those on ours about it."""
        verdicts = list(self.verdicts)
        # our own statements about a paper are no statements of it
        own = [(str(claim["paper"]), str(claim.get("source", "paper"))) for claim in self.claims]
        found = Counter((*key, verdict_of(claim)) for key, claim in zip(own, self.claims, strict=True))
        rows: list[list[str | int]] = []
        for paper, source in dict.fromkeys(own):
            counts = [found[paper, source, verdict] for verdict in verdicts]
            rows.append([paper if source == "paper" else f"{paper}, our statements", *counts, sum(counts)])
        return ["paper", *verdicts, "claims"], rows


def verdict_of(claim: Mapping[str, Any]) -> str:
    """The verdict, where it is that of today's code and results."""
    return NOT_CURRENT if claim["verdict"] is None else str(claim["verdict"])


def facts_of(claim: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is told of a claim below its verdict: how it is called, and the words."""
    told = [(words, claim.get(key)) for key, words in FACTS.items()]
    return [(words, "; ".join(map(str, said)) if isinstance(said, list) else str(said)) for words, said in told if said]


class Numbers(NamedTuple):
    """A table of the page: what it is, its head and rows, and the note below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str


class Final(NamedTuple):
    """The tables of one experiment, and why some are not there."""

    experiment: str
    tables: Sequence[Numbers]
    remarks: Sequence[str]
    command: str
    """prints the first table"""


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
    finals: Sequence[Final] = ()
    fits: Sequence[Fit] = ()
    text: str = ""
    """what the author says first, paragraphs with empty lines between them"""


def static(name: str) -> Markup:
    """A file that comes with dpexp, as it is."""
    return Markup(files("dpexp.reporting.page").joinpath("static", name).read_text(encoding="utf-8"))


def part(name: str, **values: Any) -> str:
    """A part of the page."""
    return filled("dpexp.reporting.page", f"static/{name}.html", **values)


def html(page: Page) -> str:
    """The page as text: the same results give the same characters."""
    scripts = [static("uplot/uPlot.iife.min.js"), static("page.js")]
    by_name = {one.name: one for one in page.experiments}
    current = [(one, one.gathered) for one in page.experiments if one.gathered is not None]
    groups: dict[str, list[Shown]] = {}
    for shown in page.figures:
        # in the order of the papers, and what belongs to none comes last
        groups.setdefault(shown.wanted.figure.paper or "Any result", []).append(shown)
    return part(
        "page",
        **vars(page),
        styles=[static("uplot/uPlot.min.css"), static("page.css")],
        version=VERSION,
        licence=str(static("uplot/LICENSE")),
        policy=_policy(scripts),
        scripts=scripts,
        states=states_of(page.experiments),
        documents=[curves.document(gathered) for _, gathered in current],
        groups=groups,
        runs_of=lambda shown: [by_name[need] for need in shown.wanted.figure.needs if need in by_name],
        verdict_of=verdict_of,
        facts_of=facts_of,
        # a shipped config is named as `dpexp run` takes it
        guarantees=[
            guarantees_of(
                gathered, f"dpexp privacy {one.config[0] or f'@{one.name}'}", page.statements.get(one.name, "")
            )
            for one, gathered in current
        ],
        origins=origins_of(page.experiments),
        # what a run measures on its records, and a rehearsal of a fit, are no releases
        private=[one.name for one in page.experiments if one.is_private]
        + [one.name for one in page.fits if one.is_rehearsal],
    )


def _policy(scripts: Iterable[str]) -> str:
    """The page's Content Security Policy: nothing is loaded, and only these scripts run."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    named = " ".join(f"'sha256-{one}'" for one in hashes)
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {named}; base-uri 'none'"
