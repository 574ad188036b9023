"""A dask cluster on this machine: a scheduler and workers as processes of their own, for tests, campaigns and benchmarks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 60.0
"""seconds after which something that should have happened has not"""


def until(happened: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait for something, but not for ever."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"{what}: not in {seconds:g} s"
        time.sleep(0.02)


class Loopback:
    """A scheduler on a random port; use as a context manager, which ends all processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", file])
        until(lambda: file.exists() and file.read_text().endswith("}"), "the scheduler's address")
        self.address = str(json.loads(file.read_text())["address"])

    def _start(
        self, kind: str, options: Sequence[object], env: dict[str, str] | None = None, cwd: Path = ROOT
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", kind, *map(str, options), "--dashboard-address", ":0"]
        with (self.folder / f"{len(self.processes)}-{kind}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=cwd, env={**os.environ, **(env or {})})
        self.processes.append(process)
        return process

    def worker(
        self, *options: object, threads: int = 1, env: dict[str, str] | None = None, cwd: Path = ROOT
    ) -> subprocess.Popen[bytes]:
        """Start a worker. It has no nanny, so that it stays away when it is killed."""
        here = self.folder / f"worker-{len(self.processes)}"
        given = [self.address, "--host", "127.0.0.1", "--no-nanny", "--nthreads", threads, "--local-directory", here]
        return self._start("worker", [*given, *options], env, cwd)

    def wait_for(self, workers: int) -> None:
        """Wait until so many workers are there."""
        from distributed import Client

        with Client(self.address, set_as_default=False, timeout=PATIENCE) as client:
            until(lambda: len(client.nthreads()) == workers, f"{workers} workers")

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.wait(PATIENCE)


def square(k: int, seconds: float = 0.0) -> int:
    """k^2, after a while."""
    time.sleep(seconds)
    return k * k
