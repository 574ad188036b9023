"""The configs that come with dpexp, in a checkout and in an installed package alike: `@NAME` in place of a path."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from dpexp.plugins.loaded import ROOT, research_folders

FOLDER = Path(__file__).parent.parent / "configs"
"""in a checkout a link to the folder of that name at the top, which a wheel contains as it is"""
MARK = "@"
RESEARCH = ("hinge", "rates_controlled", "stretched")
"""experiments of plug-ins in `research/`, which a wheel lacks, that papers read"""


@lru_cache(maxsize=1)
def shipped() -> dict[str, Path]:
    """Every shipped config by its experiment's name; in a clone also those of the plug-ins in `research/`."""
    return {path.stem: path for folder in (FOLDER, *research_folders()) for path in sorted(folder.glob("*.yaml"))}


def needs_repository(experiments: Iterable[str]) -> list[str]:
    """Those whose config is in `research/`, which is not here."""
    return [name for name in experiments if name in RESEARCH and name not in shipped()]


def place_of(experiment: str) -> str:
    """The path of an experiment's config in a clone of dpexp, also if there is none."""
    path = shipped().get(experiment)
    return str(path.relative_to(ROOT)) if path and path.parent != FOLDER else f"configs/{experiment}.yaml"


def as_typed(path: Path) -> str:
    """How a command names a config file: `@NAME` where it is a shipped one, and not another file of that name."""
    own = shipped().get(path.stem)
    return MARK + path.stem if own is not None and own.resolve() == path.resolve() else shlex.quote(str(path))


def missing_hint(path: Path) -> str:
    """What may be meant by the name of a missing config: a file in its folder or in `configs`, or a shipped one."""
    names = {name: MARK + name for name in shipped()}
    names |= {file.stem: str(file) for folder in (Path("configs"), path.parent) for file in folder.glob("*.yaml")}
    close = [names[name] for name in difflib.get_close_matches(path.stem, names, 1, 0.7)]
    return f"did you mean {close[0]}?" if close else f"check the path; {MARK}NAME is a config that comes with dpexp"
