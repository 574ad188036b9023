"""The sections of a config before they are checked: with data paths as seen from here, and with cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dpexp.config.yamlfile import Located
from dpexp.core.places import as_named

BUDGETS = {"mu": ("eps", "delta"), "eps": ("mu",)}
"""keys of privacy that one of these replaces"""


def completed(base: Located | None, over: Located) -> Located:
    """The section `base` with the keys of `over`; a new name starts afresh, and so does a new kind of budget."""
    if base is None or not base.is_mapping or not over.is_mapping:
        return over
    name = over.value.get("name")
    # Parameters of one algorithm mean nothing to another.
    if name is not None and base.value.get("name") is not None and name.value != base.value["name"].value:
        return over
    replaced = {key for named, others in BUDGETS.items() if named in over.value for key in others}
    kept = {key: value for key, value in base.value.items() if key not in replaced}
    return Located(kept | over.value, over.where, base.keys | over.keys)


def from_its_folder(root: Located, folder: Path) -> Located:
    """The file with its data paths as they start at its own folder."""

    def named(path: Located) -> Located:
        # a path given on the command line, which has no line, starts where the command is run
        return (
            replace(path, value=as_named(path.value, folder, not path.where.line))
            if isinstance(path.value, str)
            else path
        )

    return _changed(_changed(root, ("problem", "data", "path"), named), ("cases", "problem", "data", "path"), named)


def _changed(tree: Located, keys: Sequence[str], change: Callable[[Located], Located]) -> Located:
    """The tree with what stands at these keys changed, in every entry of a list on the way."""
    if isinstance(tree.value, list):
        return replace(tree, value=[_changed(one, keys, change) for one in tree.value])
    if not keys:
        return change(tree)
    if not tree.is_mapping or keys[0] not in tree.value:
        return tree
    return replace(tree, value=tree.value | {keys[0]: _changed(tree.value[keys[0]], keys[1:], change)})
