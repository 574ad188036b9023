"""`dpexp check`: run the conformance suite on a plug-in, or on everything that is built in."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten

from dpexp.commands.command_answer import Answer, Pathname
from dpexp.conformance.alone import ALONE
from dpexp.conformance.check_result import Subject, carry_out
from dpexp.conformance.suite import built_in, hold, subjects_of
from dpexp.core.errors import UsageError
from dpexp.core.text import columns, counted
from dpexp.plugins import Plugin
from dpexp.plugins.loading import use

WIDEST = 88
"""letters of a detail that the table shows; `--json` has all of it"""


def check(file: Pathname | None = None) -> Answer:
    """Try the problems, algorithms and weights that the plug-in file adds, or all that are built in without one.

    The exit code is 1 where a check fails. Raises UsageError, with file and line, where the file cannot be loaded.
    """
    if file is None:
        results = list(hold(list(built_in())))
    else:
        plugin = use(Path(file))
        if plugin == Plugin(inputs=plugin.inputs):
            raise UsageError(f"{file}: its PLUGIN adds nothing", "give it problems, algorithms, mechanisms or figures")
        alone = carry_out(ALONE, Subject("plug-in", Path(file).name, plugin))
        results = [alone, *hold(list(subjects_of(plugin)))]
    counts = {name: sum(r.outcome == name for r in results) for name in ("ok", "failed", "not tried")}
    rows = [[f"{r.kind} {r.what}", r.check, r.outcome, shorten(r.detail, WIDEST, placeholder="...")] for r in results]
    text = columns(rows, ["what", "check", "result", "tried, or what is wrong"])
    mistakes: dict[tuple[str, str], list[str]] = {}  # one mistake may fail many checks, and is printed once
    for r in results:
        if r.outcome == "failed":
            mistakes.setdefault((f"{r.where or r.what}: {r.kind} '{r.what}'", r.detail), []).append(r.check)
    text += "".join(f"\n\n{place}, {', '.join(checks)}: {why}" for (place, why), checks in mistakes.items())
    text += f"\n\n{counted(len(results), 'check')}: "
    text += ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    document = {
        "file": None if file is None else str(file),
        "checks": [r.document() for r in results],
        "counts": counts,
    }
    return Answer(text, document, int(bool(mistakes)))
