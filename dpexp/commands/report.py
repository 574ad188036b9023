"""`dpexp report`: what a results folder holds as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.files import read_ordinary
from dpexp.core.terminal import each
from dpexp.core.text import guess
from dpexp.plugins.loaded import said, shell

if TYPE_CHECKING:
    from dpexp.reporting.page import Fit, Picture, Section, Stored

MOST_ROWS, MOST_COMPARED = 200, 40
"""settings and comparisons of a table of the page"""
MOST_BYTES = 1_000_000
"""of a text of one's own, and of a fit"""
MOST_STATED = 12
"""mechanisms on records up to which a page weighs all their analyses: each takes a second or more"""


def report(target: Path | None = None, out: Path | None = None, title: str = "", text: Path | None = None) -> Path:
    """Write the page of a results folder, or of one experiment's folder in it; the path of the page.

    Raises ResultsMissing where there is nothing to show, UsageError where the text cannot be read or the page cannot be
    written there.
    """
    from dpexp.papers import papers
    from dpexp.reporting.page import Section, page, read_experiment
    from dpexp.store import write_text

    results, names, alone = _experiments(target or Path("results"))
    path = out or (results / names[0] if alone else results) / "report.html"
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder", f"name the file, such as {path / 'report.html'}")
    words = "" if text is None else _words(text)
    of_papers = [name for paper in papers().values() for name in paper.configs]
    # what the user ran comes first, then papers, in their order
    names = sorted(names, key=lambda name: of_papers.index(name) if name in of_papers else -1)
    stored = [read_experiment(results, name) for name in each(names, "experiment", str)]
    pictures = _pictures(stored, results)
    sections = []
    for experiment in each(stored, "values of experiment", lambda one: one.name):
        section = Section(experiment, pictures.get(experiment.name, ()))
        # of experiments of papers the page of all has the figures: numbers are a command away
        whole = experiment.gathered is not None and (alone or experiment.name not in of_papers)
        sections.append(_with_numbers(section) if whole else section)
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


def _pictures(stored: Sequence[Stored], results: Path) -> dict[str, list[Picture]]:
    """By experiment, the shipped figures that the results allow, else its own."""
    from dpexp.papers import figures, theories
    from dpexp.reporting.page import picture
    from dpexp.reporting.results.declaration import Declaration
    from dpexp.reporting.results.draw import figure_of
    from dpexp.reporting.results.gather import Source
    from dpexp.reporting.worker_processes import in_processes

    shown = [experiment.name for experiment in stored if experiment.gathered is not None]
    work = {figure.name: (min(set(figure.needs) & set(shown), key=shown.index), figure)
            for figure in figures().values() if set(figure.needs) & set(shown)}  # fmt: skip
    seen = {name for _, figure in work.values() for name in figure.needs}
    for name in shown:
        if name not in seen:
            work[name] = name, figure_of([Source(results, name)], Declaration(), theories, figures())
    arguments = [(figure, results, shell(["plot", word], results)) for word, (_, figure) in work.items()]
    drawn = in_processes(picture, arguments, "figure", list(work))
    found: dict[str, list[Picture]] = {}
    for (name, _), one in zip(work.values(), drawn, strict=True):
        found.setdefault(name, []).append(one)
    return found


def _with_numbers(section: Section) -> Section:
    """With the table of a result, its levels compared, and its statement; what cannot be shown has a line."""
    from dpexp.config.cell_settings import varying
    from dpexp.papers import theories
    from dpexp.reporting.page import Numbers
    from dpexp.reporting.results.compared import between_levels, certainty, compared, shown
    from dpexp.reporting.results.result_table import content_of

    one, tables, remarks = section.stored, list[Numbers](), list[str]()
    gathered = one.gathered
    assert gathered is not None

    def last_step() -> None:
        content = content_of(gathered, theories=theories())
        tables.append(Numbers("Last step", content.head, content.rows, content.note))

    def levels(name: str) -> None:
        if len(pairs := between_levels(gathered, name)) > MOST_COMPARED:
            remarks.append(f"{len(pairs):,} comparisons by {name}: dpexp diff {one.name} --by {name}")
            return
        rows = compared(pairs)
        tables.append(Numbers(f"Compared by {name}", *shown(rows, name), f"{certainty(len(rows))}."))

    work = [("No table", last_step)]
    work += [(f"Not compared by {name}", partial(levels, name)) for name in varying(r.settings for r in gathered.runs)]
    if len(gathered.runs) > MOST_ROWS:
        remarks.append(
            f"{len(gathered.runs):,} settings are not tabled here: {shell(['table', one.name], one.results)}"
        )
        work = []
    for what, make in work:
        try:
            make()
        except Exception as error:  # one table that cannot be made is a line of the page
            remarks.append(f"{what}: {said(error)[0]}.")
    privacy: Sequence[str] = ()
    try:
        privacy, numbers = _privacy(one)
        tables += numbers
    except Exception as error:  # as above
        privacy = ["\n".join(said(error)).strip()]
    return section._replace(tables=tables, remarks=remarks, privacy=privacy)


def _privacy(one: Stored) -> tuple[Sequence[str], list[Any]]:
    """Sentences and epsilons of the statement of the config. Private records are not opened for a page."""
    from dpexp.commands.joint_releases import who_knows_the_noise
    from dpexp.commands.privacy import StatementOfConfig
    from dpexp.config.cells import stored_experiment
    from dpexp.reporting.page import epsilons

    if one.is_private:
        return [who_knows_the_noise(bool(one.manifest.get("deployment")))], []
    statement = StatementOfConfig(stored_experiment(one.manifest, Path(one.config[0] or one.name)))
    if len(statement.central) > MOST_STATED:
        return [*statement.data, *statement.cautions], []
    document = statement.document()
    words = [*document["plain"], *(f"Data: {notice}" for notice in document["data"]), *document["cautions"]]
    return words, [epsilons(document)]


def _claims(results: Path, names: Sequence[str], alone: bool) -> list[dict[str, Any]]:
    """The claims that these experiments decide: all that they read is here."""
    from dpexp.papers import claims
    from dpexp.reporting.ledger.verdicts import read_ledger, stored_rows

    here = set(names)
    concerned = [
        one for some in claims().values() for one in some
        if one.experiments and (here & set(one.experiments) if alone else here >= set(one.experiments))
    ]  # fmt: skip
    if not concerned:
        return []
    return [row.document(results) for row in stored_rows(results, read_ledger(results), concerned)]


def _fit_files(results: Path) -> list[Path]:
    """What `dpexp fit --out FOLDER` wrote in folders of the results folder, and not their receipts."""
    from dpexp.store.folder import own_folders

    found = (path for folder in own_folders(results) for path in sorted(folder.glob("fit*.json")))
    return [path for path in found if not path.name.endswith(".receipt.json") and not path.is_symlink()]


def _fit(path: Path, results: Path) -> Fit:
    """A fit with its guarantee, its table and its forest plot."""
    from dpexp.commands.fit_result import read_fit
    from dpexp.commands.fit_text import guarantee, is_deployed
    from dpexp.reporting.digits import estimate_row
    from dpexp.reporting.page import Fit, Numbers, image

    name, plot = path.relative_to(results).with_suffix("").as_posix(), path.with_suffix(".png")
    try:
        fit = read_fit(path)
        rows = [[row["term"], *estimate_row(row, row.get("std_error") or math.nan)] for row in fit.estimates()]
        glance = fit.stored["glance"]
        words = [f"{glance['model']} of {fit.units.target}, n = {glance['nobs']:,}; {glance['method']}, "
                 f"{100 * glance['level']:.4g}% intervals.", guarantee(fit.stored),
                 *(f"{row['rule']}: {row['reason']}" for row in fit.stored["refused"])]  # fmt: skip
        source = ""
        if plot.exists() and not plot.is_symlink():
            source = image("png", read_ordinary(plot, MOST_BYTES))
        table = Numbers(f"Estimates of {name}", ["term", "estimate", "std. error", "from", "to", "p"], rows)
        return Fit(name, words, table, source, not is_deployed(fit.stored))
    except Exception as error:  # one file that is no fit is a line of the page
        return Fit(name, [f"{path} cannot be read as a fit: {said(error)[0]}"])
