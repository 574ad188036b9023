"""What was run: a table of all experiments with their state, and a card with parameters, command and config of each.

Also the final values: the table of every result with its slopes, and the levels of its settings compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dpexp.config.settings import varying
from dpexp.core.text import counted
from dpexp.reporting.digits import from_to
from dpexp.reporting.of_results.labels import constants, values
from dpexp.reporting.page.experiments import CURRENT, Stored, about
from dpexp.reporting.page.markup import Markup, copyable, folded, join, table, tag
from dpexp.reporting.page.provenance import duration, seconds


def section(experiments: Sequence[Stored], absent: Mapping[str, Sequence[str]]) -> Markup:
    """`absent` are experiments of a paper that are not here, by paper."""
    states = Counter(one.status for one in experiments)
    counts = ", ".join(f"{count} {status}" for status, count in states.items())
    meaning = "Current means that today's code, data and config give these numbers."
    found = f"{counted(len(experiments), 'experiment')}: {counts}. {meaning}" if counts else "No experiment."
    parts: list[Markup | None] = [tag("p", found, id="states")]
    wrong = [one for one in experiments if one.status != CURRENT]
    if wrong:
        parts.append(tag("div", (_refused(one) for one in wrong), class_="warning", id="refused"))
    for paper, names in absent.items():
        parts.append(tag("p", f"Experiments of {paper} that are not in this folder: {', '.join(names)}.",
                         class_="warning"))  # fmt: skip
    timed = any(seconds(one) is not None for one in experiments)  # else the section on provenance says so, once
    head = ["experiment", "state", "settings", "replicates", *(["core time"] if timed else []), "what it is"]
    parts.append(table(head, [_row(one, timed) for one in experiments], "Experiments"))
    parts.append(tag("h3", "Settings, command and config"))
    parts += [_card(one, len(experiments) == 1) for one in experiments]
    return join(parts)


def _refused(one: Stored) -> Markup:
    words = tag("p", tag("strong", f"{one.name} is {one.status}"), f": {one.why}. Nothing of it is shown. ")
    return join([words, copyable(one.hint.removeprefix("run: "), f"command for {one.name}") if one.hint else None])


def state(one: Stored) -> Markup:
    """The state in a word, with a colour that is not alone in saying it."""
    words = one.status if one.profile != "smoke" else f"{one.status}, toy size"
    return tag("span", words, class_="state", data_state=one.status)


def _row(one: Stored, timed: bool) -> list[Markup | str]:
    spent = seconds(one)
    link = tag("a", one.name, href=f"#experiment-{one.name}", class_="name")
    counts = ["-", "-"] if one.gathered is None else [f"{len(one.gathered.runs):,}", _replicates(one)]
    time = "-" if spent is None or one.gathered is None else duration(spent)
    return [link, state(one), *counts, *([time] if timed else []), _in_short(one)]


def _replicates(one: Stored) -> str:
    return from_to(int(run.row["replicates"]) for run in one.gathered.runs) if one.gathered else "-"


def _in_short(one: Stored) -> str:
    """The first sentence of the comment on top of the config."""
    return about(one.config[1]).partition(". ")[0].rstrip(".")


def _card(one: Stored, unfolded: bool) -> Markup:
    _, text = one.config
    parts: list[Markup | None] = []
    if one.gathered is not None:
        runs, words = one.gathered.runs, one.gathered.words
        vary = varying(run.settings for run in runs)
        secret = (
            one.generation is not None and one.generation.deployed.keys() >= one.generation.manifest["cells"].keys()
        )
        seeds = (
            "of the operating system, kept nowhere" if secret else ", ".join(map(str, one.manifest.get("seeds", [])))
        )
        facts = [("varies", tag("ul", (tag("li", values(runs, words, name)) for name in vary)) if vary else "nothing"),
                 ("the same in all", constants(runs, words)), ("replicates", _replicates(one)),
                 ("seeds", seeds)]  # fmt: skip
        parts.append(tag("dl", ((tag("dt", name), tag("dd", said)) for name, said in facts)))
    else:
        parts.append(tag("p", f"{one.status}: {one.why}", class_="warning"))
    parts += [tag("p", f"{remark}.", class_="remark") for remark in one.remarks]
    parts.append(copyable(one.command, f"command for {one.name}"))
    parts.append(config(one) if text else tag("p", "The config is not there now: the settings above are what was run."))
    title = [tag("span", one.name, class_="name"), " ", state(one)]
    return folded(title, *parts, class_="card", open=unfolded, id=f"experiment-{one.name}")


def config(one: Stored, whose: str = "") -> Markup | None:
    """The config file as it is now; results whose settings are other than it says are stale.

    `whose` tells its label from that of the same config elsewhere on the page.
    """
    path, text = one.config
    if not text:
        return None
    changed = one.manifest.get("config", {}).get("set", [])
    note = f" On the command line: {'; '.join(changed)}." if changed else ""
    return join([tag("p", tag("code", path), note), copyable(text, f"config of {one.name}{whose}")])


class Numbers(NamedTuple):
    """A table of the page: what it is, its head and rows, and the note below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str


class Final(NamedTuple):
    """The tables of one experiment, and why some are not there."""

    experiment: str
    tables: Sequence[Numbers]
    remarks: Sequence[str]
    command: str
    """prints the first table"""


def final_values(finals: Sequence[Final]) -> Markup:
    """One card an experiment, unfolded where it is the only one."""
    if not finals:
        return tag("p", "No result here is current, so there are no values.")
    cards = []
    for one in finals:
        parts: list[Markup] = []
        for numbers in one.tables:
            parts.append(tag("h4", numbers.title))
            parts.append(table(numbers.head, numbers.rows, f"{numbers.title} of {one.experiment}"))
            parts.append(tag("p", numbers.note, class_="remark"))
        parts += [tag("p", remark, class_="remark") for remark in one.remarks]
        title = tag("span", one.experiment, class_="name")
        cards.append(folded(title, *parts, tag("p", tag("code", one.command)), class_="card", open=len(finals) == 1,
                            id=f"final-{one.experiment}"))  # fmt: skip
    return join(cards)
