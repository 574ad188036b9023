"""Loading plug-ins: a Python file, or the module that an installed package offers, becomes names that configs can use.

Whatever is wrong with a plug-in is a UsageError that begins with its file and line.
"""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.parameters import BUILT_IN, Registry
from dpexp.core.text import guess
from dpexp.plugins import Plugin
from dpexp.plugins.importing import drop_modules, import_file, sources
from dpexp.plugins.loaded import LOADED, ROOT, Loaded, research_folders
from dpexp.plugins.shape import complaints, place_of

EXAMPLE = (
    "for instance PLUGIN = Plugin(algorithms={'my-algorithm': MyAlgorithm}), with `from dpexp.plugins import Plugin`"
)
REGISTRIES = {
    "problems": "dpexp.problems:PROBLEMS",
    "algorithms": "dpexp.algorithms:ALGORITHMS",
    "schedules": "dpexp.algorithms.schedules:SCHEDULES",
    "weights": "dpexp.problems.weights:WEIGHTS",
    "budgets": "dpexp.privacy.budgets:BUDGETS",
    "mechanisms": "dpexp.privacy.mechanisms:MECHANISMS",
    "analyses": "dpexp.privacy.mechanisms:ANALYSES",
    "theorems": "dpexp.theory:THEOREMS",
}
"""which field of a Plugin is added to which dictionary, imported when there is something to add"""
_ADDED: dict[str, list[tuple[Registry[Any], str]]] = {}
"""by plug-in, the names that it has added to registries"""


def registries() -> dict[str, Registry[Any]]:
    """Every registry that a plug-in can add to, by the field of a Plugin."""
    return {field: resolve_name(place) for field, place in REGISTRIES.items()}


def use(path: Path | str) -> Plugin:
    """Load a file and add everything that it defines; a file that is in use already is left as it is.

    Raises UsageError at the line that is wrong. Nothing stays behind then, nor after an interrupt.
    """
    typed = Path(path)
    try:
        file = typed.expanduser().resolve()
        is_file = file.is_file()
    # A loop of links, a null byte, and the home of a user who does not exist.
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{typed}: {error}", "a plug-in is a Python file") from None
    if not is_file:
        near = guess(typed.name, [other.name for other in sorted(file.parent.glob("*.py"))])
        raise UsageError(f"{typed}: no such plug-in file", near.strip() or "a plug-in is a Python file")
    if not re.fullmatch(r"[A-Za-z0-9_-]+\.py", file.name):
        raise UsageError(f"{typed}: cannot be a plug-in", "call the file NAME.py, of letters, digits, _ and -")
    if other := LOADED.get(file.name):
        if other.file == file and not other.installed:
            return other.plugin
        message = f"{typed}: another plug-in is called {file.name} too: {other.typed}"
        raise UsageError(message, "rename one of the files")
    # taken before anything is read: an edit while the plug-in is imported is then one after it was read
    begun, files = time.time_ns(), sources(file, typed)

    def load() -> Loaded:
        plugin = _plugin_in(import_file(file, typed, files), "PLUGIN", file, typed)
        return Loaded(file.name, plugin, file, typed, files, False, begun)

    return _add(file.name, load, files)


@lru_cache(maxsize=1)
def use_installed() -> None:
    """Load and register what installed packages offer by an entry point of the group `dpexp.plugins`."""

    def load() -> Loaded:
        begun = time.time_ns()
        try:
            module = importlib.import_module(entry.module)
        except (Exception, SystemExit) as error:
            message = f"installed plug-in {entry.module} cannot be imported: {type(error).__name__}: {error}"
            raise UsageError(message, "reinstall the package, or uninstall it") from error
        file = Path(str(module.__file__)).resolve()
        place = getattr(sys.modules[entry.module.split(".")[0]], "__path__", None)
        files = [file] if place is None else sorted(Path(next(iter(place))).resolve().rglob("*.py"))
        plugin = _plugin_in(module, entry.attr or "PLUGIN", file, file)
        return Loaded(entry.module, plugin, file, file, tuple(files), True, begun)

    # sorted, so that the order of names does not follow from the order of installation
    for entry in sorted(metadata.entry_points(group="dpexp.plugins"), key=lambda e: e.module):
        if entry.module not in LOADED:
            _add(entry.module, load, ())


def _add(name: str, load: Callable[[], Loaded], files: Sequence[Path]) -> Plugin:
    """Load a plug-in and add every name of it to its registry. Raises UsageError, also where a name is already defined;
    then nothing of it stays."""
    try:
        loaded = LOADED[name] = load()
        loaded.inputs()
        added = _ADDED.setdefault(name, [])
        for field, place in REGISTRIES.items():
            for key, value in getattr(loaded.plugin, field).items():
                registry: Registry[Any] = resolve_name(place)
                registry.add(key, value, where(loaded, key))
                added.append((registry, key))
        # Last: an analysis may belong to a mechanism of the same plug-in.
        for key in loaded.plugin.analyses:
            mechanism, mechanisms = key.partition("/")[0], resolve_name(REGISTRIES["mechanisms"])
            if mechanism not in mechanisms:
                hint = f"{guess(mechanism, mechanisms)}mechanisms: {', '.join(mechanisms)}"
                raise UsageError(f"{where(loaded, key)}: the analysis '{key}': no mechanism '{mechanism}'", hint)
    except BaseException:
        forget(name, files)
        raise
    return loaded.plugin


def forget(name: str, files: Sequence[Path] = ()) -> None:
    """Take out the names of a plug-in, and its modules, unless another plug-in shares them."""
    loaded = LOADED.pop(name, None)
    for registry, key in _ADDED.pop(name, []):
        registry.remove(key)
    own = files if loaded is None or loaded.installed else loaded.files
    drop_modules({*own}.difference(*(other.files for other in LOADED.values())))


def load_research(names: Iterable[str]) -> None:
    """Load the plug-ins of dpexp's own repository of these names: readers load no other code that results name, since
    anybody may have written it."""
    for name in names:
        if name not in LOADED and re.fullmatch(r"[\w-]+\.py", name):
            for file in (folder / name for folder in research_folders() if (folder / name).is_file()):
                use(file.relative_to(ROOT) if Path.cwd() == ROOT else file)


def files_in_use() -> tuple[str, ...]:
    """The files that a worker has to load before it can be handed work."""
    return tuple(str(loaded.file) for loaded in LOADED.values() if not loaded.installed)


def _plugin_in(module: ModuleType, name: str, file: Path, typed: Path) -> Plugin:
    """The value PLUGIN of a module, checked. Raises UsageError."""
    plugin = vars(module).get(name)
    if not isinstance(plugin, Plugin):
        message = f"{name} is a value of type {type(plugin).__name__}, not a Plugin"
        raise UsageError(f"{place_of(name, file, typed)}: {message}" if plugin else f"{typed}: no {name}", EXAMPLE)
    for problem, hint, at in complaints(plugin):
        raise UsageError(f"{place_of(at, file, typed)}: {problem}", hint)
    return plugin


def where(loaded: Loaded | None, name: str) -> str:
    """`file:line` of a name in a plug-in's file; None is dpexp itself."""
    return BUILT_IN if loaded is None else place_of(name, loaded.file, loaded.typed)
