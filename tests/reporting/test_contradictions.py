"""Stored results that contradict themselves are refused, each with what disagrees."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import ResultsMissing
from dpexp.engine.result import CellData
from dpexp.reporting import evidence as stored
from dpexp.reporting.evidence import contradiction
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def cells():
    """A private cell and one without privacy of a shipped experiment."""
    cells = load_experiment(ROOT / "configs" / "linear_d5.yaml").cells
    return {
        private: next(c for c in cells if (c.privacy.mu.label != "non-private") is private) for private in (True, False)
    }


def sound(cell, replicates=3):
    """The row of a cell and numbers that agree with it."""
    values = np.random.default_rng(1).uniform(0.1, 1, (2, 2, 2, replicates))
    data = CellData(np.array([1, cell.run.n]), ("sgd", "asgd"), ("param_distance_sq", "loss_gap"), values)
    return {"replicates": replicates, **cell.columns()}, data


def repeated(data):
    return data._replace(values=data.values[..., [0, 1, 1]])


def below(data, by):
    values = data.values.copy()
    values[0, 1, 1, 2] = -by
    return data._replace(values=values)


def test_sound_results_agree_with_themselves(cells):
    for cell in cells.values():
        assert contradiction(cell, *sound(cell)) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row, data: (row | {"replicates": 6}, data), "counts 6 replicates, and 3 are stored"),
        (lambda row, data: (row, data._replace(steps=np.array([1, 7]))), "last step is 7"),
        (lambda row, data: (row, repeated(data)), "replicates 1 and 2 are the same"),
        (lambda row, data: (row, below(data, 1e-3)), "below the least one"),
        *[
            (lambda row, data, k=k: (row | {k: row[k] * 1.01}, data), f"its row has {k} =")
            for k in ("alpha", "mu", "n", "seed")
        ],
        (lambda row, data: ({k: v for k, v in row.items() if k != "mu"}, data), "its row has mu = nothing"),
        (lambda row, data: (row | {"algorithm": "sgd"}, data), "its row has algorithm = sgd"),
    ],
)
def test_each_contradiction_is_named(cells, change, words):
    assert words in contradiction(cells[True], *change(*sound(cells[True])))


def test_without_noise_replicates_may_agree_and_rounding_is_no_contradiction(cells):
    row, data = sound(cells[False])
    assert contradiction(cells[False], row, repeated(data)) == ""
    assert contradiction(cells[False], row, below(data, 1e-12)) == ""


def test_evidence_refuses_them(cells, monkeypatch, tmp_path):
    import pyarrow as pa

    cell = cells[True]
    row, data = sound(cell)
    monkeypatch.setattr(stored, "cell_of", lambda *rest: data)
    monkeypatch.setattr(stored, "stored_cell", lambda *rest: replace(cell))
    for replicates in (3, 4):
        rows = pa.Table.from_pylist([row | {"cell_id": "c", "gdp_mu": 1.0, "replicates": replicates}])
        generation = SimpleNamespace(manifest={"cells": {"c": {}}}, cells=SimpleNamespace(table=lambda rows=rows: rows))
        monkeypatch.setattr(stored, "load_generation", lambda *rest, found=generation: found)
        evidence = stored.Evidence(tmp_path)
        if replicates == 3:
            assert len(evidence.runs("linear_d5")) == 1
        else:
            with pytest.raises(
                ResultsMissing, match="linear_d5: the stored cell c contradicts itself: its row counts 4"
            ):
                evidence.runs("linear_d5")
