"""Faults of a private algorithm, injected into the code that `dpexp audit` drives, and how often the audit finds them.

    python -m tests.campaigns.audit_faults [--repeats K] [--sound N]

Faults, each in the engine or in the algorithm while it runs; the audit's own files are untouched. A fault is
found if the exit code of the audit would be 1. Sound mechanisms are audited too: any alarm there is a false one. The
campaign prints a table and fails if a fault is found in less than 85% of the repetitions, or if there are more false
alarms than the stated level allows with probability 1e-4.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

import numpy as np
from scipy.stats import binom

from dpexp.algorithms import dp_sgd, softmax_runs
from dpexp.config.experiment_file import read_experiment
from dpexp.engine.finite_sum import noise_process
from dpexp.engine.linear import linear_pass
from dpexp.engine.softmax import batches as schemes
from dpexp.engine.softmax import softmax_loop
from dpexp.engine.softmax import steps as kernel
from dpexp.inference.messages import Users
from dpexp.inference.staged_newton import Server
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit import bracket as auditing
from dpexp.reporting.audit.audit_cells import Worlds
from dpexp.reporting.audit.bracket import Row, audit, plan_of
from tests.oracles.hessians import hessians
from tests.oracles.regression_audit import RegressionAudit, audits_of_regression

LEVEL = 1e-3
DELTAS = (1e-5,)


def config(problem: str, algorithm: str, schedule: str, privacy: str, run: str) -> str:
    """A config of one cell, by what its sections say."""
    named = {"problem": problem, "algorithm": algorithm, "schedule": schedule}
    lines = [f"{section}: {{name: {said}}}" for section, said in named.items()]
    return "\n".join(["experiment: faulty", *lines, f"privacy: {{{privacy}}}", f"run: {{{run}, seed: 1}}"]) + "\n"


TARGET, TWICE, CONSTANT = "eps: 1, delta: 1e-5", "replicates: 2, checkpoints: 1", "constant, eta: 2"
DIGITS, WIDE = "softmax, data: {name: digits}", "sigma: 2.0, sensitivity: exact"
FULL = config(DIGITS, f"dp-sgd, batch_size: {Softmax().n}", CONSTANT, TARGET, TWICE)
SAMPLED = config(DIGITS, "dp-sgd, batch_size: 64", CONSTANT, TARGET, TWICE)
BINS = config(DIGITS, "dp-sgd, sampling: balls-in-bins, batch_size: 64", CONSTANT, TARGET, TWICE)
BALL = config(DIGITS, "dp-sgld, sampling: poisson, start: zero, radius: 0.5, batch_size: 64", CONSTANT, TARGET, TWICE)
SUMS = "rippled-mean, N: 500, d: 10"
TREE = config(SUMS, "tree-momentum, epochs: 10, order: fixed", "path-length, length: 3", TARGET, TWICE)
POWER, EACH = "power, eta: 0.2, alpha: 1/2", "mu: {list: [1, 2]}"
USERS = config(f"huber-linear, d: 5, {WIDE}", "ldp-sgd", POWER, EACH, "n: 1000, replicates: 8")
REGRESSION = config(f"huber-linear, d: 2, {WIDE}", "staged-newton", "prescribed", "mu: 2", "n: 100000, replicates: 8")
MIXED = REGRESSION.replace("mu: 2", "mu: {choice: {values: [1, 3], probabilities: [0.5, 0.5]}}")


def noise_too_small() -> object:
    """1: the noise is 2/3 of what it should be."""
    true = dp_sgd.gradient_noise_scale
    return patch.object(dp_sgd, "gradient_noise_scale", lambda *given: true(*given) * 2 / 3)


def literal_steps(
    clip: Callable[[np.ndarray, float], np.ndarray] | None = None,
    late: bool = False,
    averaged: str = "",
) -> Callable[..., None]:
    """The compiled steps of `dpexp.engine.softmax.steps`, in numpy, with faults to choose from.

    `clip` limits a gradient; `late` adds the sum of a batch
    after noise and projection. The average can be that of iterates "without their last noise", "follow" the iterate
    without it, or have "opposite" noise.
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


def clipped(gradient: np.ndarray, limit: float) -> np.ndarray:
    """As it should be, up to the compiled code's slack of a millionth."""
    return gradient * min(1.0, limit / (np.linalg.norm(gradient) + kernel.CLIP_SLACK))


def wrong_steps(**faults: object) -> object:
    return patch.object(kernel, "steps", literal_steps(**faults))


def clip_of_a_part() -> object:
    """2: the norm that is limited is that of one class alone, so that two of them have sqrt 2 of it."""

    def by_class(gradient: np.ndarray, limit: float) -> np.ndarray:
        lengths = np.linalg.norm(gradient, axis=1, keepdims=True) + kernel.CLIP_SLACK
        return gradient * np.minimum(1.0, limit / lengths)

    return wrong_steps(clip=by_class)


def noise_shared_by_replicates() -> object:
    """25: two replicates have one noise, and batches of their own."""
    true = softmax_runs.generator

    def shared(seed: int, replicate: int, role: str, part: int = 0) -> np.random.Generator:
        return true(seed, replicate // 2 if role == "noise" else replicate, role, part)

    return patch.object(softmax_runs, "generator", shared)


def wrong_batches(change: Callable[[schemes.Batches, int, int], schemes.Batches]) -> object:
    true = schemes.poisson
    wrong = lambda n, m, generator: change(lambda k: true(n, k, generator), n, m)  # noqa: E731
    return patch.dict(schemes.SAMPLING, {"poisson": wrong})


def record_twice() -> object:
    """3: the record counts twice."""

    def change(drawn, n, m):
        for batch in drawn(m):
            yield np.concatenate([batch, batch[batch == 0]])

    return wrong_batches(change)


def wrong_bins(scheme: schemes.Scheme) -> object:
    return patch.dict(schemes.SAMPLING, {"balls-in-bins": scheme})


def wrong_noise(change: Callable[[np.ndarray, list[np.ndarray], np.random.Generator], None]) -> object:
    true = softmax_loop.gaussian

    def gaussian(generator: np.random.Generator) -> softmax_loop.Noise:
        fill, own = true(generator), np.random.default_rng(generator.integers(2**63))
        before: list[np.ndarray] = []

        def noise(out: np.ndarray) -> None:
            fill(out)
            for step in out:
                change(step, before, own)
                before.append(step.copy())

        return noise

    return patch.object(softmax_loop, "gaussian", gaussian)


def noise_in_pairs() -> object:
    """5: every second step has the noise of the one before it."""

    def change(step, before, own):
        if len(before) % 2:
            step[:] = before[-1]

    return wrong_noise(change)


def users_exchanged() -> object:
    """8: two users have each other's noise."""
    true = linear_pass._NextSizes.__call__

    def wrong(self, first, count):
        sizes = true(self, first, count)
        for s in self.varied:
            rows = sizes.noise[sizes.noise_row[s] :][: count - count % 2]
            rows[:] = rows.reshape(-1, 2, rows.shape[1])[:, ::-1].reshape(rows.shape)
        return sizes

    return patch.object(linear_pass._NextSizes, "__call__", wrong)


def nodes_reused() -> object:
    """11: a node of the tree has the noise of its own left half."""
    true, drawn = noise_process.tree_noise, {}

    def tree_noise(normals, first, alpha, std, slots, out):
        own = drawn.setdefault(id(slots), {}) if first > 1 else drawn.update({id(slots): {}}) or drawn[id(slots)]
        for i in range(len(normals)):
            t = first + i
            half = (t & -t) // 2
            if half:
                normals[i] = own[t - half]
            own[t] = normals[i].copy()
        true(normals, first, alpha, std, slots, out)

    return patch.object(noise_process, "tree_noise", tree_noise)


def wrong_users(change: Callable[[Server, Users], Users]) -> object:
    """The messages of users who are not what they should be when they are asked; one at a time."""
    true = Server.serve

    def serve(self: Server, users: Users, *rest: object) -> None:
        true(self, change(self, users), *rest)

    return patch.object(Server, "serve", serve)


def scaled_noise(factor: Callable[[Server, Users], np.ndarray]) -> object:
    """The noise of Hessians is multiplied by a factor [8], or by one for every entry of the triangle."""
    return wrong_users(lambda server, users: users._replace(hessian_noise=users.hessian_noise * factor(server, users)))


def diagonal_alone() -> object:
    """17: entries off the diagonal have half of their noise, as if each stood in the norm once, and by its variance."""

    def factor(server: Server, users: Users) -> np.ndarray:
        rows, columns = np.triu_indices(server.model.p)
        return np.where(rows == columns, 1.0, 0.5)[:, None]

    return scaled_noise(factor)


def noise_by_the_record() -> object:
    """19: noise in proportion to the norm of the record's own Hessian."""

    def factor(server: Server, users: Users) -> np.ndarray:
        rows = np.concatenate([np.ones((1, 8)), users.x[0]]).T
        own = [hessians(server.model, server.theta[:, k], rows[k], users.y[0, k]) for k in range(8)]
        bound = server.model.curvature_bound / server.theta[-1]
        return np.linalg.norm(own, axis=(1, 2)) / bound

    return scaled_noise(factor)


@dataclass(frozen=True)
class Fault:
    """A fault, the config in which it is looked for, the statistic that should find it, and in how many runs."""

    number: int
    name: str
    inject: Callable[[], object]
    config: str
    statistic: str
    runs: int
    copy: int = 0
    """which copy of the mechanism: of few steps, or of more"""


FAULTS = (
    Fault(1, "noise x 2/3", noise_too_small, FULL, "joint ratio", 1500),
    Fault(2, "clip off by sqrt 2", clip_of_a_part, FULL, "joint ratio", 1500),
    Fault(3, "record counts twice", record_twice, SAMPLED, "joint ratio", 2000),
    Fault(4, "q doubled", partial(wrong_batches, lambda drawn, n, m: drawn(2 * m)), SAMPLED, "joint ratio", 4000, 1),
    Fault(5, "noise of pairs reused", noise_in_pairs, SAMPLED, "joint ratio", 800),
    Fault(7, "clip of entries, not of the norm", partial(wrong_steps, clip=lambda g, limit: np.clip(g, -limit, limit)), SAMPLED, "joint ratio", 2000),
    Fault(8, "users exchanged", users_exchanged, USERS, "message", 1000),
    Fault(11, "nodes reused", nodes_reused, TREE, "joint ratio", 1500),
    Fault(12, "record after noise and projection", partial(wrong_steps, late=True), BALL, "joint ratio", 4000, 1),
    Fault(14, "half as many bins", partial(wrong_bins, lambda n, m, g: schemes.balls_in_bins(n, 2 * m, g)), BINS, "joint ratio", 4000, 1),
    Fault(15, "gradient noise x 2/3", partial(wrong_users, lambda server, users: users._replace(omega=users.omega * (2 / 3))), REGRESSION, "gradient", 1500),
    Fault(16, "Delta_H as B / s, without its root", partial(scaled_noise, lambda server, users: np.array(np.sqrt(0.5))), REGRESSION, "Hessian, other side", 1500),
    Fault(17, "noise off the diagonal", diagonal_alone, REGRESSION, "Hessian, other side", 1000),
    Fault(18, "Delta_H of the final scale", partial(scaled_noise, lambda server, users: server.theta[-1] / server.model.problem.fixed_scale), REGRESSION, "Hessian, other side", 1500),
    Fault(19, "noise by the record", noise_by_the_record, REGRESSION, "Hessian, none", 1000),
    Fault(20, "Hessian noise of another budget", partial(scaled_noise, lambda server, users: np.where(users.inverse_mu[0] > 0.5, 1 / 3, 1.0)), MIXED, "Hessian, other side", 1000),
    Fault(22, "average follows without noise", partial(wrong_steps, averaged="follow"), FULL, "joint ratio", 1500),
    Fault(23, "average without last noise", partial(wrong_steps, averaged="without"), FULL, "joint ratio", 1500),
    Fault(24, "average of opposite noise, alone sound", partial(wrong_steps, averaged="opposite"), FULL, "joint ratio", 800),
    Fault(25, "replicates share noise", noise_shared_by_replicates, SAMPLED, "joint ratio", 800),
    Fault(26, "a stretch of 6, not 3.501", partial(patch, "dpexp.inference.models.largest_stretch", lambda c: 6.0), REGRESSION, "gradient, its scale", 1500),
)  # fmt: skip


def planned(text: str) -> list[Worlds]:
    """The audits of a config; those of regressions stand in the tests."""
    experiment = read_experiment(text, "faulty.yaml")
    of_regression = audits_of_regression(experiment.cells[0])
    return list(of_regression) if of_regression is not None else plan_of(experiment)[0]


def audited(text: str, runs: int, seed: int, inject: Callable[[], object] = nullcontext, copy: int = 0) -> list[Row]:
    """The rows of `dpexp audit` of the copy in which a fault is looked for, while the fault is there."""
    with inject():  # type: ignore[attr-defined]
        every = planned(text)
        # of a regression every kind of message is looked at
        ones = every if isinstance(every[0], RegressionAudit) else [every[copy]]
        return [audit(one, runs, LEVEL, 1 / len(ones), seed, DELTAS) for one in ones]


def found(rows: list[Row]) -> list[str]:
    """The statistics that raise an alarm."""
    return [row.audited.statistic for row in rows if row.alarm]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10, help="of every fault")
    parser.add_argument("--sound", type=int, default=300, help="audits of sound mechanisms")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of faults")
    options = parser.parse_args()
    failed = False
    for fault in FAULTS:
        if options.only and fault.number not in options.only:
            continue
        seeds = range(1, options.repeats + 1)
        alarms = [found(audited(fault.config, fault.runs, seed, fault.inject, fault.copy)) for seed in seeds]
        hits, named = sum(map(bool, alarms)), sum(fault.statistic in one for one in alarms)
        print(f"{fault.number:2} {fault.name:34} runs {fault.runs:6,}  found {hits:3} of {len(alarms)}, "
              f"by '{fault.statistic}' {named}", flush=True)  # fmt: skip
        failed |= hits < 0.85 * len(alarms)
    sound = [USERS, FULL, SAMPLED, BALL, TREE, BINS, REGRESSION, MIXED]
    with patch.object(auditing, "PILOT", 200):  # a short pilot chooses worse, and no more falsely
        false = sum(bool(found(audited(sound[k % len(sound)], 400, 1000 + k))) for k in range(options.sound))
    print(f"sound mechanisms: {false} false alarms in {options.sound} audits, each at level {LEVEL:g}")
    return int(failed or binom.sf(false - 1, max(1, options.sound), LEVEL) < 1e-4)


if __name__ == "__main__":
    sys.exit(main())
