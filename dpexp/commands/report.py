"""`dpexp report`: what a results folder holds as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.commands.command_answer import RESULTS, Pathname
from dpexp.commands.figure_names import result_folder
from dpexp.commands.joint_releases import REPRODUCIBLE, SECRET
from dpexp.commands.privacy import config_statement
from dpexp.config.cells import stored_experiment
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.terminal import each
from dpexp.core.text import guess
from dpexp.papers import figures, papers, theories
from dpexp.plugins.loaded import error_words, shell
from dpexp.reporting.page import Numbers, Picture, Section, Stored, epsilons, page, picture, read_experiment
from dpexp.reporting.results.choose import Declaration
from dpexp.reporting.results.draw import figure_of
from dpexp.reporting.results.gather import Source
from dpexp.reporting.results.result_table import content_of
from dpexp.store import write_text
from dpexp.store.folder import experiments_in, holds_results

MOST_ROWS = 200
"""settings of a table of the page"""
MOST_STATED = 12
"""mechanisms on records up to which a page weighs all their analyses: each takes a second or more"""


def report(target: Pathname = RESULTS, *, out: Pathname | None = None) -> Path:
    """Write one HTML page of a results folder, or of one experiment's folder in it; the path of the page.

    Raises ResultsMissing where there is nothing to show, UsageError where the page cannot be written there.
    """
    results, names, alone = _experiments(Path(target))
    path = Path(out) if out else (results / names[0] if alone else results) / "report.html"
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder", f"name the file, such as {path / 'report.html'}")
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
    title = f"{names[0]}: results" if alone else "Results of dpexp"
    write_text(path, page(title, sections))
    return path


def _experiments(target: Path) -> tuple[Path, list[str], bool]:
    """The results folder, the experiments of it that are meant, and whether one was named."""
    if holds_results(target) or (len(target.parts) == 1 and holds_results(RESULTS / target) and not target.exists()):
        folder = result_folder(target, RESULTS)
        return folder.parent, [folder.name], True
    if names := experiments_in(target):
        return target, names, False
    near = "" if target.exists() else guess(target.name, experiments_in(target.parent))
    raise ResultsMissing(f"{target}: there are no results in it", f"{near}run: dpexp run @linear_d5, or your CONFIG")


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
    pictures: dict[str, list[Picture]] = {}
    for word, (name, figure) in each(list(work.items()), "figure", lambda item: item[0]):
        pictures.setdefault(name, []).append(picture(figure, results, shell(["plot", word], results)))
    return pictures


def _with_numbers(section: Section) -> Section:
    """With the table of a result and its statement; what cannot be shown has a line."""
    experiment, tables, remarks, privacy = section.stored, list[Numbers](), list[str](), list[str]()
    assert experiment.gathered is not None
    if len(experiment.gathered.runs) > MOST_ROWS:
        command = shell(["table", experiment.name], experiment.results)
        remarks.append(f"{len(experiment.gathered.runs):,} settings are not tabled here: {command}")
    try:
        if not remarks:
            content = content_of(experiment.gathered, theories=theories())
            tables.append(Numbers("Last step", content.head, content.rows, content.note))
        if experiment.is_private:  # private records are not opened for a page
            privacy.append(SECRET if experiment.manifest.get("deployment") else REPRODUCIBLE)
        else:
            path = Path(experiment.config[0] or experiment.name)
            statement = config_statement(stored_experiment(experiment.manifest, path))
            if len(statement.parts) <= MOST_STATED:
                privacy += statement.plain
                tables.append(epsilons(statement.statements()))
            privacy += [*(f"Data: {notice}" for notice in statement.data), *statement.cautions]
    except Exception as error:  # what cannot be made is a line of the page, whatever is wrong with it
        remarks.append(f"Not shown: {'. '.join(error_words(error))}")
    return section._replace(tables=tables, remarks=remarks, privacy=privacy)
