"""What a paper is: the claims, figures and tables of one reproduction behind a single value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.templates import data_of

if TYPE_CHECKING:
    from dpexp.reporting.claim import Check, Claim, Verdict
    from dpexp.reporting.declared_claim import Numbers
    from dpexp.reporting.results.gather import Theory
    from dpexp.reporting.text_table import Table


class ToKnow(NamedTuple):
    """A sentence for a reader who will use the paper. Its numbers are those of the rows on which it rests."""

    says: str
    rests_on: Mapping[str, Verdict]
    """the claims of the paper that carry it, by id, each with the verdict that the sentence presumes"""


@dataclass(frozen=True)
class Difference:
    """A statement that is false, misprinted or misleading as printed, which theory alone decides; a test checks it."""

    id: str
    place: str
    quote: str
    printed: str
    """what the words say, in ours"""
    correct: str
    """what holds in its place, and why"""
    verdict: Verdict
    version: str
    """the text that was judged; no later version has been compared"""
    test: str
    measured: str = ""
    """what was computed, where a claim is listed"""
    authors_answer: str = ""


@dataclass(frozen=True)
class Paper:
    """One reproduction. Ours are of this shape, and so are those of plug-ins."""

    id: str
    """its name everywhere: in claims, figures, tables and on the command line"""
    title: str
    authors: str
    claims: tuple[Claim, ...] = ()
    """in the order of the paper"""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    configs: tuple[str, ...] = ()
    """experiments that reproduce it: the names of their configs"""
    overlays: Mapping[str, Figure] = field(default_factory=dict)
    """figures that can also be drawn with theory laid over them (`dpexp plot --theory`), by the plain figure's name"""
    theory: Theory | None = None
    """what it predicts of cells of any experiment, for reference slopes and `dpexp plot RESULT --theory`"""
    headlines: Mapping[str, str] = field(default_factory=dict)
    """the claims that a reader should see first, by their ids, each with what it found in one sentence"""
    what_to_know: tuple[ToKnow, ...] = ()
    differences: tuple[Difference, ...] = ()
    successor: str = ""
    """a later text of the same work, and how far it has been read"""


Drawn = tuple[Callable[[Path], Drawing], tuple[str, ...]]
"""what draws a figure, and the experiments whose stored results it shows"""


def declared_paper(
    file: Path, paper: str, checks: Mapping[str, Check] | None = None, drawn: Mapping[str, Drawn] | None = None,
    numbers: Numbers | None = None, theory: Theory | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What a YAML file says of a paper, for `Paper`: words, claims, differences and figures.

    `checks` and `drawn` judge the claims and draw the figures, by the names in the file; a claim that says `of` is
    judged as `dpexp.reporting.declared_claim` describes, by formulas of `numbers`, and a figure that does is drawn by
    the options of `dpexp plot` that it names (`choose.KEYS`), with `theory`. Raises ValueError for a claim without a
    check or a check without a claim, and the same of figures.
    """
    from dpexp.reporting.claim import WRONG
    from dpexp.reporting.declared_claim import KEYS, Numbers, check_of

    def figure(name: str, words: Mapping[str, Any], own: Drawn | None = None) -> Figure:
        caption = words["caption"].replace("{title}", words.get("title", "").partition(": ")[0])
        draw, needs = own or _declared(words, theory)
        return Figure(name, caption, paper, words["place"], needs, draw)

    def claim(name: str, words: Mapping[str, Any]) -> Claim:
        # the text that was judged, of a quotation that does not hold as printed
        judged = {"version": version} if words.get("quote") and words["expected"] in WRONG else {}
        return deciding[name].claim(name, **{key: word for key, word in words.items() if key not in KEYS}, **judged)

    document = data_of(file)
    version, claims, figures = document.get("version", ""), document.get("claims", {}), document.get("figures", {})
    deciding = {name: check_of(name, words, numbers or Numbers()) for name, words in claims.items() if "of" in words}
    deciding, drawn = deciding | dict(checks or {}), drawn or {}
    in_data = {name for name, words in figures.items() if "of" in words}
    for kind, words, code in (("claim", claims, deciding), ("figure", figures, in_data | drawn.keys())):
        if alone := sorted(words.keys() ^ set(code)):
            raise ValueError(f"{file}: a {kind} without code, or code without a {kind}: {', '.join(alone)}")
    # `theory: {...}` changes the declaration of a figure over which theory is laid
    with_theory = {
        name: {**words, **words["theory"], "theory": True, "title": f"{words['title']}: measured and predicted"}
        for name, words in figures.items()
        if isinstance(words.get("theory"), dict)
    }
    return {
        "successor": document.get("successor", ""),
        "headlines": document.get("headlines", {}),
        "what_to_know": tuple(ToKnow(**entry) for entry in document.get("what_to_know", ())),
        "differences": tuple(
            Difference(id=name, version=version, test=f"{document['test']}[{name}]", **words)
            for name, words in document.get("differences", {}).items()
        ),
        "claims": tuple(claim(name, words) for name, words in claims.items()),
        "figures": tuple(figure(name, words, drawn.get(name)) for name, words in figures.items()),
        "overlays": {name: figure(f"{name}_theory", words) for name, words in with_theory.items()},
    }


def _declared(words: Mapping[str, Any], theory: Theory | None) -> Drawn:
    """A figure that is a declaration, of the results `of`; its caption is the paper's own."""
    from dpexp.reporting.results.choose import ESTIMATOR, KEYS, TERM, Declaration, declaration
    from dpexp.reporting.results.draw import draw
    from dpexp.reporting.results.gather import gather

    experiments = (words["of"],) if isinstance(words["of"], str) else tuple(words["of"])
    options = {name: word for key, word in words.items() if (name := KEYS.get(key, key)) in vars(Declaration())}
    own = declaration(**options | {"theory": words.get("theory") is True})
    # results of other settings are refused
    needs = sorted({*own.facet, own.hue, own.style} - {"", ESTIMATOR, TERM})

    def drawn(results: Path) -> Drawing:
        gathered = gather([results / name for name in experiments], own.only or None, False, needs)
        return draw(gathered, own, () if theory is None else (theory,))._replace(caption="")

    return drawn, experiments
