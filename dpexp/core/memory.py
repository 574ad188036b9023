"""How much memory this process may use, and whether a user's table can be read into it."""

from __future__ import annotations

import os
from pathlib import Path

from dpexp.core.errors import UsageError
from dpexp.core.files import opened

BYTES_IN_MEMORY = 15  # for each in a table's file: an entry of six digits is read as a string of about 100 bytes


def require_readable(path: Path) -> None:
    """Raises UsageError for a table that is no ordinary file, or that does not fit into memory."""
    try:
        with opened(path, limit=2**62) as file:
            need = BYTES_IN_MEMORY * os.fstat(file.fileno()).st_size
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", "check the path") from None
    if need > (available := memory_of_machine()):
        message = f"{path}: needs about {in_bytes(need)} of memory; {in_bytes(available)} are available"
        raise UsageError(message, "use fewer records or columns")


def in_bytes(count: float) -> str:
    """3.2 GB, 120 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def memory_of_machine() -> int:
    """Bytes that this process may use: the least of the machine's and its control groups' (a batch job's)."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    # lines are NUMBER:CONTROLLERS:PATH; version 2 has one without controllers
    for controllers, path in (line.split(":", 2)[1:] for line in content_of("/proc/self/cgroup").splitlines()):
        if not controllers or "memory" in controllers.split(","):
            mount, name = ("", "memory.max") if not controllers else ("memory", "memory.limit_in_bytes")
            group = Path("/sys/fs/cgroup", mount, path.strip("/"))
            texts = [content_of(f"{place}/{name}") for place in (group, *group.parents)]
            limits += [int(text) for text in texts if text.isdigit()]
    return min(limits)


def content_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
