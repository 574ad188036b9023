"""`dpexp verify`: which published results this machine has reproduced, bit for bit or within the stated tolerance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.files import Damaged
from dpexp.core.text import columns, counted, few, guess
from dpexp.store.folder import Folder
from dpexp.store.generation import read_generation
from dpexp.store.verifying import BY_METRIC, compare, published

DIFFERENT, NOT_COMPUTED = 1, 3
ABSENT = "not computed"


def verify(results: Path, names: Sequence[str], against: Path | None) -> tuple[dict[str, Any], str, int]:
    """Document, text and exit code."""
    found = published(results, against)
    # What was published is a whole folder, which its manifest tells.
    folders = sorted({name.split("/")[0] for name in found.files if name.endswith("/manifest.json")})
    for name in names:
        if name not in folders:
            raise UsageError(
                f"no results '{name}' are published", f"{guess(name, folders)}{counted(len(folders), 'experiment')} are"
            )
    chosen = {name: data for name, data in found.files.items() if not names or name.split("/")[0] in names}
    lacking = {name: what_lacks(results, name) for name in folders if not names or name in names}
    files = []
    for name, data in sorted(chosen.items()):
        path = results / name
        fresh = None
        # A file that cannot be read counts as missing.
        with suppress(OSError):
            fresh = path.read_bytes()
        status, detail = compare(name, fresh, data)
        files.append({"file": name, "status": status, "detail": detail})
    absent = [f"{name} ({why})" if why != ABSENT else name for name, why in lacking.items() if why]
    wrong = [one for one in files if one["status"] in ("different", "missing")]
    code = DIFFERENT if wrong else NOT_COMPUTED if absent else 0
    counts = Counter(str(one["status"]) for one in files)
    document = {
        "against": found.source,
        "files": files,
        "counts": dict(counts),
        "computed_here": {name: not why for name, why in lacking.items()},
        "tolerances": {name: one._asdict() for name, one in BY_METRIC.items()},
    }
    return document, _text(files, counts, absent, len(lacking), found.source), code


def what_lacks(results: Path, experiment: str) -> str:
    """Why this folder does not hold the trajectories that an experiment's rows were computed from; empty where it does.

    They are not published. Every byte of them is checked, and that they are those of the manifest.
    """
    try:
        generation = read_generation(Folder(results, experiment))
        for cell_id in generation.manifest["cells"]:
            generation.trajectory(cell_id)
    except Damaged as error:
        return str(error)
    except OSError:
        return ABSENT
    return ""


def _text(
    files: Sequence[dict[str, str]], counts: Counter[str], absent: Sequence[str], experiments: int, source: str
) -> str:
    parts = [columns([[one["status"], one["file"], one["detail"]] for one in files], ["", "file", ""])]
    summary = ", ".join(f"{number} {status}" for status, number in counts.items())
    parts.append(f"{counted(len(files), 'published file')} beside {source}: {summary}")
    parts.append(f"{experiments - len(absent)} of {counted(experiments, 'experiment')} were computed here")
    if absent:
        parts[-1] += f"; not {few(absent)}\n  hint: make reproduce computes all, dpexp run CONFIG one"
    return "\n\n".join(parts)
