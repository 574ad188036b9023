"""Stored results as figures, tables, claims and comparisons read them: checked, current, or refused with a command.

(a) A refusal names the command that mends it, as it is typed from here: that of the run that made the results.
(b) Nothing that results name is opened or imported: anybody may have made them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dpexp.core.errors import ResultsMissing
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.plugins.loaded import LOADED, as_options
from dpexp.store.cell_files import Stored
from dpexp.store.folder import DEPLOYED, Folder, read_document
from dpexp.store.generation import Generation, Manifest, config_path, identity_of, read_generation

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from dpexp.engine.result import CellData

T = TypeVar("T")
ONLY_SUMMARIES = "the summaries are there, but not the trajectories that this needs"


class OnlySummaries(ResultsMissing):
    """The trajectories are not there. Damaged ones are another error, since no reader does without them."""


def missing(folder: Folder, problem: str, as_shipped: bool = False) -> ResultsMissing:
    """Results that are not there or not to be trusted, with the command that brings them about (`command_of`)."""
    if re.fullmatch(DEPLOYED, folder.root.name):
        hint = "a deployment is written once and never computed again: put its files back from a copy"
        return ResultsMissing(f"{folder.root}: {problem}", hint)
    command = command_of(folder, as_shipped)
    if " CONFIG" in command:
        command += f"   (CONFIG is the config file of the experiment '{folder.experiment}')"
    return ResultsMissing(f"{folder.root}: {problem}", f"run: {command}")


def command_of(folder: Folder, as_shipped: bool = False) -> str:
    """The command that computes the results of a folder, as it is typed here: that of the run that made them, if the
    manifest can be read. `as_shipped` leaves out what its command line changed in the config."""
    manifest: Manifest = {"config": {"set": [], "path": ""}, "profile": "paper"}
    with suppress(Damaged, OSError):
        manifest = read_document(folder.manifest)
    sets, smoke = manifest["config"]["set"], manifest["profile"] == "smoke"
    # (a)
    config = config_path(manifest, folder) if sets or not as_shipped else None
    words = ["dpexp", "run", config_typed(folder, config)]
    if config and not as_shipped:
        words += [word for text in sets for word in ("--set", shlex.quote(text))]
    words += ["--profile", "smoke"] * smoke
    if folder.root.parent != Path("results-smoke" if smoke else "results"):
        words += ["--results", shlex.quote(str(folder.root.parent))]
    return " ".join([*words, *as_options()])


def not_as_configured(results: Path, experiment: str, problem: str) -> ResultsMissing:
    """Results that were run with other settings than a figure or table needs."""
    return missing(Folder(results, experiment), f"not the settings of the config: {problem}", as_shipped=True)


def config_typed(folder: Folder, path: Path | None = None) -> str:
    """How a command names the config of an experiment from here; CONFIG where there is none."""
    from dpexp.config.shipped import as_typed, shipped

    beside = [loaded.typed.parent for loaded in LOADED.values() if not loaded.installed]
    places = [parent / f"{folder.experiment}.yaml" for parent in (Path("configs"), Path(), *beside)]
    path = path or next((place for place in places if place.is_file()), None) or shipped().get(folder.experiment)
    return as_typed(path) if path else "CONFIG"


def load_generation(results: Path, experiment: str, renamed: bool = False, partial: bool = False) -> Generation:
    """The stored generation of an experiment: all of it, and what today's code gives.

    Raises ResultsMissing naming the command to run, also where cells are missing or failed; `partial` allows these as
    long as there are others. `renamed` allows a copy for a comparison, a folder of another name, of older code or
    config, which the caller has to mention.
    """
    folder = Folder(results, experiment)
    try:
        generation = read_generation(folder)
    except FileNotFoundError:
        raise missing(folder, "no results yet") from None
    except Damaged as error:
        raise missing(folder, str(error)) from None
    manifest = generation.manifest
    if manifest["experiment"] != experiment and not renamed:
        raise missing(folder, f"holds the experiment '{manifest['experiment']}'")
    cells = len(manifest["cells"])
    failed = generation.cells.table(["status"])["status"].to_pylist().count("failed")
    absent = len(manifest["cells"].keys() - manifest["computed_from"].keys()) - failed
    if failed + absent >= (cells if partial else 1):
        problem = f"{failed} of {cells} cells failed" if failed else f"{absent} of {cells} cells are not computed yet"
        raise missing(folder, problem)
    if not renamed and (why := generation.why_stale()):
        raise missing(folder, why)
    for remark in generation.not_checked():
        say_once(f"{folder.root}: {remark}")
    return generation


def numbers_held(results: Path, experiments: Iterable[str], whole: bool = False) -> dict[str, tuple[str, str]]:
    """By experiment, which numbers its folder has (`identity_of`), and what is wrong with them, in words.

    Of `whole` results also that the trajectories of some cells are not there, and only their summaries.
    """
    numbers = {}
    for experiment in dict.fromkeys(experiments):
        try:
            generation = load_generation(results, experiment)
            files = map(generation.folder.trajectory, generation.manifest["cells"])
            if whole and not all(file.exists() for file in files):
                raise missing(generation.folder, ONLY_SUMMARIES)
            numbers[experiment] = identity_of(generation.manifest), ""
        except ResultsMissing as error:
            numbers[experiment] = "", error.message
    return numbers


@lru_cache(maxsize=256)
def say_once(message: str) -> None:
    """A line on stderr, once in a process."""
    note(message)


def load_cells(results: Path, experiment: str, needs: Sequence[str] = ()) -> pd.DataFrame:
    """cells.parquet, one row per cell, with the columns `needs` among others. Raises ResultsMissing."""
    return cells_of(load_generation(results, experiment), needs)


def cells_of(generation: Generation, needs: Sequence[str] = ()) -> pd.DataFrame:
    """cells.parquet, one row per cell. Raises ResultsMissing where it has not all columns `needs`."""
    cells, root = _frame(generation.cells.table()), generation.folder.root
    if absent := [name for name in needs if name not in cells.columns]:
        raise not_as_configured(root.parent, root.name, f"no column {', '.join(absent)}")
    return cells


def load_summary(results: Path, experiment: str, needs: Sequence[str] = ()) -> pd.DataFrame:
    """summary.parquet joined with the columns of its cells, among them `needs`. Raises ResultsMissing.

    A column of the cells that the summary has too is called by its section: `n` is the number of replicates and `run.n`
    that of steps; `n_diverged` counts them at one step, `cell.n_diverged` at any.
    """
    generation = load_generation(results, experiment)
    cells, summary = cells_of(generation, needs), summary_of(generation)
    shared = set(summary.columns) - {"cell_id"}
    names = {name: f"{'run' if name == 'n' else 'cell'}.{name}" for name in cells.columns if name in shared}
    return summary.merge(cells.rename(columns=names), on="cell_id")


def summary_of(generation: Generation, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """summary.parquet, or some of its columns. Raises ResultsMissing where no cell could be computed."""
    if generation.summary is None:
        raise missing(generation.folder, "no cell has been computed")
    return _frame(generation.summary.table(columns))


def at_last_step(summary: pd.DataFrame) -> pd.DataFrame:
    """The rows of a summary at the last step of every cell."""
    return summary[summary.step == summary.groupby("cell_id").step.transform("max")]


def load_trajectories(results: Path, experiment: str, cell_ids: Sequence[str] | None = None) -> pd.DataFrame:
    """Per-replicate rows of some cells (all by default). Raises ResultsMissing, also where only summaries are there."""
    import pandas as pd

    generation = load_generation(results, experiment)
    cells = generation.manifest["cells"] if cell_ids is None else cell_ids
    frames = [_frame(_trajectory(generation, cell_id, Stored.table)) for cell_id in cells]
    rows: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return rows


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(use_threads=False)
    return frame


@lru_cache(maxsize=1)  # a file is read once for the estimators of a cell, which follow each other
def cell_of(generation: Generation, cell_id: str) -> CellData:
    """The numbers of one cell, replicate by replicate. Raises ResultsMissing, also where only summaries are there."""
    return _trajectory(generation, cell_id, Stored.data)


def _trajectory(generation: Generation, cell_id: str, read: Callable[[Stored], T]) -> T:
    """What is read of a cell's trajectory file."""
    try:
        return read(generation.trajectory(cell_id))
    except FileNotFoundError:
        refusal = missing(generation.folder, ONLY_SUMMARIES)
        raise OnlySummaries(refusal.message, refusal.hint) from None
    except Damaged as error:
        raise missing(generation.folder, str(error)) from None
