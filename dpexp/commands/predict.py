"""`dpexp predict`: what a released fit or run predicts for a table, or its parameters where no table is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpexp.commands.fit_result import read_fit
from dpexp.core.errors import UsageError
from dpexp.core.files import atomically
from dpexp.core.terminal import warn

FORMATS = (".csv", ".json")


def predict_of_fit(path: Path, table: Path | None, out: Path | None) -> tuple[dict[str, Any], str]:
    """Document and text: released parameters, or the mean of the target for every record of a table.

    With `out` the means are written there, and the text is the path. How many records have none is said on stderr.
    """
    fit = read_fit(path)
    if table is None:
        if out is not None:
            raise UsageError("--out keeps predictions, and no table is named", f"the parameters are in {path}")
        return fit.document(), fit.text()
    if out is not None and out.suffix.lower() not in FORMATS:
        raise UsageError(f"{out}: predictions are written as {' or '.join(FORMATS)}")
    frame, lost = fit.predicted(table)
    for sentence in lost:
        warn(sentence)
    document = {"target": fit.units.modelled, "predictions": frame.to_dict("records")}
    text = frame.to_csv(index=False).rstrip("\n")
    if out is not None:
        from dpexp.core.standard_json import standard_json

        content = standard_json(document) if out.suffix.lower() == ".json" else text
        atomically(out, lambda temporary: temporary.write_text(f"{content}\n", encoding="utf-8"))
        text = str(out)
    return document, text
