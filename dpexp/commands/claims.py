"""`dpexp claims`: the ledger of the papers, and claims judged from stored results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from dpexp.commands.command_answer import RESULTS, Answer, Pathname
from dpexp.config.shipped import needs_repository
from dpexp.core.errors import MISSING, OK, REFUTED, UsageError
from dpexp.core.text import guess
from dpexp.papers import claims as claims_of_papers
from dpexp.papers import papers
from dpexp.plugins.loaded import shell
from dpexp.reporting.ledger import verdicts
from dpexp.store.folder import write_text

FILES = {"md": "", "table": verdicts.INDEX, "differences": verdicts.DIFFERENCES}
"""values of --format, and the file of each with --out; md writes pages"""


def claims(
    *ids: str, judge: bool = False, form: str | None = None, out: Pathname | None = None, results: Pathname = RESULTS
) -> Answer:
    """The ledger, one row per claim: what a paper says, what was measured, and the verdict with its `state`.

    `ids` are papers, whose rows are read from the ledger, `claims.json`, or ids of claims (also beginnings of ids, and
    patterns), which are judged now from the stored results; `judge` judges all that is meant and writes the ledger.
    `out` is the folder of pages of all papers. `.frame()` has the rows. Raises UsageError, and ResultsMissing, with the
    command to run, where there is nothing to judge from.
    """
    if form not in (None, *FILES):
        raise UsageError(f"--format is one of {', '.join(FILES)}, not {form!r}", guess(form or "", FILES).strip())
    folder, known = Path(results), [claim for own in claims_of_papers().values() for claim in own]
    ledger, selected = verdicts.read_ledger(folder), set(matching([claim.id for claim in known], ids))
    mine, remarks = [claim for claim in known if claim.id in selected], list[str]()
    here = [claim for claim in mine if not needs_repository(claim.experiments)]
    judged = [] if not judge and {*ids} <= {claim.paper for claim in known} else here
    by_id = verdicts.stored_rows(folder, ledger, [claim for claim in mine if claim not in judged])
    by_id |= (fresh := verdicts.judge(judged, folder, None if judge else ledger))
    if judge:
        verdicts.write_rows(folder, fresh, known, {claim.paper for claim in known})
        moved = [row for row in fresh.values() if row.id in ledger and ledger[row.id].outcome != row.outcome]
        remarks = [f"other values than stored: {row.id}: {row.verdict}: {row.outcome['measured']}" for row in moved]
    headlines = {name: headline for paper in papers().values() for name, headline in paper.headlines.items()}
    rows = [by_id[claim.id] for claim in mine]
    everything = [*verdicts.stored_rows(folder, verdicts.read_ledger(folder), known).values()] if out else rows
    texts: dict[str, Callable[[], str]] = {
        "table": lambda: verdicts.listed(everything), "md": lambda: "\n\n".join(map(verdicts.section, everything)),
        "differences": lambda: verdicts.differences(everything, papers().values()),
    }  # fmt: skip
    if out is None:
        text = texts[form or ("md" if len(rows) == 1 else "table")]()
    else:
        files = {FILES[form]: texts[form]()} if form and FILES[form] else {
            verdicts.INDEX: verdicts.index(everything, headlines),
            **{verdicts.PAGE.format(name): verdicts.page(name, own, papers().get(name))
               for name, own in verdicts.by_paper(everything).items()},
        }  # fmt: skip
        for name, content in files.items():
            write_text(Path(out) / name, content)
        text = "\n".join(str(Path(out) / name) for name in files)
    code = OK if all(row.is_current for row in rows) else MISSING
    code = REFUTED if any(row.is_surprising for row in rows) else code
    remarks += verdicts.warnings(rows)
    if stale := [by_id[claim.id] for claim in here if not by_id[claim.id].is_current]:
        experiments = dict.fromkeys(Path(path).stem for row in stale for path in row.claim["configs"])
        run = f"{verdicts.command(experiments, folder)}, then " if experiments else ""
        remarks.append(f"  hint: run: {run}{shell(['claims', *ids, '--judge'], folder)}")
    return Answer(text, [row.document(folder) for row in rows], code, remarks)


def matching(ids: Sequence[str], words: Sequence[str]) -> list[str]:
    """The ids that some words mean, in their order; all where there is none. Raises UsageError.

    A word is an id with the ids below it, else a pattern or the beginning of ids; the paper may be left out.
    """
    selected = set[str]()
    for word in words:
        clean = word.strip("/")
        whole = [name for name in ids if f"/{clean}/" in f"/{name}/"]
        patterns = (f"{clean}*", f"*/{clean}*")
        matches = whole or [name for name in ids if any(fnmatchcase(name, pattern) for pattern in patterns)]
        if not matches:
            known = dict.fromkeys(part for name in ids for part in (name, name.partition("/")[2], name.split("/")[0]))
            hint = f"{guess(clean, known)}`dpexp claims --format table` lists them; a plug-in's needs --plugin FILE.py"
            raise UsageError(f"no claim and no paper is called '{word}'", hint)
        selected |= {*matches}
    return [name for name in ids if not words or name in selected]
