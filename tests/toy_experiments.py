"""Toy results: experiments at the size of `--profile smoke`, each computed once in a session, in views of what is declared."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from dpexp.config.experiment_file import load_experiment
from dpexp.config.resources import require_room
from dpexp.config.yamlfile import ConfigError
from dpexp.core.files import atomically, digest
from dpexp.reporting.figure import Figure
from dpexp.store.experiment_run import Options, run


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
        """The config file of an experiment, in the first folder that has one; its file has its name."""
        return next((path for folder in self.configs if (path := folder / f"{experiment}.yaml").is_file()), None)

    def results(self, experiments: Sequence[str]) -> Path:
        """A results folder that holds exactly these experiments. Raises Failed for one that has no config."""
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
        config = self.config_of(experiment)
        if config is None:
            raise AssertionError(f"no config of the experiment '{experiment}'")
        done = self.root / f"{experiment}.done"
        # Several processes may ask at once: the first computes, and the others wait for it.
        with FileLock(self.root / f"{experiment}.lock"):
            if not done.exists():
                toy = load_experiment(config, profile="smoke")
                try:
                    require_room(toy)
                except ConfigError as error:
                    pytest.skip(f"the experiment '{experiment}': {error.issues[0].message}")
                report = run(toy, Options(self.root / "all" / "results", quiet=True))
                assert not report.failed, f"{report.failed} cells of '{experiment}' ({config}) failed"
                done.touch()  # written last, so that a run which was killed is gone on with
        return self.root / "all" / "results" / experiment


def numbers_of(figure: Figure, toys: ToyExperiments) -> Path:
    """The CSV of a figure drawn from toy results of what it declares: once for all who ask. No picture is made of it."""
    out = toys.figures or Path(tempfile.mkdtemp(dir=toys.root))
    out.mkdir(parents=True, exist_ok=True)
    csv = out / f"{figure.name}.csv"
    with FileLock(out / f"{figure.name}.lock"):
        if not csv.exists():
            content = figure.draw(toys.results(figure.needs)).files(figure.name, [])
            atomically(csv, lambda path: path.write_bytes(content[csv.name]))
    return csv
