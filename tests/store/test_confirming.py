"""An edit costs what it changes: values are resolved again, a chunk confirms numbers, and nothing false is stamped."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.schedules import Power
from dpexp.commands import run as command
from dpexp.config.experiment_file import load_experiment, read_experiment
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from dpexp.core.stages import OutOfStage, first_stage, plain, received, resolving, simulating
from dpexp.engine.linear import one_pass
from dpexp.privacy.mechanisms import local_gaussian
from dpexp.store import Folder, confirming, fingerprint, load_generation, load_summary, stats
from dpexp.store.confirming import confirm
from dpexp.store.files import read_document, write_document
from dpexp.store.fingerprint import code_of, statement_of
from dpexp.store.planning import plan
from dpexp.store.run import Options, run
from dpexp.store.simulating import Failed, simulate
from tests.conftest import SMALL

TINY = SMALL.replace("n: 700, replicates: 20", "n: 40, replicates: 12")
PRIVATE = """\
experiment: digits
problem: {name: softmax, data: {name: digits}}
algorithm: {name: dp-sgd, batch_size: 100, epochs: 1}
privacy: {eps: [1, 2], delta: 1e-5}
run: {replicates: 2, checkpoints: 2}
"""
READ = fingerprint._read


def late(path, state_of=fingerprint.state_of):
    """The state of a file, where a module of accounting was edited after this process had imported it."""
    return (fingerprint.IMPORTED_AT + 1,) * 4 if path.name == "calibration.py" else state_of(path)


@pytest.fixture
def edited(monkeypatch):
    """Lets modules have other hashes, as after an edit of each; `edited()` undoes it."""

    def edit(*modules):
        def other(path, module, read_at, simulated):
            digest, imported = READ(path, module, read_at, simulated)
            return (f"new {digest}" if module in modules else digest), imported

        other.cache_clear = READ.cache_clear
        monkeypatch.setattr(fingerprint, "_read", other if modules else READ)
        fingerprint.forget()
        one_pass._step_sizes.cache_clear()  # a process that begins after the edit remembers no step sizes

    yield edit
    monkeypatch.undo()
    fingerprint.forget()
    one_pass._step_sizes.cache_clear()


def stored(text, tmp_path):
    """The config and the results of a run of it, without trajectories: what a fresh clone has."""
    config = tmp_path / "some.yaml"
    config.write_text(text)
    experiment, options = load_experiment(config), Options(tmp_path / "results", quiet=True)
    run(experiment, options)
    shutil.rmtree(tmp_path / "results" / experiment.name / "trajectories")
    return config, options


def states(config, options, **more):
    experiment = load_experiment(config)
    return {status for status, _ in confirm(experiment, options).values()}


def manifest(config, options):
    return json.loads(Folder(options.results, load_experiment(config).name).manifest.read_text())


def refused(config, options):
    with pytest.raises(ResultsMissing) as caught:
        load_summary(options.results, load_experiment(config).name)
    return caught.value


# --- one chunk ----------------------------------------------------------------------------------------------------

ENGINE = "dpexp.engine.linear.segments"


def test_an_edit_that_moves_no_number_is_confirmed_without_trajectories(edited, tmp_path):
    config, options = stored(TINY, tmp_path)
    before = load_summary(options.results, "small")
    assert states(config, options) == {"current"}
    edited(ENGINE)
    error = refused(config, options)
    assert "unconfirmed, code changed since: dpexp/engine/linear/segments.py" in error.message
    assert "dpexp run --confirm" in error.hint
    assert states(config, options) == {"confirmed"}
    assert load_summary(options.results, "small").equals(before)
    assert load_generation(options.results, "small").confirmed == "confirmed by one chunk of 8 replicates"
    assert states(config, options) == {"current"}
    edited()  # the edit is taken back: the code that computed them is another one than the stamp's
    assert refused(config, options)
    assert states(config, options) == {"confirmed"}


def test_stored_trajectories_are_current_by_the_stamp_and_a_run_keeps_it(edited, tmp_path):
    config, options = stored(TINY, tmp_path)
    experiment = load_experiment(config)
    run(experiment, options)
    edited(ENGINE)
    assert {p.status for p in plan(experiment, options.results)} == {"unconfirmed"}
    assert states(config, options) == {"confirmed"}
    plans = plan(experiment, options.results)
    assert {(p.status, p.reason) for p in plans} == {("current", "up to date, confirmed by one chunk of 8 replicates")}
    assert run(experiment, options).computed == 0
    edited(ENGINE, "dpexp.algorithms.schedules.power")
    assert {p.status for p in plan(experiment, options.results)} == {"unconfirmed"}
    assert run(experiment, options).computed == len(experiment.cells)  # a run is the full proof
    assert load_generation(options.results, "small").confirmed == ""


@pytest.mark.parametrize("factor", [1.5, 1 + 2**-52])
def test_a_number_that_moved_is_said_to_be_stale(factor, edited, monkeypatch, tmp_path):
    config, options = stored(TINY, tmp_path)
    original = Power.step_sizes
    monkeypatch.setattr(Power, "step_sizes", lambda self, *ends: factor * original(self, *ends))
    edited("dpexp.algorithms.schedules.power")
    found = confirm(load_experiment(config), options)
    assert set(found.values()) == {
        ("stale", "its numbers are not what is stored (one chunk of 8 replicates computed again)")
    }
    assert refused(config, options)


def test_one_cell_of_several_that_moved_is_not_carried_by_the_others(edited, monkeypatch, tmp_path):
    config, options = stored(TINY, tmp_path)
    original = Power.step_sizes
    other = lambda self, *ends: original(self, *ends) * (1.5 if self.alpha == 0.5 else 1.0)  # noqa: E731
    monkeypatch.setattr(Power, "step_sizes", other)
    edited("dpexp.algorithms.schedules.power")
    found = confirm(load_experiment(config), options)
    by_alpha = {cell.schedule.alpha: found[cell.cell_id][0] for cell in load_experiment(config).cells}
    assert by_alpha[0.5] == "stale"
    assert {status for alpha, status in by_alpha.items() if alpha != 0.5} == {"confirmed"}
    assert refused(config, options)


def test_a_summary_that_is_computed_otherwise_is_not_confirmed(edited, monkeypatch, tmp_path):
    config, options = stored(TINY, tmp_path)
    edited("dpexp.store.stats")
    assert states(config, options) == {"confirmed"}
    edited()  # it is written back
    right = stats.summarise
    monkeypatch.setattr(stats, "summarise", lambda *given: {k: 1.5 * v for k, v in right(*given).items()})
    assert states(config, options) == {"stale"}


def two_of_one_pass(tmp_path, old, new):
    """The folder of results, and two experiments that were run: TINY, and another with one text replaced."""
    texts = [TINY, TINY.replace("experiment: small", "experiment: other").replace(old, new)]
    results, experiments = tmp_path / "results", []
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text)
        experiments.append(load_experiment(tmp_path / f"{number}.yaml"))
        run(experiments[-1], Options(results, quiet=True))
    return results, experiments


def test_experiments_of_one_pass_are_simulated_together_and_judged_alone(edited, monkeypatch, tmp_path):
    results, experiments = two_of_one_pass(tmp_path, "mu: [1, ", "mu: [3, ")
    edited(ENGINE)
    calls, known, original = [], {}, confirming.simulate
    monkeypatch.setattr(confirming, "simulate", lambda *given: calls.append(given[0]) or original(*given))
    first = confirm(experiments[0], Options(results, quiet=True), known, experiments[1:])
    other = next(cell for cell in experiments[1].cells if cell.cell_id not in first)
    monkeypatch.setitem(known, (other.cell_id, 8), known[other.cell_id, 8] | {"numbers": "another"})
    second = confirm(experiments[1], Options(results, quiet=True), known)
    assert [len(cells) for cells in calls] == [len({*first, *second})]
    assert {status for status, _ in first.values()} == {"confirmed"}
    assert {cell_id for cell_id, (status, _) in second.items() if status == "stale"} == {other.cell_id}


def test_a_cell_that_fails_in_a_shared_chunk_fails_alone(edited, monkeypatch, tmp_path):
    """Two experiments, of which the second has a setting that today's code cannot simulate: the first one's are right."""
    results, experiments = two_of_one_pass(tmp_path, "alpha: [1/3", "alpha: [2/3")
    original = Power.step_sizes

    def failing(self, first, last):
        if self.alpha > 0.6:
            raise RuntimeError("no such schedule")
        return original(self, first, last)

    monkeypatch.setattr(Power, "step_sizes", failing)
    edited("dpexp.algorithms.schedules.power")
    known = {}
    first = confirm(experiments[0], Options(results, quiet=True), known, experiments[1:])
    second = confirm(experiments[1], Options(results, quiet=True), known)
    assert {status for status, _ in first.values()} == {"confirmed"}
    for cell in experiments[1].cells:
        status, why = second[cell.cell_id]
        fails = cell.schedule.alpha > 0.6
        assert (status, "no such schedule" in why) == ("stale" if fails else "confirmed", fails)


def test_rows_that_state_something_else_are_not_confirmed(edited, monkeypatch, tmp_path):
    config, options = stored(TINY, tmp_path)
    edited("dpexp.privacy.mechanisms.local_gaussian")
    assert states(config, options) == {"confirmed"}
    edited("dpexp.privacy.accounting.gdp")
    plain = local_gaussian.eps_of
    # processors may differ by 1e-9; without privacy an epsilon is inf
    for factor, found, module in (1 + 1e-10, {"confirmed"}, "gdp"), (1 + 1e-8, {"stale", "confirmed"}, "gdp_summary"):
        monkeypatch.setattr(local_gaussian, "eps_of", lambda mu, delta, factor=factor: factor * plain(mu, delta))
        edited(f"dpexp.privacy.accounting.{module}")
        assert states(config, options) == found
    monkeypatch.setattr(local_gaussian, "eps_of", lambda mu, delta: 2.0)
    found = confirm(load_experiment(config), options)
    assert any("its row is another one: eps_1e-05" in reason for _, reason in found.values())


def test_results_of_a_dpexp_that_kept_no_witness_get_one_while_their_code_is_todays(edited, tmp_path):
    config, options = stored(TINY, tmp_path)
    path = Folder(options.results, "small").manifest
    kept = read_document(path)
    for origin in kept["computed_from"].values():
        del origin["witness"]
    write_document(path, kept)
    edited(ENGINE)
    assert "stale, code changed" in refused(config, options).message
    assert states(config, options) == {"stale"}
    edited()
    assert states(config, options) == {"confirmed"}
    assert all(origin["confirmed"] == "" for origin in manifest(config, options)["computed_from"].values())
    edited(ENGINE)
    assert states(config, options) == {"confirmed"}


def test_other_settings_are_no_matter_of_code(edited, tmp_path):
    config, options = stored(TINY, tmp_path)
    edited(ENGINE)
    config.write_text(TINY.replace("replicates: 12", "replicates: 13"))
    assert "stale, code changed" in refused(config, options).message
    assert states(config, options) == {"incomplete"}
    config.write_text(TINY.replace("seed: 3", "seed: 4") if "seed: 3" in TINY else TINY.replace("n: 40", "n: 41"))
    assert states(config, options) == {"missing"}


# --- two stages ---------------------------------------------------------------------------------------------------


def test_code_behind_resolved_numbers_is_no_part_of_a_simulation():
    cell = read_experiment(PRIVATE, "digits.yaml").cells[0]
    simulated, stated = code_of(cell), statement_of(cell)
    assert simulated.items() <= stated.items()  # so that who asks after all code asks for the second alone
    assert not [name for name in simulated if "privacy.accounting" in name or "privacy.mechanisms" in name]
    assert {"dpexp.privacy.accounting.loss_distributions", "dpexp.privacy.accounting.calibration"} <= set(stated)
    assert set(simulated) < set(stated)
    assert cell.received_numbers["algorithms.dp_sgd.DpSgd.multiplier"][0] > 0.5


def test_an_edit_of_accounting_resolves_again_and_stops_where_values_are_equal(edited, monkeypatch, tmp_path):
    config, options = stored(PRIVATE, tmp_path)
    experiment = load_experiment(config)
    run(experiment, options)
    edited("dpexp.privacy.accounting.calibration")
    assert {p.status for p in plan(load_experiment(config), options.results)} == {"current"}
    assert states(config, options) == {"confirmed"}
    assert load_generation(options.results, "digits").confirmed == ""  # nothing was simulated, and nothing had to be
    edited("dpexp.privacy.accounting.conversions")
    monkeypatch.setattr("dpexp.algorithms.dp_sgd._multiplier", lambda *given: 2.0)
    assert {p.status for p in plan(load_experiment(config), options.results)} == {"stale"}
    assert states(config, options) == {"stale"}
    assert run(load_experiment(config), options).computed == 2


def test_accounting_that_is_edited_under_a_confirmation_is_not_stamped(edited, monkeypatch, tmp_path):
    """Nothing had to be simulated, so nobody had asked: what this process had imported was stamped as what is there now."""
    config, options = stored(PRIVATE, tmp_path)
    edited("dpexp.privacy.accounting.calibration")
    with monkeypatch.context() as patch:
        patch.setattr(fingerprint, "state_of", late)
        with pytest.raises(DpexpError, match=r"accounting/calibration\.py changed after this process had read it"):
            confirm(load_experiment(config), options)
    assert states(config, options) == {"confirmed"}


def test_a_simulation_uses_the_numbers_that_were_resolved_and_no_others(monkeypatch):
    (cell, *_) = read_experiment(PRIVATE, "digits.yaml").cells
    found = simulate([cell], [0])
    with monkeypatch.context() as patch:
        patch.setattr("dpexp.algorithms.dp_sgd._multiplier", lambda *given: 77.0)
        again = simulate([cell], [0])
    assert np.array_equal(found.passed.values, again.passed.values)
    (fresh, *_) = read_experiment(PRIVATE, "digits.yaml").cells
    monkeypatch.setattr(DpSgd, "resolve", lambda *given: None)
    failed = simulate([fresh], [0])
    assert isinstance(failed, Failed)
    assert "was not resolved before the simulation" in failed.error


def test_what_a_run_receives_is_numbers():
    @received
    def two(x):
        return x + x

    @first_stage
    def never(x):
        return x

    with resolving() as values:
        assert two(2.0) == 4.0
    with simulating(values):
        assert two(2.0) == 4.0
        with pytest.raises(OutOfStage, match="not resolved"):
            two(3.0)
        with pytest.raises(OutOfStage, match="no part of a simulation"):
            never(1)
    assert two(3.0) == 6.0
    assert never(1) == 1
    assert plain((1, 2.5, np.array([1.0]), None)) == [1, 2.5, [1.0], None]
    with pytest.raises(TypeError, match="receives numbers"):
        plain(Path("x"))


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command(edited, tmp_path, capsys):
    config, options = stored(TINY, tmp_path)

    def asked(**more):
        request = command.Request(
            (config,), (), None, 1, more.pop("backend", "threads"), None, None, "paper", options.results,
            more.pop("force", False), False, True, False, False, confirm=True,
        )  # fmt: skip
        return command.run(request)

    edited(ENGINE)
    document, text, code = asked()
    assert code == 0
    assert {cell["status"] for cell in document["cells"]} == {"confirmed"}
    assert "by one chunk of 8 replicates" in text
    shutil.rmtree(options.results / "small")
    document, text, code = asked()
    assert code == 3
    assert {cell["status"] for cell in document["cells"]} == {"missing"}
    for wrong in ({"force": True}, {"backend": "loky"}):
        with pytest.raises(UsageError, match="--confirm"):
            asked(**wrong)


def test_code_of_the_first_stage_may_not_change_under_a_run_either(monkeypatch, tmp_path):
    """What was imported before resolves the numbers, and would be put down as the code that is there now."""
    config = tmp_path / "some.yaml"
    config.write_text(PRIVATE)
    monkeypatch.setattr(fingerprint, "state_of", late)
    with pytest.raises(DpexpError, match=r"accounting/calibration\.py changed after this process had read it"):
        run(load_experiment(config), Options(tmp_path / "results", quiet=True))
