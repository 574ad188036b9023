"""The memory of a batch job is the limit of its own control group, or of one around it."""

import pytest

from dpexp.core import memory

JOB = "/slurm/job_7"


@pytest.mark.parametrize(
    ("group", "limits", "least"),
    [
        (f"0::{JOB}/step", {f"{JOB}/memory.max": "5000000", f"{JOB}/step/memory.max": "max"}, 5_000_000),
        (f"4:cpu,memory:{JOB}\n0::/", {f"/memory{JOB}/memory.limit_in_bytes": "4000000"}, 4_000_000),
        ("", {}, None),
    ],
)
def test_the_least_limit_of_the_groups_counts(group, limits, least, monkeypatch):
    without = memory.memory_of_machine()
    files = {"/proc/self/cgroup": group, **{f"/sys/fs/cgroup{path}": limit for path, limit in limits.items()}}
    monkeypatch.setattr(memory, "content_of", lambda path: files.get(path, ""))
    assert memory.memory_of_machine() == least if least else memory.memory_of_machine() >= without
