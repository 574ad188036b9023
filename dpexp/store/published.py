"""The published results, beside which fresh ones are held: those that git has, a kept copy, or another folder."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpexp.core.errors import UsageError

KEPT = ".published"
"""the copy that is made before results are computed anew where there is no git; it is not committed"""
LOCAL = frozenset({"trajectories", "partial", "orphaned"})
"""folders of an experiment that are not published"""


@dataclass(frozen=True)
class Published:
    """Files by their path below the results folder, and where they are from, in words."""

    files: dict[str, bytes]
    source: str


def of(results: Path, against: Path | None = None) -> Published:
    """The published results. Raises UsageError where there are none to be found."""
    if against is not None:
        if not against.is_dir():
            raise UsageError(f"--against {against}: no such folder", "name a results folder")
        return Published(dict(_in_folder(against)), str(against))
    kept = results / KEPT
    if files := _in_git(results):
        return Published(files, "the last commit")
    if kept.is_dir():
        return Published(dict(_in_folder(kept)), str(kept))
    raise UsageError(
        f"{results} is not in git, and no copy of it was kept: there is nothing to compare with",
        "dpexp verify --keep before results are computed anew, or --against DIR with published results",
    )


def keep(results: Path) -> str:
    """Keep a copy of the results as they were published, once, unless git has them: what was done, in words."""
    kept = results / KEPT
    if _in_git(results):
        return f"git has {results}: no copy is needed"
    if kept.is_dir():
        return f"{kept} is there already"
    files = dict(_in_folder(results))
    if not files:
        return f"{results} holds nothing to keep"
    making = results / f"{KEPT}.new"  # a copy that was broken off is not taken for one
    shutil.rmtree(making, ignore_errors=True)
    for name, content in files.items():
        (making / name).parent.mkdir(parents=True, exist_ok=True)
        (making / name).write_bytes(content)
    making.rename(kept)
    return f"kept {len(files)} files in {kept}"


def _in_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in inside.parts) or bool(LOCAL & set(inside.parts))
        if path.is_file() and not hidden and path.name != "provenance.json" and path.suffix != ".csv":
            yield inside.as_posix(), path.read_bytes()


def _in_git(results: Path) -> dict[str, bytes]:
    """What the last commit has of a folder; nothing where it has none, or where there is no git."""
    try:
        told = subprocess.run(["git", "-C", str(results), "archive", "HEAD", "."], capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if told.returncode != 0:
        return {}
    with tarfile.open(fileobj=io.BytesIO(told.stdout)) as archive:
        opened = (
            (member.name.removeprefix("./"), archive.extractfile(member)) for member in archive if member.isfile()
        )
        return {name: content.read() for name, content in opened if content is not None}
