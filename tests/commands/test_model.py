"""Released parameters: what is stored of a run on a user's own records, what is not, and what it is taken for."""

import itertools
import math
import re
import secrets
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.commands import privacy
from dpexp.commands import released_model as command
from dpexp.commands.joint_releases import NOT_PRIVATE, joint
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.files import hash_of_data
from dpexp.data.dataset import prepare
from dpexp.data.labelled import read_labelled
from dpexp.data.public_inputs import PublicInputs
from dpexp.privacy.analyses.composition import composition_of_runs
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.problems import softmax
from dpexp.store import fingerprint, partials, simulating
from dpexp.store.experiment_run import Options, run
from dpexp.store.folder import own_folders
from dpexp.store.reading import cell_of, load_cells, load_generation
from tests.campaigns import faults
from tests.conftest import AT_LENGTH

CONFIG = """\
experiment: mine
problem:
  name: softmax
  regulariser: 1e-2
  data:
    path: people.csv
    target: income
    ranges: {age: [0, 100], weight: [20, 220]}
    categories: {job: [clerk, cook, nurse], income: [low, high]}
    records: 160
algorithm: {name: dp-sgd, batch_size: 16, epochs: 3}
schedule:  {name: langevin, decreasing: false}
privacy:   {eps: 1, delta: 1e-5}
run:       {replicates: 3, seed: 1, checkpoints: 2}
"""
BY_PLACE = CONFIG.replace("    records: 160\n", "")
"""for records that are replaced"""


def people(count=160, changed=False):
    draws = np.random.default_rng(3)
    lines = ["age,job,weight,income"]
    for k in range(count):
        age, weight = draws.integers(18, 80), round(float(draws.normal(70, 10)), 1)
        job = ("clerk", "cook", "nurse")[draws.integers(3)]
        high = (age - 45) / 20 + {"clerk": 1.0, "cook": -1.0, "nurse": 0.2}[job] > 0
        lines.append(f"{age},{job},{weight},{'high' if high != (changed and k == 5) else 'low'}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    return tmp_path


def write(folder, text=CONFIG, changed=False):
    (folder / "people.csv").write_text(people(changed=changed))
    (folder / "mine.yaml").write_text(text)
    for kept in (softmax.split_of, hash_of_data):
        kept.cache_clear()


def go(results="results", sets=(), **options):
    return run(load_experiment("mine.yaml", sets), Options(Path(results), quiet=True, **options))


def released(results="results", cell=None, estimator=None, replicate=0):
    return command.released_model("mine", Path(results), cell, estimator, replicate)


def of(report):
    """What a deployment has released."""
    return command.released_model(report.folder.name, report.folder.parent)


def files(results="results"):
    return sorted(path.name for path in Path(results).glob("mine/models/*.parquet"))


def test_the_parameters_are_those_of_the_run_whose_numbers_are_stored(here):
    """Norm, accuracy and the user's own scale, each computed from the stored parameters in another way."""
    go()
    found, (cell,) = released(), load_experiment("mine.yaml").cells
    data = cell_of(load_generation(Path("results"), "mine"), cell.cell_id)
    norm, accuracy = (data.values[0, -1, data.metrics.index(name), 0] for name in ("param_norm_sq", "test_accuracy"))
    assert np.sum(found.parameters.astype(np.float64) ** 2) == pytest.approx(norm, rel=1e-12)
    other = data.values[0, -1, data.metrics.index("param_norm_sq"), 1]
    assert abs(norm - other) > 1e-3 * norm  # the next replicate is another one, so this could fail

    levels = {"job": ("clerk", "cook", "nurse"), "income": ("low", "high")}
    public = PublicInputs({"age": (0, 100), "weight": (20, 220)}, levels)
    records = read_labelled(Path("people.csv"), "income", public)
    scores = prepare(records.features) @ found.parameters.T
    predicted = found.predict("people.csv")
    assert list(predicted.prediction) == [records.classes[k] for k in scores.argmax(axis=1)]
    held_out = cell.problem.split.test
    assert np.mean((held_out.features @ found.parameters.T).argmax(axis=1) == held_out.labels) == accuracy


def test_only_what_the_statement_counts_is_stored(here):
    """The first replicate, or all; the last iterate alone where only it is covered; nothing without a guarantee."""
    go()
    document = released().document()
    assert document["release"]["released"] == "last and average of replicate 0"
    with pytest.raises(UsageError, match="replicate 1 is not released"):
        released(replicate=1)
    sealed = load_generation(Path("results"), "mine").model(document["cell_id"])
    assert sealed.values.shape[:2] == (2, 1)

    write(here, BY_PLACE.replace("{name: dp-sgd, ", "{name: dp-sgld, accountant: last-iterate, "))
    go("last")
    assert released("last").document()["release"]["released"] == "last of replicate 0"
    with pytest.raises(UsageError, match="'average' is not released"):
        released("last", estimator="average")
    for number, algorithm in enumerate(("{name: sgd, ", "{name: dp-sgld, accountant: published, ")):
        text = (BY_PLACE if number else CONFIG).replace("{name: dp-sgd, ", algorithm)
        write(here, text.replace("eps: 1,", "eps: inf,") if number == 0 else text)
        go(f"open{number}")
        assert files(f"open{number}") == []
        with pytest.raises(UsageError, match="has released no parameters"):
            released(f"open{number}")


def test_release_all_and_back(here):
    """With `release: all` every replicate is there; back to `first`, the others are off the disk."""
    go()
    first = released().parameters
    go(sets=("run.release=all",))
    assert [bool(np.isfinite(released(replicate=k).parameters).all()) for k in range(3)] == [True] * 3
    assert np.array_equal(released().parameters, first)
    size = sum(path.stat().st_size for path in Path("results").glob("mine/models/*"))
    go()
    with pytest.raises(UsageError, match="replicate 1 is not released"):
        released(replicate=1)
    assert sum(path.stat().st_size for path in Path("results").glob("mine/models/*")) < size
    assert np.array_equal(released().parameters, first)


def one_step(sets):
    """Parameters after one step of every setting of a config, and the standard deviation of its noise on them."""
    cells = load_experiment("mine.yaml", ("run.n=1", "run.checkpoints=1", *sets)).cells
    done = simulating.simulate(cells, [0])
    settings = [(cell, np.full(1, cell.schedule.eta)) for cell in cells]
    noises = [cell.algorithm.noise(cell.problem, cell.schedule, cell.privacy.mu, sizes) for cell, sizes in settings]
    return [cell.model[0, 0] for cell in done], [noise.scale[0] for noise in noises]


def test_no_difference_of_two_settings_removes_the_noise(here, monkeypatch):
    """From results with the noise s Z and t Z the step without noise follows; on a user's own records it does not."""
    sweep = ("privacy.eps=[1, 4]", "schedule={name: constant, eta: 0.5}")

    def noise_left():
        (strong, weak), (s, t) = one_step(sweep)
        cleaned = (s / t * weak - strong) / (s / t - 1)
        with monkeypatch.context() as patched:
            noise = ALGORITHMS["dp-sgd"].noise
            patched.setattr(ALGORITHMS["dp-sgd"], "noise", lambda *a: noise(*a)._replace(scale=noise(*a).scale * 1e-12))
            free, _ = one_step(sweep)
        return min(np.abs(cleaned - one).max() for one in free) / t

    assert noise_left() > 0.5
    monkeypatch.setattr(simulating, "own_seed", lambda cell: 1)  # as it would be with common random numbers
    assert noise_left() < 1e-5


def test_released_replicates_are_composed(here):
    """r replicates are one run of r times the steps; partitions add squares of mu."""
    (one,) = joint(load_experiment("mine.yaml"))
    assert (one.releases, one.settings, one.relation) == (1, 1, "add-remove")
    assert one.analysis.eps(1e-5) <= 1
    (all_of_them,) = joint(load_experiment("mine.yaml", ("run.release=all",)))
    (cell,) = load_experiment("mine.yaml").cells
    run_of = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n).mechanism
    three = run_of.model_copy(update={"steps": 3 * run_of.steps})
    (truth,) = [a.eps(1e-5) for a in three.upper_bounds() if a.name == "pld-composition"]
    assert all_of_them.analysis.eps(1e-5) == pytest.approx(truth, rel=1e-9)
    assert truth > 1.5

    write(here, BY_PLACE)
    shuffled = ("algorithm={name: dp-sgd, batch_size: 16, epochs: 3, sampling: shuffled, accountant: once-an-epoch}",)
    (once,), (thrice,) = (joint(load_experiment("mine.yaml", (*shuffled, *s))) for s in ((), ("run.release=all",)))
    assert thrice.analysis.mu == pytest.approx(math.sqrt(3) * once.analysis.mu, rel=1e-12)


def test_settings_on_the_same_records_are_composed(here):
    (two,) = joint(load_experiment("mine.yaml", ("privacy.eps=[1, 2]",)))
    assert two.releases == 2
    assert 2 < two.analysis.eps(1e-5) < 3
    (told,) = privacy.privacy("mine.yaml", set=["privacy.eps=[1, 2]"]).document()["together"]
    assert told["eps"] == [[1e-5, two.analysis.eps(1e-5)]]
    assert told["releases"] == 2


def test_different_neighbours_have_no_joint_statement(here):
    data = "{path: people.csv, target: income, categories: {job: [clerk, cook, nurse], income: [low, high]}}"
    other = f"{{algorithm: {{name: dp-sgld, batch_size: 16, epochs: 3}}, problem: {{data: {data}}}}}"
    write(here, CONFIG + f"cases:\n  - {{}}\n  - {other}\n")
    (mixed,) = joint(load_experiment("mine.yaml"))
    assert mixed.analysis is None
    assert mixed.document([1e-5])["eps"] == [[1e-5, None]]


def test_composition_of_runs_is_no_smaller_than_one_and_no_larger_than_the_sum():
    analyses = [
        next(a for a in SampledGaussian(noise_multiplier=z, sampling_probability=q, steps=50).upper_bounds() if a.steps)
        for z, q in ((1.0, 0.05), (2.0, 0.2))
    ]
    full = SampledGaussian(noise_multiplier=4, sampling_probability=1, steps=4, sampling="full-batch").upper_bounds()[0]
    for runs in ([(analyses[0], 2)], [(analyses[0], 1), (analyses[1], 3)], [(analyses[1], 1), (full, 2)]):
        eps = composition_of_runs(runs).eps(1e-5)
        count = sum(k for _, k in runs)
        assert max(a.eps(1e-5) for a, _ in runs) < eps < sum(k * a.eps(1e-5 / count) for a, k in runs)
    assert composition_of_runs([(full, 9)]).mu == pytest.approx(3 * full.mu)
    assert composition_of_runs([(analyses[0], 1)]) is analyses[0]


def test_a_deployment_draws_other_noise_each_time_and_keeps_no_seed(here, monkeypatch):
    drawn = []
    original = secrets.randbits

    def seen(bits):
        drawn.append(original(bits))
        return drawn[-1]

    monkeypatch.setattr(secrets, "randbits", seen)
    one, other = go(deployment=True), go("other", deployment=True)
    assert not np.array_equal(of(one).parameters, of(other).parameters)
    # for each of three replicates, which are pieces of their own: of who is held out, and of all that is drawn then
    assert len(set(drawn)) == len(drawn) == 12
    assert [seed.bit_length() > 200 for seed in drawn] == [False, True] * 6
    assert min(seed.bit_length() for seed in drawn) > 40
    for seed in drawn:
        forms = (str(seed).encode(), f"{seed:x}".encode(), seed.to_bytes(32, "little"), seed.to_bytes(32, "big"))
        for path in Path().rglob("*"):
            assert not path.is_file() or not any(form in path.read_bytes() for form in forms)


def test_a_deployment_stays_what_it_is_whatever_changes(here, monkeypatch):
    """It is marked valid, beside a reproducible run of the same config, from which nothing is taken."""
    go()
    report = go(deployment=True)
    assert re.fullmatch(r"mine\.deployed-\d{8}T\d{6}Z", report.folder.name)
    assert (report.computed, report.reused) == (1, 0)
    found, plain = of(report), released()
    assert NOT_PRIVATE not in found.document()["release"]["statement"]
    assert NOT_PRIVATE in plain.document()["release"]["statement"]
    assert not np.array_equal(found.parameters, plain.parameters)
    assert list(load_cells(Path("results"), report.folder.name).deployment) == [True]
    kept = {path: path.read_bytes() for path in report.folder.rglob("*") if path.is_file()}

    monkeypatch.setattr(fingerprint, "code_of_rooms", faults.code_after("new"))
    assert np.array_equal(of(report).parameters, found.parameters)
    assert go().computed == 1  # the reproducible run is stale
    write(here, changed=True)
    assert go().computed == 1
    assert {path: path.read_bytes() for path in report.folder.rglob("*") if path.is_file()} == kept


@pytest.mark.slow
def test_a_deployment_that_dies_has_released_everything_or_nothing(here, monkeypatch):
    original, alone, first = partials.simulate, ("run.replicates=1",), []
    monkeypatch.setattr(partials, "simulate", lambda *arguments: first.append(original(*arguments)) or first[0])
    go("before", alone, deployment=True)
    monkeypatch.setattr(partials, "simulate", lambda *arguments: first[0])
    for k in itertools.count(1, 1 if AT_LENGTH else 6):  # every sixth of its file operations, or each
        results = here / str(k) / "results"
        work = partial(lambda at, to: (faults.instrument(at), go(to, alone, deployment=True)), k, results)
        if not faults.ended(faults.forked(work)):
            break
        for left in own_folders(results):
            assert command.released_model(left.name, results).deployment
    assert k > 20


def test_a_model_that_is_not_of_its_run_is_refused(here):
    """A copy of another run's parameters, though whole and of the same cell, is not taken for this one's."""
    go()
    (path,) = Path("results").glob("mine/models/*.parquet")
    (other,) = go("other", deployment=True).folder.glob("models/*.parquet")
    data = path.read_bytes()
    path.write_bytes(other.read_bytes())
    with pytest.raises(ResultsMissing, match="not of the run"):
        released()
    path.write_bytes(data)
    go("two", sets=("privacy.eps=[1, 4]",))
    one, two = sorted(Path("two").glob("mine/models/*.parquet"))
    one.write_bytes(two.read_bytes())
    with pytest.raises(ResultsMissing, match="holds another cell's parameters"):
        released("two", one.stem)
    assert go("two", sets=("privacy.eps=[1, 4]",)).computed == 1
    released("two", one.stem)


def test_a_missing_value_has_an_entry_where_that_is_public(here):
    """The printed formula holds for it too: the column counts 0, and its entry 1."""
    text = CONFIG.replace("    ranges:", "    missing: [weight]\n    ranges:")
    write(here, text)
    lines = (here / "people.csv").read_text().splitlines()
    lines[1::5] = [re.sub(r"[^,]*(,[^,]*)$", r"\1", line) for line in lines[1::5]]
    (here / "people.csv").write_text("\n".join(lines) + "\n")
    go()
    found = released()
    assert found.names == [
        "age", "job=clerk", "job=cook", "job=nurse", "weight", "weight is missing", "(offset)", "(intercept)",
    ]  # fmt: skip
    shares = found.predict("people.csv")
    assert shares.prediction.notna().all()
    assert np.abs(found.values[:, 6]).max() > 0  # a range that does not begin at 0 has an offset
    for k, row in pd.read_csv("people.csv").iterrows():
        missing = math.isnan(row.weight)
        jobs = [float(row.job == job) for job in ("clerk", "cook", "nurse")]
        scaled = np.array([row.age / 100, *jobs, 0 if missing else (row.weight - 20) / 200, missing])
        raw = np.array([row.age, *jobs, 20 if missing else row.weight, missing])
        scores = (found.values[:, :6] @ raw + found.values[:, 6]) / np.linalg.norm(scaled) + found.values[:, 7]
        by_hand = np.exp(scores) / np.exp(scores).sum()
        assert by_hand == pytest.approx(shares.iloc[k, 2:].to_numpy(float), abs=1e-6)
