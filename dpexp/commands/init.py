"""`dpexp init`: a commented config or public inputs to start from; of a table its header alone is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dpexp.config.experiment_file import located
from dpexp.config.starter import starter
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import DataError, UsageError
from dpexp.core.text import yaml_in_line
from dpexp.data.records import Header, read_header
from dpexp.reporting.templates import filled


def init(
    problem: str | None = None, *, algorithm: str | None = None, data: Path | None = None, target: str | None = None,
    of: str | None = None, out: Path | None = None, for_fit: bool = False, card: bool = False,
) -> str:  # fmt: skip
    """The text of a starter config, of public inputs or of a run card, or where it was written."""
    whole = [name for name, used in (("--card", card), ("--from", of), ("--for-fit", for_fit)) if used]
    if len(whole) > 1 or (whole and (problem or algorithm or (data and not for_fit))):
        raise UsageError(f"{whole[0]} gives a text as it is", "leave out PROBLEM and the other options but --out")
    if data is None and (for_fit or target):
        raise UsageError("--for-fit and --target are for --data", "dpexp init --data FILE --for-fit")
    then = f"dpexp run {out}"
    if card:
        text, then = filled("dpexp.commands", "drafts/card.yaml"), f"fill it in, then dpexp receipt {out}"
    elif of is not None:
        text = _shipped(of.removeprefix("@"))
    elif for_fit and data is not None:
        text, then = _public_inputs(data, target), "fill in its blanks, then dpexp fit"
    else:
        draft, columns = None, None
        if data is not None:
            problem, algorithm, then = problem or "softmax", algorithm or "dp-sgd", f"fill in its blanks, then {then}"
            draft, columns = _draft(data, target)
        values = {"experiment": "my_experiment" if out is None else out.stem, "columns": columns}
        text = filled("dpexp.commands", "drafts/config.yaml", **values, **starter(problem, algorithm, draft))
        # A path in a config starts at its folder, one on the command line where that is run.
        if data is not None and out is not None and not data.is_absolute():
            path_here, path_of_config = map(yaml_in_line, (str(data), os.path.relpath(data, out.parent)))
            text = text.replace(f"    path: {path_here}\n", f"    path: {path_of_config}\n")
    if out is None:
        return text
    try:
        # In one step: between a look and the writing another program could make the file.
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{out} is there already", "choose another name, or move it away") from None
    return f"{out}\nnext: {then}"


def _shipped(name: str) -> str:
    """The text of a shipped config. Raises UsageError, for a figure with the config that it needs."""
    try:
        return located(f"@{name}").read_text(encoding="utf-8")
    except ConfigError:
        from dpexp.papers import figures

        if name not in figures() or not (needs := figures()[name].needs):
            raise
        raise UsageError(f"'{name}' is a figure, of {', '.join(needs)}", f"dpexp init --from {needs[0]}") from None


def _draft(path: Path, target: str | None) -> tuple[dict[str, Any], list[str]]:
    """What is known of a table from its header, and the columns whose ranges the user should add.

    Raises DataError where the file cannot be read, or the target is not one of its columns.
    """
    header = read_header(path)
    if target is None:
        hint = f"give --target; columns: {', '.join(header.kinds)}"
        raise DataError(f"{path}: which column is to be predicted?", hint)
    header.require([target], str(path))
    numbers, words = _split(header, target)
    blanks = {name: ["ONE", "OTHER"] for name in [target, *words]}
    return {"path": str(path), "target": target, "categories": blanks}, numbers


def _public_inputs(path: Path, target: str | None) -> str:
    """The text of a first file for `dpexp fit --public`. Raises DataError as `_draft` does."""
    header = read_header(path)
    header.require([] if target is None else [target], str(path))
    numbers, words = ([(yaml_in_line(name), name == target) for name in names] for names in _split(header))
    untyped = bool(numbers and header.separator)
    return filled("dpexp.commands", "drafts/public.yaml", file=path, numbers=numbers, words=words, untyped=untyped)


def _split(header: Header, target: str | None = None) -> tuple[list[str], list[str]]:
    """Columns that may hold numbers or days, and those that hold words by their schema."""
    others = {name: kind for name, kind in header.kinds.items() if name != target}
    return [k for k, v in others.items() if v not in ("text", "truth")], [k for k, v in others.items() if v == "text"]
