"""`dpexp list`: experiments and their state, the registries, and the configs that come with dpexp."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten

from dpexp.commands.command_answer import RESULTS, Answer
from dpexp.config.error_messages import listed, validated
from dpexp.config.sections import ConfigFile
from dpexp.config.shipped import shipped as shipped_files
from dpexp.config.yamlfile import ConfigError, parse_mapping, read_bytes
from dpexp.core.errors import ResultsMissing
from dpexp.core.text import columns
from dpexp.plugins.loaded import LOADED
from dpexp.plugins.loading import registries
from dpexp.reporting.text_table import folded
from dpexp.store.folder import Folder, experiments_in
from dpexp.store.generation import config_path
from dpexp.store.reading import load_generation

LONGEST = 90  # letters of what a config is
COLUMNS = ("experiment", "config", "cells", "state")


def inventory(*, configs: Path = Path("configs"), results: Path = RESULTS, shipped: bool = False) -> Answer:
    """Experiments, by their configs and results, and names. No config is resolved: it may be anybody's, and name code
    and data of theirs."""
    from dpexp.papers import figures, papers, tables

    if shipped:
        return _shipped_configs()
    paths = [path for path in sorted(configs.glob("*.yaml")) if not path.is_symlink() and path.name.isprintable()]
    rows = [_configured(path, results) for path in paths]
    rows += [_stored(results, name) for name in experiments_in(results) if name not in {row[0] for row in rows}]
    rows.sort()
    names = {**registries(), "figures": figures(), "tables": tables(), "claims of": papers()}
    document = {
        "experiments": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
        "registries": {kind: list(entries) for kind, entries in names.items()},
        "plugins": {plugin.name: str(plugin.typed) for plugin in LOADED.values()},
    }  # fmt: skip
    text = folded(COLUMNS, rows) if rows else f"no configs in {configs}"
    if not configs.is_dir():
        text += "\n\nconfigs that come with dpexp: dpexp list --shipped; one to start from: dpexp init"
    lines = columns([(kind, listed(entries)) for kind, entries in names.items() if entries])
    return Answer(f"{text}\n\n{lines}", document)


def _configured(path: Path, results: Path) -> list[str]:
    """The row of a config."""
    try:
        content = read_bytes(path)
        file = validated(ConfigFile, parse_mapping(content, str(path), "a config", ""))
    # One config that is wrong must not hide the others.
    except ConfigError:
        return [path.stem, str(path), "", f"invalid, see dpexp validate {path}"]
    return _stored(results, file.experiment, path, content.decode("utf-8-sig"))


def _stored(results: Path, name: str, path: Path | None = None, text: str | None = None) -> list[str]:
    """The row of an experiment by the manifest of its results, and by the text of its config where that is listed."""
    folder = Folder(results, name)
    try:
        manifest = load_generation(results, name).manifest
    except ResultsMissing as error:
        return [name, str(path or ""), "", error.message.removeprefix(f"{folder.root}: ")]
    cells, edited = str(len(manifest["cells"])), text not in (None, manifest["config"]["text"])
    path = path or config_path(manifest, folder)
    return [name, str(path or ""), cells, f"{cells} current" + ", but the config was edited since" * edited]


def _shipped_configs() -> Answer:
    """The configs that come with dpexp."""
    from dpexp.reporting.page import about

    texts = {name: about(path.read_text(encoding="utf-8")) for name, path in shipped_files().items()}
    rows = [[f"@{name}", shorten(text.partition(". ")[0], LONGEST, placeholder="...")] for name, text in texts.items()]
    table = folded(["config", "what it is"], rows)
    table += "\n\nrun one: dpexp run @NAME\ncopy one to edit it: dpexp init --from NAME --out mine.yaml"
    return Answer(table, {"shipped": [{"name": k, "config": f"@{k}", "about": text} for k, text in texts.items()]})
