"""Loading plug-ins: a Python file, or the module of an installed package, becomes names that configs can use."""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.parameters import Registry
from dpexp.core.text import guess
from dpexp.plugins import Plugin
from dpexp.plugins.importing import Code, code_of, drop_modules, import_file
from dpexp.plugins.loaded import LOADED, ROOT, Loaded, research_folders
from dpexp.plugins.shape import FIELDS, complaints, place_of

_ADDED: dict[str, list[tuple[Registry[Any], str]]] = {}  # by plug-in, the names that it has added to registries


def registries() -> dict[str, Registry[Any]]:
    """Every registry that a plug-in can add to, by the field of a Plugin."""
    return {field: resolve_name(place) for field, (place, _) in FIELDS.items()}


def use(path: Path | str) -> Plugin:
    """Load a file once, and add everything that it defines. Raises UsageError at the line that is wrong."""
    typed, file = Path(path), Path(path).expanduser().resolve()
    if not file.is_file() or not re.fullmatch(r"[\w-]+\.py", file.name):
        near = guess(typed.name, [other.name for other in sorted(file.parent.glob("*.py"))])
        raise UsageError(f"{typed}: no such plug-in file", near.strip() or "a plug-in is a Python file NAME.py")
    if other := LOADED.get(file.name):
        if other.file == file and not other.installed:
            return other.plugin
        message = f"{typed}: another plug-in is called {file.name} too: {other.typed}"
        raise UsageError(message, "rename one of the files")
    # taken before anything is read: an edit while the plug-in is imported is then one after it was read
    begun, code = time.time_ns(), code_of(file, typed)
    try:
        plugin = _plugin_in(import_file(code), "PLUGIN", code)
        return _add(Loaded(file, typed, code.files, file.name, plugin, False, begun))
    except BaseException:
        forget(file.name, code.files)
        raise


@lru_cache(maxsize=1)
def use_installed() -> None:
    """Load and register what installed packages offer by an entry point of the group `dpexp.plugins`."""
    # sorted, so that the order of names does not follow from the order of installation
    for entry in sorted(metadata.entry_points(group="dpexp.plugins"), key=lambda e: e.module):
        if entry.module in LOADED:
            continue
        begun = time.time_ns()
        try:
            module = importlib.import_module(entry.module)
        except (Exception, SystemExit) as error:
            message = f"installed plug-in {entry.module} cannot be imported: {type(error).__name__}: {error}"
            raise UsageError(message, "reinstall the package, or uninstall it") from error
        file = Path(str(module.__file__)).resolve()
        place = getattr(sys.modules[entry.module.split(".")[0]], "__path__", None)
        files = [file] if place is None else sorted(Path(next(iter(place))).resolve().rglob("*.py"))
        plugin = _plugin_in(module, entry.attr or "PLUGIN", code := Code(file, file, tuple(files)))
        _add(Loaded(file, file, code.files, entry.module, plugin, True, begun))


def _add(loaded: Loaded) -> Plugin:
    """Add every name of a plug-in to its registry. Raises UsageError, also where a name is already defined."""
    loaded.inputs()
    added = _ADDED.setdefault(loaded.name, [])
    for field, registry in registries().items():
        for key, value in getattr(loaded.plugin, field).items():
            registry.add(key, value, place_of(key, loaded))
            added.append((registry, key))
    LOADED[loaded.name] = loaded
    return loaded.plugin


def forget(name: str, files: Sequence[Path] = ()) -> None:
    """Take out the names of a plug-in, and its modules, unless another plug-in shares them."""
    if (loaded := LOADED.pop(name, None)) is not None and not loaded.installed:
        files = loaded.files
    for registry, key in _ADDED.pop(name, []):
        registry.remove(key)
    drop_modules({*files}.difference(*(other.files for other in LOADED.values())))


def load_research(names: Iterable[str]) -> None:
    """Load dpexp's own plug-ins of these names; other code that results name may be anybody's."""
    for name in names:
        if name not in LOADED and re.fullmatch(r"[\w-]+\.py", name):
            for file in (folder / name for folder in research_folders() if (folder / name).is_file()):
                use(file.relative_to(ROOT) if Path.cwd() == ROOT else file)


def _plugin_in(module: ModuleType, name: str, code: Code) -> Plugin:
    """The value PLUGIN of a module, checked. Raises UsageError."""
    plugin = vars(module).get(name)
    if not isinstance(plugin, Plugin):
        message = f"{place_of(name, code)}: {name} is a value of type {type(plugin).__name__}, not a Plugin"
        hint = "for instance PLUGIN = Plugin(algorithms={'my-algorithm': MyAlgorithm})"
        raise UsageError(message if plugin else f"{code.typed}: no {name}", hint)
    for problem, hint, at in complaints(plugin):
        raise UsageError(f"{place_of(at, code)}: {problem}", hint)
    return plugin
