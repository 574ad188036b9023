"""The sections of a config before they are checked: with data paths as seen from here, with cases, and with `tune:`.

`tune: {over: ..., draws: ..., score: ...}` beside `algorithm: {name: dp-sgd, ...}` reads as the algorithm
`tuned-dp-sgd` with these keys, which is how `dpexp show` and results spell it: the one that runs it several times and
keeps the best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dpexp.algorithms import ALGORITHMS
from dpexp.config.messages import kind, suggest
from dpexp.config.yamlfile import Located, Position
from dpexp.core.places import as_named

TUNE = "tune"
OVER = "over"
"""the key at which everything is said that is wrong with candidates"""
KEYS = (OVER, "draws", "score")
PREFIX = "tuned-"
EXAMPLE = "for instance tune: {over: {clip: [0.1, 1]}, draws: poisson 10}"


def tunable() -> list[str]:
    """Names of the algorithms that can be tuned."""
    return [name.removeprefix(PREFIX) for name in ALGORITHMS if name.startswith(PREFIX)]


def place(section: str, key: str) -> str:
    """How a key of a section is called in messages: as a config with `tune:` has it."""
    return f"{TUNE if section == 'algorithm' and key in KEYS else section}.{key}"


def merged(
    sections: Mapping[str, Located], default: str, complain: Callable[[Position, str, str], None]
) -> dict[str, Located]:
    """The sections with `tune` inside `algorithm`; what is wrong with it goes to `complain`."""
    rest = {name: located for name, located in sections.items() if name != TUNE}
    tune = sections.get(TUNE)
    if tune is None:
        return rest
    if not tune.is_mapping:
        complain(tune.where, f"'{TUNE}' must be a mapping, not {kind(tune)}", EXAMPLE)
        return rest
    for key in tune.value:
        if key not in KEYS:
            complain(tune.keys[key], f"unknown key in {TUNE}: '{key}'", suggest(key, KEYS))
    algorithm = rest.get("algorithm", Located({}, tune.where))
    if not algorithm.is_mapping:
        return rest  # which is complained of where sections are checked
    name = algorithm.value.get("name", Located(default, algorithm.where))
    if name.value not in tunable():
        complain(tune.where, f"algorithm '{name.value}' cannot be tuned", f"algorithms: {', '.join(tunable())}")
        return rest
    # What runs is an algorithm of its own, whose parameters are the candidates too.
    named = Located(PREFIX + str(name.value), name.where)
    # Unknown keys were complained of, and would be complained of again as the algorithm's.
    own = {key: tune.value[key] for key in KEYS if key in tune.value}
    keys = {**algorithm.keys, **{key: tune.keys[key] for key in own}}
    return rest | {"algorithm": Located({**algorithm.value, "name": named, **own}, algorithm.where, keys)}


def completed(base: Located | None, over: Located) -> Located:
    """The section `base` with the keys of `over`; a new name starts afresh."""
    if base is None or not base.is_mapping or not over.is_mapping:
        return over
    name = over.value.get("name")
    # Parameters of one algorithm mean nothing to another.
    if name is not None and base.value.get("name") is not None and name.value != base.value["name"].value:
        return over
    return Located(base.value | over.value, over.where, base.keys | over.keys)


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
