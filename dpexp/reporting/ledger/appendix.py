"""`ARTIFACT-APPENDIX.md`: the ledger in the form that artifact evaluations ask for.

What is needed, how it is installed and run, and for every claim the command, its time and memory, the result to expect,
when another one agrees with it, and what it does not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpexp.core.text import counted, duration
from dpexp.core.version import VERSION
from dpexp.reporting.ledger.costs import Costs
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.printed import command, experiments_of
from dpexp.reporting.noticed import noticed
from dpexp.reporting.paper import Paper
from dpexp.reporting.table import markdown_table

NAME = "ARTIFACT-APPENDIX.md"
UNKNOWN = "not measured"


def appendix(judgements: Sequence[Judgement], papers: Mapping[str, Paper], costs: Costs) -> str:
    """The whole page."""
    experiments = sorted({name for one in judgements for name in experiments_of(one)})
    needs = list(dict.fromkeys(one.paper for one in judgements))
    memory = max((own["memory_mb"] for own in costs.claims.values()), default=0.0)
    judging = sum(own["seconds"] for own in costs.claims.values())
    lines = [
        "# Artifact appendix",
        "Written by `dpexp claims --format artifact`; the numbers are those of the stored results.",
        "## Abstract",
        f"dpexp {VERSION} settles {counted(len(judgements), 'claim')} of {len(needs)} papers on differentially private "
        "SGD: each is quoted, checked by code against stored results or exact laws, and ends in a verdict. Every "
        "result can be computed again from its config.",
        "## Check-list",
        markdown_table(["what", "answer"], _checklist(experiments, costs, memory, judging)),
        "## Installation",
        "```sh\nmake test        # sets itself up in .venv, and runs the whole test suite\n```",
        "Without make: `pip install .` in a fresh environment, then `dpexp --help`.",
        "## Workflow",
        "```sh\nmake reproduce   # every experiment, figure, table and claim; ends with dpexp verify\n```",
        "One claim alone: the command in its row runs what is missing of the experiments that it reads, judges it "
        "anew, and prints the values beside the stored ones with time and memory. `dpexp claims` shows the stored "
        "verdicts at once, and says which of them are stale.",
        "## Claims",
        "*Time* is that of one core: to run the experiments, which several claims share and which are run once, and "
        "to judge. *Memory* is the peak of the process that judges. A result agrees if the verdict is the expected "
        "one; the tolerance says when it is. Exit code 0 says that all are.",
    ]
    for paper in needs:
        mine = [one for one in judgements if one.paper == paper]
        title = f": {papers[paper].title}" if paper in papers else ""
        head = ["claim", "command", "time", "memory", "expected result", "tolerance", "limitation"]
        lines += [f"### {paper}{title}", markdown_table(head, [_row(one, costs) for one in mine])]
    lines += [
        "## Notes",
        "The exit code of `dpexp claims` is 1 if a verdict is not the expected one, and 3 if one that was asked for is "
        "stale or was never judged; stderr names it and the command that helps. Results that are made by other code, "
        "data or configs than today's are refused. `dpexp verify` compares fresh results with the published ones.",
    ]
    return "\n\n".join(lines)


def _checklist(experiments: Sequence[str], costs: Costs, memory: float, judging: float) -> list[list[str]]:
    running = costs.running(experiments)
    return [
        ["program", "this package; Python 3.11 or newer, no compiler"],
        ["data", "shipped with the package, with licences; nothing is downloaded while running"],
        ["hardware", f"any x86-64 or ARM machine, no accelerator; times measured on {costs.measured_on or 'none yet'}"],
        ["experiments", f"{counted(len(experiments), 'config')} in `configs/`"],
        ["time to compute everything", f"{duration(running)} on one core" if running else UNKNOWN],
        ["time to judge everything", f"{duration(judging)} on one core" if judging else UNKNOWN],
        ["memory to judge", f"{memory:.0f} MB at most" if memory else UNKNOWN],
        ["disk", "about 2 GB with the environment, 500 MB of them trajectories"],
        ["output", "`results/`: parquet, JSON, figures (PNG, PDF), tables (Markdown) and `results/CLAIMS.md`"],
        ["randomness", "keyed by seed, replicate and role; the same bits for any number of workers"],
        ["licence", "MIT"],
    ]


def _row(one: Judgement, costs: Costs) -> list[str]:
    claim = one.claim
    cost = costs.words(one.id, experiments_of(one))
    time, _, memory = cost.rpartition(", ")
    expected = one.expected
    if one.is_current and one.found["measured"]:
        expected += f": {one.found['measured']}"
    limits = [noticed(one.id) or "", claim["why"] if one.expected not in ("reproduced", "holds as a bound") else ""]
    if not claim["configs"]:
        limits.append("settled by theory and exact laws, without a run")
    assumed = "; ".join(claim["hypotheses"])
    limits.append(f"assumes: {assumed}" if assumed else "")
    statement = f"{claim['place']}: {claim['statement']}" + (" (ours)" if claim["source"] == "ours" else "")
    said = [statement, f"`{command(one)}`", time or UNKNOWN, memory or UNKNOWN, expected, claim["tolerance"]]
    return [*said, "; ".join(filter(None, limits)) or "none known"]
