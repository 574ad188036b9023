"""dpexp: a command-line laboratory for differentially private stochastic gradient descent.

The names of the Python API are those of the commands (`dpexp.commands`). They are imported when first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpexp.core import VERSION as __version__

API = (
    "Result", "audit", "calibrate", "check", "claims", "diff", "fit", "judge", "load", "plot",
    "predict", "privacy", "read", "receipt", "report", "run", "table", "validate",
)  # fmt: skip
PLACES = {
    "fit": "commands.api",
    "load": "commands.api",
    **dict.fromkeys(("Result", "predict", "read", "run"), "python"),
}
"""modules of names; the others are in that of their command"""
__all__ = ["API", "__version__", *API]

if TYPE_CHECKING:
    from dpexp.commands.api import fit as fit
    from dpexp.commands.api import load as load
    from dpexp.commands.audit import audit as audit
    from dpexp.commands.calibrate import calibrate as calibrate
    from dpexp.commands.check import check as check
    from dpexp.commands.claims import claims as claims
    from dpexp.commands.diff import diff as diff
    from dpexp.commands.judge import judge as judge
    from dpexp.commands.plot import plot as plot
    from dpexp.commands.receipt import receipt as receipt
    from dpexp.commands.report import report as report
    from dpexp.commands.table import table as table
    from dpexp.commands.validate import validate as validate
    from dpexp.python import Result as Result
    from dpexp.python import predict as predict
    from dpexp.python import read as read
    from dpexp.python import run as run


class _Room(ModuleType):
    """The room `dpexp.privacy`, which is also the function of that name."""

    def __call__(self, *arguments: Any, **parameters: Any) -> Any:
        from dpexp.commands.privacy import privacy

        return privacy(*arguments, **parameters)


class _Package(ModuleType):
    """dpexp itself: whoever imports the room `dpexp.privacy` first, it can be called."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "privacy" and isinstance(value, ModuleType):
            value.__class__ = _Room
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """A name of the API, imported now."""
    if name == "privacy":
        return import_module("dpexp.privacy")
    if name in API:
        return getattr(import_module(f"dpexp.{PLACES.get(name, f'commands.{name}')}"), name)
    raise AttributeError(f"module 'dpexp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *API})
