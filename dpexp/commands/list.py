"""`dpexp list`: experiments and their state, and the registries."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from dpexp.core.digests import digest
from dpexp.core.files import state_of
from dpexp.plugins.loaded import LOADED
from dpexp.reporting.figure import keep, load_kept
from dpexp.reporting.table import fitting_columns, in_lines
from dpexp.store.fingerprint import code_of_verdict
from dpexp.store.provenance import versions


def shipped_configs() -> tuple[dict[str, Any], str]:
    """The configs that come with dpexp: document and text."""
    from dpexp.config.shipped import shipped
    from dpexp.reporting.page.experiments import about

    rows = [
        {"name": name, "config": f"@{name}", "about": about(path.read_text(encoding="utf-8"))}
        for name, path in shipped().items()
    ]
    text = fitting_columns([[row["config"], row["about"]] for row in rows], ["config", "what it is"])
    text += "\n\nrun one: dpexp run @NAME\ncopy one to edit it: dpexp init --from NAME --out mine.yaml"
    return {"shipped": rows}, text


def inventory(configs: Path, results: Path) -> tuple[dict[str, Any], str]:
    """Document and text.

    Reading every cell takes seconds. What was found is kept with the states of all files that it follows from, and
    shown again while none is another one: neither code of dpexp, nor a config or a result.
    """
    place = digest(["list", os.getcwd(), str(configs), str(results)])
    kept = load_kept(place)
    # With plug-ins the names differ between two calls of one folder.
    found: dict[str, Any] = json.loads(kept["found"]) if kept and not LOADED else {}
    code = [code_of_verdict(), versions()]

    def states() -> str:
        """Changes with dpexp, its libraries, the configs and the results; links are not followed."""
        return digest([code, [(str(path), state_of(path)) for place in (configs, results) for path in _below(place)]])

    changed = found.get("from") != states()
    if changed or any(_problems(path) != number for path, number in found["refused"].items()):
        from dpexp.commands import inventory as reading

        before = states()
        found = reading.inventory(configs, results)
        # What changed while it was read would be kept with the state of afterwards.
        if not LOADED and before == states():
            keep(place, {"found": json.dumps({**found, "from": before}).encode()})
    rows = found["rows"]
    text = fitting_columns(rows, ["experiment", "config", "cells", "state"]) if rows else f"no configs in {configs}"
    if not configs.is_dir():
        text += "\n\nconfigs that come with dpexp: dpexp list --shipped; one to start from: dpexp init"
    return found["document"], text + "\n\n" + in_lines(
        [(kind, names) for kind, names in found["names"].items() if names]
    )


def _below(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())


def _problems(path: str) -> int:
    """How many a config has: it may ask too much of this machine, which is no file."""
    from dpexp.config.experiment_file import load_experiment
    from dpexp.config.yamlfile import ConfigError

    try:
        load_experiment(Path(path), trusted=False)
    except ConfigError as error:
        return len(error.issues)
    return 0
