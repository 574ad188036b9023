"""The plug-ins of the repository: they conform, readers of a clone find them, and a stranger's results load no others."""

import pytest

from dpexp.conformance.check_result import carry_out
from dpexp.conformance.suite import SUITE, subjects_of
from dpexp.plugins.loaded import LOADED
from tests.conformance.test_conformance import in_time
from tests.conftest import AT_LENGTH, ROOT, call, share, using

FILES = sorted((ROOT / "research").glob("*/*.py"))
CONFIGS = sorted((ROOT / "research").glob("*/*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("file", share(FILES, 2), ids=lambda file: file.stem)
def test_a_plug_in_conforms(file, few_problems):
    assert len(file.read_text().splitlines()) <= 340
    with using(file):
        for subject in subjects_of(LOADED[file.name].plugin):
            for check in (one for one in SUITE[subject.kind] if AT_LENGTH or in_time(subject, one)):
                result = carry_out(check, subject)
                assert result.outcome != "failed", f"{check.name}: {result.where}: {result.detail}"


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_a_config_names_its_plug_in(config):
    with using():
        assert "ok" in call("validate", config).stdout
