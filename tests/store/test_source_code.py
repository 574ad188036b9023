"""What is kept of parsed files: the same as parsing them, for the very same bytes, and nothing where it is not safe."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import dpexp
from dpexp.core.files import read_bytes_sealed, write_bytes_sealed
from dpexp.store import source_code
from dpexp.store.source_code import MADE_BY, Code, Import, code_in, parsed
from tests.conftest import share

PACKAGE = share(sorted(Path(dpexp.__file__).parent.rglob("*.py")))
SOURCE = b'''"""A docstring."""
from __future__ import annotations
import os, a.b as c
from .. import up
from .beside import one as two, three
if TYPE_CHECKING:
    from never import run
def f(x: int) -> str:
    """Another."""
    import late  # a comment
    return "data.csv" + "\\ud800"
'''


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache, and a memory that has read nothing."""
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "code" / "parsed"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "some.py"
    path.write_bytes(SOURCE)
    return path


def another_process(monkeypatch, parses: bool) -> source_code._Kept:
    """The memory of a process that begins now; one that may not parse has to find all that it needs."""
    fresh = source_code._Kept()
    monkeypatch.setattr(source_code, "_KEPT", fresh)

    def refused(content: bytes) -> Code:
        raise AssertionError("parsed again")

    monkeypatch.setattr(source_code, "parsed", parsed if parses else refused)
    return fresh


def test_what_a_file_of_code_says():
    found = parsed(SOURCE)
    assert set(found.imports) == {
        Import(0, "__future__", ("annotations",)),
        Import(0, None, ("os", "a.b")),
        Import(2, "", ("up",)),
        Import(1, "beside", ("one", "three")),
        Import(0, None, ("late",)),
    }
    assert found.words == {"A docstring.", "Another.", "data.csv", "\ud800"}
    assert parsed(SOURCE.replace(b"a comment", b"another").replace(b"Another.", b"Other.")).digest == found.digest
    assert parsed(SOURCE.replace(b"data.csv", b"data.txt")).digest != found.digest


@pytest.mark.slow
def test_a_later_process_finds_all_of_the_package_as_it_would_parse_it(place, monkeypatch: pytest.MonkeyPatch):
    first = another_process(monkeypatch, parses=True)
    wanted = {path: code_in(path) for path in PACKAGE}
    first.write()
    assert place.stat().st_mode & 0o777 == 0o600
    later = another_process(monkeypatch, parses=False)
    assert {path: code_in(path) for path in PACKAGE} == wanted
    assert not later.new
    assert {path: parsed(path.read_bytes()) for path in PACKAGE} == wanted


def test_an_edit_is_another_file(place, source, monkeypatch):
    first = another_process(monkeypatch, parses=True)
    before = code_in(source)
    first.write()
    source.write_bytes(SOURCE.replace(b"data.csv", b"else.csv"))  # no longer and no shorter
    another_process(monkeypatch, parses=True)
    assert code_in(source) == parsed(source.read_bytes()) != before
    source.write_bytes(SOURCE)
    another_process(monkeypatch, parses=False)
    assert code_in(source) == before


def lies(place):
    """Put another digest under every name, behind a seal that is right."""
    files = {name: code._replace(digest="0" * 16) for name, code in kept_in(place).items()}
    write_bytes_sealed(place, MADE_BY, pickle.dumps(files), private=True)


def kept_in(place):
    content = read_bytes_sealed(place, private=True)
    assert content.startswith(MADE_BY)
    found: dict[str, Code] = pickle.loads(content[len(MADE_BY) :])
    return found


def test_what_is_kept_is_really_used(place, source, monkeypatch):
    """The tests below would see it if a bad file were believed."""
    first = another_process(monkeypatch, parses=True)
    code_in(source)
    first.write()
    lies(place)
    another_process(monkeypatch, parses=True)
    assert code_in(source).digest == "0" * 16


@pytest.mark.parametrize(
    "wrong", ["damaged", "open to others", "of another parser", "of another kind", "short", "none"]
)
def test_what_is_not_safe_or_not_right_is_not_believed(wrong, place, source, monkeypatch: pytest.MonkeyPatch):
    first = another_process(monkeypatch, parses=True)
    right = code_in(source)
    first.write()
    lies(place)
    kept = pickle.dumps(kept_in(place))
    if wrong == "damaged":
        place.write_bytes(place.read_bytes().replace(b"000", b"111"))
    elif wrong == "open to others":
        place.chmod(0o666)
    elif wrong == "of another parser":
        write_bytes_sealed(place, MADE_BY[::-1], kept, private=True)
    elif wrong == "of another kind":
        write_bytes_sealed(place, b"[1, 2]", private=True)
    elif wrong == "short":
        write_bytes_sealed(place, MADE_BY, kept[:-9], private=True)
    else:
        place.unlink()
    again = another_process(monkeypatch, parses=True)
    assert code_in(source) == right
    again.write()  # and a right one takes its place
    another_process(monkeypatch, parses=False)
    assert code_in(source) == right


def test_without_a_folder_nothing_is_kept_and_nothing_fails(place, source, monkeypatch: pytest.MonkeyPatch):
    for value in ("off", str(source)):  # a file is in the place of the folder
        monkeypatch.setenv("DPEXP_CACHE", value)
        first = another_process(monkeypatch, parses=True)
        assert code_in(source) == parsed(SOURCE)
        first.write()
    assert not place.exists()


def test_processes_add_to_what_others_have_kept(place, tmp_path, monkeypatch):
    paths = [tmp_path / f"{k}.py" for k in range(3)]
    for k, path in enumerate(paths):
        path.write_text(f"number = {k}")
    one, other = source_code._Kept(), source_code._Kept()
    for memory, path in ((one, paths[0]), (other, paths[1]), (one, paths[2])):
        monkeypatch.setattr(source_code, "_KEPT", memory)
        code_in(path)
    one.write()
    other.write()
    another_process(monkeypatch, parses=False)
    assert len({code_in(path).digest for path in paths}) == 3


def test_the_folder_does_not_grow_for_ever(place, tmp_path, monkeypatch):
    monkeypatch.setattr(source_code, "MOST_KEPT", 5)
    for k in range(9):
        path = tmp_path / f"{k}.py"
        path.write_text(f"number = {k}")
        memory = another_process(monkeypatch, parses=True)
        code_in(path)
        memory.write()
    assert len(kept_in(place)) == 5


def test_a_command_leaves_what_it_parsed(place, source):
    asked = "import sys; from pathlib import Path; from dpexp.store.source_code import code_in; "
    command = [sys.executable, "-c", asked + "print(code_in(Path(sys.argv[1])).digest)", str(source)]
    found = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ}).stdout
    assert found.strip() == parsed(SOURCE).digest
    assert place.is_file()
