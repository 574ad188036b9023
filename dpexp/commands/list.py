"""`dpexp list`: experiments and their state, and the registries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpexp.reporting.table import fitting_columns, in_lines


def shipped_configs() -> tuple[dict[str, Any], str]:
    """The configs that come with dpexp: document and text."""
    from dpexp.config.shipped import shipped
    from dpexp.reporting.page import about

    rows = [
        {"name": name, "config": f"@{name}", "about": about(path.read_text(encoding="utf-8"))}
        for name, path in shipped().items()
    ]
    text = fitting_columns([[row["config"], row["about"]] for row in rows], ["config", "what it is"])
    text += "\n\nrun one: dpexp run @NAME\ncopy one to edit it: dpexp init --from NAME --out mine.yaml"
    return {"shipped": rows}, text


def inventory(configs: Path, results: Path) -> tuple[dict[str, Any], str]:
    """Document and text."""
    from dpexp.commands import inventory as reading

    found = reading.inventory(configs, results)
    rows = found["rows"]
    text = fitting_columns(rows, ["experiment", "config", "cells", "state"]) if rows else f"no configs in {configs}"
    if not configs.is_dir():
        text += "\n\nconfigs that come with dpexp: dpexp list --shipped; one to start from: dpexp init"
    return found["document"], text + "\n\n" + in_lines(
        [(kind, names) for kind, names in found["names"].items() if names]
    )
