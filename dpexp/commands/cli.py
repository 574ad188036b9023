"""The command line: parse, call, print. What a command needs is imported when it is called, so that help is instant.

`OPTIONS` has every option once, `COMMANDS` those of each command and the function of this room that it calls. An option
that is not given is not passed on: its default is that of the function.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from dpexp.core.errors import CLOSED, INTERRUPTED, UNEXPECTED, USAGE, DpexpError, UsageError
from dpexp.core.files import home
from dpexp.core.terminal import say, warn


class OptionSpec(NamedTuple):
    """An option; a flag where it has no `metavar`."""

    flags: str
    help: str
    metavar: str = ""
    many: bool = False
    type: Any = str


ALL = "--help-all"
LAWS = "How many exact laws, or predictions of a rate.  [default: 1200, or 400]"
ONLY = "Only cells with these values, such as 'alpha=1/2,1 mu=inf'."
RAW = "CSV without the quote before texts such as =1+1, which spreadsheets run."
OPTIONS = {
    "again": OptionSpec("--again", "Release again and spend a second budget."),
    "against": OptionSpec("--against", "Published results.  [default: the last commit]", "DIR", type=Path),
    "algorithm": OptionSpec("--algorithm", "An algorithm.", "NAME"),
    "analysis": OptionSpec("--analysis", "One analysis.  [default: the best]", "NAME"),
    "as_json": OptionSpec("--json", "Print one JSON document."),
    "at": OptionSpec("--at", "One comparison again, as a verdict names it.", "POINT"),
    "backend": OptionSpec("--backend", "Workers.  [default: what suits]", "threads|loky|dask"),
    "by": OptionSpec("--by", "Compare the levels of this setting within A.", "NAME"),
    "card": OptionSpec("--card", "A run card for `dpexp receipt`."),
    "cell": OptionSpec("--cell", "The cell of a run, by the first digits of its id.", "ID"),
    "central": OptionSpec("--central/--local", "One release, or a message of every record."),
    "check": OptionSpec("--check", "Compare alone: compute nothing."),
    "comparisons": OptionSpec("--comparisons", LAWS, "N", type=int),
    "confidence": OptionSpec("--confidence", "Of all lower bounds together.  [default: 0.999]", "P", type=float),
    "configs": OptionSpec("--configs", "Folder of config files.  [default: configs]", "DIR", type=Path),
    "confirm": OptionSpec("--confirm", "After an edit: prove that no number moved, no more."),
    "contrasts": OptionSpec("--contrast", "Test a combination; repeatable.", "'A - B'", many=True),
    "data": OptionSpec("--data", "Your own table.", "FILE", type=Path),
    "delta": OptionSpec("--delta", "See --eps.  [default: 1e-5, or 0 in the local model]", "D"),
    "deployment": OptionSpec("--deployment", "Release on private records, with secret noise."),
    "dry_run": OptionSpec("--dry-run", "List what would be computed, and why."),
    "eps": OptionSpec("--eps", "Budget as epsilon; local: with delta = 0.", "E"),
    "estimator": OptionSpec("--estimator", "Only this estimator; repeatable.", "NAME", many=True),
    "estimator/predict": OptionSpec("--estimator", "last or average.  [default: what is released]", "NAME"),
    "every": OptionSpec("--all", "Every shipped one."),
    "facet": OptionSpec("--facet", "Distinguished by panels; repeatable.", "NAME", many=True),
    "for_fit": OptionSpec("--for-fit", "With --data: public inputs of `dpexp fit`."),
    "force": OptionSpec("--force", "Compute everything anew."),
    "form/claims": OptionSpec("--format", "How to print.", "table|md|json|artifact|differences"),
    "form/table": OptionSpec("--format", "How to print.  [default: md]", "text|md|tex|csv|json"),
    "formats": OptionSpec("--format", "File formats.  [default: png,pdf]", "png,pdf,svg,eps"),
    "formula": OptionSpec("--formula", "Or a formula: 'log(y) ~ x * C(g)'.", "'Y ~ X'"),
    "hue": OptionSpec("--hue", "Distinguished by colours.", "NAME"),
    "invalid": OptionSpec("--invalid", "Count analyses whose conditions are not met."),
    "jobs": OptionSpec("-j --jobs", "Workers.  [default: all cores]", "N", type=int),
    "judge": OptionSpec("--judge", "Judge the selected claims, and write RESULTS/claims.json."),
    "kind": OptionSpec("--kind", "Curves, or boxes of the final values.  [default: line]", "line|box"),
    "level": OptionSpec("--level", "Level of the intervals.  [default: 0.95]", "P", type=float),
    "log": OptionSpec("--log", "Logarithmic axes.", "x|y|xy|none"),
    "mechanism": OptionSpec("--mechanism", "A mechanism instead of a config.", "NAME"),
    "metric": OptionSpec("--metric", "Values to show or compare; repeatable.  [default: the error]", "NAME", many=True),
    "metric/plot": OptionSpec("--metric", "Values to show.  [default: the error]", "NAME"),
    "model": OptionSpec("--model", "huber-linear, mallows-logistic or a plug-in's.  [default: huber-linear]", "NAME"),
    "mu": OptionSpec("--mu", "Budget of every record, in Gaussian DP.", "M"),
    "mu_column": OptionSpec("--mu-column", "Budgets of the records' own.", "COLUMN"),
    "n": OptionSpec("-n --n", "Records or persons, with --plan.", "N"),
    "name": OptionSpec("--name", "Name of the files.", "NAME"),
    "no_title": OptionSpec("--no-title", "Without the title on top."),
    "of": OptionSpec("--from", "Copy a shipped config.", "NAME"),
    "only": OptionSpec("--only", ONLY, "KEY=A,B"),
    "out/claims": OptionSpec("--out", "Write pages: DIR/CLAIMS.md and DIR/claims/.", "DIR", type=Path),
    "out/figures": OptionSpec("--out", "Of figures.  [default: RESULTS/figures]", "DIR", type=Path),
    "out/fit": OptionSpec("--out", "Keep the result.", "FILE.json", type=Path),
    "out/init": OptionSpec("--out", "Write a new file instead of printing.", "FILE", type=Path),
    "out/page": OptionSpec("--out", "Where to write.  [default: report.html there]", "FILE.html", type=Path),
    "out/predict": OptionSpec("--out", "Predictions: .csv or .json; parameters: .json.", "FILE", type=Path),
    "out/table": OptionSpec("--out", "Write files instead of printing.", "DIR", type=Path),
    "over": OptionSpec("--over", "Sweep a parameter; repeatable.", "KEY", many=True),
    "paper": OptionSpec("--paper", "One paper, such as ldp-sgd.  [default: all]", "ID"),
    "part": OptionSpec("--part", "The K-th of N shares, for an array job and a later run.", "K/N"),
    "person": OptionSpec("--person", "Persons; several records of one count once.", "COLUMN"),
    "plan": OptionSpec("--plan", "Expected lengths, before any record is read."),
    "profile": OptionSpec("--profile", "Toy size or full size.  [default: paper]", "smoke|paper"),
    "public": OptionSpec("--public", "Of columns (`dpexp init --data DATA --for-fit`).", "FILE", type=Path),
    "quiet": OptionSpec("-q --quiet", "No progress."),
    "raw": OptionSpec("--raw", RAW),
    "released": OptionSpec("--released", "all-iterates or last-iterate.  [default: all-iterates]", "KIND"),
    "replicate": OptionSpec(
        "--replicate", "Which replicate of a run, where all are released.  [default: 0]", "N", type=int
    ),
    "replicates": OptionSpec("--replicates", "Replicates of every cell.", "N", type=int),
    "results": OptionSpec("--results", "Results folder.  [default: results]", "DIR", type=Path),
    "runs": OptionSpec("--runs", "Runs of each mechanism, in two worlds by a coin.  [default: 10000]", "N", type=int),
    "schema": OptionSpec("--schema", "Print the JSON schema of configs, for editors."),
    "scheduler": OptionSpec("--scheduler", "Address of a dask scheduler.", "ADDRESS"),
    "seconds": OptionSpec("--seconds", "Stop after so many seconds.  [default: 60]", "S", type=float),
    "seed": OptionSpec("--seed", "Seed of what is drawn.  [default: 0]", "N", type=int),
    "seed/fit": OptionSpec("--seed", "Seed of a rehearsal.", "N", type=int),
    "set": OptionSpec("--set", "Change a value; repeatable.", "A.B=V", many=True),
    "shipped": OptionSpec("--shipped", "List the configs that come with dpexp."),
    "show": OptionSpec("--show", "Print the config with every default."),
    "statistic": OptionSpec("--statistic", "Of the replicates.  [default: mean]", "mean|median|quantiles"),
    "stored": OptionSpec("--stored", "Every shipped figure that shows stored results."),
    "style": OptionSpec("--style", "Distinguished by line styles or markers.", "NAME"),
    "style_file": OptionSpec("--style-file", "Matplotlib settings, such as fonts.", "FILE", type=Path),
    "target": OptionSpec("--target", "The column to explain or predict.", "COLUMN"),
    "text": OptionSpec("--text", "Your text, which comes first.", "FILE", type=Path),
    "theory": OptionSpec("--theory", "Add bounds and predictions to the measured values."),
    "title": OptionSpec("--title", "A title of your own.", "WORDS"),
    "tradeoff": OptionSpec("--tradeoff", "Error rates of an attacker, table and figure."),
    "users": OptionSpec("--users", "Budgets of users (columns mu, uses, group).", "FILE", type=Path),
    "verbose": OptionSpec("-v --verbose", "List the cells."),
    "verdict": OptionSpec("--verdict", "Only claims with this verdict; repeatable.", "V", many=True),
    "weights": OptionSpec("--weights", "How messages of --mu-column count.  [default: budget]", "budget|equal"),
    "width": OptionSpec("--width", "Width of the figure.", "INCHES", type=float),
    "x": OptionSpec("--x", "Horizontal axis: step, dots or a setting.", "NAME"),
}
"""by the name of the parameter, which may have the command behind a slash; one meaning for each flag of a command"""


class CommandSpec(NamedTuple):
    """A command: what it calls is a function of a module of this room; arguments are name, metavar, number and type."""

    panel: str
    help: str
    calls: str
    arguments: tuple[tuple[str, str, str, Any], ...]
    """one value (1), perhaps one (?), one or more (+), any number (*)"""
    options: str
    rare: str = ""
    """options that are for `--help-all`"""


COMMANDS = {
    "run": CommandSpec(
        "Experiments", "Run the parts of experiments that are missing or out of date.", "run.command",
        (("configs", "CONFIG", "+", Path),),
        "set only jobs replicates profile results force part dry_run deployment again quiet verbose as_json",
        "backend scheduler confirm"),
    "plot": CommandSpec(
        "Experiments", """Draw figures, each with its numbers as CSV and a caption.

        NAME is an experiment, a folder of results or a shipped figure; without it, all that the results here allow.
        """, "plot.command", (("names", "NAME", "*", str),),
        "every out/figures theory metric/plot x hue style facet kind width name estimator mechanism over results "
        "as_json", "log stored only formats style_file no_title statistic"),
    "table": CommandSpec(
        "Experiments", """Print the same numbers as tables.

        NAME is an experiment, a folder of results, a shipped table, or FIT.json of `dpexp fit`.
        """, "table.table", (("names", "NAME", "*", str),),
        "every form/table out/table metric estimator only statistic theory results as_json", "raw"),
    "diff": CommandSpec(
        "Experiments", """Compare two results, or the settings of one.

        A and B are experiments, or their folders, such as results/linear_d5.
        """, "diff.diff", (("a", "A", "1", Path), ("b", "B", "?", Path)), "by only metric results as_json"),
    "report": CommandSpec(
        "Experiments", """Write one HTML page of what is stored.

        RESULTS is a results folder, or one experiment's.  [default: results]
        """, "report.report", (("target", "RESULTS", "?", Path),), "out/page", "title text"),
    "claims": CommandSpec(
        "Experiments", """Judge the claims of the papers from stored results.

        Each with its quotation, what was printed and measured, and a verdict. Exit code 1 if one is not as expected.
        """, "claims.claims", (("ids", "ID", "*", str),),
        "paper verdict judge results quiet as_json", "out/claims form/claims"),
    "reproduce": CommandSpec(
        "Experiments", """Run, plot, tabulate and judge everything published, and compare.

        In a clone of dpexp. Exit code 1 if a number differs from the published one by more than its tolerance.
        """, "reproduce.reproduce", (("papers", "PAPER", "*", str),), "check against results as_json"),
    "init": CommandSpec(
        "Configs", "Write a commented config to start from.", "init.init", (("problem", "PROBLEM", "?", str),),
        "algorithm data target of out/init", "for_fit card"),
    "validate": CommandSpec(
        "Configs", "Check configs without running them.", "validate.validate", (("configs", "CONFIG", "*", Path),),
        "set replicates profile show schema as_json"),
    "list": CommandSpec(
        "Configs", "List experiments with their state, and the names for configs.", "list.inventory", (),
        "results configs shipped as_json"),
    "check": CommandSpec(
        "Configs", """Try the problems and algorithms of a plug-in.

        The conformance suite, with a canary audit; without FILE what is built in. Exit code 1 if a check fails.
        """, "check.check", (("file", "FILE", "?", Path),), "as_json"),
    "privacy": CommandSpec(
        "Privacy", """State the privacy of a config, or of a mechanism by its parameters.

        With --mechanism the words are its parameters, such as steps=1000.
        """, "privacy.privacy", (("words", "CONFIG|KEY=VALUE", "*", str),),
        "mechanism set deployment over tradeoff results as_json", "invalid users out/figures"),
    "calibrate": CommandSpec(
        "Privacy", """Find the least noise or the largest budget that meets a target.

        A target is eps=E delta=D, mu=M, rho=R, rdp=R order=A, advantage=A or tpr=T@fpr=F, among the parameters.
        """, "calibrate.calibrate", (("words", "TARGET|KEY=VALUE", "*", str),), "mechanism as_json",
        "released analysis invalid"),
    "receipt": CommandSpec(
        "Privacy", """State what holds for a training program that is not dpexp.

        CARD is a run card (`dpexp init --card`); pairs add to it or replace its fields.
        """, "receipt.receipt", (("words", "CARD|KEY=VALUE", "*", str),), "as_json"),
    "judge": CommandSpec(
        "Privacy", """Compare a stated bound on privacy with exact laws, or a convergence rate with runs.

        FILE is Python with eps(...), rdp(...) or param_distance_sq(...). Exit code 1 if it is refuted, 3 if nothing
        could be compared.
        """, "judge.print_verdict", (("bound", "FILE", "1", Path),), "as_json", "at seconds seed comparisons"),
    "audit": CommandSpec(
        "Privacy", """Compute a lower bound on the privacy loss of what is run.

        The config runs with and without a canary record. Exit code 1 if the bound exceeds the claim.
        """, "audit.audit", (("config", "CONFIG", "1", Path),), "set runs as_json", "confidence seed"),
    "fit": CommandSpec(
        "Regression", """Fit a private regression with confidence intervals.

        DATA are your own records: csv, tsv, parquet or npz. Exit code 3 if no interval is finite.
        """, "fit.command", (("data", "DATA", "?", Path),),
        "target formula model mu eps delta central public level person plan n deployment out/fit again as_json",
        "mu_column weights seed/fit contrasts"),
    "predict": CommandSpec(
        "Regression", """Print predictions or released parameters of a fit or a run.

        RESULT is FIT.json of `dpexp fit --out`, or an experiment; without TABLE its released parameters are printed.
        """, "predict.predict", (("result", "RESULT", "1", str), ("table", "TABLE", "?", Path)),
        "out/predict results as_json", "cell estimator/predict replicate raw"),
}  # fmt: skip


class CommandLine(TyperGroup):
    """The command line, whose help has a section for each panel and a line for each command that is not cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel in dict.fromkeys(spec.panel for spec in COMMANDS.values()):
            with formatter.section(panel):
                rows = [(name, spec.help.partition("\n")[0]) for name, spec in COMMANDS.items() if spec.panel == panel]
                formatter.write_dl(rows)


NAMES = {"help_option_names": ["-h", "--help"]}


def command_line(everything: bool = False) -> typer.Typer:
    """All commands; `everything` has rare options in the help too."""
    line = typer.Typer(name="dpexp", cls=CommandLine, no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                       context_settings=NAMES, pretty_exceptions_enable=False)  # fmt: skip
    line.callback()(common)
    parameters_of_all = signature(common, eval_str=True).parameters
    # most people write these behind the command's name; what they do has been done before it is called
    shared = [parameters_of_all[name].replace(kind=Parameter.KEYWORD_ONLY) for name in ("debug", "plugin")]
    for name, spec in COMMANDS.items():
        rare = spec.rare.split()
        options = [_option(key, key in rare and not everything) for key in (*spec.options.split(), *rare)]
        body = partial(_run, name)
        parameters = [*(_argument(*argument) for argument in spec.arguments), *options, *shared]
        body.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        body.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        more = f"More options: dpexp {name} {ALL}" if rare and not everything else None
        line.command(name, help=spec.help, epilog=more, context_settings=NAMES)(body)
    return line


def _argument(key: str, metavar: str, count: str, type_: Any) -> Parameter:
    """An argument of a command; the text of the help explains it."""
    annotation: Any = GenericAlias(list, type_) if count in "*+" else type_
    default = Parameter.empty if count in "1+" else None
    declared = typer.Argument(metavar=metavar, show_default=False, hidden=True)
    return Parameter(key, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[
        annotation if default is Parameter.empty else annotation | None, declared])  # fmt: skip


def _option(key: str, hidden: bool) -> Parameter:
    """An option of a command, by its row."""
    spec, name = OPTIONS[key], key.partition("/")[0]
    declared = typer.Option(*spec.flags.split(), metavar=spec.metavar or None, help=spec.help, hidden=hidden,
                            show_default=False)  # fmt: skip
    annotation: Any = bool if not spec.metavar else (GenericAlias(list, spec.type) if spec.many else spec.type) | None
    default = None if spec.metavar else False
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, declared])


def _version(context: typer.Context, value: bool) -> None:
    """The version; with -v also what a report of a fault needs: libraries, commit, machine and the cache."""
    if value:
        from dpexp.core.version import VERSION
        from dpexp.store.provenance import commit, environment

        built = commit()
        at = f" (commit {built['commit'][:12]}{', modified' if built['dirty'] else ''})" if built["commit"] else ""
        say(environment() if context.params["verbose"] else f"dpexp {VERSION}{at}")
        raise typer.Exit


def _use_plugins(files: list[Path] | None) -> None:
    """Load what installed packages offer and the files that are named, before anything looks a name up."""
    from dpexp.plugins import loading

    loading.use_installed()
    # Installed packages come first: a file may use what they add.
    plugins = [loading.use(file) for file in files or ()]
    if any(plugin.papers or plugin.figures or plugin.tables or plugin.claims for plugin in plugins):
        from dpexp import papers

        papers.figures(), papers.tables(), papers.claims()  # a name that another one has is an error now


def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, help="Print the version and the commit.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", is_eager=True, help="With --version: libraries, machine, cache.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", expose_value=False, help="Show tracebacks.")] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.py", callback=_use_plugins, is_eager=True, expose_value=False, show_default=False,
                     help="A plug-in, which adds names; repeatable."),
    ] = None,
) -> None:  # fmt: skip
    """A laboratory for differentially private stochastic gradient descent."""


def _run(command: str, /, as_json: bool = False, debug: bool = False, plugin: object = None, **options: Any) -> None:
    """Call a command's function and print what it returns: its document with --json, else its text."""
    from dpexp.commands.answer import Answer
    from dpexp.commands.progress import progress

    spec = COMMANDS[command]
    values = {key: _at_home(value) for key, value in options.items() if _is_typed(value)}
    if as_json and "form" in options:
        values["form"] = "json"
    # Who asks for JSON is a program, to which progress means nothing.
    quiet = as_json or "quiet" in values or values.get("form") == "json"
    if quiet and "quiet" in options:
        values["quiet"] = True
    if "results" in options and values.get("profile") == "smoke":
        values.setdefault("results", Path("results-smoke"))
    words = [value for key, _, count, _ in spec.arguments if count in "*+" for value in values.pop(key, ())]
    with nullcontext() if quiet else progress(command):
        gc.disable()  # modules that are loaded are no garbage, and to look takes a tenth of a run with nothing to do
        module, _, name = spec.calls.partition(".")
        function = getattr(import_module(f"dpexp.commands.{module}"), name)
        gc.enable()
        answer = function(*words, **values)
        # either may take long, or draw a figure: only what is printed is made
        if isinstance(answer, str | Path):
            text = str(answer)
        elif as_json:
            from dpexp.core.standard_json import standard_json

            text = standard_json(answer.document())
        else:
            text = answer.text()
        if text:
            say(text.rstrip("\n"))
    if isinstance(answer, str | Path):
        raise typer.Exit
    if isinstance(answer, Answer):
        for remark in answer.remarks:
            warn(remark)
    raise typer.Exit(answer.exit_code)


def _is_typed(value: Any) -> bool:
    """Whether an option or argument was typed; 0 and an empty text are values."""
    return value is not None and value is not False and value != []


def _at_home(value: Any) -> Any:
    """Paths with ~ as the home folder, also where the shell left it: in quotes, or after `=`."""
    if isinstance(value, list):
        return tuple(map(_at_home, value))
    try:
        return value.expanduser() if isinstance(value, Path) else value
    except RuntimeError:
        raise UsageError(f"{value}: no such user", "write the folder out") from None


app = command_line()


class Interrupted(BaseException):
    """Ctrl-C, under a name that the argument parser does not turn into its own message."""


def _interrupt(*_: object) -> None:
    raise Interrupted


OF_A_PATH = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
"""errors of a path that the user has named"""


def _failure(error: Exception) -> tuple[str, str, int]:
    """Message, hint and exit code of an error that ends a command."""
    from dpexp.plugins.loaded import LOADED, blame

    if isinstance(error, DpexpError):
        return error.message, error.hint, error.exit_code
    if place := blame(error):
        return f"{place}{type(error).__name__}: {error}", "a mistake of the plug-in; --debug shows more", USAGE
    if isinstance(error, OSError):
        message = f"{error.filename or 'input or output'}: {error.strerror or error}"
        return message, "", USAGE if isinstance(error, OF_A_PATH) else UNEXPECTED
    # a plug-in may have returned a wrong value, where no line of it raised the error
    commands = ", ".join(f"dpexp check {loaded.typed}" for loaded in LOADED.values())
    hint = "--debug shows where" + (f"; a plug-in may have returned a wrong value: {commands}" if commands else "")
    return f"unexpected {type(error).__name__}: {error}", hint, UNEXPECTED


def _prepare() -> None:
    """Streams, variables and settings of a process that has one command to do."""
    # cron and systemd may start a program without these: what is opened next would take their place
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  for as long as the process lives
    # Figures are drawn into files, and matplotlib's own caches belong in no root of a disk.
    os.environ["MPLBACKEND"] = "agg"
    # the loops are made of instructions that Python itself does not have
    os.environ["NUMBA_DISABLE_JIT"] = "0"
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


def main() -> None:
    """Entry point: errors that a user can act on are a line or two on stderr, with the contract's exit codes."""
    _prepare()
    stdout, everything = sys.stdout, ALL in sys.argv
    sys.argv = ["--help" if word == ALL else word for word in sys.argv]
    try:
        (command_line(everything) if everything else app)(standalone_mode=True)
    except SystemExit:
        # the parser of arguments ends with 1 where stdout is closed, and puts another one in its place
        if sys.stdout is stdout:
            raise
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  what waits is not tried a second time
        sys.exit(CLOSED)
    except Interrupted:
        # only a run keeps what is finished of its work; other commands have nothing to continue
        runs = "run" in sys.argv[1:2] or "--force" in sys.argv
        warn("interrupted" + ("; finished chunks are kept, run again to continue" if runs else ""))
        sys.exit(INTERRUPTED)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        message, hint, code = _failure(error)
        warn(f"error: {message}" + (f"\n  hint: {hint}" if hint else ""))
        sys.exit(code)
