"""The results folder of an experiment: what is written, how it is read back, and what is refused.

`trajectories/<cell_id>.parquet` is the source of truth of a cell. `cells.parquet`, `summary.parquet` and
`manifest.json` are derived from it, one generation at a time.
"""

from dpexp.store.files import SCHEMA_VERSION, write_text
from dpexp.store.folder import Folder, NotWritable
from dpexp.store.reading import (
    OnlySummaries,
    at_last_step,
    cell_of,
    load_cells,
    load_generation,
    load_parameters,
    load_summary,
    load_trajectories,
    not_as_configured,
    require_trajectories,
)

__all__ = [
    "SCHEMA_VERSION",
    "Folder",
    "NotWritable",
    "OnlySummaries",
    "at_last_step",
    "cell_of",
    "load_cells",
    "load_generation",
    "load_parameters",
    "load_summary",
    "load_trajectories",
    "not_as_configured",
    "require_trajectories",
    "write_text",
]
