"""dpexp: a command-line laboratory for differentially private stochastic gradient descent."""

from typing import TYPE_CHECKING, Any

from dpexp.core.version import VERSION as __version__

if TYPE_CHECKING:
    from dpexp.privacy.judge import judge as judge


__all__ = ["__version__", "judge"]


def __getattr__(name: str) -> Any:
    """The Python API, imported when it is first used."""
    if name == "judge":
        from dpexp.privacy.judge import judge

        return judge
    raise AttributeError(f"module 'dpexp' has no attribute {name!r}")
