"""Settings of Algorithm 2 of `momentum` beyond the longest path of the tuned comparison, certified here and not stored.

    python -m tests.campaigns.momentum_edges ["N d eps epochs length"]...

A stored certificate makes all results of Algorithm 2 stale. A setting that only shows that the grid ends where it may
does not need to be stored: its certificate is computed, its runs use the same random numbers as those of the tuned
comparison, and one row is printed. By default those settings whose numbers docs/momentum.md tells: minutes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from dpexp.config.experiment_file import load_experiment
from dpexp.papers.momentum.rows import G
from dpexp.privacy.momentum import certificates
from dpexp.store import at_last_step, load_summary
from dpexp.store.run import Options, run
from tools.certify_all_places import certify_all
from tools.momentum_certificates import default_setting

SETTINGS = ("500 10 1 30 12", "500 10 1 60 12")
"""N, d, eps, epochs and length, as words"""
CONFIG = """\
experiment: edge
problem:   {{name: rippled-mean, N: {n}, d: {d}}}
algorithm: {{name: reduced-momentum, epochs: {epochs}}}
schedule:  {{name: path-length, length: {length}}}
privacy:   {{eps: {eps}, delta: 1e-5}}
run:       {{replicates: 20, seed: 20240102, checkpoints: 1}}
"""


def certified(n: int, epochs: int, length: float) -> float:
    """mu of the iterates at unit noise; from now on runs of this setting are accounted for by it."""
    setting = default_setting(n, epochs, length / 0.75)  # G / L = 0.75
    found = certificates.certificate(setting) or certificates.computed(setting, certify_all)
    assert found is not None
    known = (*certificates.stored(), found)
    certificates.stored = lambda: known  # type: ignore[assignment]
    certificates.certificate.cache_clear()
    return found.mu


def row(words: str) -> str:
    n, d, eps, epochs, length = words.split()
    mu = certified(int(n), int(epochs), float(length))
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "edge.yaml"
        config.write_text(CONFIG.format(n=n, d=d, eps=eps, epochs=epochs, length=length))
        run(load_experiment(config), Options(Path(folder), jobs=1, quiet=True))
        last = at_last_step(load_summary(Path(folder), "edge", ["accountant"]))
        (found,) = last[last.metric == "grad_norm"].to_dict("records")
    assert found["accountant"].startswith("certified-iterates"), found["accountant"]
    mean, low, high = (found[name] / G for name in ("mean", "ci_lo", "ci_hi"))
    return (
        f"N = {n}, d = {d}, eps = {eps}, {epochs} epochs, length {length}: {mean:#.3g} [{low:#.3g}, {high:#.3g}] G; "
        f"mu of the iterates is {mu:.4f} of that of the nodes"
    )


if __name__ == "__main__":
    for setting in sys.argv[1:] or SETTINGS:
        print(row(setting), flush=True)
