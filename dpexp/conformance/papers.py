"""What every paper, figure, table and claim must do: come from the results that it declares, and from nothing else.

A figure and a table are drawn and built from toy results, a claim settles on them with any verdict, and notices its own
sabotage. A paper lists each of them once, under its own id, and its configs exist.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpexp.conformance.check import Check, Failed, NotTried, Subject, ToyExperiments
from dpexp.core.errors import ResultsMissing
from dpexp.core.standard_json import BESIDE
from dpexp.core.text import counted
from dpexp.reporting.claim import VERDICTS, Claim, Outcome, OutsideHypotheses, quotation_fault
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.figure import Figure, written
from dpexp.reporting.paper import Paper
from dpexp.reporting.table import Table
from dpexp.reporting.table_formats import FORMATS, render


def _require_configs(experiments: Sequence[str], toys: ToyExperiments, at: object) -> None:
    for experiment in experiments:
        if toys.config_of(experiment) is None:
            raise Failed(f"needs the experiment '{experiment}', of which there is no config", at)


@contextmanager
def _declared(what: str, at: object) -> Iterator[None]:
    """The folder holds what is declared and nothing else, so whatever else is read within is missing there."""
    try:
        yield
    except ResultsMissing as error:
        raise Failed(f"asks for results that `{what}` does not declare: {error.message}", at) from None


# --- figures and tables ----------------------------------------------------------------------------------------


def _function(thing: Figure | Table) -> Any:
    return thing.draw if isinstance(thing, Figure) else thing.build


def _members_of_shown(subject: Subject[Any], toys: ToyExperiments) -> str:
    thing, at = subject.value, _function(subject.value)
    words = (thing.caption, thing.place) if isinstance(thing, Figure) else (thing.title,)
    if not (thing.name and thing.paper and all(words)):
        raise Failed("says no name, paper, caption, place or title", at)
    if not (isinstance(thing.needs, tuple) and all(isinstance(name, str) for name in thing.needs)):
        raise Failed(f"needs is a tuple of experiments, not {thing.needs!r}", at)
    _require_configs(thing.needs, toys, at)
    return f"needs {', '.join(thing.needs) or 'no results'}"


def _drawn(figure: Figure, toys: ToyExperiments, out: Path) -> list[Path]:
    results = toys.results(figure.needs)
    with _declared("needs", figure.draw):
        return written(figure, results, out, ["png"]).files


def numbers_of(subject: Subject[Figure], toys: ToyExperiments) -> Path:
    """The CSV of a figure drawn from toy results: once for all who ask, where `toys` keeps figures."""
    from filelock import FileLock

    out = toys.figures or Path(tempfile.mkdtemp(dir=toys.root))
    out.mkdir(parents=True, exist_ok=True)
    at, csv = subject.value.draw, out / f"{subject.name}.csv"
    with FileLock(out / f"{subject.name}.lock"):
        if csv.exists():
            return csv
        with tempfile.TemporaryDirectory(dir=out) as folder:
            paths = _drawn(subject.value, toys, Path(folder))
            if not paths[0].read_bytes().startswith(b"\x89PNG"):
                raise Failed("is no PNG when written as one", at)
            # It is drawn twice if it shows stored results; a figure of theory alone may take long, and is drawn once.
            if subject.value.needs:
                again = _drawn(subject.value, toys, Path(folder) / "again")
                if [p.read_bytes() for p in paths] != [p.read_bytes() for p in again]:
                    raise Failed("other bytes when drawn again", at)
            # Moved in one step: whoever finds the file finds all of it.
            paths[1].replace(csv)
    return csv


def _figure(subject: Subject[Figure], toys: ToyExperiments) -> str:
    import numpy as np
    import pandas as pd
    from matplotlib import pyplot

    at = subject.value.draw
    data = pd.read_csv(numbers_of(subject, toys))
    # Figures that pyplot knows stay open until the process ends.
    pyplot.close("all")
    if not len(data):
        raise Failed("its CSV has no rows: the plotted numbers", at)
    numbers = data.select_dtypes("number")
    # A column may have gaps, as where a curve begins late, but something has to be in it.
    bad = [str(name) for name in numbers if not np.isfinite(numbers[name].to_numpy(dtype=float)).any()]
    if numbers.shape[1] == 0 or bad:
        raise Failed(f"its CSV has no finite number in {', '.join(bad) or 'any column'}", at)
    return f"{counted(len(data), 'row')} of {', '.join(map(str, data.columns))}"[:200]


def _table(subject: Subject[Table], toys: ToyExperiments) -> str:
    thing = subject.value
    results = toys.results(thing.needs)
    with _declared("needs", thing.build):
        texts = {form: render(thing, results, form) for form in FORMATS}
    rows = json.loads(texts["json"])["rows"]
    # beside a number that JSON does not have stands a key that says which it was
    columns = {tuple(k for k in row if not (k.endswith(BESIDE) and k.removesuffix(BESIDE) in row)) for row in rows}
    if len(columns) != 1:
        raise Failed("its records are not rows of the same columns", thing.build)
    # Columns are aligned: a bar or a line break inside a cell makes its line shorter or longer than the others.
    lines = [line for line in texts["md"].splitlines() if line.startswith("|")]
    if len({len(line) for line in lines}) != 1:
        raise Failed("its rows have different numbers of cells", thing.build)
    # LaTeX counts the ampersands that are not escaped.
    body = texts["tex"].split("\\midrule\n")[1].split("\n\\bottomrule")[0].splitlines()
    if len({line.replace(r"\&", "").count("&") for line in body}) != 1:
        raise Failed("its rows have different numbers of cells in LaTeX", thing.build)
    return f"{counted(len(lines) - 2, 'row')}, {counted(len(rows), 'record')}, in {', '.join(FORMATS)}"


def _computes_nothing(subject: Subject[Any], toys: ToyExperiments) -> str:
    """What is shown comes from stored results: without them it is refused with the command to run."""
    thing = subject.value
    if not thing.needs:
        raise NotTried("needs no results")
    # What is shown of an empty folder was computed here, or read somewhere else.
    with tempfile.TemporaryDirectory() as folder:
        try:
            _function(thing)(Path(folder))
        except ResultsMissing as error:
            if not error.hint:
                raise Failed("refuses without the command to run", _function(thing)) from None
            return error.message.removeprefix(folder).lstrip("/")
    raise Failed("is made although there are no results", _function(thing))


FIGURE_CHECKS: tuple[Check[Figure], ...] = (
    Check("members", "It has a name, a caption and a place, and its experiments have configs.", _members_of_shown),
    Check(
        "drawn", "It is drawn from toy results of what it declares, the same bytes again, with finite numbers.", _figure
    ),
    Check("missing", "Without results it is refused with the command to run.", _computes_nothing),
)
TABLE_CHECKS: tuple[Check[Table], ...] = (
    Check("members", "It has a name and a title, and its experiments have configs.", _members_of_shown),
    Check("built", "It is built from toy results of what it declares, in every format.", _table),
    Check("missing", "Without results it is refused with the command to run.", _computes_nothing),
)


# --- claims ----------------------------------------------------------------------------------------------------


def _members_of_claim(subject: Subject[Claim], toys: ToyExperiments) -> str:
    claim = subject.value
    if not re.fullmatch(r"[a-z0-9-]+(/[a-z0-9-]+)+", claim.id):
        raise Failed(f"'{claim.id}' is no id such as paper/theorem-1/topic", claim.check)
    for word in ("place", "statement", "tolerance", "false_if"):
        if not getattr(claim, word):
            raise Failed(f"has no {word}", claim.check)
    if not claim.statement.endswith("."):
        raise Failed("its statement is no sentence: it ends without a full stop", claim.check)
    if fault := quotation_fault(claim):
        raise Failed(fault, claim.check)
    if claim.expected not in VERDICTS:
        raise Failed(f"expects '{claim.expected}', which is none of {', '.join(VERDICTS)}", claim.check)
    # Who reads the ledger has to learn why a claim is not expected to hold.
    if not claim.why and claim.expected != "reproduced":
        raise Failed(f"does not say why it expects '{claim.expected}'", claim.check)
    _require_configs(claim.experiments, toys, claim.check)
    return f"{claim.kind} of {claim.place}; {counted(len(claim.experiments), 'experiment')}"


def _outcome(claim: Claim, toys: ToyExperiments, sabotaged: bool = False) -> Outcome:
    evidence = Evidence(toys.results(claim.experiments))
    if sabotaged and claim.sabotage:
        evidence = claim.sabotage(evidence)
    try:
        with _declared("experiments", claim.check):
            return claim.settled(evidence)
    # A toy run may be too short for the settings that a theorem asks for.
    except OutsideHypotheses as error:
        raise NotTried(f"toy results lie outside its hypotheses: {error.message}") from None


def _settles(subject: Subject[Claim], toys: ToyExperiments) -> str:
    """On toy results any verdict may come; a claim that theory alone settles has to come out as expected."""
    claim = subject.value
    outcome = _outcome(claim, toys)
    if outcome.verdict not in VERDICTS:
        raise Failed(f"its check gives '{outcome.verdict}', which is none of {', '.join(VERDICTS)}", claim.check)
    if not outcome.measured:
        raise Failed("its check does not say what was measured", claim.check)
    # No size of a run excuses theory that comes out otherwise.
    if not claim.experiments and outcome.verdict != claim.expected:
        raise Failed(
            f"theory alone says '{outcome.verdict}', expected '{claim.expected}': {outcome.measured}", claim.check
        )
    return f"{outcome.verdict}: {outcome.measured}"[:200]


def _sabotage(subject: Subject[Claim], toys: ToyExperiments) -> str:
    claim = subject.value
    if claim.sabotage is None:
        raise NotTried("supplies no sabotage")
    right, wrong = _outcome(claim, toys).verdict, _outcome(claim, toys, sabotaged=True).verdict
    # A check that says the same of both looks at neither.
    if right == wrong:
        raise Failed(f"says '{right}' of its own sabotage too", claim.check)
    return f"'{right}' becomes '{wrong}'"


def _are_smaller(claim: Claim, toys: ToyExperiments) -> bool:
    """Whether the toy results of a claim are not of the settings that its configs ask for."""
    from dpexp.config.experiment_file import load_experiment

    def settings(path: Path, profile: str) -> set[str]:
        return {cell.cell_id for cell in load_experiment(path, profile=profile).cells}

    configs = filter(None, map(toys.config_of, claim.experiments))
    return any(settings(path, "smoke") != settings(path, "paper") for path in configs)


def _hypotheses(subject: Subject[Claim], toys: ToyExperiments) -> str:
    """None is violated by the settings used, and each would notice one that violates it."""
    claim = subject.value
    if not claim.hypotheses:
        raise NotTried("assumes nothing")
    evidence = Evidence(toys.results(claim.experiments))
    for hypothesis in claim.hypotheses:
        if hypothesis.refused is None:
            raise Failed(f"gives no setting outside its hypothesis that {hypothesis.words}", claim.check)
        # A hypothesis that refuses nothing would let its claim be judged anywhere.
        if not hypothesis.refused(evidence):
            raise Failed(f"would be judged where it does not hold that {hypothesis.words}", claim.check)
        if broken := hypothesis.broken(evidence):
            # At toy size a prescribed schedule or a choice of settings is another one.
            if _are_smaller(claim, toys):
                raise NotTried(f"toy results lie outside it, where {hypothesis.words}: {broken[0]}")
            raise Failed(f"is judged where it does not hold that {hypothesis.words}: {broken[0]}", claim.check)
    return "; ".join(hypothesis.words for hypothesis in claim.hypotheses)


CLAIM_CHECKS: tuple[Check[Claim], ...] = (
    Check("members", "Every field is filled in, and its experiments have configs.", _members_of_claim),
    Check("hypotheses", "Its settings satisfy its hypotheses, and one that does not is refused.", _hypotheses),
    Check("settled", "Its check gives a verdict on toy results of what it declares, or on none.", _settles),
    Check("sabotage", "Evidence that it makes wrong itself gives another verdict.", _sabotage),
)


# --- papers ----------------------------------------------------------------------------------------------------


def _ids(subject: Subject[Paper], toys: ToyExperiments) -> str:
    paper = subject.value
    if paper.id != subject.name or not (paper.title and paper.authors):
        raise Failed(f"is registered as '{subject.name}' and says '{paper.id}', or has no title or authors")
    belongs = [
        *((f"claim {claim.id}", claim.paper, claim.check) for claim in paper.claims),
        *((f"figure {figure.name}", figure.paper, figure.draw) for figure in paper.figures),
        *((f"table {table.name}", table.paper, table.build) for table in paper.tables),
    ]
    # Whatever is listed under one paper and says another would be shown under both, or under neither.
    for what, said, at in belongs:
        if said != paper.id:
            raise Failed(f"{what} says that it belongs to '{said}'", at)
    many = {"claim": len(paper.claims), "figure": len(paper.figures), "table": len(paper.tables)}
    return ", ".join(counted(number, thing) for thing, number in many.items())


def _names(subject: Subject[Paper], toys: ToyExperiments) -> str:
    """Within a paper; that two papers share no name is refused where they are listed."""
    paper = subject.value
    for what, listed in (
        ("claim", [claim.id for claim in paper.claims]),
        ("figure", [figure.name for figure in paper.figures]),
        ("table", [table.name for table in paper.tables]),
        ("config", paper.configs),
    ):
        twice = [name for name, count in Counter(listed).items() if count > 1]
        if twice:
            raise Failed(f"lists the {what} '{twice[0]}' twice")
    # An overlay is a second version of a figure of the same paper.
    if stray := set(paper.overlays) - {figure.name for figure in paper.figures}:
        raise Failed(f"lays theory over '{min(stray)}', which is none of its figures")
    return "each once"


def _configs(subject: Subject[Paper], toys: ToyExperiments) -> str:
    from dpexp.config.experiment_file import load_experiment

    for name in subject.value.configs:
        path = toys.config_of(name)
        if path is None:
            raise Failed(f"lists the config '{name}', which does not exist")
        load_experiment(path, profile="smoke")
    return f"{len(subject.value.configs)} configs, valid"


PAPER_CHECKS: tuple[Check[Paper], ...] = (
    Check("ids", "Its claims, figures and tables carry its id.", _ids),
    Check("names", "Nothing is listed twice.", _names),
    Check("configs", "Its configs exist and are valid.", _configs),
)
