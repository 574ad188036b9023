"""The experiments of a page: what is stored of each, whether it is current, and what makes it: command and config."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dpexp.config.settings import varying
from dpexp.core.errors import DpexpError
from dpexp.core.files import Damaged
from dpexp.core.text import counted, duration
from dpexp.plugins.loaded import said
from dpexp.reporting.digits import from_to
from dpexp.reporting.of_results.gather import Gathered, Run, Source, Unreadable, gather
from dpexp.reporting.of_results.labels import constants, values
from dpexp.store import Folder, load_generation
from dpexp.store.files import read_document
from dpexp.store.generation import Generation
from dpexp.store.reading import command_of
from dpexp.store.staleness import not_checked

CURRENT, UNCONFIRMED, STALE, INCOMPLETE, MISSING = "current", "unconfirmed", "stale", "not complete", "missing"
UNREADABLE = "not readable here"
"""its settings cannot be made again, as after a plug-in has lost a name"""


@dataclass(frozen=True)
class Stored:
    """One experiment of a results folder, as far as readers take it."""

    results: Path
    name: str
    status: str
    why: str
    """what speaks against it; empty where it is current"""
    hint: str
    generation: Generation | None
    gathered: Gathered | None

    @property
    def is_current(self) -> bool:
        """Whether today's code gives these numbers."""
        return self.gathered is not None

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the manifest says, of stale results too; empty where it cannot be read."""
        if self.generation is not None:
            return self.generation.manifest
        with suppress(Damaged, OSError):
            return read_document(Folder(self.results, self.name).manifest)
        return {}

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Machine, versions, commit and times; empty where they are not here, as they are not committed."""
        with suppress(Damaged, OSError, ValueError):
            return read_document(Folder(self.results, self.name).provenance)
        return {}

    @property
    def remarks(self) -> list[str]:
        """What a reader of current results should know of them."""
        if self.generation is None:
            return []
        kept = sum(self.generation.folder.trajectory(cell_id).exists() for cell_id in self.generation.manifest["cells"])
        lacking = len(self.generation.manifest["cells"]) - kept
        without = "summaries only: the trajectories, replicate by replicate, are not in this folder"
        diverged = sum(int(run.row["n_diverged"]) for run in self.runs)
        return [
            *not_checked(self.generation),
            *filter(None, [self.generation.confirmed]),
            *([without] if lacking else []),
            *([f"{counted(diverged, 'replicate')} diverged, which count as they are"] if diverged else []),
        ]

    @property
    def profile(self) -> str:
        return str(self.manifest.get("profile", ""))

    @cached_property
    def config(self) -> tuple[str, str]:
        """The path of the config and its text, as the manifest has it; empty where the results were made from none."""
        config = self.manifest.get("config", {})
        return str(config.get("path", "")), str(config.get("text", ""))

    @property
    def is_private(self) -> bool:
        """Whether its numbers come from a user's own records."""
        return any("released" in origin for origin in self.manifest.get("computed_from", {}).values())

    @property
    def command(self) -> str:
        """The command that computes it."""
        return command_of(Folder(self.results, self.name))[0]

    @property
    def in_short(self) -> str:
        """The first sentence of the comment on top of the config."""
        return about(self.config[1]).partition(". ")[0].rstrip(".")

    # --- what a page shows of it; "-" where its settings cannot be read

    @property
    def runs(self) -> Sequence[Run]:
        return () if self.gathered is None else self.gathered.runs

    @property
    def settings(self) -> str:
        return f"{len(self.runs):,}" if self.runs else "-"

    @property
    def replicates(self) -> str:
        return from_to(int(run.row["replicates"]) for run in self.runs) if self.runs else "-"

    @property
    def time(self) -> str:
        return duration(self.seconds) if self.runs and self.seconds is not None else "-"

    def varying(self) -> list[str]:
        """What varies in current results, listed by value."""
        assert self.gathered is not None
        names = varying(run.settings for run in self.runs)
        return [values(self.runs, self.gathered.words, name) for name in names]

    def constants(self) -> str:
        """All else of current results, in one line."""
        assert self.gathered is not None
        return constants(self.runs, self.gathered.words)

    @property
    def seeds(self) -> str:
        kept = self.generation
        if kept is not None and kept.deployed.keys() >= kept.manifest["cells"].keys():
            return "of the operating system, kept nowhere"
        return ", ".join(map(str, self.manifest.get("seeds", [])))

    @property
    def seconds(self) -> float | None:
        """What all cells took on one core; None where that is not known."""
        cells = self.provenance.get("cells")
        if not isinstance(cells, dict) or not cells:
            return None
        spent = [cell.get("cpu_s") for cell in cells.values()]
        # one cell without a time, and the sum is not known
        return None if None in spent else sum(map(float, spent))

    @property
    def steps(self) -> int:
        """Replicate-steps of all cells of current results."""
        return sum(int(run.parameters["run"]["n"]) * int(run.row["replicates"]) for run in self.runs)


def states_of(experiments: Sequence[Stored]) -> str:
    """How many there are in every state."""
    states = Counter(stored.status for stored in experiments)
    counts = ", ".join(f"{count} {status}" for status, count in states.items())
    meaning = "Current means that today's code gives these numbers."
    return f"{counted(len(experiments), 'experiment')}: {counts}. {meaning}" if counts else "No experiment."


def look(results: Path, name: str) -> Stored:
    """An experiment as it is stored; whatever readers say against it is kept with it, and never raised."""
    try:
        generation, gathered = load_generation(results, name), gather([Source(results, name)])
        return Stored(results, name, CURRENT, "", "", generation, gathered)
    # parameters of another version
    except Unreadable as error:
        return Stored(results, name, UNREADABLE, error.message.removeprefix(f"{results / name}: "), "", None, None)
    except DpexpError as error:
        message = error.message.removeprefix(f"{Folder(results, name).root}: ")
        # what the readers refuse with begins with the state
        word = message.partition(", ")[0]
        there = Folder(results, name).manifest.exists()
        status = word if word in (STALE, UNCONFIRMED) else INCOMPLETE if there else MISSING
        return Stored(results, name, status, message.removeprefix(f"{status}, "), error.hint, None, None)
    # of a plug-in, whose results must not cost the page of all others
    except Exception as error:
        return Stored(results, name, UNREADABLE, *said(error), None, None)


def about(config: str) -> str:
    """The comment on the first lines of a config, in one line."""
    found = []
    for line in config.splitlines():
        if not line.startswith("#"):
            break
        found.append(line.lstrip("# ").rstrip())
    return " ".join(found)
