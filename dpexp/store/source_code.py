"""What a fingerprint needs of a file of code: a hash of what it does, what it imports, and the texts in it.

Comments, formatting and docstrings do not count. To parse the files is most of the time that a fingerprint takes, so
what was found is kept in the folder `code` of DPEXP_CACHE, or of the user's cache folder. It is kept under a hash of
the file's bytes: the file is read every time, and one that was edited is another file here. What is kept is believed
only if this very file of dpexp and this version of Python made it, and nobody else may write to it.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import hashlib
import pickle
import sys
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from dpexp.core.files import Damaged, cache_folder, read_bytes_sealed, write_bytes_sealed

MADE_BY = hashlib.sha256(Path(__file__).read_bytes() + sys.version.encode()).digest()
"""names what parses: this file, as it was when it was imported, and Python"""
MOST_KEPT = 4000
"""files of code: six times the package"""
FIRST_STAGE = frozenset({"first_stage", "received"})
"""decorators of functions that no simulation calls: `dpexp.core.stages`"""
LONGEST_WORD = 200
"""characters of a text that can be the name of a file"""
_PARSING = Lock()
"""threads that parse at the same time break Python 3.11's parser"""


class Import(NamedTuple):
    """An import statement that may run."""

    level: int
    """dots of a relative import"""
    module: str | None
    """from which names come; None in `import a, b`, and "" in `from . import a`"""
    names: tuple[str, ...]
    simulated: bool = True
    """whether it may run in a simulation; not inside functions of the first stage"""


class Code(NamedTuple):
    """What a fingerprint needs of a file of code, wherever that lies."""

    digest: str
    imports: tuple[Import, ...]
    words: frozenset[str]
    """all texts in it of at most `LONGEST_WORD` characters"""


def code_in(path: Path) -> Code:
    """The code of a file. Raises OSError, SyntaxError."""
    content = path.read_bytes()
    return _KEPT.code(hashlib.sha256(content).hexdigest(), content)


def parsed(content: bytes) -> Code:
    """The same from the bytes of a file, whatever is kept."""
    with _PARSING:
        tree = ast.parse(content)
    imports: list[Import] = []
    words: set[str] = set()
    waiting: list[tuple[ast.AST, bool]] = [(tree, True)]
    while waiting:
        node, simulated = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= LONGEST_WORD:
            words.add(node.value)
        # imports for types never run
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse:
            continue
        if isinstance(node, ast.Import):
            imports.append(Import(0, None, tuple(alias.name for alias in node.names), simulated))
        if isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            imports.append(Import(node.level, node.module or "", names, simulated))
        # `import dpexp` makes all of it known by such names
        if isinstance(node, ast.Attribute) and (name := ast.unparse(node)).startswith("dpexp."):
            imports.append(Import(0, None, (name,), simulated))
        if isinstance(node, ast.FunctionDef):
            marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
            simulated = simulated and not marks & FIRST_STAGE
        waiting += [(child, simulated) for child in ast.iter_child_nodes(node)]
    digest = hashlib.sha256(repr(_plain(tree)).encode()).hexdigest()[:16]
    return Code(digest, tuple(imports), frozenset(words))


def _plain(value: Any) -> Any:
    """A syntax tree without positions, empty fields, docstrings and other bare texts."""
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if not isinstance(value, ast.AST):
        return value
    fields = []
    for name, held in ast.iter_fields(value):
        if name == "body" and isinstance(held, list):
            held = [statement for statement in held if not _is_text(statement)] or [ast.Pass()]
        # a later version of Python has fields that an earlier one lacks, which are empty where they say nothing new
        if held is not None and held != []:
            fields.append((name, _plain(held)))
    return (type(value).__name__, *fields)


def _is_text(statement: Any) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


class _Kept:
    """What was found in files of code, by the hash of their bytes: of this process, and of those before it."""

    def __init__(self) -> None:
        self.found: dict[str, Code] = {}
        self.new: dict[str, Code] = {}
        self.asked: str | None = None
        """for which DPEXP_CACHE the file was read; None before the first time"""

    def code(self, name: str, content: bytes) -> Code:
        place = _file()
        # another folder is another memory, which a test may ask for
        if self.asked != str(place):
            self.found, self.new, self.asked = _read(place), {}, str(place)
        known = self.found.get(name)
        if known is None:
            known = self.found[name] = self.new[name] = parsed(content)
        return known

    def write(self) -> None:
        """Add what is new to what is there by now."""
        place = _file()
        if not self.new or place is None or self.asked != str(place):
            return
        # two processes that write at once lose one's additions, which are found again, and no more
        every = dict([*(_read(place) | self.new).items()][-MOST_KEPT:])
        self.new = {}
        with contextlib.suppress(OSError):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_bytes_sealed(place, MADE_BY, pickle.dumps(every), private=True)


def _file() -> Path | None:
    place = cache_folder("code", "code")
    return None if place is None else place / "parsed"


def _read(place: Path | None) -> dict[str, Code]:
    """What is kept; nothing where it is damaged, made by something else, or open to others."""
    if place is not None:
        with contextlib.suppress(FileNotFoundError, Damaged, pickle.UnpicklingError, EOFError):
            content = read_bytes_sealed(place, private=True)
            # made by another version of this file or of Python it has another form, and may have other digests
            if content.startswith(MADE_BY):
                found: dict[str, Code] = pickle.loads(content[len(MADE_BY) :])
                return found
    return {}


_KEPT = _Kept()
atexit.register(_KEPT.write)
