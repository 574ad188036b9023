"""`dpexp claims --judge` and `--rerun`: claims judged anew, and their values beside the stored ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpexp.commands.claims import Request, Shown, checked, headlines, registered, selected, shown
from dpexp.core.errors import DpexpError, ResultsMissing
from dpexp.core.files import Damaged
from dpexp.core.steps import each, tell
from dpexp.core.terminal import note
from dpexp.core.text import columns, counted
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.judgement import Judgement, rerun
from dpexp.reporting.ledger.judging import judge, keep, one_by_one, require
from dpexp.reporting.ledger.standing import standing
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
    known, before = registered(), verdicts.read(request.results)
    if before.fault:
        note(f"{before.fault}: it is written anew, and claims that are not judged now lose their verdict", how.quiet)
    ids = set(selected(request, [claim.id for claim in known], before))
    mine = [claim for claim in known if claim.id in ids]
    ran = _run(mine, request.results, how) if how.run else ""
    fresh = judge(mine, request.results, partial(_carried, ledger=before, jobs=how.jobs))
    everything = keep(request.results, fresh, known, headlines())
    told = shown(request, [one for one in everything if one.id in ids], everything)
    if request.form is None and request.out is None:
        return told._replace(text="\n\n".join(filter(None, [ran, beside(before, fresh)])))
    return told


def confirm(request: Request) -> Shown:
    """Carry out the checks whose code has changed, and stamp the verdicts that come out as they are stored.

    What comes out otherwise stays as it was, unconfirmed: nobody asked for another verdict. Results are not run.
    """
    checked(request)
    known, before = registered(), verdicts.read(request.results)
    ids = selected(request, [claim.id for claim in known], before)
    state = {one.id: one.state for one in standing(request.results, before, known) if one.id in ids}
    open_ones = [claim for claim in known if state.get(claim.id) == "unconfirmed"]
    mine, remarks = [], []
    for claim in open_ones:
        try:
            require([claim], request.results)
            mine.append(claim)
        except ResultsMissing as error:  # a clone has summaries, and a check that reads replicates needs more
            remarks.append(f"cannot be confirmed: {claim.id}: {error.message}; {error.hint}")
    # in one process: several would each load and compile what one has, which takes longer than most checks
    fresh = judge(mine, request.results, partial(_carried, ledger=before, jobs=1))
    same = {name: one for name, one in fresh.items() if one.found == before.rows[name].found}
    remarks += [f"not as stored: {name}: {one.found['measured']}" for name, one in fresh.items() if name not in same]
    keep(request.results, same, known, headlines())
    text = f"{counted(len(same), 'verdict')} confirmed, {len(open_ones) - len(same)} not"
    hint = [f"  hint: run: {rerun(request.asked, request.results)}"] if remarks else []
    return Shown(text, remarks + hint, 3 if remarks or {"stale", "missing"} & set(state.values()) else 0)


def _carried(
    claims: Sequence[Claim], results: Path, ledger: verdicts.Ledger, jobs: int
) -> Iterator[tuple[str, Outcome, float]]:
    """Checks that take little in this process, and others in several; the verdicts are the same."""
    # what they took before, also by other code, tells about as much
    spent = sum(ledger.rows[claim.id].cpu_s if claim.id in ledger.rows else USUAL_S for claim in claims)
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


def beside(before: verdicts.Ledger, fresh: Mapping[str, Judgement]) -> str:
    """Fresh verdicts and values beside the stored ones, with seconds of a processor."""
    rows, values = [], []
    for name, one in fresh.items():
        stored = before.rows[name].found if name in before.rows else {}
        same = not stored or stored == one.found
        was = "not stored" if not stored else "same values" if same else "OTHER VALUES"
        rows.append([one.verdict, was, f"{one.cpu_s:.1f}", name])
        if not same or len(fresh) <= 3:
            values.append(name)
            for key in ("verdict", "measured", "uncertainty"):
                values += [f"  {key}, stored: {stored[key]}"] if stored else []
                values.append(f"  {key}, now:    {one.found[key]}")
    parts = [columns(rows, ["verdict", "stored", "CPU s", "claim"]), "\n".join(values)]
    return "\n\n".join(filter(None, [*parts, f"{counted(len(rows), 'claim')} judged"]))
