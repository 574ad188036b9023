"""TABLES: the registry of tables, one file a table or family."""

from __future__ import annotations

from pathlib import Path

from dpexp.tables.dp_sgld import SGLD_TABLES
from dpexp.tables.dp_sgld_constants import SGLD_CONSTANTS
from dpexp.tables.final import FINAL_LINEAR, FINAL_LOGISTIC
from dpexp.tables.momentum import MOMENTUM_TABLES
from dpexp.tables.rates import RATES
from dpexp.tables.table import FORMATS, Table, render
from dpexp.tables.table1 import TABLE1

TABLES: dict[str, Table] = {
    table.name: table
    for table in (TABLE1, RATES, FINAL_LINEAR, FINAL_LOGISTIC, *SGLD_TABLES, *SGLD_CONSTANTS, *MOMENTUM_TABLES)
}


def render_table(name: str, results: Path, form: str) -> str:
    """A table from stored results as text. Raises ResultsMissing with the command to run."""
    return render(TABLES[name], results, form)


__all__ = ["FORMATS", "TABLES", "Table", "render_table"]
