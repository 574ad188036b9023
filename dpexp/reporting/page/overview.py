"""What was run: a table of all experiments with their state, and a card with parameters, command and config of each.

Also the final values: the table of every result with its slopes, and the levels of its settings compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dpexp.config.settings import varying
from dpexp.core.text import counted, duration
from dpexp.reporting.digits import from_to
from dpexp.reporting.of_results.labels import constants, values
from dpexp.reporting.page.experiments import CURRENT, Stored, about
from dpexp.reporting.page.markup import Markup, copyable, folded, join, table, tag
from dpexp.reporting.page.sections import seconds


def section(experiments: Sequence[Stored], absent: Mapping[str, Sequence[str]]) -> Markup:
    """`absent` are experiments of a paper that are not here, by paper."""
    states = Counter(stored.status for stored in experiments)
    counts = ", ".join(f"{count} {status}" for status, count in states.items())
    meaning = "Current means that today's code, data and config give these numbers."
    found = f"{counted(len(experiments), 'experiment')}: {counts}. {meaning}" if counts else "No experiment."
    parts: list[Markup | None] = [tag("p", found, id="states")]
    wrong = [stored for stored in experiments if stored.status != CURRENT]
    if wrong:
        parts.append(tag("div", (_refused(stored) for stored in wrong), class_="warning", id="refused"))
    for paper, names in absent.items():
        parts.append(tag("p", f"Experiments of {paper} that are not in this folder: {', '.join(names)}.",
                         class_="warning"))  # fmt: skip
    # else the section on provenance says so, once
    timed = any(seconds(stored) is not None for stored in experiments)
    head = ["experiment", "state", "settings", "replicates", *(["core time"] if timed else []), "what it is"]
    parts.append(table(head, [_row(stored, timed) for stored in experiments], "Experiments"))
    parts.append(tag("h3", "Settings, command and config"))
    parts += [_card(stored, len(experiments) == 1) for stored in experiments]
    return join(parts)


def _refused(stored: Stored) -> Markup:
    words = tag("p", tag("strong", f"{stored.name} is {stored.status}"), f": {stored.why}. Nothing of it is shown. ")
    return join(
        [words, copyable(stored.hint.removeprefix("run: "), f"command for {stored.name}") if stored.hint else None]
    )


def state(stored: Stored) -> Markup:
    """The state in a word, with a colour that is not alone in saying it."""
    words = stored.status if stored.profile != "smoke" else f"{stored.status}, toy size"
    return tag("span", words, class_="state", data_state=stored.status)


def _row(stored: Stored, timed: bool) -> list[Markup | str]:
    spent = seconds(stored)
    link = tag("a", stored.name, href=f"#experiment-{stored.name}", class_="name")
    counts = ["-", "-"] if stored.gathered is None else [f"{len(stored.gathered.runs):,}", _replicates(stored)]
    time = "-" if spent is None or stored.gathered is None else duration(spent)
    return [link, state(stored), *counts, *([time] if timed else []), _in_short(stored)]


def _replicates(stored: Stored) -> str:
    return from_to(int(run.row["replicates"]) for run in stored.gathered.runs) if stored.gathered else "-"


def _in_short(stored: Stored) -> str:
    """The first sentence of the comment on top of the config."""
    return about(stored.config[1]).partition(". ")[0].rstrip(".")


def _card(stored: Stored, unfolded: bool) -> Markup:
    _, text = stored.config
    parts: list[Markup | None] = []
    if stored.gathered is not None:
        runs, words = stored.gathered.runs, stored.gathered.words
        # what varies is listed by value, all else in one line
        vary = varying(run.settings for run in runs)
        secret = (
            stored.generation is not None
            and stored.generation.deployed.keys() >= stored.generation.manifest["cells"].keys()
        )
        seeds = (
            "of the operating system, kept nowhere" if secret else ", ".join(map(str, stored.manifest.get("seeds", [])))
        )
        facts = [("varies", tag("ul", (tag("li", values(runs, words, name)) for name in vary)) if vary else "nothing"),
                 ("the same in all", constants(runs, words)), ("replicates", _replicates(stored)),
                 ("seeds", seeds)]  # fmt: skip
        parts.append(tag("dl", ((tag("dt", name), tag("dd", said)) for name, said in facts)))
    else:
        parts.append(tag("p", f"{stored.status}: {stored.why}", class_="warning"))
    parts += [tag("p", f"{remark}.", class_="remark") for remark in stored.remarks]
    parts.append(copyable(stored.command, f"command for {stored.name}"))
    parts.append(
        config(stored) if text else tag("p", "The config is not there now: the settings above are what was run.")
    )
    title = [tag("span", stored.name, class_="name"), " ", state(stored)]
    return folded(title, *parts, class_="card", open=unfolded, id=f"experiment-{stored.name}")


def config(stored: Stored, whose: str = "") -> Markup | None:
    """The config file as it is now; results whose settings are other than it says are stale.

    `whose` tells its label from that of the same config elsewhere on the page.
    """
    path, text = stored.config
    if not text:
        return None
    changed = stored.manifest.get("config", {}).get("set", [])
    note = f" On the command line: {'; '.join(changed)}." if changed else ""
    return join([tag("p", tag("code", path), note), copyable(text, f"config of {stored.name}{whose}")])


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
    for final in finals:
        parts: list[Markup] = []
        for numbers in final.tables:
            parts.append(tag("h4", numbers.title))
            parts.append(table(numbers.head, numbers.rows, f"{numbers.title} of {final.experiment}"))
            parts.append(tag("p", numbers.note, class_="remark"))
        parts += [tag("p", remark, class_="remark") for remark in final.remarks]
        title = tag("span", final.experiment, class_="name")
        cards.append(folded(title, *parts, tag("p", tag("code", final.command)), class_="card", open=len(finals) == 1,
                            id=f"final-{final.experiment}"))  # fmt: skip
    return join(cards)
