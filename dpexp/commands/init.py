"""`dpexp init`: a commented config to start from."""

from __future__ import annotations

import os
from pathlib import Path

from dpexp.config.experiment_file import located
from dpexp.config.starter import starter
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import UsageError
from dpexp.core.scalars import yaml_in_line


def init(
    problem: str | None,
    algorithm: str | None,
    data: Path | None,
    target: str | None,
    of: str | None,
    out: Path | None,
    public: bool = False,
    card: bool = False,
) -> str:
    """The text of a starter config, of public inputs or of a run card, or where it was written."""
    if card:
        if public or problem or algorithm or data or of:
            raise UsageError("--card drafts a run card for `dpexp receipt`", "give it alone, or with --out FILE")
        from dpexp.commands.receipt import BLANK

        return BLANK if out is None else _write(out, BLANK, f"fill it in, then dpexp receipt {out}")
    if public:
        if data is None or problem or algorithm or of:
            hint = "dpexp init --data FILE --public"
            raise UsageError("--public drafts what `dpexp fit` has to know of a table", hint)
        from dpexp.data.drafting import draft_public

        text = draft_public(data, target)
        return text if out is None else _write(out, text, "fill in its blanks, then dpexp fit")
    if of is not None and (problem or algorithm or data):
        raise UsageError("--from copies a shipped config as it is", "give it alone, or a problem without --from")
    if target is not None and data is None:
        raise UsageError("--target is a column of --data", "for instance --data people.csv --target income")
    name = "my_experiment" if out is None else out.stem
    if of is not None:
        text = _copy(of)
    elif data is not None:
        from dpexp.data.drafting import draft

        text = starter(problem or "softmax", algorithm or "dp-sgd", draft(data, target), name)
        # A path in a config starts at its folder, one on the command line where that is run.
        if out is not None and not data.is_absolute():
            here, there = map(yaml_in_line, (str(data), os.path.relpath(data, out.parent)))
            text = text.replace(f"    path: {here}\n", f"    path: {there}\n")
    else:
        text = starter(problem, algorithm, experiment=name)
    then = "" if data is None else f"fill in its blanks, then dpexp run {out}"
    return text if out is None else _write(out, text, then)


def _copy(name: str) -> str:
    try:
        return located("@" + name.removeprefix("@")).read_text(encoding="utf-8")
    except ConfigError as error:
        raise UsageError(str(error.issues[0].message), error.issues[0].hint) from None


def _write(out: Path, text: str, then: str = "") -> str:
    """Write a new file, and never over one that is there; `then` says what comes next."""
    try:
        # In one step: between a look and the writing another program could make the file.
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{out} is there already", "choose another name, or move it away") from None
    return f"{out}\nnext: {then or f'dpexp run {out}'}"
