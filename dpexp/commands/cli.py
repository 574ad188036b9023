"""The command line: parse, call, print. Bodies import what they need, so that help is instant."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer import Argument, Option

from dpexp.commands.panels import Panels, hide_rare
from dpexp.core.errors import CLOSED, INTERRUPTED, UNEXPECTED, USAGE, DpexpError, UsageError
from dpexp.core.files import home
from dpexp.core.terminal import say, warn

app = typer.Typer(
    name="dpexp",
    cls=Panels,
    help="A laboratory for differentially private stochastic gradient descent.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Text = str | None
File = Path | None
Words = list[str] | None
Configs = Annotated[list[Path], Argument(metavar="CONFIG", help="Config files.", show_default=False)]
Config = Annotated[Path, Argument(metavar="CONFIG", help="Config file.", show_default=False)]
Sets = Annotated[Words, Option("--set", metavar="A.B=V", help="Change a value; repeatable.")]
Results = Annotated[File, Option("--results", metavar="DIR", help="Results folder.  [default: results]")]
Json = Annotated[bool, Option("--json", help="Print one JSON document.")]
Profile = Annotated[str, Option("--profile", metavar="smoke|paper", help="Toy size or full size.")]
Replicates = Annotated[int | None, Option("--replicates", metavar="N", help="Replicates of every cell.")]
Jobs = Annotated[int, Option("-j", "--jobs", metavar="N", show_default=False, help="Workers.  [default: all cores]")]
Quiet = Annotated[bool, Option("-q", "--quiet", help="No progress.")]
Raw = Annotated[bool, Option("--raw", help="CSV without the quote before texts such as =1+1, which spreadsheets run.")]
Metric = Annotated[Text, Option(metavar="NAME", help="What is shown.  [default: the error]")]
Metrics = Annotated[Words, Option("--metric", metavar="NAME", help="What is shown or compared; repeatable.")]
Statistic = Annotated[str, Option(metavar="mean|median|quantiles", help="Of the replicates.")]
Estimators = Annotated[Words, Option(metavar="NAME", help="Only this estimator; repeatable.")]
Only = Annotated[Text, Option(metavar="KEY=A,B", help="Only cells with these values, such as 'alpha=1/2,1 mu=inf'.")]
Named = Annotated[Text, Option("--mechanism", metavar="NAME", help="A mechanism instead of a config.")]
Over = Annotated[Words, Option(metavar="KEY", help="Sweep a parameter; repeatable.", show_default=False)]
Invalid = Annotated[bool, Option("--invalid", help="Count analyses whose conditions are not met.")]
Deployment = Annotated[bool, Option("--deployment", help="Release on private records, with secret noise.")]
Again = Annotated[bool, Option("--again", help="Release again and spend a second budget.")]
TARGET = "eps=E delta=D, mu=M, rho=R, rdp=R order=A, advantage=A or tpr=T@fpr=F, and parameters."
Seed = Annotated[int, Option(metavar="N", help="Seed of what is drawn.")]


RESULTS = Path("results")


def _folder(results: Path | None, profile: str = "paper") -> Path:
    return results or (Path("results-smoke") if profile == "smoke" else RESULTS)


def _split(names: list[str] | None) -> list[str]:
    """Names that are given one by one, or with commas between them."""
    return [one.strip() for name in names or () for one in name.split(",") if one.strip()]


def _print_json(document: Any) -> None:
    from dpexp.core.standard_json import standard_json

    say(standard_json(document))


def _answer(as_json: bool, document: Any, text: Any, code: int = 0) -> NoReturn:
    """Print the document or the text, and exit with the code; of two functions only the needed one is called."""
    found = document if as_json else text
    # Either may take long, or draw a figure: only what is printed is made.
    found = found() if callable(found) else found
    _print_json(found) if as_json else say(found)
    raise typer.Exit(code)


def _version(context: typer.Context, value: bool) -> None:
    """The version; with -v also what a report of a fault needs: libraries, commit, machine and the cache."""
    if value:
        from dpexp.core.version import VERSION
        from dpexp.store.provenance import commit, environment

        if context.params["verbose"]:
            say(environment())
            raise typer.Exit
        built = commit()
        at = f" (commit {built['commit'][:12]}{', modified' if built['dirty'] else ''})" if built["commit"] else ""
        say(f"dpexp {VERSION}{at}")
        raise typer.Exit


def _use_plugins(files: list[Path] | None) -> None:
    """Load what installed packages offer and the files that are named, before anything looks a name up."""
    from dpexp.plugins import loading

    loading.use_installed()
    # Installed packages come first: a file may use what they add.
    given = [loading.use(file) for file in files or ()]
    if any(one.papers or one.figures or one.tables or one.claims for one in given):
        from dpexp import papers

        papers.figures(), papers.tables(), papers.claims()  # a name that is taken is said now


@app.callback()
def common(
    version: Annotated[bool, Option("--version", callback=_version, help="Print the version and the commit.")] = False,
    verbose: Annotated[bool, Option("-v", is_eager=True, help="With --version: libraries, machine, cache.")] = False,
    debug: Annotated[bool, Option("--debug", expose_value=False, help="Show tracebacks.")] = False,
    plugin: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE.py",
            callback=_use_plugins,
            is_eager=True,
            expose_value=False,
            show_default=False,
            help="A plug-in, which adds names; repeatable.",
        ),
    ] = None,
) -> None:
    """A laboratory for differentially private stochastic gradient descent."""


@app.command()
def run(
    configs: Configs,
    sets: Sets = None,
    only: Only = None,
    jobs: Jobs = 0,
    backend: Annotated[str, Option(metavar="threads|loky|dask", help="Workers.  [default: what suits]")] = "",
    scheduler: Annotated[Text, Option(metavar="ADDRESS", help="Address of a dask scheduler.")] = None,
    replicates: Replicates = None,
    profile: Profile = "paper",
    results: Results = None,
    force: Annotated[bool, Option("--force", help="Compute everything anew.")] = False,
    confirm: Annotated[bool, Option("--confirm", help="After an edit: prove that no number moved, no more.")] = False,
    part: Annotated[str, Option(metavar="K/N", help="The K-th of N shares, for an array job and a later run.")] = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would be computed, and why.")] = False,
    deployment: Deployment = False,
    again: Again = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Annotated[bool, Option("-v", "--verbose", help="List the cells.")] = False,
) -> None:
    """Run the parts of experiments that are missing or out of date."""
    gc.disable()  # modules that are loaded are no garbage, and to look takes a tenth of a run with nothing to do
    from dpexp.commands import run as command

    gc.enable()

    # A cluster has workers of its own.
    here = 0 if backend == "dask" else os.cpu_count() or 1
    options = command.Request(
        tuple(configs), tuple(sets or ()), only, jobs or here, backend, scheduler, replicates, profile,
        _folder(results, profile), force, quiet or as_json, verbose,
        "--debug" in sys.argv, deployment, again, confirm, part,
    )  # fmt: skip
    act = command.dry_run if dry_run else command.run
    _answer(as_json, *act(options))


@app.command()
def plot(
    names: Annotated[Words, Argument(metavar="NAME", help="Experiments, folders or shipped figures.")] = None,
    every: Annotated[bool, Option("--all", help="Every shipped figure.")] = False,
    formats: Annotated[str, Option("--format", metavar="png,pdf,svg,eps", help="File formats.")] = "png,pdf",
    out: Annotated[Path | None, Option(metavar="DIR", help="Where to write.  [default: RESULTS/figures]")] = None,
    stored: Annotated[bool, Option("--stored", help="Every shipped figure that shows stored results.")] = False,
    theory: Annotated[bool, Option("--theory", help="Lay bounds and predictions over the curves.")] = False,
    metric: Metric = None,
    x: Annotated[str, Option("--x", metavar="NAME", help="Horizontal axis: step, dots or a setting.")] = "",
    hue: Annotated[str, Option(metavar="NAME", help="Distinguished by colours.")] = "",
    style: Annotated[str, Option(metavar="NAME", help="Distinguished by line styles or markers.")] = "",
    facet: Annotated[list[str] | None, Option(metavar="NAME", help="Distinguished by panels; repeatable.")] = None,
    kind: Annotated[str, Option(metavar="line|box", help="Curves, or boxes of the final values.")] = "line",
    width: Annotated[float | None, Option(metavar="INCHES", help="Width of the figure.", show_default=False)] = None,
    style_file: Annotated[Path | None, Option(metavar="FILE", help="Matplotlib settings, such as fonts.")] = None,
    no_title: Annotated[bool, Option("--no-title", help="Without the title on top.")] = False,
    name: Annotated[str, Option(metavar="NAME", help="Name of the files.", show_default=False)] = "",
    estimator: Estimators = None,
    log: Annotated[str, Option(metavar="x|y|xy|none", help="Logarithmic axes.")] = "",
    only: Only = None,
    statistic: Statistic = "mean",
    mechanism: Named = None,
    over: Over = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Draw figures, each with its numbers as CSV and a caption."""
    from dpexp.commands import plot as command
    from dpexp.reporting.drawing import Look

    if mechanism is not None:
        from dpexp.commands import epsilon_curve as sweeping

        place = out or _folder(results) / "figures"
        written, numbers = sweeping.written(mechanism, names or [], over or [], hue, formats, place)
        document = {**command.document([written]), "curve": numbers}
        _answer(as_json, document, "\n".join(map(str, written.files)))
    if over:
        raise UsageError("--over goes with --mechanism", "for instance --mechanism sampled-gaussian steps=10..1e4 ...")
    how = log, only, theory, statistic, kind, style, width
    request = command.asked(metric, x, hue, facet or (), estimator or (), *how)
    look = Look(width, style_file, not no_title)
    found = command.figures_of(names or [], every, formats, out, _folder(results), request, stored, look, name)
    _answer(as_json, command.document(found), "\n".join(str(path) for one in found for path in one.files))


@app.command()
def table(
    names: Annotated[Words, Argument(metavar="NAME", help="Experiments, folders, shipped tables, or fits.")] = None,
    every: Annotated[bool, Option("--all", help="Every shipped table.")] = False,
    form: Annotated[str, Option("--format", metavar="text|md|tex|csv|json", help="How to print.")] = "md",
    out: Annotated[Path | None, Option(metavar="DIR", help="Write files instead of printing.")] = None,
    metric: Metrics = None,
    estimator: Estimators = None,
    only: Only = None,
    statistic: Statistic = "mean",
    theory: Annotated[bool, Option("--theory", help="Put predictions beside the means.")] = False,
    columns: Annotated[str, Option(metavar="A,B", help="Columns of md and tex.", show_default=False)] = "",
    raw: Raw = False,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Print the same numbers as tables."""
    from dpexp.commands import table as command

    form = "json" if as_json else form
    text = command.table(
        names or [],
        every,
        form,
        out,
        _folder(results),
        _split(metric),
        estimator or (),
        only,
        columns,
        raw,
        statistic,
        theory,
    )
    say(text)


@app.command()
def predict(
    result: Annotated[str, Argument(help="FIT.json of dpexp fit --out, or an experiment.", show_default=False)],
    table: Annotated[File, Argument(metavar="TABLE", help="Records; without it the released parameters.")] = None,
    cell: Annotated[Text, Option(metavar="ID", help="The cell of a run, by the first digits of its id.")] = None,
    estimator: Annotated[Text, Option(metavar="NAME", help="last or average.  [default: what is released]")] = None,
    replicate: Annotated[int, Option(metavar="N", help="Which replicate of a run, where all are released.")] = 0,
    out: Annotated[File, Option(metavar="FILE", help="Predictions: .csv or .json; parameters: .npz or .json.")] = None,
    results: Results = None,
    raw: Raw = False,
    as_json: Json = False,
) -> None:
    """Print predictions or released parameters of a fit or a run."""
    from dpexp.commands import predict as command

    _answer(as_json, *command.predict(result, table, _folder(results), cell, estimator, replicate, out, raw))


@app.command()
def privacy(
    arguments: Annotated[Words, Argument(metavar="CONFIG|KEY=VALUE", help="A config, or parameters.")] = None,
    mechanism: Named = None,
    sets: Sets = None,
    deployment: Annotated[bool, Option("--deployment", help="Of a run with --deployment.")] = False,
    users: Annotated[File, Option(metavar="FILE", help="Budgets of users (columns mu, uses, group).")] = None,
    invalid: Invalid = False,
    over: Over = None,
    tradeoff: Annotated[bool, Option("--tradeoff", help="Error rates of an attacker, table and figure.")] = False,
    out: Annotated[File, Option(metavar="DIR", help="Of that figure.  [default: RESULTS/figures]")] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """State the privacy of a config, or of a mechanism by its parameters."""
    from dpexp.commands import epsilon_curve as sweeping
    from dpexp.commands import privacy as command
    from dpexp.reporting.epsilon_curve import EpsilonCurve

    if users is not None and (tradeoff or out or mechanism):
        raise UsageError("--mechanism, --tradeoff and --out make another statement", "not with --users")
    if over and (mechanism is None or tradeoff or users is not None):
        raise UsageError("--over goes with --mechanism alone", "dpexp plot --mechanism ... --over KEY draws it")
    statement: command.Statement | EpsilonCurve
    if mechanism is not None and sweeping.is_sweep(mechanism, arguments or [], over or []):
        statement = sweeping.statement(mechanism, arguments or [], over or [])
    elif mechanism is not None:
        statement = command.of_mechanism(
            mechanism, arguments or [], invalid, tradeoff, out or _folder(results) / "figures"
        )
    elif users is not None:
        statement = command.of_users(users, arguments or [])
    else:
        statement = command.of_arguments(arguments or [], sets or [], deployment, tradeoff, out, _folder(results))
    _answer(as_json, statement.document, statement.text)


@app.command()
def receipt(
    arguments: Annotated[Words, Argument(metavar="CARD|KEY=VALUE", help="A run card, its fields, or both.")] = None,
    form: Annotated[str, Option("--format", metavar="text|md|tex", help="md and tex: for an appendix.")] = "text",
    as_json: Json = False,
) -> None:
    """State what holds for a training program that is not dpexp."""
    from dpexp.commands import receipt as command

    if form not in command.FORMATS:
        raise UsageError(f"no format '{form}'", f"formats: {', '.join(command.FORMATS)}")
    found = command.of_arguments(arguments or [])
    written = found.text if form == "text" else partial(found.appendix, form)
    _answer(as_json, found.document, written, found.exit_code)


@app.command()
def fit(
    data: Annotated[File, Argument(metavar="DATA", help="Your records: csv, tsv, parquet or npz.")] = None,
    target: Annotated[str, Option("--target", metavar="COLUMN", help="The column to explain, by all others.")] = "",
    formula: Annotated[Text, Option(metavar="'Y ~ X'", help="Or a formula: 'log(y) ~ x * C(g)'.")] = None,
    model: Annotated[str, Option(metavar="huber-linear|mallows-logistic", help="The regression.")] = "huber-linear",
    mu: Annotated[Text, Option(metavar="M", help="Budget of every record, in Gaussian DP.")] = None,
    mu_column: Annotated[Text, Option(metavar="COLUMN", help="Budgets of the records' own.")] = None,
    eps: Annotated[Text, Option(metavar="E", help="Budget as epsilon; local: with delta = 0.")] = None,
    delta: Annotated[Text, Option(metavar="D", help="See --eps.  [default: 1e-5, or 0 in the local model]")] = None,
    central: Annotated[bool, Option("--central/--local", help="One release, or a message of every record.")] = False,
    public: Annotated[File, Option(metavar="FILE", help="Of columns (`dpexp init --data DATA --public`).")] = None,
    level: Annotated[float, Option(metavar="P", help="Level of the intervals.")] = 0.95,
    person: Annotated[Text, Option(metavar="COLUMN", help="Persons; several records of one count once.")] = None,
    plan: Annotated[bool, Option("--plan", help="Expected lengths, before any record is read.")] = False,
    n: Annotated[Text, Option("-n", "--n", metavar="N", help="Records or persons, with --plan.")] = None,
    widths: Annotated[Words, Option("--width", metavar="NAME=W", help="With --plan: records for NAME +- W.")] = None,
    untested: Annotated[bool, Option("--untested", help="Fit fewer records than were ever tested.")] = False,
    deployment: Deployment = False,
    seed: Annotated[int | None, Option(metavar="N", help="Seed of a rehearsal.", show_default=False)] = None,
    out: Annotated[File, Option(metavar="FILE|FOLDER", help="Keep the result; a folder: tables and plot too.")] = None,
    again: Again = False,
    weights: Annotated[str, Option(metavar="budget|equal", help="How messages of --mu-column count.")] = "budget",
    contrasts: Annotated[Words, Option("--contrast", metavar="'A - B'", help="Test a combination; repeatable.")] = None,
    raw: Raw = False,
    as_json: Json = False,
) -> None:
    """Fit a private regression with confidence intervals.

    The records are your own. Exit code 3 if no interval is finite.
    """
    from dpexp.commands import fit as command
    from dpexp.commands.fit_request import Request
    from dpexp.config.public_file import read_public

    request = Request(
        data, target, model, mu, mu_column, eps, delta, central, read_public(public), level, person, plan, n, untested,
        deployment, seed, out, again, weights, tuple(contrasts or ()), formula, raw, tuple(widths or ()),
    )  # fmt: skip
    report = command.fit(request)
    for remark in report.remarks:
        warn(remark)
    _answer(as_json, report.document, report.text, report.exit_code)


@app.command()
def calibrate(
    arguments: Annotated[Words, Argument(metavar="TARGET|KEY=VALUE", help=TARGET)] = None,
    mechanism: Named = None,
    released: Annotated[str, Option(metavar="KIND", help="all-iterates or last-iterate.")] = "all-iterates",
    analysis: Annotated[Text, Option(metavar="NAME", help="One analysis.  [default: the best]")] = None,
    invalid: Invalid = False,
    as_json: Json = False,
) -> None:
    """Find the least noise or the largest budget that meets a target."""
    from dpexp.commands import calibrate as command

    name = mechanism or "sampled-gaussian"
    _answer(as_json, *command.solve(name, arguments or [], released, analysis, invalid))


@app.command()
def audit(
    config: Config,
    sets: Sets = None,
    runs: Annotated[int, Option(metavar="N", help="Runs of each mechanism, in two worlds by a coin.")] = 10_000,
    confidence: Annotated[float, Option(metavar="P", help="Of all lower bounds together.")] = 0.999,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compute a lower bound on the privacy loss of what is run.

    The config runs with and without a canary record. Exit code 1 if the bound exceeds the claim.
    """
    from dpexp.commands import audit as command

    audited = command.of_config(config, sets or [], runs, confidence, seed)
    _answer(as_json, audited.document, audited.text, audited.exit_code)


@app.command()
def judge(
    file: Annotated[Path, Argument(help="A Python file with eps(...), rdp(...) or param_distance_sq(...).")],
    at: Annotated[str | None, Option(metavar="POINT", help="One comparison again, as a verdict names it.")] = None,
    seconds: Annotated[float, Option(metavar="S", help="Stop after so many seconds.")] = 60.0,
    seed: Seed = 0,
    comparisons: Annotated[
        int | None, Option(metavar="N", help="How many exact laws, or predictions of a rate.  [default: 1200, or 400]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare a stated bound on privacy with exact laws, or a convergence rate with predictions and simulations.

    Exit code 1 if it is refuted, 3 if nothing could be compared.
    """
    from dpexp.commands import judge as command

    verdict = command.judge(file, at=at, seconds=seconds, seed=seed, comparisons=comparisons)
    _answer(as_json, verdict.document, verdict.text, verdict.exit_code)


@app.command()
def check(
    file: Annotated[Path | None, Argument(help="A plug-in.  [default: what is built in]")] = None,
    as_json: Json = False,
) -> None:
    """Try the problems and algorithms of a plug-in.

    The conformance suite, with a canary audit. Exit code 1 if a check fails.
    """
    from dpexp.commands import check as checking

    verdict = checking.check(file)
    _answer(as_json, verdict.document, verdict.text, int(verdict.failed))


@app.command()
def claims(
    ids: Annotated[Words, Argument(metavar="ID", help="Claims, beginnings of ids, or patterns.")] = None,
    paper: Annotated[Text, Option(metavar="ID", help="One paper, such as ldp-sgd.  [default: all]")] = None,
    verdict: Annotated[Words, Option(metavar="V", help="Only claims with this verdict; repeatable.")] = None,
    judge: Annotated[bool, Option("--judge", help="Judge the selected claims, and write RESULTS/claims.json.")] = False,
    jobs: Jobs = 0,
    form: Annotated[
        Text, Option("--format", metavar="table|md|json|artifact|differences", help="How to print.")
    ] = None,
    out: Annotated[File, Option(metavar="DIR", help="Write pages: DIR/CLAIMS.md and DIR/claims/.")] = None,
    results: Results = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Judge the claims of the papers from stored results.

    Each with its quotation, what was printed and measured, and a verdict. Exit code 1 if one is not as expected.
    """
    from dpexp.commands import claims as command

    form = "json" if as_json else form
    jobs, quiet = jobs or os.cpu_count() or 1, quiet or form == "json"
    asked, verdicts = tuple(ids or ()), tuple(verdict or ())
    found = command.claims(command.Request(asked, paper, verdicts, form, out, _folder(results), judge, jobs, quiet))
    say(found.text)
    for line in found.remarks:
        warn(line)
    raise typer.Exit(found.code)


@app.command()
def report(
    results: Annotated[Path, Argument(metavar="RESULTS", help="Results, or one experiment's folder.")] = RESULTS,
    out: Annotated[File, Option(metavar="FILE.html", help="Where to write.  [default: report.html there]")] = None,
    title: Annotated[str, Option(metavar="WORDS", help="A title of your own.", show_default=False)] = "",
    text: Annotated[File, Option(metavar="FILE", help="Your text, which comes first.")] = None,
) -> None:
    """Write one HTML page of what is stored."""
    from dpexp.commands import report as command

    say(command.report(results, out, title, text))


@app.command()
def diff(
    a: Annotated[Path, Argument(help="An experiment, or its folder, such as results/linear_d5.", show_default=False)],
    b: Annotated[Path | None, Argument(help="Another.", show_default=False)] = None,
    by: Annotated[str, Option(metavar="NAME", help="Compare the levels of this setting within A.")] = "",
    only: Only = None,
    metric: Metrics = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Compare two results, or the settings of one."""
    from dpexp.commands import diff as command

    _answer(as_json, *command.diff(a, b, _split(metric), by, only, _folder(results)))


@app.command(name="list")
def list_(
    results: Results = None,
    configs: Annotated[Path, Option(metavar="DIR", help="Folder of config files.")] = Path("configs"),
    shipped: Annotated[bool, Option("--shipped", help="List the configs that come with dpexp.")] = False,
    as_json: Json = False,
) -> None:
    """List experiments with their state, and the names for configs."""
    from dpexp.commands import list as command

    _answer(as_json, *(command.shipped_configs() if shipped else command.inventory(configs, _folder(results))))


@app.command()
def init(
    problem: Annotated[Text, Argument(metavar="PROBLEM", help="A problem.", show_default=False)] = None,
    algorithm: Annotated[Text, Option(metavar="NAME", help="An algorithm.")] = None,
    data: Annotated[File, Option(metavar="FILE", help="Your own table.")] = None,
    target: Annotated[Text, Option(metavar="COLUMN", help="The column of --data to predict.")] = None,
    of: Annotated[Text, Option("--from", metavar="NAME", help="Copy a shipped config.")] = None,
    public: Annotated[bool, Option("--public", help="With --data: what `dpexp fit` asks of its columns.")] = False,
    card: Annotated[bool, Option("--card", help="A run card for `dpexp receipt`.")] = False,
    out: Annotated[File, Option(metavar="FILE", help="Write a new file instead of printing.")] = None,
) -> None:
    """Write a commented config to start from."""
    from dpexp.commands import init as command

    say(command.init(problem, algorithm, data, target, of, out, public, card).rstrip("\n"))


@app.command()
def validate(
    configs: Annotated[list[Path] | None, Argument(metavar="CONFIG", help="Config files.", show_default=False)] = None,
    sets: Sets = None,
    replicates: Replicates = None,
    profile: Profile = "paper",
    show: Annotated[bool, Option("--show", help="Print the config with every default.")] = False,
    schema: Annotated[bool, Option("--schema", help="Print the JSON schema of configs, for editors.")] = False,
    as_json: Json = False,
) -> None:
    """Check configs without running them."""
    from dpexp.commands import validate as command

    if schema:
        from dpexp.config.schema import json_schema

        _print_json(json_schema())
        return
    if not configs:
        raise UsageError("no config is named", "dpexp validate CONFIG, or --schema for the schema of configs")
    if show:
        for config in configs:
            resolved = command.shown if as_json else command.show
            found = resolved(config, sets or [], replicates, profile)
            _print_json(found) if as_json else say(found, end="")
        return
    checked = command.validate(configs, sets or [], profile)
    if as_json:
        _print_json([one.document for one in checked])
    else:
        for line in [line for one in checked for line in one.lines]:
            say(line)
        for issue in [issue for one in checked for issue in one.issues]:
            warn(issue)
    raise typer.Exit(USAGE if any(one.issues for one in checked) else 0)


@app.command()
def reproduce(
    papers: Annotated[Words, Argument(metavar="PAPER", help="Papers.  [default: everything]")] = None,
    check: Annotated[bool, Option("--check", help="Compare alone: compute nothing.")] = False,
    against: Annotated[File, Option(metavar="DIR", help="Published results.  [default: the last commit]")] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Run, plot, tabulate and judge everything published, and compare.

    In a clone of dpexp. Exit code 1 if a number differs from the published one by more than its tolerance.
    """
    from dpexp.commands import reproduce as command

    _answer(as_json, *command.reproduce(papers or [], _folder(results), against, check))


class Interrupted(BaseException):
    """Ctrl-C, under a name that the argument parser does not turn into its own message."""


def _interrupt(*_: object) -> None:
    raise Interrupted


def _command() -> Any:
    """The command line, in which `--plugin` and `--debug` may come before and after the name of a command.

    Every command shows the step it is at when it takes long.
    """
    from dpexp.commands.progress import shown

    command: Any = typer.main.get_command(app)
    # Most people write options behind the command's name.
    shared = [option for option in command.params if option.name in ("plugin", "debug")]
    for name, one in command.commands.items():
        one.params += shared
        one.callback = shown(name, _at_home(one.callback))
    hide_rare(command)
    return command


def _at_home(body: Callable[..., Any]) -> Callable[..., Any]:
    """The body of a command, with ~ as the home folder, also where the shell left it: in quotes, or after `=`."""

    def expanded(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(expanded, value))
        try:
            return value.expanduser() if isinstance(value, Path) else value
        except RuntimeError:
            raise UsageError(f"{value}: no such user", "write the folder out") from None

    @wraps(body)
    def with_homes(**options: Any) -> Any:
        return body(**{name: expanded(value) for name, value in options.items()})

    return with_homes


def _end_where_a_plugin_is_at_fault(error: Exception) -> None:
    """End with the plug-in's line, where the error passed through one."""
    from dpexp.plugins.loaded import blame

    if place := blame(error):
        warn(f"error: {place}{type(error).__name__}: {error}\n  hint: a mistake of the plug-in; --debug shows more")
        sys.exit(USAGE)


def _to_check() -> str:
    """How to find a wrong value that a plug-in has returned, where no line of it raised the error."""
    from dpexp.plugins.loaded import LOADED

    commands = [f"dpexp check {loaded.shown}" for loaded in LOADED.values()]
    return f"; a plug-in may have returned something wrong: {', '.join(commands)}" if commands else ""


OF_A_PATH = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
"""errors of a path that the user has named"""


def main() -> None:
    """Entry point: errors that a user can act on are a line or two on stderr, with the contract's exit codes."""
    debug = "--debug" in sys.argv
    # cron and systemd may start a program without these: what is opened next would take their place
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  for as long as the process lives
    # Figures are drawn into files, and matplotlib's own caches belong in no root of a disk.
    os.environ["MPLBACKEND"] = "agg"
    if home() is None and "MPLCONFIGDIR" not in os.environ:
        os.environ["MPLCONFIGDIR"] = place = tempfile.mkdtemp(prefix="dpexp-matplotlib-")
        atexit.register(shutil.rmtree, place, ignore_errors=True)
    # The matrices are small: threads of a library for linear algebra would wait for each other, for a fifth of the time
    # of a statement, and add in another order. It reads this when numpy is imported, which happens later.
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    # pydantic would look for plug-ins of its own in every package that is installed; dpexp uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Half of a short command are imports, which leave next to no garbage: looking for it takes a tenth of a start.
    gc.set_threshold(50_000, 20, 20)
    signal.signal(signal.SIGINT, _interrupt)
    stdout = sys.stdout
    try:
        _command()(standalone_mode=True)
    except SystemExit:
        # the parser of arguments ends with 1 where stdout is closed, and puts another one in its place
        if sys.stdout is stdout:
            raise
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  what waits is not tried a second time
        sys.exit(CLOSED)
    except DpexpError as error:
        if debug:
            raise
        warn(f"error: {error.message}" + (f"\n  hint: {error.hint}" if error.hint else ""))
        sys.exit(error.exit_code)
    except OSError as error:
        if debug:
            raise
        _end_where_a_plugin_is_at_fault(error)
        warn(f"error: {error.filename or 'input or output'}: {error.strerror or error}")
        sys.exit(USAGE if isinstance(error, OF_A_PATH) else UNEXPECTED)
    except Interrupted:
        # only a run keeps what is finished of its work; other commands have nothing to continue
        runs = "run" in sys.argv[1:2] or "--force" in sys.argv
        warn("interrupted" + ("; finished chunks are kept, run again to continue" if runs else ""))
        sys.exit(INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        _end_where_a_plugin_is_at_fault(error)
        warn(f"error: unexpected {type(error).__name__}: {error}\n  hint: --debug shows where{_to_check()}")
        sys.exit(UNEXPECTED)
