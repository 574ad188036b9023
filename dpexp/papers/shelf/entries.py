"""What a page states of a training run, and three epsilons beside it: recomputed, as accounted, and as the code samples."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dpexp.core.parameters import Parameters
from dpexp.privacy.accounting.conversions import classic_eps
from dpexp.privacy.accounting.loss_distributions import step_loss
from dpexp.privacy.accounting.sampled_gaussian import mixture_from_base
from dpexp.privacy.mechanisms import MECHANISMS

ORDERS = (*(1 + k / 10 for k in range(1, 100)), *range(12, 64))
"""the Renyi orders of the accountants that these pages used"""
RECORDS = 60_000
"""training images of MNIST, where a batch size is given"""


class Entry(Parameters):
    """One printed epsilon, with the run that it is of."""

    id: str
    place: str
    quote: str
    printed: float
    noise_multiplier: float
    epochs: int
    steps: int
    sampler: Literal["poisson", "shuffled"]
    """how the program draws batches; all were accounted as Poisson"""
    loader: str
    delta: float = 1e-5
    batch_size: int | None = None
    sampling_probability: float | None = None

    @property
    def q(self) -> float:
        return self.sampling_probability or (self.batch_size or 0) / RECORDS


class Found(NamedTuple):
    """Epsilons at the delta of the page. Attained ones are rounded down, the others up."""

    recomputed: float
    """by Renyi divergences and the conversion of 2017, as the page's accountant does it"""
    accounted: float
    """certified for Poisson batches, a record added or removed"""
    attained: float
    """by a pair, for the batches that the program draws, a record added or removed"""
    replaced: float
    """the same for a record that is replaced"""


def entries() -> tuple[Entry, ...]:
    """The rows of the shelf."""
    import yaml

    rows = yaml.safe_load((Path(__file__).parent / "entries.yaml").read_text())
    return tuple(Entry(**row) for row in rows)


@cache
def found(entry: Entry) -> Found:
    """What holds and what is attained beside a printed epsilon."""
    z, q, delta = entry.noise_multiplier, entry.q, entry.delta
    recomputed = min(classic_eps(order, entry.steps * mixture_from_base(order, q, z), delta) for order in ORDERS)
    accounted = step_loss(q, z, "add-remove").eps(entry.steps, delta)
    return Found(recomputed, accounted, *(_attained(entry, relation) for relation in ("add-remove", "replace-one")))


def _attained(entry: Entry, relation: str) -> float:
    """What constant gradients attain when all iterates are seen."""
    values: dict[str, Any] = {"noise_multiplier": entry.noise_multiplier, "neighboring_relation": relation}
    if entry.sampler == "poisson":
        name = "sampled-gaussian"
        values |= {"sampling_probability": entry.q, "steps": entry.steps}
    else:
        assert entry.batch_size is not None
        name = "epoch-gaussian"
        values |= {"batches": RECORDS // entry.batch_size, "epochs": entry.epochs, "sampling": "reshuffled"}
    lower = MECHANISMS[name].model_validate(values).lower_bounds()
    return max(bound.eps(entry.delta) for bound in lower if bound.released == "all-iterates")
