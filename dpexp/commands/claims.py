"""`dpexp claims`: the ledger of the papers, and claims judged from stored results."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.standard_json import standard_json
from dpexp.core.terminal import note
from dpexp.core.text import guess
from dpexp.plugins.loaded import shell
from dpexp.reporting.verdict import VERDICTS
from dpexp.store.documents import write_text

if TYPE_CHECKING:
    from dpexp.reporting.claim import Claim, Outcome
    from dpexp.reporting.ledger.judgement import Judgement

FORMATS = ("table", "md", "json", "artifact", "differences")
UNEXPECTED, NOT_CURRENT = 1, 3
GROUP = 5
"""claims of one task: neighbours read the same results, and each task reads its own"""
WORTH_PROCESSES = 20
"""claims from which it pays to start processes, each of which loads and compiles for itself"""


@dataclass(frozen=True)
class Request:
    """The command line of `dpexp claims`."""

    asked: tuple[str, ...]
    """ids, beginnings of ids, patterns; all claims where empty"""
    paper: str | None
    verdicts: tuple[str, ...]
    form: str | None
    """one of FORMATS; None lets the command choose"""
    out: Path | None
    results: Path
    judge: bool = False
    """judge all that is asked for, and write the ledger"""
    jobs: int = 1
    quiet: bool = False


class Shown(NamedTuple):
    """What is printed: the ledger, remarks for stderr, and the exit code."""

    text: str
    remarks: list[str]
    code: int


def command(jobs: int, **options: Any) -> tuple[None, str, int, list[str]]:
    """No document but the text, exit code and remarks, as the command line has it."""
    text, remarks, code = claims(Request(jobs=jobs or os.cpu_count() or 1, **options))
    return None, text, code, remarks


def claims(request: Request) -> Shown:
    """Claims that are named are judged now from the stored results; the whole ledger is read, unless `judge` is set.

    Raises UsageError, and ResultsMissing, with the command to run, where there is nothing to show or to judge from.
    """
    from dpexp.reporting.ledger import pages
    from dpexp.reporting.ledger.judging import judge, judge_or_read
    from dpexp.reporting.ledger.verdicts import read_ledger, stored_rows, write_rows

    for option, word, known_words in (
        ("format", request.form, FORMATS),
        *(("verdict", v, VERDICTS) for v in request.verdicts),
    ):
        if word is not None and word not in known_words:
            message = f"--{option} {word!r}: it is one of {', '.join(known_words)}"
            raise UsageError(message, guess(word, known_words).strip())
    if request.out is not None and (request.asked or request.verdicts):
        hint = "leave out ids and --verdict, or choose with --paper"
        raise UsageError("--out writes the pages of whole papers", hint)
    known, ledger = _claims(), read_ledger(request.results)
    ids = set(chosen([claim.id for claim in known], request.asked, request.paper))
    mine = [claim for claim in known if claim.id in ids]
    bare = replace(request, results=Path(), jobs=1, quiet=False) == Request((), None, (), None, None, Path())
    carry, remarks = partial(_in_groups, jobs=request.jobs), list[str]()
    if request.judge:
        if ledger.fault:
            note(f"{ledger.fault}: it is written anew with the claims that are judged now", request.quiet)
        fresh = judge(mine, request.results, carry)
        write_rows(request.results, fresh, known, {claim.paper for claim in known})
        remarks = [_moved(ledger.rows[name], row) for name, row in fresh.items() if name in ledger.rows]
        rows = list(fresh.values())
    elif request.asked:
        rows = judge_or_read(mine, request.results, ledger, carry)
    else:
        rows = stored_rows(request.results, ledger, mine)
    if bare and not ledger.rows and not ledger.fault:
        first, then = (shell(words, request.results) for words in (["run", "configs/*.yaml"], ["claims", "--judge"]))
        raise ResultsMissing(f"no claim has been judged in {request.results}", f"run: {first}, then {then}")
    rows = [row for row in rows if not request.verdicts or row.found.get("verdict") in request.verdicts]
    if bare:
        # hundreds of rows are no answer to a bare command
        text = pages.overview(rows, _headlines())
    elif request.out is None:
        text = _rendered(request.form or ("md" if len(rows) == 1 else "table"), rows, request.results)
    else:
        whole = rows if len(rows) == len(known) else stored_rows(request.results, read_ledger(request.results), known)
        files = _pages(request, rows, whole)
        for path, content in files.items():
            write_text(path, content)
        text = "\n".join(map(str, files))
    code = 0 if all(row.is_current for row in rows) else NOT_CURRENT
    code = UNEXPECTED if any(row.is_surprising for row in rows) else code
    return Shown(text, [*filter(None, remarks), *_warnings(request, rows)], code)


def _claims() -> list[Claim]:
    """All claims that are known now, in the papers' order."""
    from dpexp.papers import claims as known

    return [claim for claims in known().values() for claim in claims]


def _in_groups(claims: Sequence[Claim], results: Path, jobs: int) -> Iterator[tuple[str, Outcome]]:
    """A few checks in this process, and many in several; the verdicts are the same."""
    from dpexp.reporting.ledger.judging import one_by_one
    from dpexp.reporting.worker_processes import in_processes

    if jobs < 2 or len(claims) < WORTH_PROCESSES:
        yield from one_by_one(claims, results)
        return
    ids = [claim.id for claim in claims]
    # names travel to other processes, and claims, which hold functions, do not
    groups = [ids[k : k + GROUP] for k in range(0, len(ids), GROUP)]
    work, names = [(group, results) for group in groups], [f"{group[0]} and its neighbours" for group in groups]
    for judged in in_processes(_by_id, work, "judging group", names, f"judging claims, groups of {GROUP}"):
        yield from judged


def _by_id(ids: Sequence[str], results: Path) -> list[tuple[str, Outcome]]:
    """The checks of a few claims, in a process of its own."""
    from dpexp.reporting.ledger.judging import one_by_one

    known = {claim.id: claim for claim in _claims()}
    return list(one_by_one([known[name] for name in ids], results))


def _headlines() -> dict[str, str]:
    """What the papers say to see first, by claim."""
    from dpexp.papers import papers

    return {name: says for paper in papers().values() for name, says in paper.headlines.items()}


def _moved(before: Judgement, now: Judgement) -> str:
    """What differs from the row that was stored, in words; empty where nothing does."""
    if before.found == now.found:
        return ""
    was = before.found["verdict"]
    verdict = f"{was} -> {now.found['verdict']}" if was != now.found["verdict"] else was
    return f"other values than stored: {now.id}: {verdict}: {now.found['measured']} (was: {before.found['measured']})"


def _warnings(request: Request, rows: Sequence[Judgement]) -> list[str]:
    """A line for every verdict that is not the expected one, and how the others become current."""
    from dpexp.reporting.ledger.pages import warnings

    remarks, stale = warnings(rows), [row for row in rows if not row.is_current]
    if stale:
        configs = list(dict.fromkeys(path for row in stale for path in row.claim["configs"]))
        run = shell(["run", *configs[:3], *(["..."] if len(configs) > 3 else [])], request.results)
        judge = shell(["claims", *request.asked, "--judge"], request.results)
        remarks.append(f"  hint: run: {f'{run}, then ' if configs else ''}{judge}")
    elif request.asked and any(row.state == "stored" for row in rows):
        here = "judged from the results whose summaries are here"
        remarks.append(f"the replicates are not here: verdicts as stored, {here}")
    return remarks


def _rendered(form: str, rows: Sequence[Judgement], results: Path) -> str:
    """Claims as text."""
    from dpexp.papers import papers
    from dpexp.reporting.ledger import pages

    ways = {
        "json": lambda: standard_json([row.document(results) for row in rows]),
        "artifact": lambda: pages.artifact(rows, _headlines()),
        "differences": lambda: pages.differences(rows, papers().values()),
        "md": lambda: "\n\n".join(map(pages.section, rows)),
        "table": lambda: pages.listed(rows),
    }
    return ways[form]()


def _pages(request: Request, rows: Sequence[Judgement], whole: Sequence[Judgement]) -> dict[Path, str]:
    """The texts of files: pages, where the index is always that of all claims, or one file."""
    from dpexp.papers import papers
    from dpexp.reporting.ledger.pages import DIFFERENCES, INDEX, NAME, PAGE, by_paper, index, page

    assert request.out is not None
    if request.form not in (None, "md"):
        name = {"artifact": NAME, "differences": DIFFERENCES, "json": "CLAIMS.json"}.get(request.form, INDEX)
        return {request.out / name: _rendered(request.form, rows, request.results)}
    of_papers = {request.out / PAGE.format(p): page(p, some, papers().get(p)) for p, some in by_paper(rows).items()}
    return {request.out / INDEX: index(whole, _headlines()), **of_papers}


def chosen(ids: Sequence[str], asked: Sequence[str], paper: str | None) -> list[str]:
    """The ids that are asked for, in their order; all where nothing is. Raises UsageError for a name that fits none."""
    known = list(dict.fromkeys(name.split("/")[0] for name in ids))
    if paper is not None and paper not in known:
        hint = f"{guess(paper, known)}papers: {', '.join(known)}; a plug-in's needs --plugin FILE.py"
        raise UsageError(f"no claims of a paper '{paper}'", hint)
    mine = [name for name in ids if paper is None or name.split("/")[0] == paper]
    wanted = {name for word in asked for name in _fitting(word, mine, paper)}
    return [name for name in mine if not asked or name in wanted]


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
        if matches := [name for name in ids if fits(name) or fits(name.partition("/")[2])]:
            return matches
    of = f" of the paper '{paper}'" if paper else ""
    near = guess(clean, [*ids, *(name.partition("/")[2] for name in ids)])
    raise UsageError(f"no claim{of} is called '{word}'", f"{near}`dpexp claims --format table` lists them")
