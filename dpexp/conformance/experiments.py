"""What a check has: toy results, computed once each when asked for, and how it says that a promise is broken."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dpexp.config.shipped import FOLDER
from dpexp.core.digests import digest
from dpexp.core.text import counted


class Failed(Exception):
    """A promise that is not kept, in words; `at` is the function or class whose lines are to be looked at."""

    def __init__(self, message: str, at: object = None) -> None:
        super().__init__(message)
        self.at = at


class NotTried(Exception):
    """Why a check says nothing here."""


class ToyExperiments:
    """Experiments at the size of `--profile smoke`, in one folder that several processes may share."""

    def __init__(self, root: Path, configs: Sequence[Path] = (Path("configs"),), figures: Path | None = None) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.figures = figures
        """where the numbers of figures are kept for others; None draws each anew"""
        self.configs = tuple(configs)
        """folders of config files, looked through in this order"""

    def config_of(self, experiment: str) -> Path | None:
        """The config file of an experiment: the one of its name first, then any that says `experiment: NAME`."""
        said = re.compile(rf"""^experiment:\s*["']?{re.escape(experiment)}["']?\s*(#.*)?$""", re.MULTILINE)
        for folder in self.configs:
            # Most files are named like their experiment, so that the others need not be read.
            for path in (folder / f"{experiment}.yaml", *sorted(folder.glob("*.yaml"))):
                if path.is_file() and said.search(path.read_text(encoding="utf-8-sig")):
                    return path
        return None

    def results(self, experiments: Sequence[str]) -> Path:
        """A results folder that holds exactly these experiments. Raises Failed for one that has no config."""
        from filelock import FileLock

        wanted = sorted(set(experiments))
        folder = self.root / "views" / digest(wanted, 12) / "results"
        with FileLock(self.root / "views.lock"):
            folder.mkdir(parents=True, exist_ok=True)
        for experiment in wanted:
            # Every experiment is computed once, and lies in one place.
            computed = self._computed(experiment)
            link = folder / experiment
            with FileLock(self.root / "views.lock"):
                if not link.is_symlink():
                    # Links to some of them: whoever reads another experiment than it has asked for finds nothing there.
                    link.symlink_to(computed.resolve(), target_is_directory=True)
        return folder

    def _computed(self, experiment: str) -> Path:
        from filelock import FileLock

        from dpexp.config.experiment_file import load_experiment
        from dpexp.config.resources import require_room
        from dpexp.config.yamlfile import ConfigError
        from dpexp.store.run import Options, run

        config = self.config_of(experiment)
        if config is None:
            places = ", ".join("the shipped ones" if one == FOLDER else str(one) for one in self.configs)
            raise Failed(f"needs the experiment '{experiment}', of which there is no config in {places}")
        done = self.root / f"{experiment}.done"
        # Several processes may ask at once: the first computes, and the others wait for it.
        with FileLock(self.root / f"{experiment}.lock"):
            if not done.exists():
                toy = load_experiment(config, profile="smoke")
                try:
                    require_room(toy)
                except ConfigError as error:
                    raise NotTried(f"the experiment '{experiment}': {error.issues[0].message}") from None
                report = run(toy, Options(self.root / "all" / "results", quiet=True))
                if report.failed:
                    raise Failed(f"{counted(report.failed, 'cell')} of the experiment '{experiment}' ({config}) failed")
                # Written last, so that a run which was killed is gone on with.
                done.touch()
        return self.root / "all" / "results" / experiment
