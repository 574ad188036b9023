"""`dpexp reproduce`: every experiment, figure, table and claim, then a comparison with the published numbers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dpexp.commands.command_answer import RESULTS, Answer
from dpexp.core.errors import UsageError
from dpexp.core.terminal import note
from dpexp.core.text import columns, counted, guess
from dpexp.papers import papers as known_papers
from dpexp.reporting.paper import Paper
from dpexp.store.verifying import compare, published

RESEARCH = ("--plugin", "research/answers.py", "--plugin", "research/stated_epsilons.py")
"""of figures, tables and claims that plug-ins of our own bring"""


def reproduce(*papers: str, results: Path = RESULTS, check: bool = False) -> Answer:
    """Compute, unless `check` is set, and compare. Exit code 1 where a published number is another one."""
    known = known_papers()
    for name in papers:
        if name not in known:
            raise UsageError(f"no paper '{name}'", f"{guess(name, known)}papers: {', '.join(known)}")
    selected = [known[name] for name in papers]
    if not check:
        if not Path("configs").is_dir() or not Path("research").is_dir():
            hint = "reproduce in a clone of dpexp; dpexp run @NAME runs a config that comes with the package"
            raise UsageError("configs/ and research/ are not here", hint)
        for words in _of_papers(selected, results) if papers else _everything(results):
            note(f"dpexp {' '.join(words)}")
            if code := subprocess.run([sys.executable, "-m", "dpexp", *words]).returncode:
                return Answer(f"dpexp {' '.join(words)} ended with exit code {code}", {"failed": words}, code)
    experiments = {name for paper in selected for name in _experiments(paper)}
    files = []
    for name, content in sorted(published(results).items()):
        if not experiments or name.split("/")[0] in experiments:
            fresh = None
            # a file that cannot be read counts as missing
            with suppress(OSError):
                fresh = (results / name).read_bytes()
            status, detail = compare(name, fresh, content)
            files.append({"file": name, "status": status, "detail": detail})
    counts = Counter(file["status"] for file in files)
    text = columns([[file["status"], file["file"], file["detail"]] for file in files], ["", "file", ""])
    text += f"\n\n{counted(len(files), 'published file')} compared with the last commit: "
    text += ", ".join(f"{number} {status}" for status, number in counts.items())
    return Answer(text, {"files": files, "counts": dict(counts)}, 1 if counts["different"] or counts["missing"] else 0)


def _everything(results: Path) -> list[list[str]]:
    """The commands of a whole reproduction, in their order."""
    configs, research = (sorted(map(str, Path().glob(place))) for place in ("configs/*.yaml", "research/*/*.yaml"))
    # what is part Python gains from processes: threads would wait for each other
    slow = [config for config in (*configs, *research) if "coverage" in config or "rivals" in config]
    where = ["--results", str(results)]
    return [
        ["run", *slow, "--backend", "loky", *where],
        ["run", *configs, *research, *where],
        ["plot", "--all", "--format", "png,pdf,svg", *RESEARCH, *where],
        ["plot", "--theory", "figure2", "figure3", "figure4", *where],
        ["table", "--all", "--out", str(results / "tables"), *RESEARCH, *where],
        ["claims", "--judge", "--out", str(results), *RESEARCH, *where],
        ["claims", "--format", "differences", "--out", "docs", *where],
        ["report", str(results)],
    ]


def _of_papers(papers: Sequence[Paper], results: Path) -> list[list[str]]:
    """The commands that reproduce some papers: what they need is run, drawn and judged, and no ledger is written."""
    where, configs = ["--results", str(results)], [*Path("configs").glob("*.yaml"), *Path("research").rglob("*.yaml")]
    return [
        [command, *words, *where]
        for paper in papers
        for command, words in (
            ("run", sorted(str(path) for path in configs if path.stem in _experiments(paper))),
            ("plot", [figure.name for figure in paper.figures]),
            ("table", [table.name for table in paper.tables]),
            ("claims", [f"{paper.id}/"] if paper.claims else []),  # its claims, which are judged, and not the paper
        )
        if words
    ]


def _experiments(paper: Paper) -> list[str]:
    """The experiments that a paper needs."""
    drawn = (name for figure in paper.figures for name in figure.needs)
    return sorted({*paper.configs, *drawn, *(name for claim in paper.claims for name in claim.experiments)})
