"""The sections of a config before they are checked: data paths as seen from here, cases, and several names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from dpexp.config.yamlfile import Keys, Tree
from dpexp.core.places import as_named

BUDGETS = {"mu": ("eps", "delta", "message"), "eps": ("mu",)}
"""keys of privacy that one of these replaces"""


def completed(base: Tree | None, over: Tree) -> Tree:
    """The section `base` with the keys of `over`; a new name starts afresh, and so does a new kind of budget."""
    if base is None or not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    # Parameters of one algorithm mean nothing to another.
    if None not in (names := (over.value.get("name"), base.value.get("name"))) and names[0] != names[1]:
        return over
    replaced = {key for named, others in BUDGETS.items() if named in over for key in others}
    return over.joined({**{k: part for k, part in base.parts().items() if k not in replaced}, **over.parts()})


def from_its_folder(root: Tree, folder: Path) -> Tree:
    """The config with data paths that start at the folder of the file."""

    def renamed(tree: Tree, keys: Keys) -> Tree:
        if not keys and isinstance(tree.value, str):
            # A path given on the command line, which has no line, starts where the command is run.
            return tree.holding(as_named(tree.value, folder, not tree.where.line))
        if keys and isinstance(tree.value, tuple):
            return tree.joined([renamed(item, keys) for item in tree.items()])
        if keys and keys[0] in tree:
            return tree.joined({**tree.parts(), str(keys[0]): renamed(tree.part(keys[0]), keys[1:])})
        return tree

    for keys in (("problem", "data", "path"), ("population", "design", "rows")):
        root = renamed(renamed(root, keys), ("cases", *keys))
    return root


def by_name(section: Tree, fields: Mapping[str, Collection[str]]) -> list[Tree]:
    """The section once for each of the names that it lists, with the keys that this name has."""
    names = section.value.get("name") if isinstance(section.value, dict) else None
    if not isinstance(names, tuple) or not names:
        return [section]
    known = {name: fields[name] for name in names if isinstance(name, str) and name in fields}
    several = []
    for name in section.part("name").items():
        # A key of another name is that one's; one that no name has is a mistake.
        own = known.get(name.value) if isinstance(name.value, str) else None
        others = {key for keys in known.values() for key in keys if own and key not in own}
        several.append(section.joined({k: p for k, p in section.parts().items() if k not in others} | {"name": name}))
    return several
