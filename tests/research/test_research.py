"""The plug-ins of the repository: they conform, readers of a clone find them, and a stranger's results load no others."""

import shutil
from pathlib import Path

import pytest

from dpexp.conformance.check_result import carry_out
from dpexp.conformance.suite import SUITE, subjects_of
from dpexp.plugins import loading
from dpexp.plugins.loaded import LOADED, research_folders
from tests.conftest import ROOT, call
from tests.plugin_lab import using

FILES = sorted((ROOT / "research").glob("*/*.py"))
CONFIGS = sorted((ROOT / "research").glob("*/*.yaml"))
TOY = """experiment: toy
plugins: FILE
problem: {name: huber-linear}
algorithm: {name: stretched-ldp-sgd}
privacy: {mu: 1}
run: {n: 50, replicates: 2, seed: 1, checkpoints: 2}
"""


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_plug_in_conforms(file, few_problems):
    assert len(file.read_text().splitlines()) <= 340
    with using(file):
        for subject in subjects_of(LOADED[file.name].plugin):
            for check in SUITE[subject.kind]:
                result = carry_out(check, subject)
                assert result.outcome != "failed", f"{check.name}: {result.where}: {result.detail}"


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_a_config_names_its_plug_in(config):
    with using():
        assert "ok" in call("validate", config).stdout


def test_readers_find_it_by_its_name_and_no_file_of_anybody_else(tmp_path):
    own = ROOT / "research" / "stretched" / "stretched_ldp_sgd.py"
    copy = Path(shutil.copy(own, tmp_path / "mine.py"))
    for file, needs in ((own, False), (copy, True)):
        config, where = tmp_path / "toy.yaml", ("--results", tmp_path / file.stem)
        config.write_text(TOY.replace("FILE", str(file)))
        call("run", config, "-q", *where)
        assert ("--plugin mine.py" in call("table", "toy", *where).stderr) == needs
    with using():
        loading.load_research(["../stretched/stretched_ldp_sgd.py", "os.py", "mine.py"])
        assert not {"os.py", "mine.py", "stretched_ldp_sgd.py"} & set(LOADED)
    assert all(folder.parent.name == "research" for folder in research_folders())
