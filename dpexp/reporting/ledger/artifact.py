"""`docs/artifact.md`: what an evaluation of dpexp does first, and how it tries each headline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpexp.core.text import counted
from dpexp.reporting.ledger.costs import Costs
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.printed import command, experiments_of, in_short
from dpexp.reporting.paper import Paper

NAME = "artifact.md"
TIRES = """\
```sh
python3 -m venv .venv                                    # an environment with pinned versions
.venv/bin/pip install -q -c constraints.txt -e .
.venv/bin/dpexp claims                                   # stored verdicts, and which of them are current
.venv/bin/dpexp run configs/linear_d5.yaml               # 1.2 billion steps of private SGD
.venv/bin/dpexp plot figure2                             # a figure of the paper from them
.venv/bin/dpexp verify linear_d5                         # the same bits as the published ones
```"""
ALL = """\
```sh
make reproduce                                       # every experiment, figure, table and claim; ends with dpexp verify
dpexp claims noisy-sgd/theorem-3-1 --rerun           # one claim, or some: run what they read, judge them, compare
dpexp claims --judge                                 # every claim anew, from results that were run here
dpexp verify                                         # every file beside the published one
make test                                            # the whole test suite
```"""


def artifact(judgements: Sequence[Judgement], papers: Mapping[str, Paper], costs: Costs) -> str:
    """The whole page."""
    headlines = {name: says for paper in papers.values() for name, says in paper.headlines.items()}
    by_id = {one.id: one for one in judgements}
    first = [by_id[name] for name in headlines if name in by_id]
    parts = [
        "# Evaluating dpexp",
        f"dpexp settles {counted(len(judgements), 'statement')} of papers on private SGD, and of pages about "
        "it. Each is quoted, held against stored results or exact laws, and ends in a verdict. `dpexp claims --format "
        "artifact` writes this page; its numbers are those of the stored verdicts.",
        "You need Python 3.11 or newer and make, on x86-64 or ARM, and 2 GB of disk. There is no need of a compiler or "
        "of an accelerator. All data come with the package; nothing is downloaded while it runs.",
        "## In two minutes",
        TIRES,
        "The last command must say `identical` of both tables, cells and summary. A file is `within tolerance` where "
        "libraries have other versions, or where a manifest only says in another way how its numbers were confirmed.",
        "## The headlines",
        "Each command runs the experiments that the claim reads, judges it, and prints what it found beside what is "
        "stored. It must exit with 0 and say `same values`. Another machine may be off in the last digits; a result "
        "agrees if the verdict is the same, and the tolerance says when it is.",
        *(_headline(number, one, headlines[one.id], costs) for number, one in enumerate(first, 1)),
        "## All the others",
        ALL,
        *_total(judgements, costs),
        "The exit code of `dpexp claims` is 1 if a verdict is not the expected one, and 3 if one is stale or was never "
        "judged; stderr names the claim and the command that helps. Results of other code, data or configs than "
        "today's are refused. [How claims are settled](claims.md) explains verdicts and statistics, [the ledger]"
        "(../results/CLAIMS.md) has every claim with its quotation, and what of each paper no claim settles.",
    ]
    return "\n\n".join(parts)


def _total(judgements: Sequence[Judgement], costs: Costs) -> list[str]:
    """What everything takes, where all of it is known."""
    needed = {name for one in judgements for name in experiments_of(one)}
    if not needed <= set(costs.experiments) or not {one.id for one in judgements} <= set(costs.claims):
        return []
    running, judging = costs.running(costs.experiments), sum(costs.claims.values())
    return [
        f"All experiments take {running:,.0f} CPU seconds, all claims {judging:,.0f}, measured on {costs.measured_on}; "
        "each of the commands above needs a few more to start."
    ]


def _headline(number: int, one: Judgement, says: str, costs: Costs) -> str:
    cost = costs.words(one.id, experiments_of(one))
    lines = [f"*{one.paper}*: **{says}**", f"`{command(one)}`" + (f" ({cost})" if cost else "")]
    lines += [f"Expected: **{one.expected}**; {in_short(one)}." if one.is_current else f"Not current: {one.reason}."]
    lines += [f"Tolerance: {one.claim['tolerance']}."]
    return f"{number}. " + "\\\n   ".join(lines)
