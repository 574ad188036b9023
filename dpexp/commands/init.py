"""`dpexp init`: a commented config or public inputs to start from; of a table its header alone is read."""

from __future__ import annotations

import os
from pathlib import Path

from dpexp.config.experiment_file import located
from dpexp.config.starter import Draft, starter
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import DataError, UsageError
from dpexp.core.scalars import yaml_in_line
from dpexp.data.records import Header, read_header
from dpexp.data.table_remarks import RANGE
from dpexp.reporting.templates import filled


def init(
    problem: str | None = None, *, algorithm: str | None = None, data: Path | None = None, target: str | None = None,
    of: str | None = None, out: Path | None = None, for_fit: bool = False, card: bool = False,
) -> str:  # fmt: skip
    """The text of a starter config, of public inputs or of a run card, or where it was written."""
    for broken, message, hint in (
        (card and (for_fit or problem or algorithm or data or of), "--card drafts a run card for `dpexp receipt`",
         "give it alone, or with --out FILE"),
        (for_fit and (data is None or problem or algorithm or of),
         "--for-fit drafts the public inputs of a table", "dpexp init --data FILE --for-fit"),
        (of and (problem or algorithm or data), "--from copies a shipped config as it is",
         "give it alone, or a problem without --from"),
        (target and data is None, "--target is a column of --data", "for instance --data people.csv --target income"),
    ):  # fmt: skip
        if broken:
            raise UsageError(message, hint)
    then = f"dpexp run {out}"
    if card:
        text, then = filled("dpexp.commands", "drafts/card.yaml"), f"fill it in, then dpexp receipt {out}"
    elif for_fit and data is not None:
        text, then = _public_inputs(data, target), "fill in its blanks, then dpexp fit"
    elif of is not None:
        try:
            text = located("@" + of.removeprefix("@")).read_text(encoding="utf-8")
        except ConfigError as error:
            raise UsageError(str(error.issues[0].message), error.issues[0].hint) from None
    else:
        draft = None
        if data is not None:
            problem, algorithm, then = problem or "softmax", algorithm or "dp-sgd", f"fill in its blanks, then {then}"
            draft = _draft(data, target)
        name = "my_experiment" if out is None else out.stem
        values = starter(problem, algorithm, draft)
        text = filled("dpexp.commands", "drafts/config.yaml", experiment=name, **values)
        # A path in a config starts at its folder, one on the command line where that is run.
        if data is not None and out is not None and not data.is_absolute():
            path, relative = map(yaml_in_line, (str(data), os.path.relpath(data, out.parent)))
            text = text.replace(f"    path: {path}\n", f"    path: {relative}\n")
    if out is None:
        return text
    try:
        # In one step: between a look and the writing another program could make the file.
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{out} is there already", "choose another name, or move it away") from None
    return f"{out}\nnext: {then}"


def _draft(path: Path, target: str | None) -> Draft:
    """What is known of a table from its header.

    Raises DataError where the file cannot be read, or the target is not one of its columns.
    """
    header = read_header(path)
    if target is None:
        hint = f"give --target; columns: {', '.join(header.kinds)}"
        raise DataError(f"{path}: which column is to be predicted?", hint)
    header.require([target], str(path))
    numbers, words = _split(header, target)
    template = ["# State what is known without the records. Classes come first; columns of words belong to categories."]
    if numbers:
        template.append(f"# ranges: {{{', '.join(f'{yaml_in_line(name)}: {RANGE}' for name in numbers)}}}")
    template.append("# missing: [COLUMN]        where values may be missing; without it such records add nothing")
    template.append("# leave_out: [COLUMN]")
    blanks = {name: ["ONE", "OTHER"] for name in [target, *words]}
    return Draft({"path": str(path), "target": target, "categories": blanks}, tuple(template))


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
