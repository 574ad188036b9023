"""`dpexp claims`: the ledger, from stored verdicts; judged anew where that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting.ledger import printed, verdicts
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.standing import Standing, at_once, rerun
from dpexp.reporting.verdict import VERDICTS

if TYPE_CHECKING:
    from dpexp.reporting.claim import Claim

FORMATS = ("table", "md", "json", "artifact")
UNEXPECTED, NOT_CURRENT = 1, 3


@dataclass(frozen=True)
class Request:
    """The command line of `dpexp claims`, without what only judging anew needs."""

    asked: tuple[str, ...]
    """ids, beginnings of ids, patterns; all claims where empty"""
    paper: str | None
    verdicts: tuple[str, ...]
    form: str | None
    """one of FORMATS; None lets the command choose"""
    out: Path | None
    results: Path


class Shown(NamedTuple):
    """What is printed: the ledger, remarks for stderr, and the exit code."""

    text: str
    remarks: list[str]
    code: int


def checked(request: Request) -> None:
    """Raise UsageError for what no ledger can answer, before anything is computed."""
    if request.form is not None and request.form not in FORMATS:
        raise UsageError(
            f"--format is one of {', '.join(FORMATS)}, not {request.form!r}", guess(request.form, FORMATS).strip()
        )
    known_verdicts(request.verdicts)
    if request.out is not None and (request.asked or request.verdicts):
        raise UsageError(
            "--out writes the pages of whole papers", "leave out ids and --verdict, or choose with --paper"
        )


def claims(request: Request) -> Shown:
    """The ledger from stored verdicts. What is not current is marked, with the reason."""
    checked(request)
    ledger = verdicts.read(request.results)
    fast = at_once(request.results, ledger)
    everything = fast or _standing(request.results, ledger)
    if request == Request((), None, (), None, None, request.results):
        first = ledger.unchanged.headlines if fast and ledger.unchanged else headlines()
        return shown(request, everything, everything)._replace(text=printed.overview(everything, first))
    ids = [one.id for one in everything]
    wanted = set(chosen(ids, request.asked, request.paper, _papers(everything, request.paper)))
    asked = with_verdicts([one for one in everything if one.id in wanted], request.verdicts)
    return shown(request, asked, everything)


def _papers(everything: Sequence[Judgement], paper: str | None) -> list[str]:
    """The papers of claims; of one that has none it must be known that it is a paper."""
    found = list(dict.fromkeys(one.paper for one in everything))
    if paper is None or paper in found:
        return found
    from dpexp.papers import papers

    return [*found, *(name for name in papers() if name not in found)]


def registered() -> list[Claim]:
    """All claims that are known now, in the papers' order."""
    from dpexp.papers import claims as known

    return [claim for some in known().values() for claim in some]


def headlines() -> dict[str, str]:
    """What the papers say to see first, by claim."""
    from dpexp.papers import papers
    from dpexp.reporting.ledger.pages import headlines_of

    return headlines_of(papers())


def _standing(results: Path, ledger: verdicts.Ledger) -> list[Judgement]:
    standing = Standing(results, ledger)
    return [standing.judgement(claim) for claim in registered()]


def shown(request: Request, asked: Sequence[Judgement], everything: Sequence[Judgement]) -> Shown:
    """Claims in the format that is asked for, what is not as it should be, and the exit code."""
    if request.out is not None:
        text = "\n".join(str(path) for path in write(request, asked, everything))
    else:
        text = rendered(request.form or ("md" if len(asked) == 1 else "table"), asked, request.results)
    remarks = [f"unexpected: {line}" for line in printed.surprises(asked)]
    stale = [one for one in asked if not one.is_current]
    remarks += printed.not_current(stale)
    if stale:
        paper = ("--paper", request.paper) if request.paper else ()
        how = "--confirm" if all(one.state == "unconfirmed" for one in stale) else "--rerun"
        remarks.append(f"  hint: run: {rerun([*request.asked, *paper], request.results, how)}")
    return Shown(text, remarks, UNEXPECTED if printed.surprises(asked) else NOT_CURRENT if stale else 0)


def rendered(form: str, judgements: Sequence[Judgement], results: Path) -> str:
    """Claims as text."""
    from dpexp.core.standard_json import standard_json

    if form == "json":
        return standard_json([one.document() for one in judgements])
    if form == "artifact":
        from dpexp.papers import papers
        from dpexp.reporting.ledger.costs import Costs
        from dpexp.reporting.ledger.pages import artifact

        return artifact(judgements, papers(), Costs(results))
    if form == "md":
        from dpexp.reporting.ledger.costs import Costs

        costs = Costs(results)
        return "\n\n".join(printed.section(one, costs.words(one)) for one in judgements)
    return printed.listed(judgements)


def write(request: Request, asked: Sequence[Judgement], everything: Sequence[Judgement]) -> list[Path]:
    """Write the ledger into a folder: as pages, where the index is always that of all claims, or as one file."""
    from dpexp.papers import papers
    from dpexp.reporting.ledger.costs import Costs
    from dpexp.reporting.ledger.pages import INDEX, NAME, index, name_of, page
    from dpexp.store.files import write_text

    assert request.out is not None
    form = request.form or "md"
    if form != "md":
        name = NAME if form == "artifact" else f"CLAIMS.{'md' if form == 'table' else form}"
        texts = {name: rendered(form, asked, request.results)}
    else:
        known, costs = papers(), Costs(request.results)
        texts = {INDEX: index(everything, known)}
        for paper in dict.fromkeys(one.paper for one in asked):
            mine = [one for one in asked if one.paper == paper]
            texts[name_of(paper)] = page(paper, mine, known.get(paper), costs)
    for name, text in texts.items():
        write_text(request.out / name, text)
    return [request.out / name for name in texts]


_PATTERN = frozenset("*?[")


def chosen(ids: Sequence[str], asked: Sequence[str], paper: str | None, papers: Iterable[str]) -> list[str]:
    """The ids that are asked for, in their order; all where nothing is. Raises UsageError for a name that fits none."""
    known = list(papers)
    if paper is not None and paper not in known:
        raise UsageError(
            f"no claims of a paper '{paper}'",
            f"{guess(paper, known)}papers: {', '.join(known)}; a plug-in's needs --plugin FILE.py",
        )
    mine = [one for one in ids if paper is None or one.split("/")[0] == paper]
    if not asked:
        return mine
    wanted = {one for word in asked for one in _fitting(word, mine, paper)}
    return [one for one in mine if one in wanted]


def _fitting(word: str, ids: Sequence[str], paper: str | None) -> list[str]:
    """An id itself with what lies below it, else ids that match a pattern, else those that begin like this.

    The paper may be left out: theorem-3 is that of every paper.
    """
    clean = word.strip("/")
    for fits in (_below, _matches, str.startswith):
        if found := [one for one in ids if fits(one, clean) or fits(one.partition("/")[2], clean)]:
            return found
    of = f" of the paper '{paper}'" if paper else ""
    names = [*ids, *(one.partition("/")[2] for one in ids)]
    raise UsageError(
        f"no claim{of} is called '{word}'", f"{guess(clean, names)}`dpexp claims --format table` lists them"
    )


def _below(one: str, word: str) -> bool:
    return one == word or one.startswith(f"{word}/")


def _matches(one: str, word: str) -> bool:
    return bool(_PATTERN & set(word)) and fnmatchcase(one, word)


def known_verdicts(words: Sequence[str]) -> Sequence[str]:
    """Verdicts that are asked for. Raises UsageError where one is none."""
    for word in words:
        if word not in VERDICTS:
            raise UsageError(
                f"--verdict '{word}' is no verdict", f"{guess(word, VERDICTS)}verdicts: {', '.join(VERDICTS)}"
            )
    return words


def with_verdicts(judgements: Sequence[Judgement], verdicts: Sequence[str]) -> list[Judgement]:
    """Those with one of these verdicts, stale ones by the verdict that they had; all where none is asked for."""
    return [one for one in judgements if not verdicts or one.found.get("verdict") in verdicts]
