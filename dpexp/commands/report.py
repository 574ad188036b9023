"""`dpexp report`: everything that a results folder holds as one HTML page that needs nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.files import read_ordinary
from dpexp.core.terminal import each, tell
from dpexp.core.text import guess
from dpexp.plugins.loaded import said

if TYPE_CHECKING:
    from dpexp.reporting.page.experiments import Stored
    from dpexp.reporting.page.figures import Wanted
    from dpexp.reporting.page.page import Final, Ledger
    from dpexp.reporting.page.sections import Fit

MOST_ROWS = 200
"""settings, or comparisons, of a table of the page"""
MOST_OF_TEXT = 1_000_000
"""bytes of a text of one's own"""
MOST_STATED = 12
"""mechanisms on records up to which a statement weighs all their analyses: each takes a second or more"""


def report(target: Path, out: Path | None, title: str = "", text: Path | None = None) -> Path:
    """Write the page of a results folder, or of one experiment's folder in it; the path of the page.

    It has a title of one's own and begins with the text of a file, where these are given. Raises ResultsMissing where
    there is nothing to show, UsageError where the text cannot be read or the page cannot be written there.
    """
    from dpexp.reporting.page.page import html
    from dpexp.store import write_text

    results, names, alone = _experiments(target)
    # Beside what it shows, so that folder and page travel together.
    path = out or (results / names[0] / "report.html" if alone else results / "report.html")
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder", f"name the file, such as {path / 'report.html'}")
    words = _words(text) if text is not None else ""
    page = _page(results, names, alone)
    page = replace(page, title=title or page.title, text=words)
    tell("putting the page together")
    write_text(path, html(page))
    return path


def _words(path: Path) -> str:
    """The text of a file. Raises UsageError where it cannot be read as text."""
    try:
        return read_ordinary(path, MOST_OF_TEXT).decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"--text {path}: {why}", "name a text file; an empty line begins a new paragraph") from None


def _experiments(target: Path) -> tuple[Path, list[str], bool]:
    """The results folder, the experiments of it that are meant, and whether one was named."""
    from dpexp.store.folder import experiments_in, holds_results

    if not target.exists() and len(target.parts) == 1 and holds_results(Path("results") / target):
        target = Path("results") / target
    if holds_results(target):
        target = target if target.name not in ("", "..") else target.resolve()
        return target.parent, [target.name], True
    names = experiments_in(target)
    if not names and not _fit_files(target):
        near = guess(target.name, experiments_in(target.parent)) if not target.exists() else ""
        what = "there is no such folder" if not target.exists() else "there are no results in it"
        raise ResultsMissing(f"{target}: {what}", f"{near}run: dpexp run CONFIG, for instance dpexp run @linear_d5")
    return target, names, False


def _page(results: Path, names: Sequence[str], alone: bool) -> Any:
    from dpexp.papers import papers
    from dpexp.reporting.page.experiments import look
    from dpexp.reporting.page.figures import show
    from dpexp.reporting.page.page import Page

    experiments = [look(results, name) for name in each(names, "experiment", str)]
    configs = {name: one.configs for name, one in papers().items()}
    # Of a paper of which nothing is stored nothing is missed.
    at_hand = [paper for paper, needs in configs.items() if set(needs) & set(names)]
    absent = {paper: [name for name in configs[paper] if name not in names] for paper in at_hand}
    title = f"{names[0]}: results" if alone else "Results of dpexp"
    return Page(
        title,
        results,
        experiments,
        {} if alone else {paper: some for paper, some in absent.items() if some},
        show(_figures(experiments, results, alone), results),
        _ledger(results, names, alone),
        _statements(experiments, alone),
        [
            _final(one, results, alone)
            for one in each(experiments, "values of experiment", lambda one: one.name)
            if one.is_current
        ],
        [] if alone else [_fit(path, results) for path in each(_fit_files(results), "fit", str)],
    )


def _fit_files(results: Path) -> list[Path]:
    """What `dpexp fit --out FOLDER` wrote in folders of the results folder, and not their receipts."""
    from dpexp.store.folder import own_folders

    found = (path for folder in own_folders(results) for path in sorted(folder.glob("fit*.json")))
    return [path for path in found if not path.name.endswith(".receipt.json") and not path.is_symlink()]


def _fit(path: Path, results: Path) -> Fit:
    from dpexp.reporting.digits import estimate_row
    from dpexp.reporting.page.sections import Fit, fit_of

    name, plot = path.relative_to(results).with_suffix("").as_posix(), path.with_suffix(".png")
    try:
        document = json.loads(read_ordinary(path, MOST_OF_TEXT))
        rows = [[one["term"], *estimate_row(one, one.get("std_error") or math.nan)] for one in document["estimates"]]
        return fit_of(
            name, document, rows, read_ordinary(plot, MOST_OF_TEXT) if plot.exists() and not plot.is_symlink() else b""
        )
    except Exception as error:  # one file that is no fit is a line of the page
        return Fit(name, f"{path} cannot be read as a fit: {said(error)[0]}")


def _final(one: Stored, results: Path, alone: bool) -> Final:
    """The table of a result, and pairs of levels of what varies in it; a paper's settings alone where it stands alone.

    What is too long for a page, or cannot be shown, has a line.
    """
    from dpexp.config.settings import varying
    from dpexp.papers import papers
    from dpexp.plugins.loaded import shell
    from dpexp.reporting.of_results.compared import between_levels, certainty, compared, shown
    from dpexp.reporting.of_results.table import content_of
    from dpexp.reporting.page.page import Final, Numbers

    assert one.gathered is not None
    command, runs = shell(["table", one.name], results), one.gathered.runs
    if len(runs) > MOST_ROWS:
        return Final(
            one.name, [], [f"{len(runs):,} settings are too many for a table here; the command prints it."], command
        )
    tables, remarks = [], []
    try:
        content = content_of(one.gathered)
        tables.append(Numbers("Last step", content.head, content.rows, content.note))
    except Exception as error:  # one table that cannot be made is a line of the page
        remarks.append(f"No table: {said(error)[0]}.")
    of_a_paper = any(one.name in paper.configs for paper in papers().values())
    for name in varying(run.settings for run in runs) if alone or not of_a_paper else ():
        try:
            pairs = between_levels(one.gathered, name)
            if len(pairs) > MOST_ROWS:
                remarks.append(f"{len(pairs):,} comparisons by {name}: dpexp diff {one.name} --by {name}")
                continue
            rows = compared(pairs)
        except Exception as error:  # as above: no two settings may differ in nothing else
            remarks.append(f"Not compared by {name}: {said(error)[0]}.")
            continue
        tables.append(Numbers(f"Compared by {name}", *shown(rows, name), f"{certainty(len(rows))}."))
    return Final(one.name, tables, remarks, command)


def _figures(experiments: Sequence[Stored], results: Path, alone: bool) -> list[Wanted]:
    """The shipped figures of these experiments, and the figure of each that no shipped one shows.

    Figures of theory alone belong to a page of reproductions.
    """
    from dpexp.papers import figures, papers, theories
    from dpexp.plugins.loaded import shell
    from dpexp.reporting.of_results.draw import figure_of
    from dpexp.reporting.of_results.gather import Source
    from dpexp.reporting.of_results.scene import Request
    from dpexp.reporting.page.figures import Wanted

    names = {one.name for one in experiments}
    # Figures of theory alone belong to a page of reproductions.
    reproduction = not alone and any(names & set(paper.configs) for paper in papers().values())
    shipped = [figure for figure in figures().values() if (set(figure.needs) & names if figure.needs else reproduction)]
    found = [Wanted(figure, shell(["plot", figure.name], results)) for figure in shipped]
    seen = {name for figure in shipped for name in figure.needs}
    for one in experiments:
        if alone or (one.is_current and one.name not in seen):
            # A word that is also a shipped figure means that one.
            word = str(results / one.name) if one.name in figures() else one.name
            own = figure_of([Source(results, one.name)], Request(), theories, figures())
            command = f"dpexp plot {word}" if word != one.name else shell(["plot", word], results)
            found.append(Wanted(own, command))
    return found


def _ledger(results: Path, names: Sequence[str], alone: bool) -> Ledger | None:
    """All claims, where these experiments settle some; those of one experiment where one is shown alone."""
    from dpexp.papers import claims, papers
    from dpexp.reporting.ledger.verdicts import read_ledger, stored_rows
    from dpexp.reporting.page.page import Ledger

    known = [one for some in claims().values() for one in some]
    concerned = {one.id for one in known if set(names) & set(one.experiments)}
    if not concerned:
        return None
    shown = [one for one in known if not alone or one.id in concerned]
    found = [row.document(results) for row in stored_rows(results, read_ledger(results), shown)]
    return Ledger(found, {} if alone else {name: paper.not_claimed for name, paper in papers().items()})


def _statements(experiments: Sequence[Stored], alone: bool) -> dict[str, str]:
    """Whole privacy statements: where all mechanisms are local, and of one experiment where they are few.

    Of others what is said of their data and of releasing several runs. They are those of the config as it is now, of
    which current results are.
    """
    from dpexp.commands.config_statement import of_experiment
    from dpexp.commands.joint_releases import cautions, who_knows_the_noise
    from dpexp.config.cells import stored_experiment
    from dpexp.store.folder import Folder

    found = {}
    for one in each(experiments, "privacy of experiment", lambda one: one.name):
        path, _ = one.config
        if one.gathered is None:
            continue
        manifest, deployed = one.manifest, Folder(one.results, one.name).deployed
        if one.is_private:  # its records are not opened for a page
            words = who_knows_the_noise(len(manifest["cells"]), len(deployed))
            found[one.name] = "\n\n".join([*words, f"What it guarantees: dpexp privacy {path or 'CONFIG'}"])
            continue
        try:
            experiment = stored_experiment(manifest, Path(path or one.name))
            local = all(run.row.get("gdp_valid") in (True, False) for run in one.gathered.runs)
            if not (local or alone):  # to name its mechanisms alone would calibrate the noise of every one again
                found[one.name] = _beside(experiment.notices(), cautions(experiment, deployed=deployed))
                continue
            statement = of_experiment(experiment, results=one.results)
            few = len(statement.central) <= MOST_STATED
            found[one.name] = statement.text() if few else _beside(statement.data, statement.cautions)
        except Exception as error:  # one statement that cannot be made is a line of the page
            found[one.name] = "\n".join(said(error)).strip()
    return found


def _beside(data: Sequence[str], cautions: Sequence[str]) -> str:
    """What a statement says besides its analyses."""
    return "\n\n".join([*(f"Data: {notice}" for notice in data), *cautions])
