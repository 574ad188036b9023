"""`dpexp claims --judge` and `--rerun`: claims judged anew, and their values beside the stored ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpexp.commands.claims import Request, Shown, checked, chosen, headlines, registered, shown, with_verdicts
from dpexp.core.errors import DpexpError, ResultsMissing
from dpexp.core.files import Damaged
from dpexp.core.steps import each, tell
from dpexp.core.terminal import note
from dpexp.core.text import columns, counted
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.ledger import costs, verdicts
from dpexp.reporting.ledger.judging import Judged, judge, keep, one_by_one, require
from dpexp.reporting.ledger.standing import Standing, rerun
from dpexp.reporting.ledger.verdicts import Verdict
from dpexp.reporting.worker_processes import in_processes
from dpexp.store.files import read_document
from dpexp.store.folder import Folder
from dpexp.store.generation import config_path

TOGETHER = 5
"""claims of one task: neighbours read the same results and ask the same theorems, and each task reads its own"""
WORTH_PROCESSES_S = 10.0
"""seconds of a processor from which it pays to start processes, each of which loads and compiles for itself"""
USUAL_S = 0.2
"""seconds of a claim whose cost is not known"""


@dataclass(frozen=True)
class Anew:
    """How to judge anew: nothing here changes a verdict."""

    run: bool = False
    """first bring the experiments that the claims need up to date"""
    force: bool = False
    """compute these anew even where they are current"""
    jobs: int = 1
    quiet: bool = False


def judge_anew(request: Request, how: Anew) -> Shown:
    """Judge claims anew, keep the verdicts, and show them beside those that were stored before."""
    checked(request)
    known = registered()
    before = verdicts.read(request.results)
    if before.fault:
        note(f"{before.fault}: it is written anew, and claims that are not judged now lose their verdict", how.quiet)
    standing = Standing(request.results, before)
    by_id = {claim.id: standing.judgement(claim) for claim in known} if request.verdicts else {}
    ids = chosen([claim.id for claim in known], request.asked, request.paper, _papers(known))
    if request.verdicts:
        ids = [one.id for one in with_verdicts([by_id[name] for name in ids], request.verdicts)]
    mine = [claim for claim in known if claim.id in set(ids)]
    ran = _run(mine, request.results, how) if how.run else ""
    fresh = judge(mine, request.results, partial(_carried, jobs=how.jobs))
    keep(request.results, fresh.verdicts, known, headlines())
    costs.keep(request.results, fresh.costs)
    standing = Standing(request.results, verdicts.read(request.results))
    everything = [standing.judgement(claim) for claim in known]
    told = shown(request, [one for one in everything if one.id in set(ids)], everything)
    if request.form is None and request.out is None:
        return told._replace(text="\n\n".join(filter(None, [ran, beside(before.verdicts, fresh)])))
    return told


def confirm(request: Request, how: Anew) -> Shown:
    """Carry out the checks whose code has changed, and stamp the verdicts that come out as they are stored.

    What comes out otherwise stays as it was, unconfirmed: nobody asked for another verdict. Results are not run.
    """
    checked(request)
    known = registered()
    before = verdicts.read(request.results)
    standing = Standing(request.results, before)
    everything = {claim.id: standing.judgement(claim) for claim in known}
    ids = set(chosen([*everything], request.asked, request.paper, _papers(known)))
    open_ones = [claim for claim in known if claim.id in ids and everything[claim.id].state == "unconfirmed"]
    mine, remarks = [], []
    for claim in open_ones:
        try:
            require([claim], Evidence(request.results))
            mine.append(claim)
        except ResultsMissing as error:  # a clone has summaries, and a check that reads replicates needs more
            remarks.append(f"cannot be confirmed: {claim.id}: {error.message}; {error.hint}")
    # in one process: several would each load and compile what one has, which takes longer than most checks
    judged = judge(mine, request.results, partial(_carried, jobs=1)) if mine else Judged({}, {})
    fresh = judged.verdicts
    same = {name: one for name, one in fresh.items() if one.found == before.verdicts[name].found}
    remarks += [f"not as stored: {name}: {fresh[name].found['measured']}" for name in fresh if name not in same]
    keep(request.results, same, known, headlines())
    costs.keep(request.results, {name: judged.costs[name] for name in same})
    text = f"{counted(len(same), 'verdict')} confirmed, {len(open_ones) - len(same)} not"
    left = [everything[name] for name in ids if everything[name].state in ("stale", "missing")]
    hint = [f"  hint: run: {rerun(request.asked, request.results)}"]
    return Shown(text, remarks + (hint if remarks else []), 3 if remarks or left else 0)


def _papers(known: Sequence[Claim]) -> list[str]:
    from dpexp.papers import papers

    return list(dict.fromkeys([*papers(), *(claim.paper for claim in known)]))


def _carried(claims: Sequence[Claim], results: Path, jobs: int) -> Iterator[tuple[str, Outcome, float]]:
    """Checks that take little in this process, and others in several; the verdicts are the same."""
    known = costs.Costs(results).kept["claims"]  # also those of other code, which tell about as much
    spent = sum(known[claim.id]["cpu_s"] if claim.id in known else USUAL_S for claim in claims)
    if jobs < 2 or spent < WORTH_PROCESSES_S:
        told = each(claims, "judging claim", lambda claim: claim.id)
        yield from (one for _, one in zip(told, one_by_one(claims, results), strict=True))
        return
    ids = [claim.id for claim in claims]
    parts = [ids[k : k + TOGETHER] for k in range(0, len(ids), TOGETHER)]
    names = [f"{some[0]} and its neighbours" for some in parts]
    work = [(some, results) for some in parts]
    for found in in_processes(_some, work, "judging group", names, f"judging claims, groups of {TOGETHER}"):
        yield from found


def _some(ids: Sequence[str], results: Path) -> list[tuple[str, Outcome, float]]:
    """The checks of a few claims, in a process of its own."""
    known = {claim.id: claim for claim in registered()}
    return list(one_by_one([known[name] for name in ids], results))


def _run(claims: Sequence[Claim], results: Path, how: Anew) -> str:
    """Bring the experiments of some claims up to date: the table that `dpexp run` prints. Raises DpexpError."""
    from dpexp.commands import run as running

    names = list(dict.fromkeys(name for claim in claims for name in claim.experiments))
    by_profile: dict[str, list[Path]] = {}
    for name in names:
        by_profile.setdefault(_profile(results, name), []).append(_config(results, name))
    texts = []
    for profile, configs in by_profile.items():
        request = running.Request(
            tuple(configs), (), None, how.jobs, "threads", None, None, profile, results, how.force, False, how.quiet,
            False, False,
        )  # fmt: skip
        tell("")  # a run shows a bar of its own
        _, text, code = running.run(request)
        if code:
            raise DpexpError(f"claims cannot be judged: cells failed\n{text}", "dpexp run shows each with its error")
        texts.append(text)
    return "\n\n".join(texts)


def _profile(results: Path, experiment: str) -> str:
    """The size that stored results have, which is kept: toy results are not replaced by full ones."""
    with suppress(Damaged, OSError):
        return str(read_document(Folder(results, experiment).manifest)["profile"])
    return "paper"


def _config(results: Path, experiment: str) -> Path:
    """The config of an experiment: that of the stored results, or the shipped one. Raises ResultsMissing."""
    from dpexp.config.shipped import spelled

    folder = Folder(results, experiment)
    with suppress(Damaged, OSError):
        if path := config_path(read_document(folder.manifest), folder):
            return path
    if named := spelled(experiment):
        return Path(named)
    local = Path("configs") / f"{experiment}.yaml"
    if local.is_file():
        return local
    raise ResultsMissing(
        f"no config of the experiment '{experiment}' is here, so that it cannot be run again",
        f"put it at {local}; with results that are stored, --judge needs none",
    )


def beside(before: dict[str, Verdict], fresh: Judged) -> str:
    """Fresh verdicts and values beside the stored ones, with seconds of a processor."""
    rows, values = [], []
    for name, verdict in fresh.verdicts.items():
        stored = before[name].found if name in before else {}
        same = not stored or stored == verdict.found
        was = "not stored" if not stored else "same values" if same else "OTHER VALUES"
        rows.append([verdict.found["verdict"], was, f"{fresh.costs[name]:.1f}", name])
        keys = ("verdict", "measured", "uncertainty")
        if not same or len(fresh.verdicts) <= 3:
            values.append(name)
            for key in keys:
                if stored:
                    values.append(f"  {key}, stored: {stored[key]}")
                values.append(f"  {key}, now:    {verdict.found[key]}")
    parts = [columns(rows, ["verdict", "stored", "CPU s", "claim"]), "\n".join(values)]
    return "\n\n".join(filter(None, [*parts, f"{counted(len(rows), 'claim')} judged"]))
