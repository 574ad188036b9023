"""Every shipped config at toy size on other machines: the same numbers of all runs.

    python -m tests.campaigns.machines [--configs 'configs/ldp*.yaml'] [--folder build/machines]

Machines are those of `tests.other_machines`. What is compared: the rows of summary.parquet of every experiment, but for
those that a library solves for.
With `--judge RESULTS` also the verdicts from stored results, word for word. The exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

from tests.other_machines import MACHINES, compiles_anew, environment, of_runs


def dpexp(machine: str, folder: Path, *arguments: str) -> None:
    """Run a command there. Exit code 1 is an answer: some verdicts are not current at this size.

    Compiled code is kept, apart for a machine that compiles for another processor.
    """
    kernels = str((folder / ("kernels-anew" if compiles_anew(machine) else "kernels")).resolve())
    command = [sys.executable, "-m", "dpexp", *arguments, "-q"]
    done = subprocess.run(command, env={**environment(machine), "DPEXP_CACHE": kernels}, capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(f"{machine}: {' '.join(command)}\n{done.stdout}{done.stderr}")


def digests(results: Path) -> dict[str, str]:
    """Hash of what is compared, by file."""
    summaries = {path: pd.read_parquet(path) for path in sorted(results.glob("*/summary.parquet"))}
    return {
        str(path.relative_to(results)): hashlib.sha256(one[of_runs(one)].to_csv().encode()).hexdigest()
        for path, one in summaries.items()
    }


def verdicts(folder: Path) -> dict[str, str]:
    """What was found of every claim, as text."""
    found = json.loads((folder / "claims.json").read_text())["verdicts"]
    return {f"claim {name}": json.dumps(verdict["found"], sort_keys=True) for name, verdict in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", default="configs/*.yaml")
    parser.add_argument("--folder", type=Path, default=Path("build/machines"))
    parser.add_argument("--judge", type=Path, help="results whose verdicts are judged on every machine")
    asked = parser.parse_args()
    configs = sorted(glob.glob(asked.configs))
    found: dict[str, dict[str, str]] = {}
    for machine in MACHINES:
        begin, place = time.monotonic(), asked.folder / machine.replace(" ", "-")
        shutil.rmtree(place, ignore_errors=True)
        dpexp(machine, asked.folder, "run", "--profile", "smoke", *configs, "--results", str(place))
        found[machine] = digests(place)
        if asked.judge:
            dpexp(machine, asked.folder, "claims", "--judge", "--results", str(asked.judge), "--out", str(place))
            found[machine] |= verdicts(place)
        print(f"{machine}: {len(found[machine])} compared, {time.monotonic() - begin:.0f} s", flush=True)
    reference, wrong = found["this one"], 0
    for machine, own in found.items():
        for name in sorted(reference.keys() | own.keys()):
            if reference.get(name) != own.get(name):
                wrong += 1
                print(f"differs on {machine}: {name}\n    {reference.get(name)}\n    {own.get(name)}")
    print(f"{wrong} differences on {len(MACHINES)} machines")
    return 1 if wrong or not reference else 0


if __name__ == "__main__":
    sys.exit(main())
