"""How much memory this process may use, and whether a user's table can be read into it."""

from __future__ import annotations

import os
from pathlib import Path
from resource import RLIMIT_AS, getrlimit

from dpexp.core.errors import UsageError
from dpexp.core.files import opened

BYTES_OF_ENTRY = 16
"""of every entry of a parquet table: 8 as it is read, 4 as a record and 4 as a prepared one"""
BYTES_OF_TEXT = 100
"""of every entry of a text, which is read as a string: 97 were measured on 24 million numbers of six digits"""
MOST_COLUMNS = 20_000
"""of a table: each is looked at by itself"""
LOOKED_AT = 2**20
"""bytes at the beginning of a table from which the number of its entries is estimated"""


def require_readable(path: Path) -> None:
    """Raises UsageError where a table is none: no ordinary file, zero bytes in its header, more columns than are read,
    or more entries than fit into memory; that one with the bytes.

    Nothing but its beginning is read, or the part of a parquet file that says how many entries there are. What else is
    wrong with the file itself is said by who reads it.
    """
    parquet = path.suffix == ".parquet"
    try:
        entries, columns = _parquet(path) if parquet else _text(path) if path.suffix in (".csv", ".tsv") else (0, 0)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", "check the path") from None
    except Exception:  # each reader has its own family of errors
        return
    if columns > MOST_COLUMNS:
        raise UsageError(f"{path}: {columns:,} columns; at most {MOST_COLUMNS:,} are read", "keep those that are used")
    available, need = memory_of_machine(), (BYTES_OF_ENTRY if parquet else BYTES_OF_TEXT) * entries
    if available is not None and need > available:
        message = f"{path}: needs about {in_bytes(need)} of memory for about {entries:.2g} entries; "
        raise UsageError(f"{message}{in_bytes(available)} are there", "take fewer records or columns")


def _text(path: Path) -> tuple[int, int]:
    """About how many entries a table has, and how many columns at most. Raises OSError also for what is no text."""
    with opened(path, limit=2**62) as file:
        size, start = os.fstat(file.fileno()).st_size, file.read(LOOKED_AT)
    header = start.partition(b"\n")[0]
    if b"\0" in header and start[:2] not in (b"\xff\xfe", b"\xfe\xff"):  # another alphabet of text has zeros
        raise OSError(0, f"it has zero bytes from byte {header.find(0):,} on, which no text has")
    marks = [max(text.count(mark) for mark in (b",", b";", b"\t", b"|")) for text in (start, header)]
    return round(size / max(len(start), 1) * (marks[0] + start.count(b"\n"))), marks[1] + 1


def _parquet(path: Path) -> tuple[int, int]:
    from pyarrow import parquet

    with opened(path, limit=2**62) as file:
        metadata = parquet.read_metadata(file)
    return int(metadata.num_rows * metadata.num_columns), int(metadata.num_columns)


def in_bytes(count: int) -> str:
    """3.2 GB, 120 MB."""
    value, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.3g} {units[0]}" if value < 1000 else f"{value:.1e} {units[0]}"


def memory_of_machine() -> int | None:
    """Bytes of memory that this process may use: the machine's, its group's or its own limit; None if unknown."""
    try:
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        return None
    limits += [int(share) for share in map(_read, _limits_of_groups()) if share.isdigit()]
    own, used = getrlimit(RLIMIT_AS)[0], _read("/proc/self/statm").split()[:1]
    if own >= 0:  # of addresses, some of which are taken; -1 is no limit
        limits.append(max(0, own - int(used[0]) * os.sysconf("SC_PAGE_SIZE")) if used else own)
    return min(limits)


def _limits_of_groups(mount: str = "/sys/fs/cgroup") -> list[str]:
    """Files with the limits of the process's control group, as of a batch job, and of the groups around it."""
    files = []
    # lines are NUMBER:CONTROLLERS:PATH; version 2 has one without controllers
    for controllers, path in (line.split(":", 2)[1:] for line in _read("/proc/self/cgroup").splitlines()):
        if controllers and "memory" not in controllers.split(","):
            continue
        place, name = (mount, "memory.max") if not controllers else (f"{mount}/memory", "memory.limit_in_bytes")
        parts = [part for part in path.split("/") if part]
        files += ["/".join([place, *parts[:depth], name]) for depth in range(len(parts) + 1)]
    return files


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
