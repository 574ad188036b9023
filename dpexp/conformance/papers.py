"""What every paper must do: one id in everything that it lists, names of its own, configs that exist."""

from __future__ import annotations

from collections import Counter

from dpexp.conformance.check import Check, Subject
from dpexp.conformance.experiments import Failed, ToyExperiments
from dpexp.core.text import counted
from dpexp.reporting.paper import Paper

Thing = Subject[Paper]


def ids(subject: Thing, toys: ToyExperiments) -> str:
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
    return ", ".join(
        counted(len(values), thing)
        for values, thing in ((paper.claims, "claim"), (paper.figures, "figure"), (paper.tables, "table"))
    )


def names(subject: Thing, toys: ToyExperiments) -> str:
    """Within a paper; that two papers share no name is refused where they are listed."""
    paper = subject.value
    for what, listed in (
        ("claim", [claim.id for claim in paper.claims]),
        ("figure", [figure.name for figure in paper.figures]),
        ("table", [table.name for table in paper.tables]),
        ("config", list(paper.configs)),
    ):
        twice = [name for name, count in Counter(listed).items() if count > 1]
        if twice:
            raise Failed(f"lists the {what} '{twice[0]}' twice")
    # An overlay is a second version of a figure of the same paper.
    known = {figure.name for figure in paper.figures}
    if stray := set(paper.overlays) - known:
        raise Failed(f"lays theory over '{min(stray)}', which is none of its figures")
    return "each once"


def configs(subject: Thing, toys: ToyExperiments) -> str:
    from dpexp.config.experiment_file import load_experiment

    paper = subject.value
    for name in paper.configs:
        path = toys.config_of(name)
        if path is None:
            raise Failed(f"lists the config '{name}', which does not exist")
        load_experiment(path, profile="smoke")
    return f"{len(paper.configs)} configs, valid"


CHECKS: tuple[Check[Paper], ...] = (
    Check("ids", "Its claims, figures and tables carry its id.", ids),
    Check("names", "Nothing is listed twice.", names),
    Check("configs", "Its configs exist and are valid.", configs),
)
