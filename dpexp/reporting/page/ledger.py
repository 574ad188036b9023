"""The ledger of claims on the page: every claim with its verdict, and filters by paper, verdict and words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpexp.core.text import counted
from dpexp.reporting.ledger.judgement import FACTS
from dpexp.reporting.page.markup import Child, Markup, folded, join, table, tag
from dpexp.reporting.verdict import VERDICTS

if TYPE_CHECKING:
    from dpexp.reporting.paper import NotClaimed

NOT_CURRENT = "not current"
"""in place of the verdict of a claim whose code or results have changed since it was settled"""


@dataclass(frozen=True)
class Ledger:
    """The claims as `dpexp claims --json` gives them, and what is left out."""

    claims: Sequence[Mapping[str, Any]] = ()
    not_claimed: Mapping[str, Sequence[NotClaimed]] = field(default_factory=dict)


def section(ledger: Ledger) -> Markup:
    """Filters, counts, a folded card for each claim, and what no claim settles."""
    parts: list[Markup] = []
    if ledger.claims:
        parts += [
            _counts(ledger.claims),
            _filters(ledger.claims),
            tag("div", (_card(claim) for claim in ledger.claims), id="claims-list"),
        ]
        parts.append(tag("p", "No claim fits these filters.", id="claims-none", hidden=True))
    for paper, some in ledger.not_claimed.items():
        if some:
            rows = [[one.place, one.what, one.because] for one in some]
            words = f"{paper}: {counted(len(some), 'statement')} that no claim settles, and why"
            inside = table(["place", "what it says", "not settled because"], rows, words)
            parts.append(folded(words, inside, class_="card"))
    return join(parts)


def _counts(claims: Sequence[Mapping[str, Any]]) -> Markup:
    """Verdicts by paper, those on its own statements apart from those on ours about it."""
    order = _order(claims)
    # our own statements about a paper are no statements of it
    keys = [(str(claim["paper"]), str(claim.get("source", "paper"))) for claim in claims]
    found = Counter((*key, _verdict(claim)) for key, claim in zip(keys, claims, strict=True))
    rows: list[list[Child]] = []
    for paper, source in dict.fromkeys(keys):
        counts = [found[paper, source, verdict] for verdict in order]
        words = paper if source == "paper" else f"{paper}, our statements"
        rows.append([words, *counts, sum(counts)])
    return table(["paper", *order, "claims"], rows, "Verdicts by paper")


def _order(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """The verdicts that occur, known ones first."""
    found = {_verdict(claim) for claim in claims}
    # a verdict of a later release is shown too, behind those that are known
    return [*(verdict for verdict in VERDICTS if verdict in found), *sorted(found - set(VERDICTS))]


def _verdict(claim: Mapping[str, Any]) -> str:
    """The verdict, where it is that of today's code and results."""
    return NOT_CURRENT if claim["verdict"] is None else str(claim["verdict"])


def _badge(verdict: str) -> Markup:
    return tag("span", verdict, class_="verdict", data_verdict=verdict)


def _filters(claims: Sequence[Mapping[str, Any]]) -> Markup:
    papers = Counter(str(claim["paper"]) for claim in claims)
    verdicts = Counter(map(_verdict, claims))
    return tag(
        "form",
        _choice("claims-paper", "Paper", [(name, f"{name} ({count})") for name, count in papers.items()]),
        _choice("claims-verdict", "Verdict", [(name, f"{name} ({verdicts[name]})") for name in _order(claims)]),
        tag("label", "Search ", tag("input", type="search", id="claims-search", autocomplete="off"), class_="field"),
        tag("button", "Show all", type="reset"),
        tag("output", counted(len(claims), "claim"), id="claims-count", aria_live="polite"),
        id="claims-filters", class_="controls", role="search", aria_label="Claims",
    )  # fmt: skip


def _choice(identity: str, label: str, options: Sequence[tuple[str, str]]) -> Markup:
    every = tag("option", "all", value="")
    chosen = (tag("option", words, value=value) for value, words in options)
    return tag("label", f"{label} ", tag("select", every, chosen, id=identity), class_="field")


def _card(claim: Mapping[str, Any]) -> Markup:
    verdict, expected = _verdict(claim), str(claim["expected_verdict"])
    head = [
        _badge(verdict),
        tag("span", claim["id"], class_="name"),
        tag("span", claim["statement"], class_="statement"),
    ]
    quote = f"“{claim['quote']}”" if claim.get("quote") else "Ours: it completes, corrects or sharpens the paper."
    facts = [(words, _words(claim.get(key))) for key, words in FACTS.items()]
    body = [
        tag("p", tag("strong", claim["place"]), ". ", tag("span", quote, class_="quote")),
        tag("p", tag("strong", verdict), f": {claim['why']}" if claim.get("why") else ""),
        _remark(claim, verdict, expected),
        tag("dl", ((tag("dt", name), tag("dd", words)) for name, words in facts if words)),
    ]
    return folded(head, *body, class_="card claim", data_paper=claim["paper"], data_verdict=verdict)


def _remark(claim: Mapping[str, Any], verdict: str, expected: str) -> Markup | None:
    """What a reader must know of the verdict: that it is out of date, or another one than was expected."""
    if verdict == NOT_CURRENT:
        last = (claim.get("before") or {}).get("verdict")
        was = f" It was “{last}”." if last else ""
        again = tag("code", claim.get("run") or "dpexp claims --rerun")
        return tag("p", f"Not current: {claim.get('reason')}.{was} Settle it again with ", again, ".", class_="warning")
    return tag("p", f"Expected was: {expected}.", class_="warning") if expected != verdict else None


def _words(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)
