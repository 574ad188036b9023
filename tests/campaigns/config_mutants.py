"""Thousands of damaged configs: each is understood or refused with a message, within seconds, and what is accepted runs.

    python -m tests.campaigns.config_mutants [--mutants 5000] [--runs 300] [--seed 12]

A mutant is a shipped config, or one on a table of the user's own, after one to three random changes:
values that are huge, tiny, negative, zero, not numbers, of another type; names of other problems and algorithms; keys
that are added, doubled, renamed or deleted; text that is cut or damaged. Everything is fixed by the seed. Counted are

- validate, with a dry run of what is accepted: refused by a message, accepted, any other exception, more than 10
  seconds of CPU time;
- runs: accepted mutants at toy size (a few cells, 2 replicates, few steps) that end in another exception, in a failed
  cell, or in a result that is not a number though nothing counts as diverged.

The exit code is 1 where one of the last numbers is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import random
import re
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpexp.commands import run as running
from dpexp.commands import validate
from dpexp.config.experiment_file import load_experiment
from dpexp.config.sections import REGISTRIES
from dpexp.core.errors import DpexpError
from dpexp.store.experiment_run import Options
from dpexp.store.experiment_run import run as run_experiment
from dpexp.store.stats import is_coordinate

CONFIGS = sorted((Path(__file__).parent.parent.parent / "configs").glob("*.yaml"))
LIMIT_S = 10.0
SHOWN = 5
"""examples of every sort of fault"""
RUN_LIMIT_S = 120.0
"""of a toy run, in which kernels are compiled"""
MOST_BYTES = 5_000_000_000
"""of address space: a mutant that asks for more fails with a MemoryError, which counts as another exception"""

HUGE = ["1e6", "123456789", "1e9", "1e12", "1e18", "1e30", "1e99", "1e200", "1e300", "9" * 39]
TINY = ["1e-3", "1e-6", "1e-9", "1e-12", "1e-15", "1e-30", "1e-100", "1e-200", "1e-300", "5e-324", "1/99999999"]
ORDINARY = ["1", "2", "3", "7", "0.5", "1/3", "0.01", "10", "100", "1000", "0.999999", "1.000001", "64", "1.5"]
EDGES = ["1e-6", "1e6", "1e-4", "1e4", "1e-9", "1e9", "1e-12", "0.999999", "1e-3", "1e3", "1e5", "999999", "2e-6"]
ODD = ["0", "-0.0", "-1", "-1e-9", "-1e99", "nan", ".nan", "inf", "-inf", "1/0", "1e999", "true", "null", "~", "''"]
WORDS = [
    "abc", "'1'", "'é漢字😀'", "é", "'\\x1b[31m'", '"a\\nb"', "2001-01-01", "0x10", "1e", "x" * 300, "../..", "!!int x",
]  # fmt: skip
SHAPES = [
    "[]", "{}", "[[1]]", "{a: 1}", "[1, inf]", "[1, 1]", "[null]", "[0.5, 1e-300]", "{uniform: [1, 2]}",
    "{uniform: [1e-300, 1]}", "{uniform: [1, 1e300]}", "{list: [1, 1e-300]}", "{list: [0.5, inf]}",
    "{choice: {values: [1, 2], probabilities: [0.5, 0.5]}}", "{choice: {values: [1, 1e200], probabilities: [1, 0]}}",
    "{name: digits}", "{name: adult}", "{path: nowhere.csv, target: y}", "[" * 12 + "]" * 12, "[" * 40 + "]" * 40,
]  # fmt: skip
SCALAR = re.compile(r"([A-Za-z_]+):[ ]+(\[[^\]\n]*\]|[^,\[\]{}\n#]+)")
SECTION = re.compile(r"\b(problem|algorithm|schedule|privacy|run):\s+\{", re.MULTILINE)


RUN, PRIVACY = ["n", "replicates", "seed", "checkpoints", "diverged_above"], ["mu", "eps", "delta", "deltas"]
FIELDS = sorted(
    {field for registry in REGISTRIES.values() for kind in registry.values() for field in kind.model_fields}
    | {*RUN, *PRIVACY}
)
NAMES = sorted({name for registry in REGISTRIES.values() for name in registry})
CHOICES = [
    "joint", "known", "paper", "exact", "two-gradient-bounds", "poisson", "fixed-size", "shuffled", "fixed", "reshuffled",
    "tree", "square-root", "independent", "pld", "last-iterate", "once-an-epoch", "published", "synthetic", "digits",
]  # fmt: skip


def any_value(rng: random.Random) -> str:
    """What stands in place of a value: mostly numbers, since anything else is refused by its type."""
    kinds = [HUGE, TINY, ORDINARY, EDGES, ODD, WORDS, SHAPES, NAMES, CHOICES]
    (values,) = rng.choices(kinds, [4, 4, 8, 6, 2, 1, 2, 1, 2])
    if rng.random() < 0.15:
        return "[" + ", ".join(rng.choice(values) for _ in range(rng.randrange(1, 5))) + "]"
    return rng.choice(values)


def _replaced(rng: random.Random, text: str) -> str:
    """Another value for a key, or another name for it."""
    if not (matches := list(SCALAR.finditer(text))):
        return text
    numbers = [m for m in matches if m.group(2)[0] in "0123456789[."]
    match = rng.choice(numbers if numbers and rng.random() < 0.7 else matches)
    if rng.random() < 0.04:
        return text[: match.start(1)] + rng.choice(FIELDS) + text[match.end(1) :]
    value = rng.choice(NAMES + CHOICES) if match.group(2)[0].isalpha() and rng.random() < 0.8 else any_value(rng)
    return text[: match.start(2)] + value + text[match.end(2) :]


def _added(rng: random.Random, text: str) -> str:
    """A key more, mostly one that belongs to its section."""
    if not (matches := list(SECTION.finditer(text))):
        return text
    match = rng.choice(matches)
    section, line = match.group(1), text[match.start() : (text + "\n").index("\n", match.start())]
    named = re.search(r"\bname: ([a-z-]+)", line)
    key = rng.choice(FIELDS)
    if rng.random() < 0.9:
        own = {"run": RUN, "privacy": PRIVACY}.get(section)
        if own is None:
            kinds = REGISTRIES[section]
            kind: Any = kinds.get(named.group(1) if named else "") or next(iter(kinds.values()))
            own = [field for field in kind.model_fields if field != "name"]
        key = rng.choice([field for field in own if f"{field}:" not in line] or own or FIELDS)
    elif rng.random() < 0.5:
        key = rng.choice(["zzz", "é", "<<", "? a", "n n", "__class__"])
    return f"{text[: match.end()]}{key}: {any_value(rng)}, {text[match.end() :]}"


def _lines(rng: random.Random, text: str) -> str:
    """A line deleted, doubled or moved."""
    lines = text.splitlines()
    if not lines:
        return text
    k, kind = rng.randrange(len(lines)), rng.randrange(3)
    line = lines[k] if kind == 1 else lines.pop(k)
    if kind:
        lines.insert(k if kind == 1 else rng.randrange(len(lines) + 1), line)
    return "\n".join(lines) + "\n"


def _damaged(rng: random.Random, text: str) -> str:
    """Characters put in, taken out or cut off."""
    place, kind = rng.randrange(len(text) + 1), rng.randrange(4)
    if kind == 0:
        odd = rng.choice(["{", "}", "[", "]", ":", "\t", "\n", "- ", "😀", "\x07", "#", "'", "&a ", "*a"])
        return text[:place] + odd + text[place:]
    rest = [place + rng.randrange(1, 9), len(text), rng.randrange(len(text) + 1)][kind - 1]
    return text[:place] + text[rest:]


CHANGES = {_replaced: 52, _added: 35, _lines: 4, _damaged: 5}
"""with their weights"""


def mutants(seed: int, count: int, texts: list[str]) -> Iterator[str]:
    """Damaged configs, the same for the same seed."""
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        text = rng.choice(texts)
        for _ in range(rng.choice([1, 1, 2, 3])):
            (change,) = rng.choices([*CHANGES], [*CHANGES.values()])
            text = change(rng, text)
        yield text


def own_config(folder: Path) -> str:
    """A config on a table that a user might have, which is made here."""
    rng = np.random.default_rng(3)
    rows = [
        f"{rng.normal():.4f},{rng.integers(1, 90)},{rng.choice(['a', 'b', 'c'])},{rng.choice(['no', 'yes'])}"
        for _ in range(80)
    ]
    (folder / "own.csv").write_text("\n".join(["x,age,kind,y", *rows]) + "\n")
    return f"""experiment: own
problem:   {{name: softmax, data: {{path: {folder}/own.csv, target: y, ranges: {{age: [0, 100]}}, categories: {{kind: [a, b, c]}}}}, regulariser: 1e-3}}
algorithm: {{name: dp-sgd, batch_size: 8, epochs: 3, clip: 1.0, sampling: poisson, accountant: pld}}
schedule:  {{name: constant, eta: 0.5}}
privacy:   {{eps: [1, 4], delta: 1e-3}}
run:       {{replicates: 4, seed: 1, checkpoints: 3}}
"""


class TooSlow(BaseException):
    """More CPU time than anything may take."""


def _stop(*_: object) -> None:
    raise TooSlow


def attempt(action: Callable[[], str], limit: float) -> tuple[str, str]:
    """How it ends within so many seconds of CPU time, or any (inf), and with what detail.

    It is `ok`, `refused` by a DpexpError, the only exception that a user should meet, `slow`, `fault` if the action
    gives back in words what is wrong, or `other`.
    """
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, limit if math.isfinite(limit) else 0)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            detail = action()
        return "fault" if detail else "ok", detail
    except DpexpError as error:
        return "refused", error.message
    except (TooSlow, Exception) as error:
        return "slow" if isinstance(error, TooSlow) else "other", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def validated(path: Path) -> str:
    """`dpexp validate`, and of what it accepts `dpexp run CONFIG --dry-run`, which may refuse nothing."""
    answer = validate.validate(path)
    if answer.exit_code:
        raise DpexpError("\n".join(answer.remarks))
    try:
        running.command(path, jobs=2, dry_run=True, results=path.parent / "results", quiet=True)
    except DpexpError as error:
        return f"validate accepts it, and a dry run does not: {error.message}"
    return ""


def ran(path: Path, results: Path, rng: random.Random) -> str:
    """What is wrong after a run of a few cells of the config at toy size, or nothing."""
    experiment = load_experiment(path, (), 2, "smoke")
    sample = rng.sample(experiment.cells, min(3, len(experiment.cells)))
    sizes = [{"n": min(cell.run.n, 300), "checkpoints": min(cell.run.checkpoints, 5)} for cell in sample]
    small = [replace(cell, run=cell.run.model_copy(update=size)) for cell, size in zip(sample, sizes, strict=True)]
    experiment = replace(experiment, cells=tuple(small), replicates=min(2, experiment.replicates))
    report = run_experiment(experiment, Options(results, quiet=True))
    if report.failed:
        return "failed: " + "; ".join(str(cell["reason"]) for cell in report.cells if cell["status"] == "failed")
    cells, summary = (pd.read_parquet(report.folder / f"{name}.parquet") for name in ("cells", "summary"))
    calm = set(cells.cell_id[cells.status == "done"])
    # single coefficients are recorded after the last step alone
    known = ~summary.metric.map(is_coordinate) | (summary.step == summary.groupby("cell_id").step.transform("max"))
    lost = summary[summary.cell_id.isin(calm) & known & ~np.isfinite(summary["mean"])]
    return f"not a number though done: {sorted(set(lost.metric))}" if len(lost) else ""


FAULTS = (*(f"{name}: {kind}" for name in ("validate", "run") for kind in ("other", "slow", "fault")), "run: refused")


def campaign(
    seed: int, count: int, runs: int, folder: Path, log: Callable[[str], object] = print,
    limits: tuple[float, float] = (LIMIT_S, RUN_LIMIT_S),
) -> Counter[str]:  # fmt: skip
    """All counts; the first faults of each sort are logged. Limits: of a look at a config, and of a run."""
    texts = [path.read_text() for path in CONFIGS] + [own_config(folder)] * 3  # as often as a handful of the others
    counts, path, accepted = Counter[str](), folder / "mutant.yaml", list[int]()
    every = list(mutants(seed, count, texts))

    def tried(name: str, number: int, action: Callable[[], str], limit: float) -> str:
        path.write_bytes(every[number].encode("utf-8", "surrogatepass"))
        kind, detail = attempt(action, limit)
        counts[sort := f"{name}: {kind}"] += 1
        if sort in FAULTS and counts[sort] <= SHOWN:
            log(f"--- {sort}, mutant {number}\n{every[number][:1500]}\n>>> {detail[-1200:]}")
        return kind

    for number in range(count):
        if tried("validate", number, lambda: validated(path), limits[0]) == "ok":
            accepted.append(number)
    for number in sorted(random.Random(seed).sample(accepted, min(runs, len(accepted)))):
        tried("run", number, partial(ran, path, folder / f"run{number}", random.Random(number)), limits[1])
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--mutants", 5000), ("--runs", 300), ("--seed", 12)):
        parser.add_argument(name, type=int, default=default)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder:
        counts = campaign(options.seed, options.mutants, options.runs, Path(folder))
    for name, count in sorted(counts.items()):
        print(f"{name:40} {count:6}")
    return int(any(counts[name] for name in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
