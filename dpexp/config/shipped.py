"""The configs that come with dpexp, in a checkout and in an installed package alike: `@NAME` in place of a path."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from dpexp.config.words import suggest
from dpexp.config.yamlfile import Issue, Position, YamlErrors

FOLDER = Path(__file__).parent.parent / "configs"
"""in a checkout a link to the folder of that name at the top, which a wheel contains as it is"""
MARK = "@"


@lru_cache(maxsize=1)
def shipped() -> dict[str, Path]:
    """Every shipped config by its experiment's name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def located(path: Path | str) -> Path:
    """The file that a command line means: `@NAME` is a shipped config, anything else a path.

    Raises YamlErrors for a name that is not shipped.
    """
    written = str(path)
    if not written.startswith(MARK) or Path(written).exists():
        return Path(path)
    name = written.removeprefix(MARK).removesuffix(".yaml")
    if name not in shipped():
        message = f"no shipped config is called '{name}'"
        raise YamlErrors([Issue(Position(written), message, suggest(name, shipped()))])
    return shipped()[name]


def spelled(experiment: str) -> str | None:
    """How a command names the shipped config of an experiment from here; None where none is shipped.

    In a checkout its path; where there is no such file, as after an installation, `@NAME`.
    """
    if experiment not in shipped():
        return None
    here = Path("configs") / f"{experiment}.yaml"
    return str(here) if here.is_file() else MARK + experiment
