"""`dpexp predict`: what a released fit or run predicts for a table, or its parameters where no table is named."""

from __future__ import annotations

from pathlib import Path

from dpexp.commands.answer import RESULTS, Answer
from dpexp.commands.fit_result import FitResult, read_fit
from dpexp.commands.released_model import ReleasedModel, released_model
from dpexp.commands.table import fit_files
from dpexp.core.errors import UsageError
from dpexp.core.files import atomically
from dpexp.core.standard_json import standard_json

FORMATS = (".csv", ".json")


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
    if out is not None and out.is_dir():
        raise UsageError(f"{out} is a folder, not a file to write")
    if table is not None and out is not None and out.suffix.lower() not in FORMATS:
        raise UsageError(f"{out}: predictions are written as {' or '.join(FORMATS)}")
    release = read_release(result, results, cell, estimator, replicate)
    if table is None:
        if out is not None:
            release.save(out)
        return Answer(release.text() if out is None else str(out), release.document())
    document, text, losses = release.predictions(table, raw)
    if out is not None:
        content = standard_json(document) if out.suffix.lower() == ".json" else text
        atomically(out, lambda temporary: temporary.write_text(f"{content}\n", encoding="utf-8"))
        text = str(out)
    return Answer(text, document, remarks=losses)
