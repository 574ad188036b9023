"""`dpexp claims`: the ledger, from stored verdicts; judged anew where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.standard_json import standard_json
from dpexp.core.text import guess
from dpexp.plugins.loaded import shell
from dpexp.reporting.ledger import pages, verdicts
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.standing import at_once, experiments_of, standing
from dpexp.reporting.verdict import VERDICTS
from dpexp.store.files import write_text

if TYPE_CHECKING:
    from dpexp.reporting.claim import Claim

FORMATS = ("table", "md", "json", "artifact")
UNEXPECTED, NOT_CURRENT = 1, 3
Held = Callable[[Path, Sequence[str]], Mapping[str, tuple[str, str]]]
"""`dpexp.store.reading.numbers_held`: which numbers experiments hold that are what today's code and configs give"""


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
    for word in request.verdicts:
        if word not in VERDICTS:
            raise UsageError(
                f"--verdict '{word}' is no verdict", f"{guess(word, VERDICTS)}verdicts: {', '.join(VERDICTS)}"
            )
    if request.out is not None and (request.asked or request.verdicts):
        raise UsageError(
            "--out writes the pages of whole papers", "leave out ids and --verdict, or choose with --paper"
        )


def claims(request: Request, held: Held) -> Shown:
    """The ledger from stored verdicts. What is not current is marked, with the reason.

    `held` is asked for the numbers that stand in results folders where files have changed since all was current. Raises
    ResultsMissing, with the command to run, where everything is asked for and nothing was ever judged.
    """
    checked(request)
    ledger, bare = verdicts.read(request.results), request == Request((), None, (), None, None, request.results)
    if bare and not ledger.rows and not ledger.fault:
        hint = f"run: {shell(['claims', '--rerun'], request.results)}   (every experiment; or name a claim)"
        raise ResultsMissing(f"no claim has been judged in {request.results}", hint)
    # Where no file has changed since, the stored verdicts are the answer, and no paper is loaded.
    fast = at_once(request.results, ledger)
    known = [] if fast else registered()
    everything = fast or standing(request.results, ledger, known, held(request.results, experiments_of(known)))
    # A bare command shows what to see first, and not hundreds of rows.
    if bare:
        first = ledger.headlines if fast else headlines()
        return shown(request, everything, everything)._replace(text=pages.overview(everything, first))
    ids = selected(request, [one.id for one in everything], ledger)
    return shown(request, [one for one in everything if one.id in ids], everything)


def registered() -> list[Claim]:
    """All claims that are known now, in the papers' order."""
    from dpexp.papers import claims as known

    return [claim for some in known().values() for claim in some]


def headlines() -> dict[str, str]:
    """What the papers say to see first, by claim."""
    from dpexp.papers import papers

    return {name: says for paper in papers().values() for name, says in paper.headlines.items()}


def shown(request: Request, asked: Sequence[Judgement], everything: Sequence[Judgement]) -> Shown:
    """Claims in the format that is asked for, what is not as it should be, and the exit code."""
    if request.out is None:
        text = rendered(request.form or ("md" if len(asked) == 1 else "table"), asked, request.results)
    else:
        texts = written(request, asked, everything)
        for name, content in texts.items():
            write_text(request.out / name, content)
        text = "\n".join(str(request.out / name) for name in texts)
    remarks = pages.warnings(asked)
    stale = [one for one in asked if not one.is_current]
    if stale:
        paper = ("--paper", request.paper) if request.paper else ()
        # Where only code has changed, its numbers may still be the same: that is tried cheaply.
        how = "--confirm" if all(one.state == "unconfirmed" for one in stale) else "--rerun"
        remarks.append(f"  hint: run: {shell(['claims', *request.asked, *paper, how], request.results)}")
    surprising = any(one.is_surprising for one in asked)
    return Shown(text, remarks, UNEXPECTED if surprising else NOT_CURRENT if stale else 0)


def rendered(form: str, judgements: Sequence[Judgement], results: Path) -> str:
    """Claims as text."""
    if form == "json":
        return standard_json([one.document(results) for one in judgements])
    if form == "artifact":
        from dpexp.reporting.ledger.pages import artifact

        return artifact(judgements, headlines())
    if form == "md":
        return "\n\n".join(map(pages.section, judgements))
    return pages.listed(judgements)


def written(request: Request, asked: Sequence[Judgement], everything: Sequence[Judgement]) -> dict[str, str]:
    """The texts of files, by name: pages, where the index is always that of all claims, or one file."""
    from dpexp.papers import papers
    from dpexp.reporting.ledger.pages import INDEX, NAME, PAGE, index, page

    if request.form not in (None, "md"):
        name = {"artifact": NAME, "json": "CLAIMS.json"}.get(request.form, INDEX)
        return {name: rendered(request.form, asked, request.results)}
    of_papers = {
        PAGE.format(paper): page(paper, some, papers().get(paper)) for paper, some in pages.by_paper(asked).items()
    }
    return {INDEX: index(everything, headlines()), **of_papers}


def selected(request: Request, ids: Sequence[str], ledger: verdicts.Ledger) -> list[str]:
    """The ids that a command line asks for, of claims with the verdicts that it names, stale ones by what they had."""
    mine = chosen(ids, request.asked, request.paper)
    found = {name: one.found["verdict"] for name, one in ledger.rows.items()}
    return [name for name in mine if not request.verdicts or found.get(name) in request.verdicts]


def chosen(ids: Sequence[str], asked: Sequence[str], paper: str | None) -> list[str]:
    """The ids that are asked for, in their order; all where nothing is. Raises UsageError for a name that fits none."""
    known = list(dict.fromkeys(one.split("/")[0] for one in ids))
    if paper is not None and paper not in known:
        raise UsageError(
            f"no claims of a paper '{paper}'",
            f"{guess(paper, known)}papers: {', '.join(known)}; a plug-in's needs --plugin FILE.py",
        )
    mine = [one for one in ids if paper is None or one.split("/")[0] == paper]
    wanted = {one for word in asked for one in _fitting(word, mine, paper)}
    return [one for one in mine if not asked or one in wanted]


def _fitting(word: str, ids: Sequence[str], paper: str | None) -> list[str]:
    """An id itself with what lies below it, else ids that match a pattern, else those that begin like this.

    The paper may be left out: theorem-3 is that of every paper.
    """
    clean = word.strip("/")
    # The strictest reading that finds anything counts.
    for fits in (
        lambda name: f"{name}/".startswith(f"{clean}/"),
        lambda name: bool(set("*?[") & set(clean)) and fnmatchcase(name, clean),
        lambda name: name.startswith(clean),
    ):
        if found := [one for one in ids if fits(one) or fits(one.partition("/")[2])]:
            return found
    of = f" of the paper '{paper}'" if paper else ""
    near = guess(clean, [*ids, *(one.partition("/")[2] for one in ids)])
    raise UsageError(f"no claim{of} is called '{word}'", f"{near}`dpexp claims --format table` lists them")
