"""`dpexp check`: run the conformance suite on a plug-in, or on everything that is built in."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.commands import diff, plot, report, table
from dpexp.commands.privacy import of_config
from dpexp.commands.released_model import released_model
from dpexp.config.experiment_file import load_experiment
from dpexp.conformance.alone import ALONE
from dpexp.conformance.check_result import CheckFailure, NotTried, Promise, Subject, carry_out
from dpexp.conformance.toy_settings import toy_of
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.terminal import each
from dpexp.core.text import columns, counted
from dpexp.plugins import Plugin

COMMANDS: dict[str, Callable[[Path, Path], object]] = {
    "plot": lambda folder, config: plot.figures_of(["toy"], False, "png", folder / "drawn", folder),
    "table": lambda folder, config: table.table(["toy"], False, "md", None, folder),
    "report": lambda folder, config: report.report(folder / "toy", folder / "page.html"),
    "diff": lambda folder, config: diff.diff(folder / "toy", folder / "toy"),
    "predict": lambda folder, config: released_model("toy", folder).text(),
    "privacy": lambda folder, config: of_config(config).text(),
}
"""what is asked of the results in a folder, which a config of the name `toy` has left there"""
WIDEST = 88
"""letters of a detail that the table shows; `--json` has all of it"""


class Verdict(NamedTuple):
    """What was tried, for programs and to read."""

    document: dict[str, Any]
    text: str
    failed: bool


def shown(subject: Subject[Any]) -> str:
    """A toy result of a problem or an algorithm goes through every command that shows results.

    A command may refuse it, with a hint. Raises Failed where anything else is raised.
    """
    from dpexp.store.experiment_run import Options, run

    named = subject.name if isinstance(subject.value, type) else subject.value.name
    toy = toy_of(subject.kind, named)
    if toy is None:
        raise NotTried("no toy setting is accepted")
    refused = []
    with tempfile.TemporaryDirectory(prefix="dpexp-check-") as place:
        folder, config = Path(place), Path(place) / "toy.yaml"
        config.write_text(toy.config(toy.ways.growing[1] if toy.private() else toy.ways.none))
        if run(load_experiment(config), Options(folder, quiet=True)).failed:
            raise CheckFailure(f"{toy}: the cell failed", subject.value)
        for name, command in COMMANDS.items():
            try:
                command(folder, config)
            except DpexpError as error:
                if not error.hint:
                    raise CheckFailure(
                        f"{toy}: {name} refuses without a hint: {error.message}", subject.value
                    ) from None
                refused.append(name)
    return f"{toy}: {', '.join(COMMANDS)}" + (f"; refused with a hint: {', '.join(refused)}" if refused else "")


SHOWN: Promise[Any] = Promise("shown", "A toy result goes through every command that shows results.", shown)


def check(file: Path | None) -> Verdict:
    """Try the problems, algorithms and weights that the plug-in file adds, or all that are built in without one.

    Raises UsageError, with file and line, where the file cannot be loaded.
    """
    from dpexp.conformance.suite import built_in, hold, subjects_of

    if file is None:
        plugin, subjects = None, list(built_in())
    else:
        from dpexp.plugins.loading import use

        plugin = use(file)
        if plugin == Plugin(inputs=plugin.inputs):
            raise UsageError(f"{file}: its PLUGIN adds nothing", "give it problems, algorithms, mechanisms or figures")
        subjects = list(subjects_of(plugin))
    results = [carry_out(ALONE, Subject("plug-in", file.name, plugin))] if file and plugin else []
    results += hold(subjects)
    # Last, since each of them runs six commands.
    shown_ones = [subject for subject in subjects if subject.kind != "weight"]
    results += [carry_out(SHOWN, subject) for subject in each(shown_ones, "shown", lambda subject: subject.name)]
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
