"""`dpexp predict`: what a released fit or run predicts for a table, or its parameters where no table is named."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from dpexp.commands.command_answer import RESULTS, Answer
from dpexp.commands.fit_result import FitResult, read_fit
from dpexp.commands.released_model import ReleasedModel, released_model
from dpexp.commands.table import fit_files
from dpexp.core.errors import UsageError
from dpexp.core.text import csv_cell, standard_json
from dpexp.store.folder import write_text


def read_release(
    result: str, results: Path, cell: str | None = None, estimator: str | None = None, replicate: int = 0
) -> FitResult | ReleasedModel:
    """The release of a fit, by its file, or of a run, by its name or folder."""
    if paths := fit_files([result]):
        return read_fit(paths[0])
    return released_model(result, results, cell, estimator, replicate)


def predict(
    result: str, table: Path | None = None, results: Path = RESULTS, cell: str | None = None,
    estimator: str | None = None, replicate: int = 0, out: Path | None = None, raw: bool = False,
) -> Answer:  # fmt: skip
    """Released parameters, or predictions for every record of a table.

    With `out` a file is written, and the text is its path. How many records have no prediction is a remark.
    """
    content, formats = ("parameters", [".json"]) if table is None else ("predictions", [".csv", ".json"])
    if out is not None and (out.is_dir() or out.suffix.lower() not in formats):
        raise UsageError(f"{out}: {content} are written as {' or '.join(formats)}")
    release, losses = read_release(result, results, cell, estimator, replicate), list[str]()
    document, text = release.document(), release.text()
    if table is not None:
        frame, losses = release.predicted(table)
        document = {"predictions": frame.to_dict("records")}
        safe = frame.map(partial(csv_cell, raw=raw)).rename(columns=partial(csv_cell, raw=raw))
        text = safe.to_csv(index=False, float_format=release.digits).rstrip("\n")
    if out is not None:
        write_text(out, standard_json(document) if out.suffix.lower() == ".json" else text)
        text = str(out)
    return Answer(text, document, remarks=losses)
