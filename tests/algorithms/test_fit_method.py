"""The plan of a plug-in's method: whose statement of privacy it is, for how many records, and what it refuses."""

import math

import pytest

from dpexp.algorithms.fit_method import FitMethod
from dpexp.core.errors import UsageError
from dpexp.inference.models import unit_model
from tests.conftest import ROOT, using

TEXT = (ROOT / "docs/plugins/newton.py").read_text()


def plan(tmp_path, mu, n=50_000, old="", new=""):
    """The plan of noisy-newton with a change, for a linear model of two variables."""
    assert old in TEXT
    path = tmp_path / "method.py"
    path.write_text(TEXT.replace(old, new))
    with using(path):
        return FitMethod("noisy-newton").plan(unit_model("huber-linear", 2), mu, n)


@pytest.mark.parametrize("mu", [0.3, 20.0, math.inf])
def test_a_plan_names_the_statement_of_its_budget_and_counts_records(tmp_path, mu):
    found, few = plan(tmp_path, mu), plan(tmp_path, mu, 300)
    by = "no privacy" if mu == math.inf else "gaussian-composition"
    assert found.stated_by.startswith(f"noisy-newton, by {by}, {tmp_path}")
    assert (found.n, few.n, found.central, few.central, found.checked.reasons) == (50_000, 300, True, True, ())
    assert [reason.rule for reason in few.checked.reasons] == ["noisy-newton"]


@pytest.mark.parametrize(("old", "new", "right"), [
    ("budget.constant,\n", "(budget.constant / 2),\n", True),
    ("budget.constant,\n", "(budget.constant * (1 + 1e-10)),\n", True),  # rounding
    ("budget.constant,\n", "(budget.constant * (1 + 1e-6)),\n", False),
    ("valid=noisy", "valid=False", False),
    ('relation="replace-one"', 'relation="add-remove"', False),
    ("    estimators: ClassVar", "    runs_on: ClassVar = (int,)\n    estimators: ClassVar", False),
    ("+ one\n", '+ ["of another kind"]\n', False),
])  # fmt: skip
def test_a_method_spends_no_more_than_its_budget_and_what_no_fit_can_use_is_refused(tmp_path, old, new, right):
    if right:
        assert plan(tmp_path, 1.0, old=old, new=new).stated_by
    else:
        with pytest.raises(UsageError, match="noisy-newton"):
            plan(tmp_path, 1.0, old=old, new=new)
