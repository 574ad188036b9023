"""The conformance suite on papers, figures, tables and claims: from toy results of the experiments that each declares."""

import pytest

from tests.test_conformance import SHOWN, cases, hold

SLOW = {("figure", "drawn"), ("table", "built"), ("claim", "settled"), ("claim", "sabotage")}


@pytest.mark.parametrize(("subject", "check"), cases(SHOWN, SLOW))
def test_what_is_shown_conforms(subject, check, toys):
    hold(subject, check, toys)
