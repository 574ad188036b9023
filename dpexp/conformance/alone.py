"""A plug-in tried alone: a copy of its Python files and its `inputs`, in an empty folder, without the environment.

What it reads elsewhere is missing there, and named with the line that opens it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dpexp.conformance.check_result import NotTried, Promise, Subject
from dpexp.core.errors import UsageError
from dpexp.plugins.loaded import LOADED

KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DPEXP_CACHE", "XDG_CACHE_HOME")
"""of the environment, with the numbers of threads: what Python and its libraries need"""
HINT = "list files in Plugin(inputs=...) and open them by their path from the plug-in's own file"


def check_alone(subject: Subject[Any]) -> str:
    """Load the copy, and simulate a toy cell of each of its problems and algorithms. Raises UsageError, NotTried."""
    loaded = next(entry for entry in LOADED.values() if entry.plugin is subject.value)
    if loaded.installed:
        raise NotTried("it is installed, as a package with what it needs")
    files = [*loaded.files, *loaded.inputs()]
    base = Path(os.path.commonpath([file.parent for file in files]))
    with TemporaryDirectory(prefix="dpexp-alone-") as place:
        copy, empty = Path(place).resolve() / "copy", Path(place) / "empty"
        empty.mkdir()
        for file in files:
            target = copy / file.relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        env = {name: value for name, value in os.environ.items() if name in KEPT or name.endswith("_NUM_THREADS")}
        done = subprocess.run(
            [sys.executable, "-m", __name__, str(copy / loaded.file.relative_to(base)), str(loaded.file.parent)],
            cwd=empty, env={**env, "PYTHONPATH": str(Path(__file__).parents[2])}, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            last = (done.stdout.strip() or done.stderr.strip() or f"it ended with {done.returncode}").splitlines()[-1]
            path_here = os.path.relpath(base, loaded.file.parent)
            message = last.replace(f"{copy}/", "" if path_here == "." else f"{path_here}/")
            hint = HINT if "No such file" in message or "No module" in message else ""
            raise UsageError(str(loaded.typed.parent / message) if ".py:" in message[:200] else message, hint)
    return f"{len(files)} files, and nothing else"


ALONE: Promise[Any] = Promise("alone", "Its Python files and its inputs are all that it needs.", check_alone)


def check_file(file: Path) -> str:
    """What fails with only this file and its folder present; empty if nothing does."""
    from dpexp.conformance.suite import subjects_of
    from dpexp.conformance.toy_settings import toy_of
    from dpexp.plugins.loading import use
    from dpexp.store.simulating import Failed, simulate

    try:
        subjects = [subject for subject in subjects_of(use(file)) if subject.kind in ("problem", "algorithm")]
    except UsageError as error:
        return error.message
    for subject in subjects:
        toy = toy_of(subject.kind, subject.name)
        if toy is not None and (cell := toy.any_cell()) is not None:
            done = simulate([cell], [0])
            if isinstance(done, Failed):
                return done.error
    return ""


if __name__ == "__main__":
    # at the root of a clone dpexp lies beside the plug-in, whose own place is not to be looked at
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != Path(sys.argv[2])]
    wrong = check_file(Path(sys.argv[1]))
    sys.stdout.write(wrong)
    sys.exit(bool(wrong))
