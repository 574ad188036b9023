"""`dpexp check`: run the conformance suite on a plug-in, or on everything that is built in."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core.errors import UsageError
from dpexp.core.text import columns, counted

WIDEST = 88
"""letters of a detail that the table shows; `--json` has all of it"""


class Verdict(NamedTuple):
    """What was tried, for programs and to read."""

    document: dict[str, Any]
    text: str
    failed: bool


def check(file: Path | None) -> Verdict:
    """Try everything that the plug-in file adds, or everything built in where there is none.

    Configs of the experiments that its figures, tables and claims need are looked for beside the file, in `configs`
    beside it, and in `configs` here. Raises UsageError, with file and line, where the file cannot be loaded.
    """
    from dpexp.conformance.experiments import ToyExperiments
    from dpexp.conformance.suite import built_in, hold, subjects_of

    here = (Path("configs"), Path())
    with tempfile.TemporaryDirectory(prefix="dpexp-check-") as folder:
        if file is None:
            results = list(hold(built_in(), ToyExperiments(Path(folder), here)))
        else:
            from dpexp.plugins.loading import use

            subjects = list(subjects_of(use(file)))
            if not subjects:
                raise UsageError(f"{file}: its PLUGIN adds nothing", "give it algorithms, problems, figures or claims")
            places = (file.parent, file.parent / "configs", *here)
            results = list(hold(subjects, ToyExperiments(Path(folder), places)))
    outcomes = Counter(result.outcome for result in results)
    counts = {outcome: outcomes[outcome] for outcome in ("ok", "failed", "not tried")}
    document = {
        "file": None if file is None else str(file),
        "checks": [result.document() for result in results],
        "counts": counts,
    }
    rows = [[f"{r.kind} {r.what}", r.check, r.outcome, _clipped(r.detail)] for r in results]
    mistakes: dict[tuple[str, str, str], list[str]] = {}  # one mistake may fail many checks, and is told once
    for r in results:
        if r.outcome == "failed":
            mistakes.setdefault((r.where or r.what, f"{r.kind} '{r.what}'", r.detail), []).append(r.check)
    wrong = [f"{where}: {what}, {', '.join(checks)}: {detail}" for (where, what, detail), checks in mistakes.items()]
    total = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    text = columns(rows, ["what", "check", "result", "tried, or what is wrong"])
    text += "".join(f"\n\n{line}" for line in wrong) + f"\n\n{counted(len(results), 'check')}: {total}"
    return Verdict(document, text, bool(wrong))


def _clipped(detail: str) -> str:
    return detail if len(detail) <= WIDEST else detail[: WIDEST - 3].rstrip() + "..."
