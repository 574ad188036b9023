"""The command line: parse, call, print. What a command needs is imported when it is called, so that help is instant.

`OPTIONS` has every option once, `COMMANDS` those of each command and the function of this room that it calls. An option
that is absent is not passed on: its default is that of the function.
"""

from __future__ import annotations

import gc
import os
import platform
import signal
import sys
from contextlib import nullcontext
from functools import cache, partial
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup, TyperOption

from dpexp.core.errors import CLOSED, INTERRUPTED, UNEXPECTED, USAGE, DpexpError, UsageError
from dpexp.core.terminal import say, warn


def path(text: str) -> Path:
    """A path with ~ as the home folder, also where the shell left it; `./~name` is a folder of that name."""
    place = os.path.expanduser(text)
    if text.startswith("~") and place == text:
        raise UsageError(f"{text}: no such user", "write the folder out")
    return Path(place)


class OptionSpec(NamedTuple):
    """An option; a flag where it has no `metavar`."""

    flags: str
    help: str
    metavar: str = ""
    type: Any = str
    many: bool = False

    def declared(self, key: str, rare: bool) -> Parameter:
        """As a parameter of the function that the parser calls."""
        kind: Any = (GenericAlias(list, self.type) if self.many else self.type) | None if self.metavar else bool
        option = typer.Option(*self.flags.split(), metavar=self.metavar or None, help=self.help, hidden=rare,
                              show_default=False, parser=path if self.type is Path else None)  # fmt: skip
        default = None if self.metavar or "/" in self.flags else False
        return Parameter(key.partition("/")[0], Parameter.KEYWORD_ONLY, default=default,
                         annotation=Annotated[kind, option])  # fmt: skip


class CommandSpec(NamedTuple):
    """A command: what it calls is a function of a module of this room; arguments are name, metavar and type."""

    panel: str
    calls: str
    arguments: tuple[tuple[str, str, Any], ...]
    """one value, perhaps one in brackets, one or more with dots, any number in brackets with dots"""
    options: str
    rare: str
    """options that are for `--help-all`"""
    summary: str
    details: str = ""


OPTIONS = {
    "again": OptionSpec("--again", "Release again and spend a second budget."),
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
    "comparisons": OptionSpec("--comparisons", "Exact laws, or predictions.  [default: 1200, or 400]", "N", int),
    "confidence": OptionSpec("--confidence", "Of all lower bounds together.  [default: 0.999]", "P", float),
    "configs": OptionSpec("--configs", "Folder of config files.  [default: configs]", "DIR", Path),
    "contrasts": OptionSpec("--contrast", "Test a combination; repeatable.", "'A - B'", many=True),
    "data": OptionSpec("--data", "Your own table.", "FILE", Path),
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
    "form/claims": OptionSpec("--format", "How to print.", "table|md|differences"),
    "form/table": OptionSpec("--format", "How to print.  [default: md]", "text|md|tex|csv|json"),
    "formats": OptionSpec("--format", "File formats.  [default: png,pdf]", "png,pdf,svg,eps"),
    "formula": OptionSpec("--formula", "Or a formula: 'log(y) ~ x * C(g)'.", "'Y ~ X'"),
    "hue": OptionSpec("--hue", "Distinguished by colours.", "NAME"),
    "jobs": OptionSpec("-j --jobs", "Workers.  [default: all cores]", "N", int),
    "judge": OptionSpec("--judge", "Judge the selected claims, and write RESULTS/claims.json."),
    "kind": OptionSpec("--kind", "Curves, or boxes of the final values.  [default: line]", "line|box"),
    "level": OptionSpec("--level", "Level of the intervals.  [default: 0.95]", "P", float),
    "mechanism": OptionSpec("--mechanism", "A mechanism instead of a config.", "NAME"),
    "metric": OptionSpec("--metric", "Values to show or compare; repeatable.  [default: the error]", "NAME", many=True),
    "metric/plot": OptionSpec("--metric", "Values to show.  [default: the error]", "NAME"),
    "method": OptionSpec("--method", "The method of a plug-in.", "NAME"),
    "model": OptionSpec("--model", "huber-linear, mallows-logistic or a plug-in's.  [default: huber-linear]", "NAME"),
    "mu": OptionSpec("--mu", "Budget of every record, in Gaussian DP.", "M"),
    "mu_column": OptionSpec("--mu-column", "Budgets of the records' own.", "COLUMN"),
    "n": OptionSpec("-n --n", "Records or persons, with --plan.", "N"),
    "name": OptionSpec("--name", "Name of the files.", "NAME"),
    "no_title": OptionSpec("--no-title", "Without the title on top."),
    "of": OptionSpec("--from", "Copy a shipped config.", "NAME"),
    "only": OptionSpec("--only", "Only cells with these values, such as 'alpha=1/2,1 mu=inf'.", "KEY=A,B"),
    "out/claims": OptionSpec("--out", "Write pages: DIR/CLAIMS.md and DIR/claims/.", "DIR", Path),
    "out/figures": OptionSpec("--out", "Of figures.  [default: RESULTS/figures]", "DIR", Path),
    "out/fit": OptionSpec("--out", "Keep the result.", "FILE.json", Path),
    "out/page": OptionSpec("--out", "Where to write.  [default: report.html there]", "FILE.html", Path),
    "out/predict": OptionSpec("--out", "Predictions: .csv or .json; parameters: .json.", "FILE", Path),
    "out/text": OptionSpec("--out", "Write a new file, or tables into a folder, instead of printing.", "PATH", Path),
    "over": OptionSpec("--over", "Sweep a parameter; repeatable.", "KEY", many=True),
    "part": OptionSpec("--part", "The K-th of N shares, for an array job and a later run.", "K/N"),
    "person": OptionSpec("--person", "Persons; several records of one count once.", "COLUMN"),
    "plan": OptionSpec("--plan", "Expected lengths, before any record is read."),
    "profile": OptionSpec("--profile", "Toy size or full size.  [default: paper]", "smoke|paper"),
    "public": OptionSpec("--public", "Of columns (`dpexp init --data DATA --for-fit`).", "FILE", Path),
    "quiet": OptionSpec("-q --quiet", "No progress."),
    "raw": OptionSpec("--raw", "CSV without the quote before texts such as =1+1, which spreadsheets run."),
    "released": OptionSpec("--released", "all-iterates or last-iterate.  [default: all-iterates]", "KIND"),
    "replicate": OptionSpec("--replicate", "Which replicate, where all are released.  [default: 0]", "N", int),
    "replicates": OptionSpec("--replicates", "Replicates of every cell.", "N", int),
    "results": OptionSpec("--results", "Results folder.  [default: results]", "DIR", Path),
    "runs": OptionSpec("--runs", "Runs of each mechanism, in two worlds by a coin.  [default: 10000]", "N", int),
    "schema": OptionSpec("--schema", "Print the JSON schema of configs, for editors."),
    "scheduler": OptionSpec("--scheduler", "Address of a dask scheduler.", "ADDRESS"),
    "seconds": OptionSpec("--seconds", "Stop after so many seconds.  [default: 60]", "S", float),
    "seed": OptionSpec("--seed", "Seed of what is drawn; in a fit, of a rehearsal.", "N", int),
    "set": OptionSpec("--set", "Change a value; repeatable.", "A.B=V", many=True),
    "shipped": OptionSpec("--shipped", "List the configs that come with dpexp."),
    "show": OptionSpec("--show", "Print the config with every default."),
    "statistic": OptionSpec("--statistic", "Of the replicates.  [default: mean]", "mean|median|quantiles"),
    "style": OptionSpec("--style", "Distinguished by line styles or markers.", "NAME"),
    "style_file": OptionSpec("--style-file", "Matplotlib settings, such as fonts.", "FILE", Path),
    "target": OptionSpec("--target", "The column to explain or predict.", "COLUMN"),
    "theory": OptionSpec("--theory", "Add bounds and predictions to the measured values."),
    "tradeoff": OptionSpec("--tradeoff", "Error rates of an attacker."),
    "users": OptionSpec("--users", "Budgets of users (columns mu, uses, group).", "FILE", Path),
    "verbose": OptionSpec("-v --verbose", "List the cells."),
    "weights": OptionSpec("--weights", "How messages of --mu-column count.  [default: budget]", "budget|equal"),
    "width": OptionSpec("--width", "Width of the figure.", "INCHES", float),
    "x": OptionSpec("--x", "Horizontal axis: step, dots or a setting.", "NAME"),
}
"""by the name of the parameter, which may have the command behind a slash; one meaning for each flag of a command"""


COMMANDS = {
    "run": CommandSpec(
        "Experiments", "run.command", (("configs", "CONFIG...", Path),),
        "set only jobs replicates profile results force part dry_run deployment again quiet verbose as_json",
        "backend scheduler", "Run the parts of experiments that are missing or out of date."),
    "plot": CommandSpec(
        "Experiments", "plot.command", (("names", "[NAME]...", str),),
        "every out/figures theory metric/plot x hue style facet kind width name estimator mechanism over results "
        "as_json", "only formats style_file no_title statistic",
        "Draw figures, each with its numbers as CSV and a caption.",
        "NAME is an experiment, a folder of results or a shipped figure; without it, all that the results here allow."),
    "table": CommandSpec(
        "Experiments", "table.table", (("names", "[NAME]...", str),),
        "every form/table out/text theory metric estimator only statistic results as_json", "",
        "Print the same numbers as tables.",
        "NAME is an experiment, a folder of results, a shipped table, or FIT.json of `dpexp fit`."),
    "diff": CommandSpec(
        "Experiments", "diff.diff", (("a", "A", Path), ("b", "[B]", Path)), "by only metric results as_json", "",
        "Compare two results, or the settings of one.",
        "A and B are experiments, or their folders, such as results/linear_d5."),
    "report": CommandSpec(
        "Experiments", "report.report", (("target", "[RESULTS]", Path),), "out/page", "",
        "Write one HTML page of what is stored.",
        "RESULTS is a results folder, or one experiment's.  [default: results]"),
    "claims": CommandSpec(
        "Experiments", "claims.claims", (("ids", "[ID]...", str),), "judge results quiet as_json",
        "out/claims form/claims", "Judge the claims of the papers from stored results.",
        "ID is a paper or a claim; each has a quotation, what was measured, and a verdict. Exit code 1 if one is not "
        "as expected."),
    "reproduce": CommandSpec(
        "Experiments", "reproduce.reproduce", (("papers", "[PAPER]...", str),), "check results as_json", "",
        "Run, plot, tabulate and judge everything published, and compare.",
        "In a clone of dpexp. Exit code 1 if a number differs from the published one by more than its tolerance."),
    "init": CommandSpec(
        "Configs", "init.init", (("problem", "[PROBLEM]", str),), "algorithm data target of out/text", "for_fit card",
        "Write a commented config to start from."),
    "validate": CommandSpec(
        "Configs", "validate.validate", (("configs", "[CONFIG]...", Path),),
        "set replicates profile show schema as_json", "", "Check configs without running them."),
    "list": CommandSpec(
        "Configs", "list.inventory", (), "results configs shipped as_json", "",
        "List experiments with their state, and the names for configs."),
    "check": CommandSpec(
        "Configs", "check.check", (("file", "[FILE]", Path),), "as_json", "",
        "Try the problems and algorithms of a plug-in.",
        "The conformance suite, with a canary audit; without FILE what is built in. Exit code 1 if a check fails."),
    "privacy": CommandSpec(
        "Privacy", "privacy.privacy", (("words", "[CONFIG|KEY=VALUE]...", str),),
        "mechanism set deployment over tradeoff as_json", "users",
        "State the privacy of a config, or of a mechanism by its parameters.",
        "With --mechanism the words are its parameters, such as steps=1000."),
    "calibrate": CommandSpec(
        "Privacy", "calibrate.calibrate", (("words", "[TARGET|KEY=VALUE]...", str),), "mechanism as_json",
        "released analysis", "Find the least noise or the largest budget that meets a target.",
        "A target is eps=E delta=D, mu=M, advantage=A or tpr=T@fpr=F, among the parameters."),
    "receipt": CommandSpec(
        "Privacy", "receipt.receipt", (("words", "[CARD|KEY=VALUE]...", str),), "as_json", "",
        "State what holds for a training program that is not dpexp.",
        "CARD is a run card (`dpexp init --card`); pairs add to it or replace its fields."),
    "judge": CommandSpec(
        "Privacy", "judge.judge", (("bound", "FILE", Path),), "as_json", "at seconds seed comparisons",
        "Compare a stated bound on privacy with exact laws, or a convergence rate with runs.",
        "FILE is Python with eps(...), rdp(...) or param_distance_sq(...). Exit code 1 if it is refuted, 3 if nothing "
        "could be compared."),
    "audit": CommandSpec(
        "Privacy", "audit.audit", (("config", "CONFIG", Path),), "set runs as_json", "confidence seed",
        "Compute a lower bound on the privacy loss of what is run.",
        "The config runs with and without a canary record. Exit code 1 if the bound exceeds the claim."),
    "fit": CommandSpec(
        "Regression", "fit.command", (("data", "[DATA]", Path),),
        "target formula model mu eps delta central public level person plan n deployment out/fit again as_json",
        "method mu_column weights seed contrasts", "Fit a private regression with confidence intervals.",
        "DATA are your own records: csv, tsv or parquet. Exit code 3 if no interval is finite."),
    "predict": CommandSpec(
        "Regression", "predict.predict", (("result", "RESULT", str), ("table", "[TABLE]", Path)),
        "out/predict results as_json", "cell estimator/predict replicate raw",
        "Print predictions or released parameters of a fit or a run.",
        "RESULT is FIT.json of `dpexp fit --out`, or an experiment; without TABLE its parameters are printed."),
}  # fmt: skip


class Panels(TyperGroup):
    """The command line, whose help has a section for each panel."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel in dict.fromkeys(spec.panel for spec in COMMANDS.values()):
            with formatter.section(panel):
                formatter.write_dl([(name, spec.summary) for name, spec in COMMANDS.items() if spec.panel == panel])


def full_help(ctx: typer.Context) -> str:
    """The help of a command with its rare options."""
    rare = [p for key in COMMANDS[str(ctx.command.name)].rare.split() for p in ctx.command.params
            if p.name == key.partition("/")[0] and isinstance(p, TyperOption)]  # fmt: skip
    for option in rare:
        option.hidden = False
    text = ctx.get_help()
    for option in rare:
        option.hidden = True
    return text


def _print_all(ctx: typer.Context, value: bool) -> None:
    if value:
        say(full_help(ctx))
        raise typer.Exit


def _version(ctx: typer.Context, value: bool) -> None:
    """The version; with -v also what a report of a fault needs: libraries, machine and the cache of compiled code."""
    if value:
        from dpexp.core import VERSION

        say(_environment() if ctx.params["verbose"] else f"dpexp {VERSION}")
        raise typer.Exit


def _environment() -> str:
    from dpexp.core.text import columns
    from dpexp.engine.compiled import folder
    from dpexp.store.fingerprint import arithmetic, versions

    cache = folder() or "none: every process compiles (DPEXP_CACHE is off, or others can write to its folder)"
    rows = {**versions(), "processor": arithmetic()["processor"], "cores": os.cpu_count(),
            "system": platform.platform(), "compiled code": cache}  # fmt: skip
    return columns([[name, str(rows[name])] for name in sorted(rows, key=lambda name: name != "dpexp")])


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
        bool, typer.Option("--version", callback=_version, help="Print the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", is_eager=True, help="With --version: libraries, machine, cache.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", expose_value=False, help="Show tracebacks.")] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.py", callback=_use_plugins, is_eager=True, expose_value=False, show_default=False,
                     parser=path, help="A plug-in, which adds names; repeatable."),
    ] = None,
) -> None:  # fmt: skip
    """A laboratory for differentially private stochastic gradient descent."""


def _argument(key: str, metavar: str, type_: Any) -> Parameter:
    """An argument of a command; the text of the help explains it, and the parser adds brackets and dots."""
    kind: Any = GenericAlias(list, type_) if "..." in metavar else type_
    name = metavar.strip("[].")
    default = None if metavar[0] == "[" else Parameter.empty
    declared = typer.Argument(metavar=name, show_default=False, hidden=True, parser=path if type_ is Path else None)
    kind = kind if default is Parameter.empty else kind | None
    return Parameter(key, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared])


def command_line() -> typer.Typer:
    """All commands, as the parser has them."""
    line = typer.Typer(name="dpexp", cls=Panels, no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                       context_settings=NAMES, pretty_exceptions_enable=False)  # fmt: skip
    line.callback()(common)
    # most people write these behind the command's name; what they do has been done before it is called
    own = signature(common, eval_str=True).parameters
    shared = [own[name].replace(kind=Parameter.KEYWORD_ONLY) for name in ("debug", "plugin")]
    for name, spec in COMMANDS.items():
        rare, body = spec.rare.split(), partial(_run, name)
        more = typer.Option("--help-all", is_eager=True, expose_value=False, callback=_print_all,
                            help="Show rare options too.", hidden=not rare)  # fmt: skip
        parameters = [
            *(_argument(*argument) for argument in spec.arguments),
            *(OPTIONS[key].declared(key, key in rare) for key in (*spec.options.split(), *rare)),
            *shared,
            Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, more]),
        ]
        body.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        body.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        line.command(name, help=f"{spec.summary}\n\n{spec.details}", context_settings=NAMES)(body)
    return line


def _run(command: str, /, as_json: bool = False, **options: Any) -> None:
    """Call a command's function and print what it returns: its document with --json, else its text."""
    from dpexp.commands.command_answer import Answer
    from dpexp.commands.progress import progress
    from dpexp.core.text import standard_json

    spec = COMMANDS[command]
    # absent ones are no values; 0, an empty text and the second name of a flag are
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in options.items()
        if value not in (None, [], ()) and (value is not False or (key in OPTIONS and "/" in OPTIONS[key].flags))
    }
    # JSON is for a program, to which progress means nothing
    quiet = values.pop("quiet", False) or as_json or values.get("form") == "json"
    if quiet and command == "run":  # which leaves out its notes too
        values["quiet"] = True
    if "results" in options and values.get("profile") == "smoke":
        values.setdefault("results", Path("results-smoke"))
    words = [word for key, shown, _ in spec.arguments if "..." in shown for word in values.pop(key, ())]
    with nullcontext() if quiet else progress(command):
        module, _, name = spec.calls.partition(".")
        answer = getattr(import_module(f"dpexp.commands.{module}"), name)(*words, **values)
        if isinstance(answer, str | Path):
            answer = Answer(str(answer))
        # either may take long: only what is printed is made
        text = standard_json(answer.document()) if as_json else answer.text()
        if text:
            say(text.rstrip("\n"))
    for remark in answer.remarks:
        warn(remark)
    raise typer.Exit(answer.exit_code)


NAMES = {"help_option_names": ["-h", "--help"]}
app = command_line()


@cache
def parser() -> Any:
    """The parser of all commands, which takes some 20 ms to make."""
    return typer.main.get_command(app)


class Interrupted(BaseException):
    """Ctrl-C, under a name that the argument parser does not turn into its own message."""


def _interrupt(*_: object) -> None:
    raise Interrupted


def _failure(error: Exception) -> tuple[str, str, int]:
    """Message, hint and exit code of an error that ends a command."""
    from dpexp.plugins.loaded import LOADED, blame

    if isinstance(error, DpexpError):
        return error.message, error.hint, error.exit_code
    if place := blame(error):
        return f"{place}{type(error).__name__}: {error}", "a mistake of the plug-in; --debug shows more", USAGE
    if isinstance(error, OSError):
        of_a_path = FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError
        message = f"{error.filename or 'input or output'}: {error.strerror or error}"
        return message, "", USAGE if isinstance(error, of_a_path) else UNEXPECTED
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
    # Figures are drawn into files.
    os.environ["MPLBACKEND"] = "agg"
    # the loops are made of instructions that Python itself does not have
    os.environ["NUMBA_DISABLE_JIT"] = "0"
    # The matrices are small: threads of a library for linear algebra would wait for each other, for a fifth of the time
    # of a statement, and add in another order. It reads this when numpy is imported, which happens later.
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    # pydantic would look for plug-ins of its own in every package that is installed; dpexp uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Half of a short command are imports, which leave next to no garbage: looking for it takes a tenth of a start.
    gc.set_threshold(200_000, 20, 20)
    signal.signal(signal.SIGINT, _interrupt)


def main() -> None:
    """Entry point: errors that a user can act on are a line or two on stderr, with the contract's exit codes."""
    _prepare()
    stdout = sys.stdout
    try:
        parser()(prog_name="dpexp")
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
