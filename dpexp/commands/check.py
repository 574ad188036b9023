"""`dpexp check`: run the conformance suite on a plug-in, or on everything that is built in."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpexp.commands import diff, plot, report, table
from dpexp.commands.answer import Answer, Pathname, path_of
from dpexp.commands.privacy import of_experiment
from dpexp.commands.released_model import released_model
from dpexp.config.experiment_file import load_experiment
from dpexp.conformance.alone import ALONE
from dpexp.conformance.check_result import Breach, NotTried, Promise, Subject, carry_out
from dpexp.conformance.suite import built_in, hold, subjects_of
from dpexp.conformance.toy_settings import toy_of
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.terminal import each
from dpexp.core.text import columns, counted
from dpexp.plugins import Plugin
from dpexp.plugins.loading import use
from dpexp.store.experiment_run import Options, run

COMMANDS: dict[str, Callable[[Path, Path], object]] = {
    "plot": lambda folder, config: plot.command("toy", formats="png", out=folder / "drawn", results=folder),
    "table": lambda folder, config: table.table("toy", results=folder),
    "report": lambda folder, config: report.report(folder / "toy", out=folder / "page.html"),
    "diff": lambda folder, config: diff.diff(folder / "toy", folder / "toy"),
    "predict": lambda folder, config: released_model("toy", folder).text(),
    "privacy": lambda folder, config: of_experiment(load_experiment(config)).text(),
}
"""commands that are tried on the results in a folder, which a config of the name `toy` has made"""
WIDEST = 88
"""letters of a detail that the table shows; `--json` has all of it"""


def _try_commands(subject: Subject[Any]) -> str:
    """A toy result of a problem or an algorithm goes through every command that shows results.

    A command may refuse it, with a hint. Raises Breach where anything else is raised.
    """
    name = subject.name if isinstance(subject.value, type) else subject.value.name
    toy = toy_of(subject.kind, name)
    if toy is None:
        raise NotTried("no toy setting is accepted")
    refusals = []
    with tempfile.TemporaryDirectory(prefix="dpexp-check-") as place:
        folder, config = Path(place), Path(place) / "toy.yaml"
        config.write_text(toy.config(toy.ways.growing[1] if toy.private() else toy.ways.none))
        if run(load_experiment(config), Options(folder, quiet=True)).failed:
            raise Breach(f"{toy}: the cell failed", subject.value)
        for command, call in COMMANDS.items():
            try:
                call(folder, config)
            except DpexpError as error:
                if not error.hint:
                    message = f"{toy}: {command} refuses without a hint: {error.message}"
                    raise Breach(message, subject.value) from None
                refusals.append(command)
    return f"{toy}: {', '.join(COMMANDS)}" + (f"; refused with a hint: {', '.join(refusals)}" if refusals else "")


SHOWN: Promise[Any] = Promise("shown", "A toy result goes through every command that shows results.", _try_commands)


def check(file: Pathname | None = None) -> Answer:
    """Try the problems, algorithms and weights that the plug-in file adds, or all that are built in without one.

    The exit code is 1 where a check fails. Raises UsageError, with file and line, where the file cannot be loaded.
    """
    path, alone = path_of(file), []
    subjects = list(built_in()) if path is None else []
    if path is not None:
        plugin = use(path)
        if plugin == Plugin(inputs=plugin.inputs):
            raise UsageError(f"{path}: its PLUGIN adds nothing", "give it problems, algorithms, mechanisms or figures")
        subjects = list(subjects_of(plugin))
        alone = [carry_out(ALONE, Subject("plug-in", path.name, plugin))]
    results = [*alone, *hold(subjects)]
    # Last, since each of them runs six commands.
    toys = [subject for subject in subjects if subject.kind != "weight"]
    results += [carry_out(SHOWN, subject) for subject in each(toys, "shown", lambda subject: subject.name)]
    outcomes = Counter(result.outcome for result in results)
    counts = {outcome: outcomes[outcome] for outcome in ("ok", "failed", "not tried")}
    rows = [[f"{r.kind} {r.what}", r.check, r.outcome, _clipped(r.detail)] for r in results]
    mistakes: dict[str, list[str]] = {}  # one mistake may fail many checks, and is printed once
    for r in results:
        if r.outcome == "failed":
            mistakes.setdefault(f"{r.where or r.what}: {r.kind} '{r.what}', {{}}: {r.detail}", []).append(r.check)
    text = columns(rows, ["what", "check", "result", "tried, or what is wrong"])
    text += "".join("\n\n" + mistake.replace("{}", ", ".join(names), 1) for mistake, names in mistakes.items())
    text += f"\n\n{counted(len(results), 'check')}: "
    text += ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    document = {
        "file": None if path is None else str(path), "checks": [result.document() for result in results],
        "counts": counts,
    }  # fmt: skip
    return Answer(text, document, int(bool(mistakes)))


def _clipped(detail: str) -> str:
    return detail if len(detail) <= WIDEST else detail[: WIDEST - 3].rstrip() + "..."
