"""`dpexp claims --judge` and `--rerun`: claims judged anew, and their values beside the stored ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpexp.commands.claims import Request, Shown, checked, headlines, registered, selected, shown
from dpexp.config.shipped import spelled
from dpexp.core.errors import CellFailed, ResultsMissing
from dpexp.core.files import Damaged
from dpexp.core.terminal import note, tell
from dpexp.core.text import columns, counted
from dpexp.plugins.loaded import shell
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.judging import judge, keep, one_by_one, require
from dpexp.reporting.ledger.standing import experiments_of, standing
from dpexp.reporting.worker_processes import in_processes
from dpexp.store.files import read_document
from dpexp.store.folder import Folder
from dpexp.store.reading import numbers_held

TOGETHER = 5
"""claims of one task: neighbours read the same results and ask the same theorems, and each task reads its own"""
WORTH_PROCESSES = 20
"""claims from which it pays to start processes, each of which loads and compiles for itself"""


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
    # By the verdicts that were stored: --verdict chooses before anything is judged.
    ids = set(selected(request, [claim.id for claim in known], before))
    mine = [claim for claim in known if claim.id in ids]
    ran = _run(mine, request.results, how) if how.run else ""
    fresh = judge(mine, request.results, partial(_carried, jobs=how.jobs))
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
    held = numbers_held(request.results, experiments_of(known))
    state = {one.id: one.state for one in standing(request.results, before, known, held) if one.id in ids}
    open_ones = [claim for claim in known if state.get(claim.id) == "unconfirmed"]
    mine, remarks = [], []
    for claim in open_ones:
        try:
            require([claim], request.results)
            mine.append(claim)
        except ResultsMissing as error:  # a clone has summaries, and a check that reads replicates needs more
            remarks.append(f"cannot be confirmed: {claim.id}: {error.message}; {error.hint}")
    # in one process: several would each load and compile what one has, which takes longer than most checks
    fresh = judge(mine, request.results, partial(_carried, jobs=1))
    # A stamp says that nothing has moved, so only what is equal in all its words gets one.
    same = {name: one for name, one in fresh.items() if one.found == before.rows[name].found}
    remarks += [f"not as stored: {name}: {one.found['measured']}" for name, one in fresh.items() if name not in same]
    keep(request.results, same, known, headlines())
    text = f"{counted(len(same), 'verdict')} confirmed, {len(open_ones) - len(same)} not"
    hint = [f"  hint: run: {shell(['claims', *request.asked, '--rerun'], request.results)}"] if remarks else []
    return Shown(text, remarks + hint, 3 if remarks or {"stale", "missing"} & set(state.values()) else 0)


def _carried(claims: Sequence[Claim], results: Path, jobs: int) -> Iterator[tuple[str, Outcome]]:
    """A few checks in this process, and many in several; the verdicts are the same."""
    if jobs < 2 or len(claims) < WORTH_PROCESSES:
        yield from one_by_one(claims, results)
        return
    ids = [claim.id for claim in claims]
    # Names travel to other processes, and claims, which hold functions, do not.
    parts = [ids[k : k + TOGETHER] for k in range(0, len(ids), TOGETHER)]
    names = [f"{some[0]} and its neighbours" for some in parts]
    work = [(some, results) for some in parts]
    for found in in_processes(_some, work, "judging group", names, f"judging claims, groups of {TOGETHER}"):
        yield from found


def _some(ids: Sequence[str], results: Path) -> list[tuple[str, Outcome]]:
    """The checks of a few claims, in a process of its own."""
    known = {claim.id: claim for claim in registered()}
    return list(one_by_one([known[name] for name in ids], results))


def _run(claims: Sequence[Claim], results: Path, how: Anew) -> str:
    """Bring the experiments of some claims up to date: the tables that `dpexp run` prints. Raises DpexpError."""
    from dpexp.commands import run as running

    texts = []
    for name in experiments_of(claims):
        config, profile = _as_stored(results, name)
        request = running.Request(
            (config,), jobs=how.jobs, profile=profile, results=results, force=how.force, quiet=how.quiet
        )
        tell("")  # a run shows a bar of its own
        _, text, code = running.run(request)
        # Claims on half a result would be judged by what happened to finish.
        if code:
            raise CellFailed(f"claims cannot be judged: cells failed\n{text}", "dpexp run shows each with its error")
        texts.append(text)
    return "\n\n".join(texts)


def _as_stored(results: Path, experiment: str) -> tuple[Path, str]:
    """The config of an experiment, the shipped one or one that lies here, and the size of what is stored.

    Toy results are not replaced by full ones. Raises ResultsMissing.
    """
    profile = "paper"
    with suppress(Damaged, OSError):
        profile = read_document(Folder(results, experiment).manifest)["profile"]
    local = Path("configs") / f"{experiment}.yaml"
    if not spelled(experiment) and not local.is_file():
        raise ResultsMissing(
            f"no config of the experiment '{experiment}' is here, so that it cannot be run again",
            f"put it at {local}; with results that are stored, --judge needs none",
        )
    return Path(spelled(experiment) or local), profile


def beside(before: verdicts.Ledger, fresh: Mapping[str, Judgement]) -> str:
    """Fresh verdicts and values beside the stored ones."""
    rows, values = [], []
    for name, one in fresh.items():
        stored = before.rows[name].found if name in before.rows else {}
        same = not stored or stored == one.found
        was = "not stored" if not stored else "same values" if same else "OTHER VALUES"
        rows.append([one.verdict, was, name])
        # What came out otherwise is what one looks for; of a few everything is shown.
        if not same or len(fresh) <= 3:
            values.append(name)
            for key in ("verdict", "measured", "uncertainty"):
                values += [f"  {key}, stored: {stored[key]}"] if stored else []
                values.append(f"  {key}, now:    {one.found[key]}")
    parts = [columns(rows, ["verdict", "stored", "claim"]), "\n".join(values)]
    return "\n\n".join(filter(None, [*parts, f"{counted(len(rows), 'claim')} judged"]))
