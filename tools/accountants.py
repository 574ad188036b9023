"""What public accountants print beside what is true, into docs/accountants.md: `make accountants`.

`python -m tools.accountants ask FILE` runs where the accountants are installed, and writes what they print;
`python -m tools.accountants FILE` runs where dpexp is, adds two ends of the truth by two programs, and writes the page.

One end is dpexp's certified bracket. The other is an event test, which shares no formula with it.

(a) The outcome of a step is cut into cells, and each gets the whole number r = round(log(p / q) / h) of its
    probabilities p and q under the two neighbours.
(b) The probability that r adds up to c or more over all steps is found under both, by a transform of laws that are
    tilted so that c is their mean.
(c) An event with probabilities P and Q attains epsilon = log((P - delta) / Q), and mu = Phi^-1(P) - Phi^-1(Q): any
    c gives a lower bound, and the best of them is taken. For mu only events with Q above the program's own floor count.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PAGE = Path(__file__).parent.parent / "docs" / "accountants.md"
PLD, CENTRAL, SUMMARY = "dp_accounting", "Opacus", "gdpnum"


class Row(NamedTuple):
    """One question: z, q and the number of steps; Poisson batches, a record added or removed."""

    program: str
    z: float
    q: float
    steps: int
    delta: float


LONG = (1.0, 0.01, 100_000)
ROWS = (
    *(Row(PLD, *setting, 1e-5) for setting in ((1.0, 0.01, 1000), LONG)),
    *(Row(PLD, *LONG, delta) for delta in (1e-10, 1e-12, 1e-14)),
    *(Row(PLD, *setting, 1e-12) for setting in ((2.0, 0.05, 20_000), (1.0, 0.2, 1000))),
    *(Row(CENTRAL, *setting, 1e-5) for setting in ((1.0, 0.01, 1000), (0.7, 0.004, 11_250))),
    *(Row(SUMMARY, *setting, 1e-10) for setting in ((1.0, 0.01, 1000), (2.0, 0.05, 20_000))),
)


def printed(row: Row) -> float:
    """What a program prints: epsilon at delta, or mu."""
    if row.program == PLD:
        import dp_accounting
        from dp_accounting.pld import PLDAccountant

        accountant = PLDAccountant()
        step = dp_accounting.PoissonSampledDpEvent(row.q, dp_accounting.GaussianDpEvent(row.z))
        return float(accountant.compose(step, row.steps).get_epsilon(row.delta))
    if row.program == CENTRAL:
        gdp = _opacus_gdp()
        return float(
            gdp.compute_eps_poisson(steps=row.steps, noise_multiplier=row.z, sample_rate=row.q, delta=row.delta)
        )
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
    from gdpnum import PLDConverter

    losses = from_gaussian_mechanism(row.z, sampling_prob=row.q).self_compose(row.steps)
    return float(PLDConverter(losses).get_mu_and_regret()[0])


def _opacus_gdp() -> Any:
    """Opacus' file of this accountant alone: the package itself needs torch, the file does not."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    package = find_spec("opacus")
    assert package is not None
    assert package.submodule_search_locations
    path = Path(package.submodule_search_locations[0]) / "accountants" / "analysis" / "gdp.py"
    spec = spec_from_file_location("opacus_gdp", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Events:
    """P(sum r >= c) and Q(sum r >= c) for one setting; the first neighbour has the record."""

    def __init__(self, z: float, q: float, steps: int, h: float, cells: int = 40_000) -> None:
        from scipy.special import ndtr
        from scipy.stats import norm

        self.steps = steps
        edges = np.linspace(-12 * z, 12 * z + 1, cells + 1)
        without = np.where(edges[:-1] < 0, np.diff(ndtr(edges / z)), -np.diff(norm.sf(edges / z)))
        moved = np.where(edges[:-1] < 1, np.diff(ndtr((edges - 1) / z)), -np.diff(norm.sf((edges - 1) / z)))
        with_it = (1 - q) * without + q * moved
        some = (without > 0) & (with_it > 0)  # the rest of both laws is no part of any event
        r = np.rint(np.log(with_it[some] / without[some]) / h).astype(np.int64)
        self.least = int(r.min())
        self.laws = [np.bincount(r - self.least, weights=law[some]) for law in (with_it, without)]
        self.values = np.arange(len(self.laws[0])) + self.least

    def tails(self, which: int, c: int) -> float:
        """The probability of a sum of c or more, from below up to the rounding of a transform; (b)."""
        law, scale = self.laws[which], np.abs(self.values).max()

        def tilted(t: float) -> tuple[np.ndarray, float]:
            exponents = t * self.values / scale
            most = exponents.max()
            weights = law * np.exp(exponents - most)
            total = weights.sum()
            return weights / total, math.log(total) + most

        low, high = -60.0, 60.0
        for _ in range(40):
            t = (low + high) / 2
            low, high = (t, high) if self.steps * (tilted(t)[0] @ self.values) < c else (low, t)
        t = max(low, 0.0)
        weights, log_total = tilted(t)
        mean = weights @ self.values
        deviation = math.sqrt(self.steps * (weights @ (self.values - mean) ** 2))
        size = 1 << max(10, math.ceil(math.log2(60 * deviation + 4 * len(law))))
        folded = np.zeros(size)
        np.add.at(folded, (self.values - round(mean)) % size, weights)
        sums = np.fft.irfft(np.fft.rfft(folded) ** self.steps, size)
        place = np.arange(size)
        place = np.where(place >= size // 2, place - size, place)
        total = place + self.steps * round(mean)
        inside = (total >= c) & (np.abs(place - self.steps * (mean - round(mean))) < 20 * deviation)
        found = np.maximum(sums[inside], 0) * np.exp(-t / scale * (total[inside] - c))
        return float(found.sum()) * math.exp(self.steps * log_total - t / scale * c)


def attained(row: Row) -> float:
    """The best event's epsilon at delta, or its mu; (c)."""
    from scipy.special import ndtri

    spread = math.sqrt(row.steps) * row.q * math.sqrt(math.expm1(min(1 / row.z**2, 30.0)))
    events = Events(row.z, row.q, row.steps, h=min(spread, 5.0) / 6000)

    def at(c: int) -> float:
        p, q = (events.tails(which, c) for which in (0, 1))
        if row.program == SUMMARY:
            return float(ndtri(p) - ndtri(q)) if q >= row.delta else -math.inf
        if p <= row.delta or q <= 0:
            return -math.inf
        return math.log((p - row.delta) / q)

    low, high = 0, events.steps * int(events.values[-1])
    while high - low > 1:  # the largest c that more than delta of P reaches
        middle = (low + high) // 2
        low, high = (middle, high) if events.tails(0, middle) > row.delta else (low, middle)
    places = {c: at(c) for c in {low * k // 12 for k in range(13)}}
    for _ in range(9):  # halve the distances about the best place
        known = sorted(places)
        best = known.index(max(places, key=places.__getitem__))
        around = known[max(0, best - 1) : best + 2]
        places |= {c: at(c) for one, other in pairwise(around) if (c := (one + other) // 2) not in places}
    return max(places.values())


def bracket(row: Row) -> tuple[float, float]:
    """What dpexp says is attained, and what it guarantees."""
    import dpexp

    statement: Any = dpexp.privacy(
        "sampled-gaussian", noise_multiplier=row.z, sampling_probability=row.q, steps=row.steps, delta=row.delta
    )
    document = statement.document()
    (lower,) = (one["eps"][0][1] for one in document["attained"] if one["analysis"] == "exact-composition")
    return lower, document["best"]["all-iterates"]["eps"][0][1]


HEAD = """# Public accountants and two programs

Which widely used accountants to trust, and from which delta on: their epsilon for Poisson batches under add-remove,
with two computations that share no formula, an event test, which attains its value, and dpexp's bracket from *attained*
to *at most*.

At delta = 1e-5 dp_accounting and both programs agree. For tiny deltas a truncated sum or a finite grid loses the mass
that decides, and a number that is called an upper bound is below what an attacker attains. The central limit theorem is
no bound at any delta, as Opacus warns; its default is another accountant.

| program | z, q, steps | delta | prints | event test | attained | at most | |
|---|---|---|---:|---:|---:|---:|---|
"""
TAIL = """
Programs: `PLDAccountant()` of dp_accounting 0.6.0, `gdp` of Opacus 1.6.0, `get_mu_and_regret` of gdpnum 0.1.2; z is the
noise multiplier, q the sampling probability. For gdpnum the numbers are mu, at the least false positive rate that it
looks at. `make accountants` installs them, asks them and writes this page; [`dpexp judge`](judge.md) tries an analysis
of yours.

For their authors: either add the truncated mass to delta, or refuse smaller deltas, or document from which delta on the
number is an upper bound.
"""


def page(answers: dict[str, float]) -> str:
    """The page, from what the accountants print."""
    lines = []
    for row in ROWS:
        said, event = answers[json.dumps(row)], attained(row)
        low, high = (math.nan, math.nan) if row.program == SUMMARY else bracket(row)
        # a tenth of a thousandth covers the rounding of both programs' last digits
        word = "**below**" if said < min(event, low if low == low else event) * (1 - 1e-4) else ""
        ends = ["", ""] if row.program == SUMMARY else [f"{low:.4f}", f"{high:.4f}"]
        setting = f"{row.z:g}, {row.q:g}, {row.steps:,}"
        cells = [row.program, setting, f"{row.delta:g}", f"{said:.4f}", f"{event:.4f}", *ends, word or "agrees"]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return HEAD + "\n".join(lines) + "\n" + TAIL


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        import warnings

        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(sys.stderr):
            told = {json.dumps(row): printed(row) for row in ROWS}
        Path(sys.argv[2]).write_text(json.dumps(told, indent=1))
    else:
        PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text())), encoding="utf-8")
