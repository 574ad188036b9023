"""The results folder of an experiment: what is written, how it is read back, and what is refused.

`trajectories/<cell_id>.parquet` is the source of truth of a cell. `cells.parquet`, `summary.parquet` and
`manifest.json` are derived from it, one generation at a time.
"""
