"""What makes a cell stale: code that it uses, not comments, formatting or docstrings, and not code it does not use."""

import textwrap

import pytest

from dpexp.store import fingerprint
from dpexp.store.fingerprint import changed, closure, code_of
from tests.config.test_config import GOOD, load


def package(root, **edits):
    """A small package: a uses b (inside a function) and the registry; c is not used."""
    sources = {
        "a": '"""Doc."""\nfrom dpexp.problems import K\n\ndef f(x):\n    from dpexp.b import g\n    return g(x) + 1\n',
        "b": "def g(x):\n    return 2 * x\n",
        "c": "def h(x):\n    return 3 * x\n",
        "problems/__init__": "from dpexp.c import h\nfrom dpexp.problems.k import K\nC = {'h': h, 'K': K}\n",
        "problems/k": "K = 1\n",
    }
    for name, source in (sources | edits).items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "ROOT", root)
        fingerprint.forget()
        found = closure(("dpexp.a",))
    fingerprint.forget()
    return found


def test_the_closure_follows_imports_but_not_registries(tmp_path):
    assert list(package(tmp_path)) == ["dpexp.a", "dpexp.b", "dpexp.problems.k"]


def test_who_looks_things_up_in_a_registry_depends_on_all_of_it(tmp_path):
    found = package(tmp_path, b="from dpexp.problems import C\n\ndef g(x):\n    return C['h'](x)\n")
    assert {"dpexp.c", "dpexp.problems.__init__"} <= set(found)


@pytest.mark.parametrize(
    "way",
    [
        "from dpexp import problems\nF = problems.C['h']",
        "import dpexp.problems\nF = dpexp.problems.C['h']",
        "import dpexp.problems as p\nF = p.C['h']",
        "import dpexp.a\nF = dpexp.problems.C['h']",
        "from . import problems\nF = problems.C['h']",
    ],
)
def test_a_registry_that_is_imported_whole_counts_with_all_that_it_lists(tmp_path, way):
    before = package(tmp_path / "1", b=f"{way}\ndef g(x):\n    return F(x)\n")
    after = package(tmp_path / "2", b=f"{way}\ndef g(x):\n    return F(x)\n", c="def h(x):\n    return 4 * x\n")
    assert changed(before, after) == ["dpexp/c.py"]


def test_a_function_that_a_registry_defines_counts(tmp_path):
    way = {"b": "from dpexp.problems import every\ndef g(x):\n    return every(x)\n"}
    listing = "from dpexp.problems.k import K\ndef every(x):\n    return {} * x\n"
    before = package(tmp_path / "1", **way, **{"problems/__init__": listing.format(2)})
    after = package(tmp_path / "2", **way, **{"problems/__init__": listing.format(3)})
    assert changed(before, after) == ["dpexp/problems/__init__.py"]


FACADE = {"b": "from dpexp.facade import k\n\ndef g(x):\n    return k(x)\n", "facade/__init__": "from .deep import k\n"}


def test_an_edit_behind_a_package_facade_is_seen(tmp_path):
    before = package(tmp_path / "1", **FACADE, **{"facade/deep": "def k(x):\n    return 10 * x\n"})
    assert {"dpexp.facade", "dpexp.facade.deep"} <= set(before)
    after = package(tmp_path / "2", **FACADE, **{"facade/deep": "def k(x):\n    return 11 * x\n"})
    assert changed(before, after) == ["dpexp/facade/deep.py"]


def test_imports_for_types_alone_do_not_count(tmp_path):
    typed = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dpexp.c import h\ndef g(x):\n    return 2 * x\n"
    )
    assert "dpexp.c" not in package(tmp_path, b=typed)


def test_a_shipped_data_file_counts_where_it_is_named(tmp_path):
    source = "FILE = 'numbers.npz'\ndef g(x):\n    return x\n"
    found = []
    for content in ("1", "2"):
        (tmp_path / content / "data" / "files").mkdir(parents=True)
        (tmp_path / content / "data" / "files" / "numbers.npz").write_text(content)
        found.append(package(tmp_path / content, b=source))
    assert changed(*found) == ["dpexp/data/files/numbers.npz"]


def test_comments_formatting_and_docstrings_do_not_count(tmp_path):
    before = package(tmp_path / "1")
    same = package(tmp_path / "2", b='def g( x ):\n    """Twice."""\n    # as always\n    return (2 *\n        x)\n')
    assert changed(before, same) == []


def test_a_change_in_a_helper_counts_and_is_named(tmp_path):
    before = package(tmp_path / "1")
    assert changed(before, package(tmp_path / "2", b="def g(x):\n    return 2.5 * x\n")) == ["dpexp/b.py"]
    assert changed(before, package(tmp_path / "3", c="def h(x):\n    return 4 * x\n")) == []


def test_a_cells_code_is_that_of_its_problem_algorithm_schedule_and_engine(tmp_path):
    code = code_of(load(tmp_path, GOOD).cells[0])
    used = "problems.huber_linear problems.mallows algorithms.ldp_sgd algorithms.schedules.power engine.lanes.streams "
    used += "engine.lanes.vectors core.seeds privacy.budgets"
    unused = "problems.logistic config.reader store.files store.run reporting.style privacy.accounting.gdp"
    assert {f"dpexp.{name}" for name in used.split()} <= set(code)
    assert not {f"dpexp.{name}" for name in unused.split()} & set(code)
