"""Loading plug-ins: a Python file, or the module that an installed package offers, becomes names that configs can use.

The folder of a file is a package of its own in this process, so that two plug-ins may both have a `helper.py`. Inside
it, `import helper` and `from .helper import f` both mean the file beside the plug-in; everything else is imported as
usual. Nothing is read from or written to `__pycache__`, so what runs is what the files say.

Whatever is wrong with a plug-in is a UsageError that begins with its file and line.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from importlib import metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

from dpexp.core.digests import digest
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.parameters import Parameters
from dpexp.core.registry import Registry
from dpexp.core.text import guess
from dpexp.plugin import LOADED, Loaded, Plugin, inside_folder, module_file

GROUP = "dpexp.plugins"
"""the entry points by which an installed package offers a plug-in"""
PREFIX = "dpexp_plugin_"
"""how Python's names of plug-ins' folders begin"""
EXAMPLE = (
    "for instance PLUGIN = Plugin(algorithms={'my-algorithm': MyAlgorithm}), with `from dpexp.plugin import Plugin`"
)
FOLDERS: dict[str, Path] = {}
"""package -> the folder that it stands for"""


def use(path: Path | str, shown: Path | str | None = None) -> Plugin:
    """Load a file and add everything that it defines; a file that is in use already is left as it is."""
    known = _known(Path(path))
    plugin = load_file(path, shown)
    if known is None:
        loaded = _known(Path(path))
        assert loaded is not None
        try:
            register(plugin, str(loaded.shown))
        except BaseException:
            forget(loaded.name)
            raise
    return plugin


def load_file(path: Path | str, shown: Path | str | None = None) -> Plugin:
    """The PLUGIN of a Python file, which is not registered yet. `shown` is what messages call the file.

    Raises UsageError at the line that is wrong.
    """
    shown = Path(path if shown is None else shown)
    file = _checked(Path(path), shown)
    if known := _known(file):
        return known.plugin
    if file.name in LOADED:
        other = LOADED[file.name].shown
        raise UsageError(f"{shown}: another plug-in is called {file.name} too: {other}", "rename one of the files")
    package = _package_of(file.parent)
    begun = time.time_ns()
    before = set(sys.modules)
    try:
        module = _imported(f"{package}.{file.stem}", file.parent, shown.parent)
        plugin = _plugin_in(module, "PLUGIN", file, shown)
    except BaseException:
        _drop_modules(name for name in set(sys.modules) - before if name.split(".")[0] == package)
        raise
    LOADED[file.name] = Loaded(file.name, plugin, file, shown, file.parent, package, False, begun)
    return plugin


@lru_cache(maxsize=1)
def use_installed() -> None:
    """Load and register what installed packages offer."""
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda e: e.module):
        if entry.module in LOADED:
            continue
        begun = time.time_ns()
        told = f"installed plug-in {entry.module}"
        try:
            module = importlib.import_module(entry.module)
        except (Exception, SystemExit) as error:
            hint = "mend the package, or uninstall it"
            raise UsageError(f"{told} cannot be imported: {type(error).__name__}: {error}", hint) from error
        file = Path(str(module.__file__)).resolve()
        plugin = _plugin_in(module, entry.attr or "PLUGIN", file, file)
        top = entry.module.split(".")[0]
        place = getattr(sys.modules[top], "__path__", None)
        root = file.parent if place is None else Path(next(iter(place))).resolve()
        LOADED[entry.module] = Loaded(entry.module, plugin, file, file, root, "" if place is None else top, True, begun)
        register(plugin, told)


def forget(name: str) -> None:
    """Take out everything that a plug-in added, and its modules."""
    loaded = LOADED.pop(name)
    for registry, names in _names(loaded.plugin):
        for one, value in names.items():
            if one in registry.sources and registry[one] is value:
                registry.remove(one)
    if loaded.package not in {other.package for other in LOADED.values()} and not loaded.installed:
        _drop_modules(module for module in sys.modules if module.split(".")[0] == loaded.package)
        FOLDERS.pop(loaded.package, None)


@contextmanager
def using(*paths: Path | str) -> Iterator[None]:
    """The plug-ins of these files for a while: for tests, and for what looks at a plug-in once."""
    before = set(LOADED)
    try:
        for path in paths:
            use(path)
        yield
    finally:
        for name in set(LOADED) - before:
            forget(name)


def use_only(files: Sequence[str]) -> None:
    """Exactly these files and what is installed: for a worker, which may have served another run before."""
    use_installed()
    for loaded in list(LOADED.values()):
        if not loaded.installed and str(loaded.file) not in files:
            forget(loaded.name)
    for file in files:
        use(file)


def files_in_use() -> tuple[str, ...]:
    """The files that a worker has to load before it can be handed work."""
    return tuple(str(loaded.file) for loaded in LOADED.values() if not loaded.installed)


def _known(path: Path) -> Loaded | None:
    file = path.expanduser().resolve()
    return next((loaded for loaded in LOADED.values() if loaded.file == file and not loaded.installed), None)


def _checked(path: Path, shown: Path) -> Path:
    """The file as an absolute path. Raises UsageError where there is none, or its name cannot be one of a module."""
    try:
        file = path.expanduser().resolve()
        there, folder = file.is_file(), file.is_dir()
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{shown}: {error}", "a plug-in is a Python file") from None
    if folder:
        raise UsageError(f"{shown}: is a folder, not a Python file", f"name the file: {shown}/FILE.py")
    if not there:
        near = guess(path.name, [other.name for other in sorted(file.parent.glob("*.py"))])
        raise UsageError(f"{shown}: no such plug-in file", near.strip() or "check the path")
    if not re.fullmatch(r"[A-Za-z0-9_-]+\.py", file.name):
        raise UsageError(
            f"{shown}: cannot be a plug-in", "a plug-in's file is called NAME.py, of letters, digits, _ and -"
        )
    return file


def _package_of(folder: Path) -> str:
    """Python's name for a plug-in's folder: the same in every process of this machine."""
    package = f"{PREFIX}{re.sub('[^A-Za-z0-9]', '_', folder.name)}_{digest(str(folder), 8)}"
    FOLDERS[package] = folder
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    return package


class _Finder(MetaPathFinder):
    """Finds the modules of plug-ins' folders."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, inside = name.partition(".")
        folder = FOLDERS.get(package)
        if folder is None:
            return None
        file = module_file(folder, inside)
        if file is not None:
            inner = [str(file.parent)] if file.name == "__init__.py" else None
            loader = _Loader(name, str(file), package, folder)
            return spec_from_file_location(name, file, loader=loader, submodule_search_locations=inner)
        place = folder.joinpath(*inside.split(".")) if inside else folder
        if not place.is_dir():
            return None
        spec = ModuleSpec(name, None, is_package=True)  # a folder without __init__.py is a package too, as in Python
        spec.submodule_search_locations = [str(place)]
        return spec


class _Loader(SourceFileLoader):
    """Compiles a plug-in's file as it is now, and lets it import the files beside it by their plain names."""

    def __init__(self, name: str, path: str, package: str, folder: Path) -> None:
        super().__init__(name, path)
        self.package, self.folder = package, folder

    def get_code(self, fullname: str) -> CodeType | None:
        """From the source, never from `__pycache__`: the file may have been written within the clock's last tick."""
        return self.source_to_code(self.get_data(self.path), self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with an `import` of its own; Python looks that up in the module's `__builtins__`."""
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        super().exec_module(module)

    def _import(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        inside = inside_folder(self.folder, name) if level == 0 else None
        if inside is None:
            return builtins.__import__(name, globals, locals, fromlist, level)
        full = f"{self.package}.{inside}".rstrip(".")
        module = builtins.__import__(full, globals, locals, fromlist, 0)
        if fromlist:
            return module
        # `import a.b` binds a: the name that the statement begins with
        above = "." * name.count(".")
        return sys.modules[full.rsplit(".", len(above))[0] if above else full]


def _imported(name: str, root: Path, shown: Path) -> ModuleType:
    """Import a plug-in's module. Whatever goes wrong is a UsageError at the line of the plug-in that it comes from."""
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        place = _shown(Path(error.filename or ""), root, shown)
        raise UsageError(f"{place}:{error.lineno}: {error.msg}", "mend the plug-in") from error
    except (Exception, SystemExit) as error:
        _raise_at(error, root, shown)


def _raise_at(error: BaseException, root: Path, shown: Path) -> NoReturn:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(root)]
    place = f"{_shown(Path(frames[-1].filename), root, shown)}:{frames[-1].lineno}" if frames else str(shown)
    what = error.message if isinstance(error, DpexpError) else f"{type(error).__name__}: {error}"
    hint = "--debug shows the traceback"
    if isinstance(error, ModuleNotFoundError) and error.name:
        beside = [file.stem for file in root.glob("*.py")]
        hint = (
            guess(error.name.rpartition(".")[2], beside).strip() or f"{error.name} is neither installed nor in {shown}"
        )
    elif isinstance(error, ImportError) and "relative import" in str(error):
        hint = "a plug-in's own files are those in its folder: write `from helper import f` for helper.py beside it"
    raise UsageError(f"{place}: {what}", hint) from error


def _shown(file: Path, root: Path, shown: Path) -> str:
    """A file below the root as the user would write it."""
    return str(shown / file.relative_to(root)) if file.is_relative_to(root) else str(file)


def _drop_modules(names: Iterable[str]) -> None:
    for name in list(names):
        del sys.modules[name]


def _plugin_in(module: ModuleType, name: str, file: Path, shown: Path) -> Plugin:
    """The value PLUGIN of a module, checked. Raises UsageError."""
    lines = Lines(file, shown)
    if not hasattr(module, name):
        raise UsageError(f"{shown}: defines no {name}", EXAMPLE)
    plugin = getattr(module, name)
    if not isinstance(plugin, Plugin):
        given = "the class Plugin itself" if plugin is Plugin else f"a value of type {type(plugin).__name__}"
        raise UsageError(f"{lines.of(name)}: {name} is {given}, not a Plugin", EXAMPLE)
    for problem, hint, at in complaints(plugin):
        raise UsageError(f"{lines.of(at)}: {problem}", hint)
    return plugin


class Lines:
    """Where things stand in a plug-in's file, for messages."""

    def __init__(self, file: Path, shown: Path) -> None:
        self.shown, self.file = shown, file
        self.tree = ast.parse(file.read_text(encoding="utf-8"))

    def of(self, what: str | type) -> str:
        """`file:line` of a class, of a name that is assigned, or of a text in the file; the file alone if not found."""
        if isinstance(what, type):
            return self._of_class(what)
        for node in self.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == what for target in targets):
                return f"{self.shown}:{node.lineno}"
        words = (n for n in ast.walk(self.tree) if isinstance(n, ast.Constant) and n.value == what)
        lines = sorted(node.lineno for node in words)
        return f"{self.shown}:{lines[-1]}" if lines else str(self.shown)

    def _of_class(self, kind: type) -> str:
        try:
            file, (_, line) = Path(inspect.getfile(kind)).resolve(), inspect.getsourcelines(kind)
        except (OSError, TypeError):
            return str(self.shown)
        return f"{_shown(file, self.file.parent, self.shown.parent)}:{line}"


Complaint = tuple[str, str, str | type]
"""what is wrong, what could be done about it, and what stands at the place"""
MEMBERS = {
    "problem": (),
    "algorithm": ("estimators", "metrics", "runs_on", "schedules", "seconds", "memory", "mechanism", "simulate"),
    "schedule": ("step_sizes", "for_losses"),
    "budget": ("label", "largest", "smallest", "mean_inverse_square", "draw"),
    "mechanism": ("noise_field", "analyses", "describe"),
}
"""what a class must have of its own or from a base; `dpexp.protocols` says what each is for"""


def complaints(plugin: Plugin) -> Iterator[Complaint]:
    """What is wrong with the shape of a plug-in: types, names and missing members."""
    for entry in fields(Plugin):
        value, one = getattr(plugin, entry.name), ONE_OF[entry.name]
        if entry.name in SHOWN:
            if not isinstance(value, tuple | list):
                wrong = f"{entry.name} is a value of type {type(value).__name__}, not a tuple"
                yield wrong, f"write {entry.name}=(ONE, ANOTHER)", "PLUGIN"
            continue  # what they hold is checked where they are listed, by `dpexp.papers`
        if not isinstance(value, Mapping):
            wrong = f"{entry.name} is a value of type {type(value).__name__}, not a dict"
            yield wrong, f"write {entry.name}={{'name': ...}}", "PLUGIN"
            continue
        for name, kind in value.items():
            if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", name):
                yield (
                    f"{name!r} cannot be the name of a {one}",
                    "a name has letters, digits, '-', '_', '.' and '/'",
                    name,
                )
            elif one == "theorem":
                yield from _wrong_theorem(name, kind)
            elif one == "analysis":
                if not callable(kind) or "/" not in name:
                    hint = "an analysis is 'mechanism/analysis': a function of the mechanism that returns an Analysis"
                    yield f"the analysis '{name}' is no such pair", hint, name
            else:
                yield from _wrong_class(one, name, kind)


SHOWN = ("papers", "figures", "tables", "claims")
ONE_OF = {entry.name: entry.name.removesuffix("s") for entry in fields(Plugin)} | {"analyses": "analysis"}


def _wrong_theorem(name: str, value: object) -> Iterator[Complaint]:
    from dpexp.theory.theorem import Theorem

    if not isinstance(value, Theorem):
        yield (
            f"theorem '{name}' is a value of type {type(value).__name__}",
            "a theorem is a dpexp.theory.theorem.Theorem",
            name,
        )


def _wrong_class(one: str, name: str, kind: Any) -> Iterator[Complaint]:
    """What is wrong with a class that a config or a command line can name."""
    base = _base_of(one)
    if not isinstance(kind, type) or not issubclass(kind, base):
        given = f"the class {kind.__name__}" if isinstance(kind, type) else f"a value of type {type(kind).__name__}"
        at = kind if isinstance(kind, type) else name
        yield (
            f"{one} '{name}' is {given}",
            f"it has to be a class that inherits from {base.__module__}.{base.__name__}",
            at,
        )
        return
    if one in ("problem", "algorithm", "schedule"):
        field = kind.model_fields.get("name")
        if field is None or field.default != name:
            own = "no field `name`" if field is None else f"the name {field.default!r}"
            hint = f'write `name: Literal["{name}"] = "{name}"` in the class'
            yield f"{one} '{name}': the class {kind.__name__} has {own}", hint, kind
    elif one == "budget" and (getattr(kind, "kind", None) != name or name not in kind.model_fields):
        hint = f'write `kind = "{name}"`, and call the field that a config sets `{name}`'
        yield f"law of budgets '{name}': the class {kind.__name__} has another kind or no such field", hint, kind
    for member in MEMBERS[one]:
        if not _has(kind, base, member):
            hint = f"dpexp.protocols says what it is for; all of them: {', '.join(MEMBERS[one])}"
            yield f"{one} '{name}': the class {kind.__name__} has no `{member}`", hint, kind
        elif wrong := _wrong_signature(one, kind, member):
            yield f"{one} '{name}': {wrong}", "dpexp.protocols says what it is called with", kind


def _base_of(one: str) -> type[Parameters]:
    if one == "schedule":
        from dpexp.schedules import Schedule

        return Schedule
    if one == "budget":
        from dpexp.privacy.budgets import Budget

        return Budget
    if one == "mechanism":
        from dpexp.privacy.mechanisms.mechanism import Mechanism

        return Mechanism
    return Parameters


def _has(kind: type, base: type, member: str) -> bool:
    """Whether a class has a member; of a schedule one of its two ways to give step sizes must be its own."""
    found = inspect.getattr_static(kind, member, None)
    if base.__name__ == "Schedule":
        return any(
            inspect.getattr_static(kind, way) is not inspect.getattr_static(base, way) for way in MEMBERS["schedule"]
        )
    return found is not None and found is not inspect.getattr_static(base, member, None)


def _wrong_signature(one: str, kind: type, member: str) -> str:
    """How a method's parameters differ from those that it is called with; empty where it can be called so."""
    from dpexp import protocols

    wanted = getattr(getattr(protocols, one.capitalize(), None), member, None)
    method = inspect.getattr_static(kind, member)
    if not inspect.isfunction(wanted) or not inspect.isfunction(method):
        return ""
    asked = list(inspect.signature(wanted).parameters)
    try:
        inspect.signature(method).bind(*[None] * len(asked))
    except TypeError:
        given = ", ".join(list(inspect.signature(method).parameters)[1:])
        return f"`{member}` of {kind.__name__} takes ({given}), and is called with ({', '.join(asked[1:])})"
    return ""


def _names(plugin: Plugin) -> Iterator[tuple[Registry[Any], Mapping[str, Any]]]:
    """Every registry that a plug-in adds to, and what it adds; `dpexp.papers` lists papers and what they show."""
    for field, where in REGISTRIES.items():
        if names := getattr(plugin, field):
            module, registry = where
            yield getattr(importlib.import_module(module), registry), names


REGISTRIES = {
    "problems": ("dpexp.problems", "PROBLEMS"),
    "algorithms": ("dpexp.algorithms", "ALGORITHMS"),
    "schedules": ("dpexp.schedules", "SCHEDULES"),
    "budgets": ("dpexp.privacy.budgets", "BUDGETS"),
    "mechanisms": ("dpexp.privacy.mechanisms", "MECHANISMS"),
    "analyses": ("dpexp.privacy.mechanisms", "ANALYSES"),
    "theorems": ("dpexp.theory", "THEOREMS"),
}
"""which field of a Plugin is added to which dictionary, imported when there is something to add"""


def register(plugin: Plugin, source: str) -> None:
    """Add every name of a plug-in to its registry, or none. `source` is what messages call the plug-in.

    Raises UsageError where a name is taken.
    """
    loaded = next((one for one in LOADED.values() if one.plugin is plugin), None)
    lines = Lines(loaded.file, loaded.shown) if loaded is not None and not loaded.installed else None
    added: list[tuple[Registry[Any], str]] = []
    try:
        for registry, names in _names(plugin):
            for name, value in names.items():
                registry.add(name, value, lines.of(name) if lines else source)
                added.append((registry, name))
        _check_analyses(plugin, lines, source)
    except UsageError:
        for registry, name in added:
            registry.remove(name)
        raise


def _check_analyses(plugin: Plugin, lines: Lines | None, source: str) -> None:
    """An analysis belongs to a mechanism that is there."""
    from dpexp.privacy.mechanisms import MECHANISMS

    for name in plugin.analyses:
        mechanism = name.partition("/")[0]
        if mechanism not in MECHANISMS:
            hint = f"{guess(mechanism, MECHANISMS)}mechanisms: {', '.join(MECHANISMS)}"
            raise UsageError(
                f"{lines.of(name) if lines else source}: the analysis '{name}': no mechanism '{mechanism}'", hint
            )
