"""Neighbouring files of a user's records, up to the noise: one record more or less, or another, moves nobody else.

What stands between the records and the noise is caught where the engine takes it, in the real command. It must be the
same but for one record: training records, held-out records, groups, probabilities, steps, batches, noise and start.
"""

import json
import secrets
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpexp.algorithms import softmax_runs
from dpexp.data.dataset import GROUP, TEST, VALIDATION, Dataset, split_by_draws, with_draws
from dpexp.engine.softmax import batches as schemes
from tests.conftest import call, share

CONFIG = """experiment: mine
problem:
  name: softmax
  regulariser: 1e-2
  test_fraction: 0.3
  data:
    path: people.csv
    target: y
    ranges: {a: [0, 10]}
    categories: {b: [u, v], y: [no, yes]}
    RECORDS
algorithm: {ALGORITHM, batch_size: 6, epochs: 2}
schedule: {name: constant, eta: 0.1}
privacy: {eps: 2, delta: 1e-5}
run: {replicates: 1, seed: 1, checkpoints: 1}
"""
STATED = 40
ADDED = [f"name: {name}, sampling: {s}" for name in ("dp-sgd", "dp-sgld") for s in ("poisson", "balls-in-bins")]
ADDED += [f"name: {name}, sampling: cyclic-poisson, groups: 3" for name in ("dp-sgd", "dp-sgld")]
REPLACED = ["name: dp-sgd, sampling: fixed-size", "name: dp-sgld"]
REPLACED += [f"name: {name}, sampling: shuffled, accountant: once-an-epoch" for name in ("dp-sgd", "dp-sgld")]


def lines(seed, count=43):
    """Records of which several are equal."""
    draws = np.random.default_rng(seed)
    return [f"{draws.integers(3)},{'uv'[draws.integers(2)]},{('no', 'yes')[draws.integers(2)]}" for _ in range(count)]


def config(folder, algorithm, records=None):
    text = CONFIG.replace("RECORDS", f"records: {records}" if records else "").replace("ALGORITHM", algorithm)
    (folder / "mine.yaml").write_text(text)
    return folder / "mine.yaml"


class Caught:
    """What one run hands to the engine, and what it measures and stores."""

    def __init__(self, folder, path, records, monkeypatch):
        (folder / "people.csv").write_text("a,b,y\n" + "\n".join(records) + "\n")
        self.trained, self.held, self.laws, self.batches, self.runs, self.noise = [], [], [], [], [], []
        engine, scheme = softmax_runs.engine, schemes.scheme

        def learn(real):
            def learning(features, labels, runs, batches, **rest):
                drawn = list(islice(batches, len(runs[0].steps)))
                self.trained.append(contents(features, labels))
                self.runs += [[[np.asarray(part, float).tolist() for part in run if part is not None] for run in runs]]
                self.batches.append([batch.tolist() for batch in drawn])
                block = np.empty((1, *runs[0].start.shape), np.float32)
                rest["noise"](block)
                self.noise.append((block.tolist(), rest["batch_size"], list(rest["checkpoints"])))
                return real(features, labels, runs, iter(drawn), **rest)

            return learning

        def called(sampling, groups=None, draws=None):
            def batches(n, batch_size, order, **public):
                self.laws.append((sampling, groups, batch_size, public.get("nominal", n), draws))
                return scheme(sampling, groups, draws)(n, batch_size, order, **public)

            return batches

        def measuring(problem, *rest):
            self.held.append(contents(problem.split.test.features, problem.split.test.labels))
            return measured(problem, *rest)

        measured = softmax_runs.iterate_metrics
        seeds = iter(range(7, 1000))
        with monkeypatch.context() as patched:
            patched.setattr(secrets, "randbits", lambda bits: next(seeds))
            patched.setattr(engine, "train", learn(engine.train))
            patched.setattr(softmax_runs.drawn, "scheme", called)
            patched.setattr(softmax_runs, "iterate_metrics", measuring)
            results = Path(tempfile.mkdtemp(dir=folder), "results")  # next to no other release of these records
            call("run", path, "--deployment", "--results", results, "-j", "1", "-q", cwd=folder)
        cells = pd.read_parquet(next(Path(results).glob("mine.deployed-*/cells.parquet")))
        self.cells = json.loads(cells.drop(columns=["n_diverged", "status"]).to_json())
        self.statement = call("privacy", path, "--deployment", "--json", cwd=folder).stdout


def contents(features, labels):
    """Every record as the engine has it."""
    return [row.tobytes() + bytes([label]) for row, label in zip(features, labels.tolist(), strict=True)]


def moved(one, two):
    """Records that only one of two lists has, as often as it has them more."""
    return sum((Counter(one) - Counter(two)).values()), sum((Counter(two) - Counter(one)).values())


def by_group(caught, which):
    """Of each group, which records are in it."""
    draws, groups = caught.laws[which][4], caught.laws[which][1]
    members = draws % groups if draws is not None else np.arange(len(caught.trained[which])) % groups
    return [[r for r, m in zip(caught.trained[which], members, strict=True) if m == g] for g in range(groups)]


def differ(one, two):
    """What differs between two runs besides one record's own: words; and the parts in which that record is."""
    found = []
    for what in ("runs", "noise", "cells", "statement"):
        if getattr(one, what) != getattr(two, what):
            found.append(what)
    if [law[:4] for law in one.laws] != [law[:4] for law in two.laws]:
        found.append("the law of batches")
    lists = zip(one.trained, two.trained, one.held, two.held, strict=False)
    parts = [(moved(a, b), moved(c, d)) for a, b, c, d in lists]
    for which, (trained, held) in enumerate(parts):
        if max(trained[0] + held[0], trained[1] + held[1]) > 1:
            found.append("who is in which part")
        if (
            one.laws[which][1]
            and sum(max(moved(a, b)) for a, b in zip(by_group(one, which), by_group(two, which), strict=True)) > 1
        ):
            found.append("groups")
    return sorted(set(found)), set(parts)


@pytest.mark.slow
def test_a_record_that_is_added_or_removed_moves_nobody_else(tmp_path, monkeypatch):
    """In every scheme; whichever line it is, also the last one, and one of several equal lines."""
    seen = set()
    for number, algorithm in enumerate(share(ADDED, 2)):
        path, records = config(tmp_path, algorithm, STATED), lines(number)
        records[20] = "?,u,no"  # cannot be read: nothing is learnt from it
        whole = Caught(tmp_path, path, records, monkeypatch)
        for left_out in (42, number, 20):
            other = Caught(tmp_path, path, records[:left_out] + records[left_out + 1 :], monkeypatch)
            found, parts = differ(whole, other)
            assert found == [], (algorithm, left_out)
            seen |= parts
    assert seen == {((1, 0), (0, 0)), ((0, 0), (1, 0))}  # a training record, or a held-out one


@pytest.mark.slow
def test_a_record_that_is_replaced_moves_nobody_else(tmp_path, monkeypatch):
    """Places decide, so it stays in its part, and even the batches are the same."""
    seen, unreadable = set(), set()
    for number, algorithm in enumerate(share(REPLACED, 2)):
        path, records = config(tmp_path, algorithm), lines(number, 42)
        whole = Caught(tmp_path, path, records, monkeypatch)
        for place in (41, *range(number, number + 4)):
            other = Caught(tmp_path, path, [*records[:place], "9,u,no", *records[place + 1 :]], monkeypatch)
            found, parts = differ(whole, other)
            assert found == [], (algorithm, place)
            assert whole.batches == other.batches
            seen |= parts
        for place in range(6):  # by a record that cannot be read, which keeps its place
            unread = Caught(tmp_path, path, [*records[:place], "?,u,no", *records[place + 1 :]], monkeypatch)
            found, parts = differ(whole, unread)
            assert found == [], (algorithm, place)
            assert whole.batches == unread.batches
            unreadable |= parts
    assert seen == {((1, 1), (0, 0)), ((0, 0), (1, 1))}
    assert unreadable == seen


def few(seed, count=60):
    """Records of a table of few categories."""
    draws = np.random.default_rng(seed)
    features = draws.integers(0, 2, (count, 2)).astype(np.float32)
    return Dataset("few", features, draws.integers(0, 2, count), ("no", "yes"))


@pytest.mark.parametrize("seed", range(5))
def test_one_record_less_is_one_less_in_one_part_of_one_group_for_every_key(seed):
    for place in range(60):
        data = few(seed)
        rest = np.delete(np.arange(60), place)
        whole, without = with_draws(data, seed), with_draws(data.rows(rest), seed)
        record = contents(data.features, data.labels)[place]
        for which in (TEST, VALIDATION):
            parts = list(zip(split_by_draws(whole, 0.4, which), split_by_draws(without, 0.4, which), strict=True))
            gone = [Counter(contents(a.features, a.labels)) - Counter(contents(b.features, b.labels)) for a, b in parts]
            come = [Counter(contents(b.features, b.labels)) - Counter(contents(a.features, a.labels)) for a, b in parts]
            assert not any(come)
            assert sorted(map(dict, gone), key=len) == [{}, {record: 1}]
        groups = [
            Counter(zip(contents(d.features, d.labels), (d.draws[:, GROUP] % 5).tolist(), strict=True))
            for d in (whole, without)
        ]
        assert list((groups[0] - groups[1]).values()) == [1]
        assert not groups[1] - groups[0]


def test_equal_records_are_dealt_independently_and_their_three_numbers_too():
    """Otherwise whole patterns of a table of categories would never be learnt. Chances of a false alarm: 1e-5 each."""
    data = Dataset("same", np.ones((4000, 2), np.float32), np.zeros(4000, np.int64), ("no", "yes"))
    for seed in range(5):
        draws = with_draws(data, seed).draws / 2.0**64
        for which in range(3):
            assert abs(np.mean(draws[:, which] < 0.2) - 0.2) < 4.5 * np.sqrt(0.2 * 0.8 / 4000)
        apart = np.corrcoef(np.concatenate([draws, np.roll(draws[:, :1], 1, axis=0)], axis=1).T) - np.eye(4)
        assert np.abs(apart).max() < 4.9 / np.sqrt(4000)
    assert not np.array_equal(with_draws(data, 0).draws, with_draws(data, 1).draws)


@pytest.mark.parametrize(("n", "nominal"), [(50, 80), (50, 30), (3, 40), (0, 40)])
def test_records_draw_with_the_public_probability_whatever_their_number(n, nominal):
    def share(scheme, steps, runs=600, **rest):
        sizes = [len(b) for seed in range(runs) for b in islice(scheme(n, 10, np.random.default_rng(seed), nominal=nominal, **rest), steps)]  # fmt: skip
        return np.sum(sizes) / (runs * max(n, 1)), 4.5 / np.sqrt(runs * max(n, 1))

    seen, error = share(schemes.poisson, 1)
    assert abs(seen - (n > 0) * 10 / nominal) < error / 2
    scheme = schemes.SAMPLING["balls-in-bins"]
    assert share(scheme, -(-nominal // 10))[0] == (n > 0)  # every record is in one batch of an epoch
    assert n == 0 or share(scheme, -(-nominal // 10) + 1)[0] > 1
    draws = np.random.default_rng(5).integers(0, 2**63, n).astype(np.uint64)
    seen, error = share(schemes.poisson, 3, groups=3, draws=draws)
    assert abs(seen - (n > 0) * 30 / nominal) < error / 2
    batches = schemes.poisson(n, 10, np.random.default_rng(0), nominal=nominal, groups=3, draws=draws)
    assert all((draws[batch] % 3 == step % 3).all() for step, batch in enumerate(islice(batches, 30)))
