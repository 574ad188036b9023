"""The results folder of an experiment: what is written, how it is read back, and what is refused.

`trajectories/<cell_id>.parquet` is the source of truth of a cell. `cells.parquet`, `summary.parquet` and
`manifest.json` are derived from it, one generation at a time.
"""

from dpexp.store.folder import Folder, write_text
from dpexp.store.reading import (
    at_last_step,
    cell_of,
    load_cells,
    load_generation,
    load_summary,
    load_trajectories,
)

__all__ = [
    "Folder",
    "at_last_step",
    "cell_of",
    "load_cells",
    "load_generation",
    "load_summary",
    "load_trajectories",
    "write_text",
]
