"""How far a run is: told as a step to whoever shows progress (`dpexp.core.steps`).

Of experiments that are on their way at the same time only the first is told.
"""

from __future__ import annotations

from dpexp.core.steps import tell

_open: list[Progress] = []
"""in the order in which they were opened; the first is told"""


class Progress:
    """Counts work in replicate-steps of one experiment; use as a context manager."""

    def __init__(self, name: str, total: float) -> None:
        self.name, self.total, self.done = name, max(total, 1.0), 0.0
        self.before = 0.0
        """what was done before it was told"""

    def __enter__(self) -> Progress:
        _open.append(self)
        self._tell()
        return self

    def advance(self, work: float) -> None:
        """Some work has been done."""
        self.done += work
        self._tell()

    def _tell(self) -> None:
        if _open[0] is self:
            share = (self.done - self.before) / max(self.total - self.before, 1.0)
            tell(f"{self.name}: {self.done / self.total:.0%}", share)
        else:
            self.before = self.done

    def __exit__(self, *exception: object) -> None:
        _open.remove(self)
        if _open:
            _open[0]._tell()
