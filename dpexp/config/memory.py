"""How much memory this process may use, and whether a user's table can be read into it."""

from __future__ import annotations

import os
from pathlib import Path
from resource import RLIMIT_AS, getrlimit

from dpexp.core.errors import UsageError

BYTES_OF_ENTRY = 16
"""of every entry of a table: 8 as it is read, 4 as a record and 4 as a prepared one; text needs more"""
LOOKED_AT = 2**20
"""bytes at the beginning of a table from which the number of its entries is estimated"""


def require_readable(path: Path) -> None:
    """Raises UsageError, with the bytes, where a csv, tsv or parquet file has more entries than fit into memory.

    Nothing but its beginning is read, or the part of a parquet file that says how many entries there are. What is wrong
    with the file itself is said by who reads it.
    """
    there = memory_of_machine()
    try:
        entries = _entries(path)
    except Exception:  # each reader has its own family of errors
        return
    need = BYTES_OF_ENTRY * entries
    if there is not None and need > there:
        message = f"{path}: needs at least {in_bytes(need)} of memory for about {entries:.2g} entries; "
        raise UsageError(f"{message}{in_bytes(there)} are there", "take fewer records or columns")


def _entries(path: Path) -> int:
    """About how many entries a table has; 0 where that is not known."""
    if path.suffix in (".csv", ".tsv") and path.is_file():
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(LOOKED_AT)
        return round(size / max(len(start), 1) * (max(map(start.count, b",;\t|")) + start.count(b"\n")))
    if path.suffix == ".parquet" and path.is_file():
        from pyarrow import parquet

        found = parquet.read_metadata(path)
        return int(found.num_rows * found.num_columns)
    return 0


def in_bytes(count: int) -> str:
    """3.2 GB, 120 MB."""
    value, unit = float(count), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if value < 1000 else f"{value:.1e} {_UNITS[unit]}"


_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def memory_of_machine() -> int | None:
    """Bytes of memory that this process may use: the machine's, its group's or its own limit; None if unknown."""
    try:
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        return None
    share = _read("/sys/fs/cgroup/memory.max").strip()
    limits += [int(share)] if share.isdigit() else []
    own = getrlimit(RLIMIT_AS)[0]
    used = _read("/proc/self/statm").split()[:1]
    if own >= 0:  # of addresses, some of which are taken; -1 is no limit
        limits.append(max(0, own - int(used[0]) * os.sysconf("SC_PAGE_SIZE")) if used else own)
    return min(limits)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
