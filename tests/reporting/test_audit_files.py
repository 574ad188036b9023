"""Audits of two neighbouring files: from reading to all that leaves. Faults before, in and beside the noise are found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from dpexp.algorithms import dp_sgd, softmax_runs
from dpexp.commands import audit_files
from dpexp.commands import fit as fitting
from dpexp.commands.audit import Effort
from dpexp.commands.fit_request import Request
from dpexp.commands.fit_shown import Report
from dpexp.config.public_file import read_public
from dpexp.core.errors import UsageError
from dpexp.data.dataset import Split
from dpexp.engine.softmax import steps as kernel
from dpexp.inference import central_newton
from dpexp.problems import softmax
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit import audit as auditing
from dpexp.reporting.audit import files as auditing_files
from dpexp.reporting.audit.files import neighbours, other_records
from dpexp.store import publish
from tests.campaigns.audit_faults import literal_steps
from tests.conftest import at_length, call, share

CONFIG = """\
experiment: own
problem: {name: softmax, data: {path: a.csv, target: y, ranges: {u: [-4, 4], v: [-4, 4]}, categories: {y: [0, 1]}}}
algorithm: {name: dp-sgd, sampling: fixed-size, batch_size: 8, epochs: 1}
schedule: {name: constant, eta: 0.5}
privacy: {eps: 8, delta: 1e-5}
run: {replicates: 2, seed: 3, checkpoints: 1}
"""


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(auditing_files, "FIRST", 60)
    monkeypatch.setattr(audit_files, "STORED", 2)
    monkeypatch.setattr(auditing, "PILOT", 120)


def table(rows):
    return "u,v,y\n" + "\n".join(rows) + "\n"


def trained(k):
    """Whether row k of fifty is one of the training records, by what a run reads."""
    Path("a.csv").write_text(table(ROWS))
    Path("b.csv").write_text(table([*ROWS[:k], "3.9,-3.9,0", *ROWS[k + 1 :]]))
    one, other = (
        audit_files._encoded(audit_files._on(Path("own.yaml"), (), Path(f)).cells) for f in ("a.csv", "b.csv")
    )
    return "train" in [record[0] for record in one if record not in other]


ROWS = [f"{u:.3f},{v:.3f},{int(u > 0)}" for u, v in np.random.default_rng(0).normal(size=(50, 2))]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Two files of fifty rows, of which one training record differs."""
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(CONFIG)
    for k in range(50):
        softmax._loaded.cache_clear()
        if trained(k):
            return
    raise AssertionError("no training records")


@pytest.fixture
def alike(tmp_path, monkeypatch):
    """All training records are alike but for one of b.csv, so that nothing but noise hides which file it is."""
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(CONFIG)
    for odd in range(1, 20):  # the columns must not be constant, so one held-out record is another
        rows = ["1,1,1"] * 20
        rows[odd] = "-1,2,0"
        Path("a.csv").write_text(table(rows))
        Path("b.csv").write_text(table(["3.9,-3.9,0", *rows[1:]]))
        softmax._loaded.cache_clear()
        one = audit_files._encoded(audit_files._on(Path("own.yaml"), (), Path("a.csv")).cells)
        if len({record for record in one if record[0] == "train"}) == 1:
            return
    raise AssertionError("no row is held out")


def audited(*sets, runs=300, files=("a.csv", "b.csv"), seed=0):
    return audit_files.of_config(Path("own.yaml"), sets, tuple(map(Path, files)), Effort(runs, 0.999, seed))


FULL = ("algorithm.batch_size=16", "algorithm.epochs=2")


@pytest.mark.slow
@pytest.mark.parametrize("seed", share(range(5), 5))
def test_a_sound_run_is_left_alone(alike, seed):
    """Something is seen to be given away, no more than is claimed, and nothing without noise."""
    found = audited(*FULL, runs=300, seed=seed)
    assert found.leaks == []
    (row,) = found.rows
    assert row.lower_bound < row.claimed
    assert found.exit_code == 0
    assert "measured accuracy and loss" in found.text()


# --- before the noise ----------------------------------------------------------------------------------------------


def less_their_mean(split):
    """Columns are centred by the mean of the records."""
    return Split(*(part.__class__(**{**vars(part), "features": part.features - split.train.features.mean(0)}) for part in split))  # fmt: skip


def by_their_largest(split):
    """A range is taken from the records."""
    top = np.abs(split.train.features).max(axis=0)
    return Split(*(part.__class__(**{**vars(part), "features": part.features / top}) for part in split))


def by_rank(split):
    """A list of categories is read from the values, so that each has the number of its place among all."""
    ranks = np.unique(split.train.features[:, 0], return_inverse=True)[1].astype(np.float32)
    features = np.column_stack([ranks / 100, split.train.features[:, 1:]]).astype(np.float32)
    return split._replace(train=split.train.__class__(**{**vars(split.train), "features": features}))


def sorted_by_value(split):
    """Places follow from all values."""
    return split._replace(train=split.train.rows(np.argsort(split.train.features[:, 0])))


def dealt_by_their_sum(split):
    """Who is held out follows from a statistic of all."""
    features = np.concatenate([part.features for part in split])
    labels = np.concatenate([part.labels for part in split])
    order = np.random.default_rng(int(abs(features.sum()) * 1e6)).permutation(len(labels))
    every = replace(split.train, features=features, labels=labels, draws=None, usable=None)
    return Split(every.rows(order[10:]), every.rows(order[:10]))


def without_the_far_ones(split):
    """Records are left out that are far from the others."""
    far = np.abs(split.train.features - split.train.features.mean(0)).sum(axis=1)
    return split._replace(train=split.train.rows(far <= np.median(far)))


def before_noise(files=("a.csv", "b.csv"), sets=()):
    """What an audit says of the records that enter runs."""
    return other_records(
        *(audit_files._encoded(audit_files._on(Path("own.yaml"), sets, Path(f)).cells) for f in files), 1
    )


@pytest.mark.parametrize(
    "fault",
    [less_their_mean, by_their_largest, by_rank, sorted_by_value, dealt_by_their_sum, without_the_far_ones],
)
def test_a_record_that_changes_others_before_the_noise_is_found(own, fault, monkeypatch):
    true = Softmax.split.fget
    assert before_noise() == []
    monkeypatch.setattr(Softmax, "split", property(lambda self: fault(true(self))))
    (said,) = before_noise()
    assert said.startswith("records before noise")


@pytest.mark.slow
def test_a_leak_is_an_alarm(own, monkeypatch):
    true = Softmax.split.fget
    monkeypatch.setattr(Softmax, "split", property(lambda self: less_their_mean(true(self))))
    found = audited(runs=100)
    assert found.leaks[0].startswith("records before noise: 50 are read otherwise")
    assert found.exit_code == 1
    assert "ALARM without any chance" in found.text()
    keys = {"algorithm", "claimed", "lower_bound", "confidence", "method", "releases"}
    assert all(keys <= set(one) for one in found.document())


def test_the_split_by_a_permutation_of_n_is_found(own):
    """One row less deals training and held-out records anew, where they are dealt by their number."""
    Path("own.yaml").write_text(CONFIG.replace("{y: [0, 1]}", "{y: [0, 1]}, records: 50"))
    Path("c.csv").write_text("".join(Path("a.csv").read_text().splitlines(keepends=True)[:-1]))
    true = Softmax.split.fget

    def dealt(self):
        split = true(self)
        features, labels = (np.concatenate([getattr(part, name) for part in split]) for name in ("features", "labels"))
        places = np.lexsort(features.T)  # whatever order they came in
        order = places[np.random.default_rng(1).permutation(len(labels))]
        every = replace(split.train, features=features, labels=labels, draws=None, usable=None)
        return Split(every.rows(order[10:]), every.rows(order[:10]))

    with patch.object(Softmax, "split", property(dealt)):
        (said,) = before_noise(("a.csv", "c.csv"), ("algorithm.sampling=poisson",))
    assert "in another part, where 1 differ" in said


# --- beside the noise ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hash_of_the_records_is_found(own):
    """As deployments stored it: with the code that they were computed by."""
    with patch.object(publish, "data_of", lambda cell: {}):
        found = audited(runs=100)
    assert any("file DATA" in leak for leak in found.leaks)


@pytest.mark.slow
def test_a_statistic_in_what_is_stored_or_printed_is_found(own, monkeypatch):
    true, legend = Softmax.notices, Softmax.legend
    mean = lambda self: float(self.train.features.mean())  # noqa: E731
    monkeypatch.setattr(Softmax, "notices", lambda self: (*true(self), f"their mean is {mean(self):.6f}"))
    monkeypatch.setattr(Softmax, "legend", lambda self: {**legend(self), "mean": mean(self)})
    leaks = audited(runs=100).leaks
    assert any(leak.startswith("models.setting 0.legend.mean") for leak in leaks)
    assert any(leak.startswith("printed") and "their mean is" in leak for leak in leaks)


# --- in the noise --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_noise_of_a_quarter_is_found(alike, monkeypatch):
    true = dp_sgd.gradient_noise_scale
    monkeypatch.setattr(dp_sgd, "gradient_noise_scale", lambda *given: true(*given) / 4)
    (row,) = audited(*FULL, runs=250).rows
    assert row.alarm


@pytest.mark.slow
def test_a_last_iterate_and_an_average_that_are_free_of_noise_together_are_found(alike, monkeypatch):
    """Each alone is sound: the average has the iterate's noise with the other sign."""
    monkeypatch.setattr(kernel, "steps", literal_steps(averaged="opposite"))
    (row,) = audited(*FULL, runs=300).rows
    assert row.alarm


@pytest.mark.slow
def test_replicates_that_share_their_noise_are_found(alike):
    """Where both leave: their batches differ, so that a difference of two has no noise and shows the record."""
    true = softmax_runs.generator

    def shared(seed, replicate, role, part=0):
        return true(seed, 0 if role == "noise" else replicate, role, part)

    with patch.object(softmax_runs, "generator", shared):
        (row,) = audited("run.release=all", runs=900).rows
    assert row.alarm


# --- the owner's fit -----------------------------------------------------------------------------------------------


@pytest.fixture
def fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    rows = [f"{a:.3f},{b:.3f}" for a, b in zip(x, 1 + 2 * x + rng.normal(size=len(x)), strict=True)]
    Path("a.csv").write_text("x,y\n" + "\n".join(["2,60", *rows[1:]]) + "\n")
    Path("b.csv").write_text("x,y\n" + "\n".join(["2,-60", *rows[1:]]) + "\n")
    Path("public.yaml").write_text("ranges: {x: [-2, 2], y: [-5, 7]}\nerror_scale: 1\n")
    return Request(Path("a.csv"), "y", mu="2", central=True, public=read_public(Path("public.yaml")), force=True)


def of_fit(request, runs=300):
    return audit_files.of_fit(request, Path("b.csv"), Effort(runs, 0.999, 0))


@pytest.mark.slow
@pytest.mark.parametrize("central", [True, pytest.param(False, marks=at_length)])
def test_a_sound_fit_is_left_alone(fit, central):
    found = of_fit(replace(fit, central=central), 150)
    assert found.leaks == []
    assert found.exit_code == 0
    assert found.rows[0].look.claim.mu == 2


@pytest.mark.slow
def test_a_fit_with_a_fifth_of_its_noise_is_found(fit, monkeypatch):
    true = central_newton._Owner.sent
    monkeypatch.setattr(central_newton._Owner, "sent", lambda self, mean, own: true(self, mean, own / 5))
    (row,) = of_fit(fit, 300).rows
    assert row.alarm


@pytest.mark.slow
def test_a_fit_of_records_less_their_mean_is_found(fit, monkeypatch):
    true = fitting.entering

    def entering(*given):
        records, mu, dropped = true(*given)
        records.y[:] -= records.y.mean()
        return records, mu, dropped

    monkeypatch.setattr(fitting, "entering", entering)
    assert any(leak.startswith("records before noise: 400") for leak in of_fit(fit, 100).leaks)


@pytest.mark.slow
def test_an_exact_count_among_the_notes_is_found(fit, monkeypatch):
    """In the text and in the document, though all else that is printed has noise."""
    made = Report.__init__

    def counted(self, *given, **named):
        made(self, *given, **named)
        told = f"{Path(self.request.data).read_text().count('-')} values are negative"
        object.__setattr__(self, "units", replace(self.units, notes=(*self.units.notes, told)))

    monkeypatch.setattr(Report, "__init__", counted)
    leaks = of_fit(fit, 100).leaks
    assert any("diagnostics.notes" in leak for leak in leaks)
    assert any(leak.startswith("line ") for leak in leaks)


# --- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_line(own):
    words = ("audit", "own.yaml", "--data", "a.csv", "b.csv", "--runs", "100")
    (row,) = json.loads(call(*words, "--json", cwd=Path.cwd()).stdout)
    assert row["releases"] == "all that leaves"
    Path("c.csv").write_text(table(["2,2,1", "1,1,1", *ROWS[1:]]))
    Path("local.yaml").write_text(LOCAL)
    for config, files, said in (
        ("own.yaml", ("a.csv", "a.csv"), "no neighbours"),
        (
            "own.yaml",
            ("a.csv", "c.csv"),
            "no neighbours (replace-one): 1 row of the first are not in the second, and 2",
        ),
        ("own.yaml", ("a.csv", "nowhere.csv"), "nowhere.csv"),
        ("local.yaml", ("a.csv", "b.csv"), "learn from one table"),
    ):
        assert said in call("audit", config, "--data", *files, code=2, cwd=Path.cwd()).stderr


LOCAL = """\
experiment: local
problem: {name: huber-linear, d: 2}
schedule: {name: power, eta: 0.2, alpha: 1/2}
privacy: {mu: 1}
run: {n: 9, replicates: 2}
"""


def test_neighbours_are_counted_in_rows(tmp_path):
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("p,x\n1,5\n1,6\n2,7\n")
    other.write_text("p,x\n1,5\n2,7\n")
    assert neighbours([one, other], "add-remove") == 1
    with pytest.raises(UsageError, match="no neighbours"):
        neighbours([one, other], "replace-one")
    assert neighbours([one, other], "replace-one", "p") == 1
    other.write_text("p,x\n1,5\n1,6\n2,8\n")
    assert neighbours([one, other], "replace-one") == 1
    with pytest.raises(UsageError, match="no neighbours"):
        neighbours([one, other], "add-remove")


def test_others_are_the_same_and_in_the_same_places():
    assert other_records(parts("abcd"), parts("abxd"), 1) == []
    assert other_records(parts("abcd"), parts("abd"), 1) == []
    assert other_records(parts("abcd"), parts("abx", "d"), 1)  # one is new, and another one in another part
    assert other_records(parts("abc", "d"), parts("ab", "xd"), 1) == []
    assert "other places" in other_records(parts("abcd"), parts("abdx"), 1)[0]
    assert "other places" in other_records(parts("abcd"), parts("bad"), 1)[0]
    assert "2 are read otherwise" in other_records(parts("abcd"), parts("abxy"), 1)[0]


def parts(train, test=""):
    return [*(("train", one) for one in train), *(("test", one) for one in test)]
