"""`dpexp report`: what a results folder holds as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.commands.answer import RESULTS, Pathname, path_of
from dpexp.commands.fit_result import read_fit
from dpexp.commands.fit_text import budget, is_deployed, noise
from dpexp.commands.joint_releases import REPRODUCIBLE, SECRET
from dpexp.commands.privacy import config_statement
from dpexp.config.cells import stored_experiment
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.files import read_ordinary
from dpexp.core.terminal import each
from dpexp.core.text import guess
from dpexp.papers import claims, figures, papers, theories
from dpexp.plugins.loaded import error_words, shell
from dpexp.reporting.digits import estimate_row
from dpexp.reporting.ledger.verdicts import read_ledger, stored_rows
from dpexp.reporting.page import Fit, Numbers, Picture, Section, Stored, epsilons, page, picture, read_experiment
from dpexp.reporting.results.declaration import Declaration
from dpexp.reporting.results.draw import figure_of
from dpexp.reporting.results.gather import Source
from dpexp.reporting.results.result_table import content_of
from dpexp.reporting.worker_processes import in_processes
from dpexp.store import write_text
from dpexp.store.folder import experiments_in, holds_results, own_folders

MOST_ROWS = 200
"""settings of a table of the page"""
MOST_BYTES = 1_000_000
"""of a text of one's own"""
MOST_STATED = 12
"""mechanisms on records up to which a page weighs all their analyses: each takes a second or more"""


def report(
    target: Pathname = RESULTS, *, out: Pathname | None = None, title: str = "", text: Pathname | None = None
) -> Path:
    """Write one HTML page of a results folder, or of one experiment's folder in it; the path of the page.

    `text` is the path of a file. Raises ResultsMissing where there is nothing to show, UsageError where the text cannot
    be read or the page cannot be written there.
    """
    results, names, alone = _experiments(Path(target))
    path = path_of(out) or (results / names[0] if alone else results) / "report.html"
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder", f"name the file, such as {path / 'report.html'}")
    words = "" if text is None else _words(Path(text))
    of_papers = [name for paper in papers().values() for name in paper.configs]
    # the user's own come first, then papers, in their order
    names = sorted(names, key=lambda name: of_papers.index(name) if name in of_papers else -1)
    stored = [read_experiment(results, name) for name in each(names, "experiment", str)]
    pictures, sections = _pictures(stored, results), []
    for experiment in each(stored, "values of experiment", lambda experiment: experiment.name):
        section = Section(experiment, pictures.get(experiment.name, ()))
        # of experiments of papers the page of all has the figures: numbers are a command away
        own = alone or experiment.name not in of_papers
        sections.append(_with_numbers(section) if own and experiment.gathered is not None else section)
    fits = [] if alone else [_fit(file, results) for file in _fit_files(results)]
    title = title or (f"{names[0]}: results" if alone else "Results of dpexp")
    write_text(path, page(title, sections, _claims(results, names, alone), fits, words))
    return path


def _words(path: Path) -> str:
    """The text of a file. Raises UsageError where it cannot be read as text."""
    try:
        return read_ordinary(path, MOST_BYTES).decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"--text {path}: {why}", "name a text file; an empty line begins a new paragraph") from None


def _experiments(target: Path) -> tuple[Path, list[str], bool]:
    """The results folder, the experiments of it that are meant, and whether one was named."""
    if not target.exists() and len(target.parts) == 1 and holds_results(RESULTS / target):
        target = RESULTS / target
    if holds_results(target):
        target = target if target.name not in ("", "..") else target.resolve()
        return target.parent, [target.name], True
    names = experiments_in(target)
    if not names and not _fit_files(target):
        near = guess(target.name, experiments_in(target.parent)) if not target.exists() else ""
        problem = "there is no such folder" if not target.exists() else "there are no results in it"
        raise ResultsMissing(f"{target}: {problem}", f"{near}run: dpexp run CONFIG, for instance dpexp run @linear_d5")
    return target, names, False


def _pictures(stored: Sequence[Stored], results: Path) -> dict[str, list[Picture]]:
    """By experiment, the shipped figures that the results allow, else its own."""
    current = [experiment.name for experiment in stored if experiment.gathered is not None]
    work = {figure.name: (min(set(figure.needs) & set(current), key=current.index), figure)
            for figure in figures().values() if set(figure.needs) & set(current)}  # fmt: skip
    in_figures = {name for _, figure in work.values() for name in figure.needs}
    work |= {
        name: (name, figure_of([Source(results, name)], Declaration(), theories, figures()))
        for name in current
        if name not in in_figures
    }
    arguments = [(figure, results, shell(["plot", word], results)) for word, (_, figure) in work.items()]
    pictures: dict[str, list[Picture]] = {}
    drawn = in_processes(picture, arguments, "figure", list(work))
    for (name, _), drawing in zip(work.values(), drawn, strict=True):
        pictures.setdefault(name, []).append(drawing)
    return pictures


def _with_numbers(section: Section) -> Section:
    """With the table of a result and its statement; what cannot be shown has a line."""
    experiment, tables, remarks = section.stored, list[Numbers](), list[str]()
    gathered = experiment.gathered
    assert gathered is not None
    if len(gathered.runs) > MOST_ROWS:
        command = shell(["table", experiment.name], experiment.results)
        remarks.append(f"{len(gathered.runs):,} settings are not tabled here: {command}")
    else:
        try:
            content = content_of(gathered, theories=theories())
            tables.append(Numbers("Last step", content.head, content.rows, content.note))
        except Exception as error:  # a table that cannot be made is a line of the page
            remarks.append(f"No table: {error_words(error)[0]}.")
    try:
        privacy, numbers = _privacy(experiment)
        tables += numbers
    except Exception as error:  # as above
        privacy = ["\n".join(error_words(error)).strip()]
    return section._replace(tables=tables, remarks=remarks, privacy=privacy)


def _privacy(experiment: Stored) -> tuple[Sequence[str], list[Numbers]]:
    """Sentences and epsilons of the statement of the config. Private records are not opened for a page."""
    if experiment.is_private:
        return [SECRET if experiment.manifest.get("deployment") else REPRODUCIBLE], []
    path = Path(experiment.config[0] or experiment.name)
    statement = config_statement(stored_experiment(experiment.manifest, path))
    if len(statement.central) > MOST_STATED:
        return [*statement.data, *statement.cautions], []
    document = statement.document()
    words = [*document["plain"], *(f"Data: {notice}" for notice in document["data"]), *document["cautions"]]
    return words, [epsilons(document)]


def _claims(results: Path, names: Sequence[str], alone: bool) -> list[dict[str, Any]]:
    """The claims that these experiments decide: all that they read is here."""
    here = set(names)
    decided = [
        claim for own in claims().values() for claim in own
        if claim.experiments and (here & set(claim.experiments) if alone else here >= set(claim.experiments))
    ]  # fmt: skip
    if not decided:
        return []
    return [row.document(results) for row in stored_rows(results, read_ledger(results), decided)]


def _fit_files(results: Path) -> list[Path]:
    """The files fit*.json that `dpexp fit --out` wrote in folders of the results folder, and not their receipts."""
    paths = (path for folder in own_folders(results) for path in sorted(folder.glob("fit*.json")))
    return [path for path in paths if not path.name.endswith(".receipt.json") and not path.is_symlink()]


def _fit(path: Path, results: Path) -> Fit:
    """A fit with its guarantee and its table."""
    name = path.relative_to(results).with_suffix("").as_posix()
    try:
        fit = read_fit(path)
        rows = [[row["term"], *estimate_row(row, row.get("std_error") or math.nan)] for row in fit.stored["estimates"]]
        glance = fit.stored["glance"]
        words = [f"{glance['model']} of {fit.units.target}, n = {glance['nobs']:,}; {glance['method']}, "
                 f"{100 * glance['level']:.4g}% intervals.", budget(fit.stored), *filter(None, [noise(fit.stored)]),
                 *(f"{row['rule']}: {row['reason']}" for row in fit.stored["refused"])]  # fmt: skip
        table = Numbers(f"Estimates of {name}", ["term", "estimate", "std. error", "from", "to", "p"], rows)
        return Fit(name, words, table, not is_deployed(fit.stored))
    except Exception as error:  # a file that is no fit is a line of the page
        return Fit(name, [f"{path} cannot be read as a fit: {error_words(error)[0]}"])
