"""Faults that are injected into a private algorithm are found by `dpexp audit`, and sound mechanisms raise no alarm.

A fault stands in the engine or in the algorithm while it runs; the files of the audit are untouched. `make soak` tries
all faults, in more runs.
"""

from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest

from dpexp.algorithms import dp_sgd, softmax_runs
from dpexp.config.experiment_file import read_experiment
from dpexp.engine.finite_sum import noise_designs
from dpexp.engine.linear import linear_pass
from dpexp.engine.softmax import batches as schemes
from dpexp.engine.softmax import softmax_loop
from dpexp.engine.softmax import steps as kernel
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit import worlds as auditing
from dpexp.reporting.audit.audit_cells import plan_of
from dpexp.reporting.audit.worlds import audit
from tests.conftest import AT_LENGTH, share

LEVEL = 1e-3


def config(problem, algorithm, schedule, privacy, run):
    """A config of one cell, by the words of its sections."""
    sections = {"problem": problem, "algorithm": algorithm, "schedule": schedule}
    lines = [f"{section}: {{name: {words}}}" for section, words in sections.items()]
    return "\n".join(["experiment: faulty", *lines, f"privacy: {{{privacy}}}", f"run: {{{run}, seed: 1}}"]) + "\n"


TARGET, TWICE, CONSTANT = "eps: 1, delta: 1e-5", "replicates: 2, checkpoints: 1", "constant, eta: 2"
DIGITS, WIDE = "softmax, data: {name: digits}", "sigma: 2.0, sensitivity: exact"
FULL = config(DIGITS, f"dp-sgd, batch_size: {Softmax().n}", CONSTANT, TARGET, TWICE)
SAMPLED = config(DIGITS, "dp-sgd, batch_size: 64", CONSTANT, TARGET, TWICE)
BALL = config(DIGITS, "dp-sgld, sampling: poisson, start: zero, radius: 0.5, batch_size: 64", CONSTANT, TARGET, TWICE)
SUMS = "rippled-mean, N: 500, d: 10"
TREE = config(SUMS, "tree-momentum, epochs: 10, order: fixed", "path-length, length: 3", TARGET, TWICE)
POWER, EACH = "power, eta: 0.2, alpha: 1/2", "mu: {list: [1, 2]}"
USERS = config(f"huber-linear, d: 5, {WIDE}", "ldp-sgd", POWER, EACH, "n: 1000, replicates: 8")


def noise_too_small():
    """The noise is 2/3 of what it should be."""
    true = dp_sgd.gradient_noise_scale
    return patch.object(dp_sgd, "gradient_noise_scale", lambda *given: true(*given) * 2 / 3)


def literal_steps(clip=None, late=False, averaged=""):
    """The compiled steps of `dpexp.engine.softmax.steps`, in numpy, with faults to choose from.

    `clip` limits a gradient; `late` adds the sum of a batch after noise and projection. The average can be that of
    iterates "without their last noise", "follow" the iterate without it, or have "opposite" noise.
    """

    def steps(
        weights, previous, averages, features, labels, norms, index, ends, means, shrinks, scales, shares, draws, clips,
        radii, momenta, *memory,
    ):  # fmt: skip
        begin = 0
        for k, end in enumerate(ends):
            batch, begin = index[begin:end], end
            for r in range(len(weights)):
                w, total = weights[r].astype(np.float64), np.zeros_like(weights[r], dtype=np.float64)
                for i in batch:
                    scores = np.exp(w @ features[i] - (w @ features[i]).max())
                    slopes = scores / scores.sum()
                    slopes[labels[i]] -= 1
                    total += (clip or clipped)(np.outer(slopes, features[i]), float(clips[r]))
                mean = float(means[r, k])
                gradient, noise = mean * total + shrinks[r, k] * w, float(scales[r, k]) * draws[k]
                moved = w + noise - (0.0 if late else gradient) + momenta[r] * (w - previous[r])
                length = np.linalg.norm(moved)
                moved *= min(1.0, radii[r] / length) if length else 1.0
                previous[r] = w
                weights[r] = moved - (gradient if late else 0.0)
                if averaged == "opposite":
                    averages[r] += -gradient - noise
                elif len(averages):
                    share = 1.0 if averaged == "follow" else shares[k]
                    averages[r] += share * (weights[r] - (noise if averaged else 0.0) - averages[r])

    return steps


def clipped(gradient, limit):
    """As it should be, up to the compiled code's slack of a millionth."""
    return gradient * min(1.0, limit / (np.linalg.norm(gradient) + kernel.CLIP_SLACK))


def wrong_steps(**faults):
    return patch.object(kernel, "steps", literal_steps(**faults))


def clip_of_a_part():
    """The norm that is limited is that of one class alone, so that two of them have sqrt 2 of it."""

    def by_class(gradient, limit):
        lengths = np.linalg.norm(gradient, axis=1, keepdims=True) + kernel.CLIP_SLACK
        return gradient * np.minimum(1.0, limit / lengths)

    return wrong_steps(clip=by_class)


def noise_shared_by_replicates():
    """Two replicates have one noise, and batches of their own."""
    true = softmax_runs.generator

    def shared(seed, replicate, role, part=0):
        return true(seed, replicate // 2 if role == "noise" else replicate, role, part)

    return patch.object(softmax_runs, "generator", shared)


def wrong_batches(change):
    true = schemes.poisson
    wrong = lambda n, m, generator: change(lambda k: true(n, k, generator), n, m)  # noqa: E731
    return patch.dict(schemes.SAMPLING, {"poisson": wrong})


def record_twice():
    """The record counts twice."""

    def change(drawn, n, m):
        for batch in drawn(m):
            yield np.concatenate([batch, batch[batch == 0]])

    return wrong_batches(change)


def noise_in_pairs():
    """Every second step has the noise of the one before it."""
    true = softmax_loop.gaussian

    def gaussian(generator):
        fill, before = true(generator), []

        def noise(out):
            fill(out)
            for step in out:
                if len(before) % 2:
                    step[:] = before[-1]
                before.append(step.copy())

        return noise

    return patch.object(softmax_loop, "gaussian", gaussian)


def users_exchanged():
    """Two users have each other's noise."""
    true = linear_pass.NextSizes.__call__

    def wrong(self, first, count):
        sizes = true(self, first, count)
        for s in self.varied:
            rows = sizes.noise[sizes.noise_row[s] :][: count - count % 2]
            rows[:] = rows.reshape(-1, 2, rows.shape[1])[:, ::-1].reshape(rows.shape)
        return sizes

    return patch.object(linear_pass.NextSizes, "__call__", wrong)


def nodes_reused():
    """A node of the tree has the noise of its own left half."""
    true, drawn = noise_designs.tree_noise, {}

    def tree_noise(normals, first, alpha, std, slots, out):
        own = drawn.setdefault(id(slots), {}) if first > 1 else drawn.update({id(slots): {}}) or drawn[id(slots)]
        for i in range(len(normals)):
            t = first + i
            half = (t & -t) // 2
            if half:
                normals[i] = own[t - half]
            own[t] = normals[i].copy()
        true(normals, first, alpha, std, slots, out)

    return patch.object(noise_designs, "tree_noise", tree_noise)


class Fault(NamedTuple):
    """A fault, its config, and in how many runs it is found, here (0: not at all) and in `make soak`."""

    name: str
    inject: object
    config: str
    quick: int
    runs: int
    copy: int = 0


FAULTS = (
    Fault("noise x 2/3", noise_too_small, FULL, 800, 1500),
    Fault("clip off by sqrt 2", clip_of_a_part, FULL, 800, 1500),
    Fault("record counts twice", record_twice, SAMPLED, 1000, 2000),
    Fault("q doubled", partial(wrong_batches, lambda drawn, n, m: drawn(2 * m)), SAMPLED, 0, 4000, 1),
    Fault("noise of pairs reused", noise_in_pairs, SAMPLED, 500, 800),
    Fault("clip of entries, not of the norm", partial(wrong_steps, clip=lambda g, limit: np.clip(g, -limit, limit)), SAMPLED, 0, 2000),
    Fault("users exchanged", users_exchanged, USERS, 0, 1000),
    Fault("nodes reused", nodes_reused, TREE, 500, 1500),
    Fault("record after noise and projection", partial(wrong_steps, late=True), BALL, 0, 4000, 1),
    Fault("average of opposite noise, alone sound", partial(wrong_steps, averaged="opposite"), FULL, 400, 800),
    Fault("average without last noise", partial(wrong_steps, averaged="without"), FULL, 800, 1500),
    Fault("average follows without noise", partial(wrong_steps, averaged="follow"), FULL, 0, 1500),
    Fault("replicates share noise", noise_shared_by_replicates, SAMPLED, 600, 800),
)  # fmt: skip


def planned(text):
    """The audits of a config."""
    return plan_of(read_experiment(text, "faulty.yaml"))[0]


@pytest.fixture(autouse=True)
def few_pilots(monkeypatch):
    if not AT_LENGTH:
        monkeypatch.setattr(auditing, "PILOT", 300)


@pytest.mark.slow
@pytest.mark.parametrize("fault", share([f for f in FAULTS if AT_LENGTH or f.quick], 3), ids=lambda f: f.name)
def test_a_fault_is_found(fault):
    with fault.inject():
        copy = planned(fault.config)[fault.copy]
        assert audit(copy, fault.runs if AT_LENGTH else fault.quick, LEVEL, 1)["alarm"]


SOUND = {"full": FULL, "ball": BALL, "sampled": SAMPLED, "tree": TREE}


@pytest.mark.slow
@pytest.mark.parametrize("name", share(SOUND, 2))
def test_sound_mechanisms_are_left_alone(name):
    """And the bracket is not empty: the lower bound is a good part of the claim."""
    row = audit(planned(SOUND[name])[0], 600, LEVEL, 2)
    assert not row["alarm"]
    if name == "full":  # the others give away little in so few runs
        assert row["lower_bound"] > 0.3 * row["claimed"]


def test_the_literal_steps_without_a_fault_are_the_compiled_ones(monkeypatch):
    """Otherwise a fault could be found because of how it was injected."""
    for config in (FULL, BALL):
        one = planned(config)[0]
        compiled, _ = one.observe(1, range(6))
        with monkeypatch.context() as patched:
            patched.setattr(kernel, "steps", literal_steps())
            literal, _ = one.observe(1, range(6))
        np.testing.assert_allclose(literal, compiled, rtol=2e-4, atol=2e-6)
