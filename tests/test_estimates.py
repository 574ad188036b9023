"""What `run --dry-run` says of the time, beside what a run takes."""

import json
import resource

import pytest

from tests.conftest import AT_LENGTH, installed

LINEAR = """\
experiment: timed
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: 0.2, alpha: [1/3, 1/2, 1]}
privacy: {mu: [1, 2, inf]}
run: {n: 20000, replicates: 40, seed: 1, checkpoints: 20}
"""
RECORDS = """\
experiment: timed
problem: {name: softmax, data: {name: digits}}
algorithm: {name: dp-sgd, batch_size: 100, epochs: 20}
schedule: {name: langevin, decreasing: false}
privacy: {eps: [1, 4], delta: 1e-5}
run: {replicates: 10, seed: 1, checkpoints: 2}
"""


@pytest.mark.skipif(not AT_LENGTH, reason="a shared machine gives no steady times: make soak")
@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False], ids=["compiled before", "compiles"])
@pytest.mark.parametrize("text", [LINEAR, RECORDS], ids=["linear", "records"])
def test_estimates_are_right_within_a_factor_of_two(tmp_path, text, kept):
    """Held against the processor's time of one worker, which other programs on the machine hardly change."""
    (tmp_path / "timed.yaml").write_text(text)
    env = {"DPEXP_CACHE": str(tmp_path / "kernels"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = ("run", "timed.yaml", "--jobs", "1", "--json")
    if kept:
        installed(*words, "--results", "before", cwd=tmp_path, env=env)
    said = json.loads(installed(*words, "--dry-run", cwd=tmp_path, env=env).stdout)["estimate_s"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    installed(*words, cwd=tmp_path, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    assert said / 2 < took < 2 * said, (said, took)
