"""An edit costs a chunk where it moves no number: this is proved, rows are stated anew, and nothing false is stamped."""

import contextlib

import numpy as np
import pytest

from dpexp.algorithms.schedules import Power
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import ResultsMissing
from dpexp.engine.linear import linear_pass
from dpexp.privacy.mechanisms import local_gaussian
from dpexp.store import fingerprint, stats
from dpexp.store.experiment_run import Options, run
from dpexp.store.folder import Folder
from dpexp.store.reading import load_cells, load_generation, load_summary
from tests.campaigns.faults import code_after
from tests.conftest import SMALL, forget_code

TINY = SMALL.replace("n: 700, replicates: 20", "n: 40, replicates: 12")
MIXED = "cases:\n" + "".join(
    f"  - population: {{d: 5, errors: {{law: t, df: 3}}, coefficients: {value}}}\n"
    for value in ("2", "[1, 2, 1, 1, 1, 1]")
)
"""coefficients that are a number in one row and a list in another"""


@pytest.fixture
def edited(monkeypatch):
    """Lets dpexp's code be another one, as after the edit of this name; `edited()` undoes it."""

    def edit(name=""):
        monkeypatch.setattr(fingerprint, "code_of_rooms", code_after(name))
        forget_code()
        linear_pass.schedule_sizes.cache_clear()  # a process that begins after the edit remembers no step sizes

    yield edit
    monkeypatch.undo()
    forget_code()
    linear_pass.schedule_sizes.cache_clear()


def stored(text, tmp_path):
    """An experiment that was run, and the options of its run."""
    config = tmp_path / "some.yaml"
    config.write_text(text)
    experiment, options = load_experiment(config), Options(tmp_path / "results", quiet=True)
    run(experiment, options)
    return experiment, options


def test_an_edit_that_moves_nothing_changes_one_file_of_all_results(edited, tmp_path):
    """What one edit's stamp says of a manifest ends with the manifest and with the next edit; damage confirms nothing."""
    results, configs = tmp_path / "results", [tmp_path / "small.yaml", tmp_path / "other.yaml"]
    configs[0].write_text(TINY)
    other = TINY.replace("experiment: small", "experiment: other").replace("mu: [1, ", "mu: [3, ")
    configs[1].write_text(other.replace("{name: huber-linear, d: 5}", "{name: huber-linear}") + MIXED)
    for config in configs:
        run(load_experiment(config), Options(results, quiet=True))
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}

    def computed(*configs):
        return [run(load_experiment(config), Options(results, quiet=True)).computed for config in configs]

    def readable():
        found = []
        for name in ("small", "other"):
            with contextlib.suppress(ResultsMissing):
                found.append(load_generation(results, name).folder.root.name)
        return found

    edited("engine")
    assert readable() == []
    assert computed(*configs) == [0, 0]
    after = {path: path.read_bytes() for path in results.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert {path.name for path in after if after[path] != before.get(path)} == {"stamps.json"}
    assert readable() == ["small", "other"]
    # another manifest is not what was confirmed
    run(load_experiment(configs[1], ["run.replicates=13"]), Options(results, quiet=True))
    manifest = results / "other" / "manifest.json"
    manifest.write_bytes(before[manifest])
    assert "other" not in readable()
    # the next edit is confirmed for one of them
    edited("comment")
    assert computed(configs[0]) == [0]
    assert readable() == ["small"]
    (results / "stamps.json").write_text("{")
    assert readable() == []
    assert computed(configs[0]) == [0]
    assert readable() == ["small"]


@pytest.mark.parametrize("factor", [1.5, 1 + 2**-52])
def test_numbers_that_moved_are_computed(factor, edited, monkeypatch, tmp_path):
    experiment, options = stored(TINY, tmp_path)
    original = Power.step_sizes
    monkeypatch.setattr(Power, "step_sizes", lambda self, *ends: factor * original(self, *ends))
    edited("schedule")
    with pytest.raises(ResultsMissing, match="unconfirmed: dpexp changed since"):
        load_summary(options.results, "small")
    assert run(experiment, options).computed == len(experiment.cells)


def test_a_summary_that_is_computed_otherwise_is_not_confirmed(edited, monkeypatch, tmp_path):
    experiment, options = stored(TINY, tmp_path)
    right = stats.summarise
    monkeypatch.setattr(stats, "summarise", lambda *given: {k: 1.5 * v for k, v in right(*given).items()})
    edited("stats")
    assert run(experiment, options).computed == len(experiment.cells)


def test_rows_that_state_something_else_are_written_anew_and_numbers_stay(edited, monkeypatch, tmp_path):
    experiment, options = stored(TINY, tmp_path)
    plain, summary = local_gaussian.eps_of, Folder(options.results, "small").summary.read_bytes()
    before = load_cells(options.results, "small")
    # processors may differ by 1e-9; without privacy an epsilon is inf
    for factor, moves in (1 + 1e-10, False), (1 + 1e-8, True):
        monkeypatch.setattr(local_gaussian, "eps_of", lambda mu, delta, factor=factor: factor * plain(mu, delta))
        edited(f"times{factor}")
        assert run(experiment, options).computed == 0
        found = load_cells(options.results, "small")
        assert (found["eps_1e-05"] == before["eps_1e-05"])[np.isfinite(before["eps_1e-05"])].all() != moves
        others = [name for name in found if not name.startswith("eps")]
        assert found[others].equals(before[others])
    assert Folder(options.results, "small").summary.read_bytes() == summary


def test_a_run_proves_what_it_can_and_computes_the_rest(edited, monkeypatch, tmp_path):
    """Of four passes' cells one moves: it alone is computed again, and everything is what a run anew gives."""
    experiment, options = stored(TINY, tmp_path)
    before = load_summary(options.results, "small")
    edited("comment")
    assert run(experiment, options).computed == 0
    assert load_summary(options.results, "small").equals(before)
    assert {
        row["confirmed"] for row in load_generation(options.results, "small").manifest["computed_from"].values()
    } == {"one chunk of 8 replicates"}
    original = Power.step_sizes
    other = lambda self, *ends: original(self, *ends) * (1.5 if self.alpha == 0.5 else 1.0)  # noqa: E731
    monkeypatch.setattr(Power, "step_sizes", other)
    edited("schedule")
    assert run(experiment, options).computed == sum(cell.schedule.alpha == 0.5 for cell in experiment.cells) > 0
    anew = Options(tmp_path / "anew", quiet=True)
    run(experiment, anew)
    for load in (load_summary, load_cells):
        assert load(options.results, "small").equals(load(anew.results, "small"))
