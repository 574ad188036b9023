"""`dpexp reproduce`: every experiment, figure, table and claim, then the numbers beside the published ones."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.terminal import note
from dpexp.core.text import columns, counted, guess
from dpexp.store.verifying import compare, published

DIFFERENT = 1
RESEARCH = ("--plugin", "research/answers.py", "--plugin", "research/stated_epsilons.py")
"""of figures, tables and claims that plug-ins of our own bring"""


def reproduce(
    papers: Sequence[str], results: Path, against: Path | None, check: bool
) -> tuple[dict[str, Any], str, int]:
    """Compute, unless only a `check` is asked for, and compare: document, text and exit code."""
    if not check:
        if not Path("configs").is_dir() or not Path("research").is_dir():
            hint = "reproduce in a clone of dpexp; dpexp run @NAME runs a config that comes with the package"
            raise UsageError("configs/ and research/ are not here", hint)
        for words in _of_papers(papers, results) if papers else _everything(results):
            note(f"dpexp {' '.join(words)}")
            if code := subprocess.run([sys.executable, "-m", "dpexp", *words]).returncode:
                return {"failed": words}, f"dpexp {' '.join(words)} ended with exit code {code}", code
    return _compare(_experiments(papers), results, against)


def _everything(results: Path) -> list[list[str]]:
    """The commands of a whole reproduction, in their order."""
    configs, research = (sorted(map(str, Path().glob(place))) for place in ("configs/*.yaml", "research/*/*.yaml"))
    # what is part Python gains from processes: threads would wait for each other
    slow = [one for one in (*configs, *research) if "coverage" in one or "rivals" in one]
    where = ["--results", str(results)]
    return [
        ["run", *slow, "--backend", "loky", *where],
        ["run", *configs, *research, *where],
        ["plot", "--all", "--format", "png,pdf,svg", *RESEARCH, *where],
        ["plot", "--theory", "figure2", "figure3", "figure4", *where],
        ["table", "--all", "--out", str(results / "tables"), *RESEARCH, *where],
        ["claims", "--judge", "--out", str(results), *RESEARCH, *where],
        ["claims", "--format", "artifact", "--out", "docs", *where],
        ["claims", "--format", "differences", "--out", "docs", *where],
        ["report", str(results)],
    ]


def _of_papers(names: Sequence[str], results: Path) -> list[list[str]]:
    """The commands that reproduce some papers: what they need is run, drawn and judged, and no ledger is written."""
    from dpexp.papers import papers

    where, steps = ["--results", str(results)], []
    for experiments, paper in ((_experiments([name]), papers()[name]) for name in names):
        places = [
            sorted([*Path("configs").glob(f"{one}.yaml"), *Path("research").rglob(f"{one}.yaml")])
            for one in experiments
        ]
        configs = [str(found[0]) for found in places if found]
        steps += [["run", *configs, *where]] if configs else []
        steps += [["plot", *(one.name for one in paper.figures), *where]] if paper.figures else []
        steps += [["table", *(one.name for one in paper.tables), *where]] if paper.tables else []
        steps += [["claims", paper.id, *where]] if paper.claims else []  # named, so that they are judged
    return steps


def _experiments(names: Sequence[str]) -> list[str]:
    """The experiments that papers need. Raises UsageError where there is no such paper."""
    from dpexp.papers import papers
    from dpexp.reporting.ledger.judging import experiments_of

    known, needed = papers(), set[str]()
    for name in names:
        if name not in known:
            raise UsageError(f"no paper '{name}'", f"{guess(name, known)}papers: {', '.join(known)}")
        paper = known[name]
        needed.update(paper.configs, experiments_of(paper.claims), *(figure.needs for figure in paper.figures))
    return sorted(needed)


def _compare(experiments: Sequence[str], results: Path, against: Path | None) -> tuple[dict[str, Any], str, int]:
    """Fresh numbers beside the published ones, of some experiments or of all and the verdicts."""
    there, files = published(results, against), []
    for name, content in sorted(there.files.items()):
        if experiments and name.split("/")[0] not in experiments:
            continue
        fresh = None
        # a file that cannot be read counts as missing
        with suppress(OSError):
            fresh = (results / name).read_bytes()
        status, detail = compare(name, fresh, content)
        files.append({"file": name, "status": status, "detail": detail})
    counts = Counter(one["status"] for one in files)
    document = {"against": there.source, "files": files, "counts": dict(counts)}
    summary = ", ".join(f"{number} {status}" for status, number in counts.items())
    text = columns([[one["status"], one["file"], one["detail"]] for one in files], ["", "file", ""])
    text += f"\n\n{counted(len(files), 'published file')} beside {there.source}: {summary}"
    return document, text, DIFFERENT if counts["different"] or counts["missing"] else 0
