"""`dpexp claims`: the ledger of the papers, and claims judged from stored results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.commands.answer import RESULTS, Answer, Pathname
from dpexp.core.errors import MISSING, OK, REFUTED, ResultsMissing, UsageError
from dpexp.core.standard_json import standard_json
from dpexp.core.terminal import note
from dpexp.core.text import guess
from dpexp.papers import claims as claims_of_papers
from dpexp.papers import papers
from dpexp.plugins.loaded import shell
from dpexp.reporting.ledger import pages
from dpexp.reporting.ledger.verdicts import judge as judge_now
from dpexp.reporting.ledger.verdicts import judge_or_read, one_by_one, read_ledger, stored_rows, write_rows
from dpexp.reporting.verdict import VERDICTS
from dpexp.reporting.worker_processes import in_processes
from dpexp.store.documents import write_text

if TYPE_CHECKING:
    from dpexp.reporting.claim import Claim, Outcome
    from dpexp.reporting.ledger.judgement import Judgement

FILES = {"table": pages.INDEX, "json": "CLAIMS.json", "artifact": pages.NAME, "differences": pages.DIFFERENCES}
"""names of the files of --format with --out; md, the default, writes pages"""
GROUP = 5
"""claims of one task: neighbours read the same results, and each task reads its own"""


def claims(
    *ids: str, paper: str | None = None, verdict: Sequence[str] = (), judge: bool = False, form: str | None = None,
    out: Pathname | None = None, results: Pathname = RESULTS, quiet: bool = False,
) -> Answer:  # fmt: skip
    """The ledger, one row per claim: what a paper says, what was measured, and the verdict with its `state`.

    Claims that are named by `ids` (ids, beginnings of ids, patterns) are judged now from the stored results; the others
    are rows of the ledger, `claims.json`, which `judge` judges and writes. `.frame()` has the rows. Raises UsageError,
    and ResultsMissing, with the command to run, where there is nothing to show or to judge from.
    """
    for option, words, allowed in (("format", [form] if form else [], ("md", *FILES)), ("verdict", verdict, VERDICTS)):
        for word in words:
            if word not in allowed:
                message = f"--{option} {word!r}: it is one of {', '.join(allowed)}"
                raise UsageError(message, guess(word, allowed).strip())
    if out is not None and (ids or verdict):
        hint = "leave out ids and --verdict, or choose with --paper"
        raise UsageError("--out writes the pages of whole papers", hint)
    folder, known = Path(results), _claims()
    ledger, selected = read_ledger(folder), set(matching([claim.id for claim in known], ids, paper))
    mine, remarks = [claim for claim in known if claim.id in selected], list[str]()
    if judge:
        if ledger.fault:
            note(f"{ledger.fault}: it is written anew with the claims that are judged now", quiet)
        fresh = judge_now(mine, folder, _in_groups)
        write_rows(folder, fresh, known, {claim.paper for claim in known})
        remarks = [_moved(ledger.rows[name], row) for name, row in fresh.items() if name in ledger.rows]
        rows = list(fresh.values())
    elif ids:
        rows = judge_or_read(mine, folder, ledger, _in_groups)
    else:
        rows = stored_rows(folder, ledger, mine)
    # hundreds of rows are no answer to a bare command
    bare = not (ids or paper or verdict or judge or form or out)
    if bare and not ledger.rows and not ledger.fault:
        first, then = (shell(words, folder) for words in (["run", "configs/*.yaml"], ["claims", "--judge"]))
        raise ResultsMissing(f"no claim has been judged in {folder}", f"run: {first}, then {then}")
    rows = [row for row in rows if not verdict or row.found.get("verdict") in verdict]
    documents = [row.document(folder) for row in rows]
    if bare:
        text = pages.overview(rows, _headlines())
    elif out is None:
        text = _rendered(form or ("md" if len(rows) == 1 else "table"), rows, folder)
    else:
        everything = rows if len(rows) == len(known) else stored_rows(folder, read_ledger(folder), known)
        files = _pages(Path(out), form, rows, everything, folder)
        for path, content in files.items():
            write_text(path, content)
        text = "\n".join(map(str, files))
    code = OK if all(row.is_current for row in rows) else MISSING
    code = REFUTED if any(row.is_surprising for row in rows) else code
    remarks = [*filter(None, remarks), *pages.warnings(rows), *_next_step(ids, rows, folder)]
    return Answer(text, documents, code, remarks)


def _claims() -> list[Claim]:
    """All claims that are known now, in the papers' order."""
    return [claim for own in claims_of_papers().values() for claim in own]


def _in_groups(claims: Sequence[Claim], results: Path) -> Iterator[tuple[str, Outcome]]:
    """A few checks in this process, and many in several; the verdicts are the same."""
    ids = [claim.id for claim in claims]
    # names travel to other processes, and claims, which hold functions, do not
    groups = [ids[k : k + GROUP] for k in range(0, len(ids), GROUP)]
    work, names = [(group, results) for group in groups], [f"{group[0]} and its neighbours" for group in groups]
    for judged in in_processes(_by_id, work, "judging group", names, f"judging claims, groups of {GROUP}"):
        yield from judged


def _by_id(ids: Sequence[str], results: Path) -> list[tuple[str, Outcome]]:
    """The checks of a few claims, in a process of its own."""
    known = {claim.id: claim for claim in _claims()}
    return list(one_by_one([known[name] for name in ids], results))


def _headlines() -> dict[str, str]:
    """What the papers say to see first, by claim."""
    return {name: headline for paper in papers().values() for name, headline in paper.headlines.items()}


def _moved(before: Judgement, now: Judgement) -> str:
    """What differs from the row that was stored, in words; empty where nothing does."""
    if before.found == now.found:
        return ""
    was = before.found["verdict"]
    verdict = f"{was} -> {now.found['verdict']}" if was != now.found["verdict"] else was
    return f"other values than stored: {now.id}: {verdict}: {now.found['measured']} (was: {before.found['measured']})"


def _next_step(ids: Sequence[str], rows: Sequence[Judgement], results: Path) -> list[str]:
    """How verdicts that are not current become so."""
    if stale := [row for row in rows if not row.is_current]:
        configs = list(dict.fromkeys(path for row in stale for path in row.claim["configs"]))
        run = shell(["run", *configs[:3], *(["..."] if len(configs) > 3 else [])], results)
        return [f"  hint: run: {f'{run}, then ' if configs else ''}{shell(['claims', *ids, '--judge'], results)}"]
    if ids and any(row.state == "stored" for row in rows):
        return ["the replicates are not here: verdicts as stored, judged from the results whose summaries are here"]
    return []


def _rendered(form: str, rows: Sequence[Judgement], results: Path) -> str:
    """Claims as text."""
    if form == "json":
        return standard_json([row.document(results) for row in rows])
    if form == "artifact":
        return pages.artifact(rows, _headlines())
    if form == "differences":
        return pages.differences(rows, papers().values())
    return "\n\n".join(map(pages.section, rows)) if form == "md" else pages.listed(rows)


def _pages(
    out: Path, form: str | None, rows: Sequence[Judgement], everything: Sequence[Judgement], results: Path
) -> dict[Path, str]:
    """The texts of files: pages, where the index is always that of all claims, or one file."""
    if form not in (None, "md"):
        return {out / FILES[form]: _rendered(form, rows, results)}
    by_paper = pages.by_paper(rows).items()
    texts = {out / pages.PAGE.format(name): pages.page(name, own, papers().get(name)) for name, own in by_paper}
    return {out / pages.INDEX: pages.index(everything, _headlines()), **texts}


def matching(ids: Sequence[str], words: Sequence[str], paper: str | None) -> list[str]:
    """The ids that some words mean, in their order; all where there is none. Raises UsageError."""
    known = list(dict.fromkeys(name.split("/")[0] for name in ids))
    if paper is not None and paper not in known:
        hint = f"{guess(paper, known)}papers: {', '.join(known)}; a plug-in's needs --plugin FILE.py"
        raise UsageError(f"no claims of a paper '{paper}'", hint)
    mine = [name for name in ids if paper is None or name.split("/")[0] == paper]
    selected = {name for word in words for name in _fitting(word, mine, paper)}
    return [name for name in mine if not words or name in selected]


def _fitting(word: str, ids: Sequence[str], paper: str | None) -> list[str]:
    """An id itself with the ids below it, else ids that match a pattern, else those that begin like this.

    The paper may be left out: theorem-3 is that of every paper.
    """
    clean = word.strip("/")
    # The strictest reading that fits anything counts.
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
