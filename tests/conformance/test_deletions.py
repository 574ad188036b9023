"""What is deleted with its registry line leaves the rest at work; `make soak` deletes everything that can be, in turn."""

import pytest

from tests.campaigns.deletions import listed, what_breaks

TRIED = {"dpexp.problems.softmax"}


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(TRIED))
def test_the_rest_works_without(module):
    assert module in listed()
    assert what_breaks(module)[0] == []
