"""What a paper's authors should know: a letter, of the claims that did not come out as printed."""

from __future__ import annotations

from collections.abc import Sequence

from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.printed import in_short

DEAR = (
    "Dear authors, thank you for your work, which we have read and run line by line. This is what we noticed on the "
    "way. Each point names the place, quotes it and says why we read it otherwise; `dpexp claims ID --rerun` tries it. "
    "We may be wrong: then we should be glad to hear it, and to correct this page."
)
MATTERS = {
    "misprint": "Misprints, with what we take to be meant",
    "false": "What does not hold as it is printed",
    "misleading": "What a reader may take for more than it says",
}
MENDS = ("Corrected", "Corrects", "Completed", "Replaced", "Restricts")
"""how the statement begins of a claim of ours that repairs one of the paper"""
HELD = ("reproduced", "holds as a bound")


def letter(judgements: Sequence[Judgement]) -> list[str]:
    """The letter in paragraphs; none where there is nothing to say. What is stale is told as it was judged last."""
    told = {
        title: [_point(one) for one in judgements if one.claim["source"] == "paper" and _last(one) == verdict]
        for verdict, title in MATTERS.items()
    }
    told["What holds in its place"] = [
        f"* {one.claim['place']}. {one.claim['statement']} (`{one.id}`)"
        for one in judgements
        if one.claim["source"] == "ours" and _last(one) in HELD and one.claim["statement"].startswith(MENDS)
    ]
    if not any(told.values()):
        return []
    parts = ["## What its authors should know", DEAR]
    for title, points in told.items():
        if points:
            parts += [f"### {title}", "\n".join(points)]
    return parts


def _last(one: Judgement) -> str:
    return str(one.found.get("verdict"))


def _point(one: Judgement) -> str:
    claim = one.claim
    found = "Found" if one.is_current else f"Found before ({one.reason})"
    why = f": {claim['why']}" if claim["why"] else ""
    return f"* {claim['place']}, \u201c{claim['quote']}\u201d{why}. {found}: {in_short(one)} (`{one.id}`)"
