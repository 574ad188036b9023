"""Settings of Algorithm 2 of `momentum` beyond the longest path of the tuned comparison, certified here and not stored.

A stored certificate makes all results of Algorithm 2 stale. A setting that only shows that the grid ends where it may
needs none: its certificate is computed, its runs use the random numbers of the tuned comparison, and one row is printed.
The settings are those whose numbers docs/momentum.md tells: minutes of `python -m tests.campaigns.momentum_edges`.
"""

import tempfile
from pathlib import Path

from dpexp.config.experiment_file import read_experiment
from dpexp.papers.momentum.rows import G
from dpexp.privacy.momentum import certificates
from dpexp.store import at_last_step, load_summary
from dpexp.store.run import Options, run
from tools.momentum_certificates import computed, default_setting

SETTINGS = ((500, 10, 1, 30, 12), (500, 10, 1, 60, 12))
"""N, d, eps, epochs and length"""
CONFIG = """\
experiment: edge
problem:   {{name: rippled-mean, N: {n}, d: {d}}}
algorithm: {{name: reduced-momentum, epochs: {epochs}}}
schedule:  {{name: path-length, length: {length}}}
privacy:   {{eps: {eps}, delta: 1e-5}}
run:       {{replicates: 20, seed: 20240102, checkpoints: 1}}
"""


def row(n: int, d: int, eps: float, epochs: int, length: float) -> str:
    """From now on runs of this setting are accounted for by its certificate: mu of the iterates at unit noise."""
    setting = default_setting(n, epochs, length / 0.75)  # G / L = 0.75
    certified = certificates.certificate(setting) or computed(setting)
    assert certified is not None
    known = (*certificates.stored(), certified)
    certificates.stored = lambda: known  # type: ignore[assignment]
    certificates.certificate.cache_clear()
    with tempfile.TemporaryDirectory() as folder:
        text = CONFIG.format(n=n, d=d, eps=eps, epochs=epochs, length=length)
        run(read_experiment(text, "edge.yaml"), Options(Path(folder), jobs=1, quiet=True))
        last = at_last_step(load_summary(Path(folder), "edge", ["accountant"]))
    (found,) = last[last.metric == "grad_norm"].to_dict("records")
    assert found["accountant"].startswith("certified-iterates"), found["accountant"]
    mean, low, high = (found[name] / G for name in ("mean", "ci_lo", "ci_hi"))
    words = f"N = {n}, d = {d}, eps = {eps}, {epochs} epochs, length {length}: {mean:#.3g} [{low:#.3g}, {high:#.3g}] G"
    return f"{words}; mu of the iterates is {certified.mu:.4f} of that of the nodes"


if __name__ == "__main__":
    for given in SETTINGS:
        print(row(*given), flush=True)
