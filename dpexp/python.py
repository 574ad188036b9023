"""Results from Python: computed, read, and what they have released; the other names are those of `dpexp.commands`.

    import dpexp

    experiment = dpexp.load("configs/linear_d5.yaml", replicates=20)
    result = dpexp.run(experiment)
    result.summary                     # a DataFrame, as `results/linear_d5/summary.parquet` holds it

Mistakes raise `dpexp.core.errors.DpexpError` with the message of the command, which names the place and a way out.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.command_answer import RESULTS, Pathname
from dpexp.core.errors import CellFailed

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.commands.api import Config
    from dpexp.commands.fit_result import FitResult
    from dpexp.commands.released_model import ReleasedModel


@dataclass(frozen=True)
class Result:
    """Stored results of one experiment, checked each time they are read."""

    experiment: str
    folder: Path

    @property
    def summary(self) -> pd.DataFrame:
        """One row per cell, estimator, step and metric: mean, interval, quantiles; parameters are columns too."""
        from dpexp.store.reading import load_summary

        return load_summary(self.folder.parent, self.folder.name)

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell: its parameters, its privacy and its state."""
        from dpexp.store.reading import load_cells

        return load_cells(self.folder.parent, self.folder.name)

    def trajectories(self, cell_id: str | None = None) -> pd.DataFrame:
        """One row per cell, replicate, estimator and step, of every cell or of one."""
        from dpexp.store.reading import load_trajectories

        return load_trajectories(self.folder.parent, self.folder.name, None if cell_id is None else [cell_id])


def run(
    config: Config, *, results: Pathname = RESULTS, replicates: int | None = None, quiet: bool = True,
    scheduler: str | None = None, **options: Any,
) -> Result:  # fmt: skip
    """Compute what is missing or stale of an experiment. Raises CellFailed where a cell fails.

    `replicates` is another number of them than the config has, of a config that is not loaded yet; `scheduler` the
    address of a dask cluster that computes, in place of threads of this process. The other options are those of the
    command: jobs, only, force, deployment, again.
    """
    from dpexp.commands.api import load
    from dpexp.commands.progress import progress
    from dpexp.commands.run import command

    experiment, backend = load(config, replicates=replicates), "dask" if scheduler else ""
    with nullcontext() if quiet else progress("run"):
        answer = command(
            experiment, results=Path(results), quiet=quiet, backend=backend, scheduler=scheduler, **options
        )
    if failed := [cell for cell in answer["cells"] if cell["status"] == "failed"]:
        raise CellFailed(f"{len(failed)} cells failed, the first with: {failed[0]['reason']}")
    folder = Path(answer["experiments"][0]["folder"])
    return Result(folder.name, folder)


def read(name: Pathname, *, results: Pathname = RESULTS) -> Result:
    """Stored results by the experiment's name, or by their folder. Raises ResultsMissing, with the command to run."""
    from dpexp.store.reading import load_generation

    # A folder that is there wins over an experiment's name.
    folder = Path(name) if (Path(name) / "manifest.json").is_file() else Path(results) / os.fspath(name)
    load_generation(folder.parent, folder.name)
    return Result(folder.name, folder)


def predict(
    result: Pathname, table: object = None, *, cell: str | None = None, estimator: str | None = None,
    replicate: int = 0, results: Pathname = RESULTS,
) -> ReleasedModel | FitResult | pd.DataFrame:  # fmt: skip
    """What a fit (its file) or a run on your own records has released, or predictions for a table.

    Without a table a fit, or the parameters of a run: `.names`, `.classes` and `.values` are in the units of your
    columns, `.predict(table)` takes a file or a DataFrame. Raises ResultsMissing for what is missing or stale, with the
    command to run.
    """
    from dpexp.commands.predict import read_release

    release = read_release(os.fspath(result), Path(results), cell, estimator, replicate)
    return release if table is None else release.predict(table)
