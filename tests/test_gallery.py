"""The gallery: every example runs as a notebook, at toy size, and its page says what the scripts say."""

import os

import pytest

from tests.conftest import ROOT, at_length
from tools import gallery


@pytest.mark.slow
@at_length
@pytest.mark.parametrize("name", gallery.ORDER)
@pytest.mark.filterwarnings("default")  # of the notebook's libraries, in this process; the example has its own
def test_examples_run_as_notebooks(name, tmp_path, monkeypatch):
    jupytext, nbclient = pytest.importorskip("jupytext"), pytest.importorskip("nbclient")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel chooses the one that shows figures
    for variable in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):  # of this user
        monkeypatch.setenv(variable, str(tmp_path / "jupyter"))
    notebook = jupytext.read(gallery.EXAMPLES / f"{name}.py")
    for cell in notebook.cells:
        cell.source = cell.source.replace('PROFILE = "paper"', 'PROFILE = "smoke"')
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [kind for output in notebook.cells[-1].outputs for kind in output.get("data", ())]
    assert any(kind.startswith("image/") for kind in shown), shown


def test_the_page_is_that_of_the_scripts():
    """After an edit of an example: python -m tools.gallery NAME."""
    seconds = gallery.known()
    assert set(seconds) == set(gallery.ORDER) == {path.stem for path in gallery.EXAMPLES.glob("*.py")}
    assert gallery.page(seconds) == gallery.PAGE.read_text()
    assert all((gallery.EXAMPLES / f"{name}.png").stat().st_size < 150_000 for name in gallery.ORDER)
