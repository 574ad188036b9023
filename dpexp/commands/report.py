"""`dpexp report`: what a results folder holds as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpexp.commands.command_answer import RESULTS, Pathname
from dpexp.commands.figure_names import result_folder
from dpexp.commands.joint_releases import REPRODUCIBLE, SECRET
from dpexp.commands.privacy import config_statement
from dpexp.config.cells import Experiment, stored_cell
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.terminal import each
from dpexp.core.text import guess
from dpexp.papers import figures, papers, theories
from dpexp.plugins.loaded import shell
from dpexp.reporting.page import PageSection, page, picture, read_section
from dpexp.reporting.results.choose import Declaration
from dpexp.reporting.results.result_table import content_of
from dpexp.reporting.statement import tabled
from dpexp.reporting.text_table import Content
from dpexp.store.folder import experiments_in, holds_results, write_text

MOST_ROWS, MOST_STATED = 200, 12
"""settings of a table of the page, and mechanisms of which it has all analyses: each takes a second or more"""


def report(target: Pathname = RESULTS, *, out: Pathname | None = None) -> Path:
    """Write one HTML page of a results folder, or of one experiment's folder in it; the path of the page.

    Raises ResultsMissing where there is nothing to show, UsageError where the page cannot be written there.
    """
    results = folder = Path(target)
    if alone := not (names := experiments_in(results)):
        folder = results if results.exists() else RESULTS / results
        if not holds_results(folder):
            hint = f"{guess(results.name, experiments_in(results.parent))}run: dpexp run @linear_d5, or your CONFIG"
            raise ResultsMissing(f"{results}: there are no results in it", hint)
        folder = result_folder(folder)
        results, names = folder.parent, [folder.name]
    path = Path(out or folder / "report.html")
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder", f"name the file, such as {path / 'report.html'}")
    of_papers = [name for paper in papers().values() for name in paper.configs]
    # the user's own come first, then papers, in their order
    names = sorted(names, key=lambda name: of_papers.index(name) if name in of_papers else -1)
    sections = [read_section(results, name) for name in each(names, "experiment", str)]
    current = [section for section in sections if section.gathered is not None]
    _draw(current, results)
    for section in each(current, "values of experiment", lambda section: section.name):
        # of experiments of papers the page of all has the figures: numbers are a command away
        if alone or section.name not in of_papers:
            with section.making("Numbers"):
                _add_numbers(section, results)
    write_text(path, page(f"{names[0]}: results" if alone else "Results of dpexp", sections))
    return path


def _draw(sections: Sequence[PageSection], results: Path) -> None:
    """Add the shipped figures that the results allow to the first of their experiments, else its own."""
    from dpexp.reporting.results.draw import figure_of

    names = [section.name for section in sections]
    work = {word: figure for word, figure in figures().items() if {*figure.needs} & {*names}}
    for name in [name for name in names if not any(name in figure.needs for figure in work.values())]:
        work[name] = figure_of([results / name], Declaration(), theories, figures())
    for word, figure in each(list(work.items()), "figure", lambda item: item[0]):
        section = next(section for section in sections if section.name in figure.needs)
        with section.making(f"Figure {figure.name}"):
            section.pictures.append(picture(figure, results, shell(["plot", word], results)))


def _add_numbers(section: PageSection, results: Path) -> None:
    """Add the table of a result and its statement."""
    gathered, manifest = section.gathered, section.manifest
    assert gathered is not None
    if len(gathered.runs) <= MOST_ROWS:
        shown = {"Last step": (), **({"Coefficients": ("coefficients",)} if gathered.coordinates else {})}
        section.tables += [(title, content_of(gathered, m, theories=theories())) for title, m in shown.items()]
    else:
        section.remarks.append(f"all {len(gathered.runs):,} settings: {shell(['table', section.name], results)}")
    if section.is_private:  # private records are not opened for a page
        section.remarks.append(SECRET if manifest.get("deployment") else REPRODUCIBLE)
        return
    stored = [stored_cell(section.name, parameters) for parameters in manifest["cells"].values()]
    at = {"deltas": tuple(manifest["deltas"])}
    cells = tuple(replace(cell, privacy=cell.privacy.model_copy(update=at)) for cell in stored)
    statement = config_statement(Experiment(section.name, Path(), cells, manifest["replicates"], manifest["profile"]))
    if len(statement.parts) <= MOST_STATED:
        section.remarks += statement.plain
        head, *rows = tabled(statement.parts)
        note = "Guarantees are rounded up, lower bounds down."
        section.tables.append(("Privacy", Content([*head[:-1], "guarantee"], rows, note, [])))
    section.remarks += [*(f"Data: {notice}" for notice in statement.data), *statement.cautions]
