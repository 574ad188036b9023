"""`dpexp check`: a right plug-in passes every check, and each of many wrong ones fails the one that is for it."""

import json

import pytest

from dpexp.conformance.check_result import carry_out
from dpexp.conformance.suite import SUITE, hold, subjects_of
from dpexp.plugins.loading import use
from tests.conformance.plugins_to_check import RIGHT, WRONG
from tests.conftest import invoked, mostly_slow, using


def plugin_of(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_a_right_plug_in_passes_every_check(tmp_path, few_problems):
    path = plugin_of(tmp_path, RIGHT)
    with using(path):
        results = list(hold(subjects_of(use(path))))
    assert not [r for r in results if r.outcome == "failed"]
    assert {r.kind for r in results} == {"problem", "algorithm", "metric"}
    idle = {(r.kind, r.check) for r in results if r.outcome == "not tried"}
    assert idle == {("problem", "gradient of the sum"), ("problem", "constants of the sum")}


@pytest.mark.parametrize("name", mostly_slow(WRONG))
def test_a_wrong_plug_in_fails_the_check_that_is_for_it(name, tmp_path):
    right, wrong, kind, check = WRONG[name]
    assert RIGHT.count(right) == 1
    path = plugin_of(tmp_path, RIGHT.replace(right, wrong))
    with using(path):
        (subject,) = [s for s in subjects_of(use(path)) if s.kind == kind]
        (one,) = [c for c in SUITE[kind] if c.name == check]
        result = carry_out(one, subject)
    assert result.outcome == "failed", result.detail
    assert result.detail
    assert result.where.startswith(f"{path}:")
    assert int(result.where.rpartition(":")[2]) > 1


SHORT = """
from typing import Literal
from dpexp.plugins import Plugin
from dpexp.algorithms.schedules import Schedule

class Slow(Schedule):
    name: Literal["slow"] = "slow"
    def step_sizes(self, first, last):
        return 1.0 / np.arange(first, last + 1)

PLUGIN = Plugin(schedules={"slow": Slow})
"""


def test_the_command(tmp_path):
    """Of a schedule alone: that its files are all that it needs; of a right one in tests/commands/approved/check.txt."""
    (tmp_path / "beside.txt").touch()
    wrong = plugin_of(tmp_path, f"open(__file__.replace('mine.py', 'beside.txt')).close()\n{SHORT}")
    found = invoked("check", wrong, "--json")
    assert found.exit_code == 1
    done = json.loads(found.stdout)
    (failed,) = [check for check in done["checks"] if check["result"] == "failed"]
    assert (failed["check"], failed["where"]) == ("alone", f"{wrong}:1")
    assert {"kind", "what", "check", "tries", "result", "detail", "where", "seconds"} == set(failed)
