"""The sections of a config before they are checked: data paths as seen from here, cases, and several names."""

from __future__ import annotations

from collections.abc import Callable, Collection
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


def from_its_folder(root: Tree, folder: Path) -> None:
    """Data paths become those that start at the folder of the file."""

    def rename(tree: object, keys: Keys, place: Keys) -> None:
        if isinstance(tree, tuple):
            for k, item in enumerate(tree):
                rename(item, keys, (*place, k))
        elif isinstance(tree, dict) and keys[0] in tree:
            value, here = tree[keys[0]], (*place, keys[0])
            if keys[1:]:
                rename(value, keys[1:], here)
            elif isinstance(value, str):
                # a path given on the command line, which has no line, starts where the command is run
                tree[keys[0]] = as_named(value, folder, not root.at(*here).line)

    for way in (("problem", "data", "path"), ("population", "design", "rows")):
        rename(root.value, way, ())
        rename(root.value, ("cases", *way), ())


def by_name(section: Tree, fields_of: Callable[[str], Collection[str] | None]) -> list[Tree]:
    """The section once for each of the names that it lists, with the keys that this name has."""
    names = section.value.get("name") if isinstance(section.value, dict) else None
    if not isinstance(names, tuple) or not names:
        return [section]
    fields = {name: keys for name in names if isinstance(name, str) and (keys := fields_of(name))}
    several = []
    for name in section.part("name").items():
        # a key of another name is that one's; one that no name has is a mistake
        own = fields.get(name.value) if isinstance(name.value, str) else None
        others = {key for keys in fields.values() for key in keys if own and key not in own}
        own_parts = {key: part for key, part in section.parts().items() if key not in others}
        several.append(section.joined({**own_parts, "name": name}))
    return several
