"""A share of the fault campaign, and a proof that the campaign would notice a store that is not careful."""

import pytest

from tests.campaigns import faults
from tests.conftest import share

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def compiled():
    faults.warm_up()


@pytest.mark.parametrize("name", share(faults.SCENARIOS[1:], 5))
def test_crashes_leave_nothing_false(name):
    found = faults.crashes(name, 12)
    assert found["repaired"] >= 3
    assert found.bad == 0, dict(found)


@pytest.mark.parametrize("name", share(faults.SCENARIOS, 6))
def test_kills_and_full_disks_leave_nothing_false(name):
    for found in (faults.kills(name, 2), faults.full_disk(name, 3)):
        assert found["repaired"] >= 2
        assert found.bad == 0, dict(found)


@pytest.mark.parametrize("kind", share(faults.PLACES, 2))
def test_damage_is_noticed_by_every_reader(kind):
    found = faults.damages("own records" if kind == "model" else "fresh", kind, 3)
    assert found["repaired"] == 3
    assert found.bad == 0, dict(found)


def test_foreign_files_and_several_processes():
    for found in (faults.foreign_files("extend"), faults.two_writers("extend", 1), faults.reader_and_writer(0.2)):
        assert found["repaired"] >= 1
        assert found.bad == 0, dict(found)
