"""The section `tune:` of a config: its algorithm becomes the one that runs it several times and keeps the best.

`tune: {over: ..., draws: ..., score: ...}` beside `algorithm: {name: dp-sgd, ...}` reads as the algorithm
`tuned-dp-sgd` with these keys, which is how `dpexp show` and results spell it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpexp.algorithms import ALGORITHMS
from dpexp.config.messages import kind, suggest
from dpexp.config.yamlfile import Located, Position

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
    if not isinstance(tune.value, dict):
        complain(tune.where, f"'{TUNE}' must be a mapping, not {kind(tune)}", EXAMPLE)
        return rest
    for key in tune.value:
        if key not in KEYS:
            complain(tune.keys[key], f"unknown key in {TUNE}: '{key}'", suggest(key, KEYS))
    algorithm = rest.get("algorithm", Located({}, tune.where))
    if not isinstance(algorithm.value, dict):
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
