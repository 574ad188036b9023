"""What is attained where a record is in one batch of every epoch, and the adversary does not know in which."""

from __future__ import annotations

import math
from functools import partial

from dpexp.privacy.accounting.epoch_losses import epoch_loss
from dpexp.privacy.analyses.analysis import ALL, Relation
from dpexp.privacy.attained.lower_bounds import LowerBound, linear_cyclic


def secret_order(
    batches: int, epochs: int, multiplier: float, relation: Relation, fresh: bool, independent: bool
) -> LowerBound:
    """All noisy sums of whole epochs, constant gradients: balls in bins, rounded down.

    `fresh`: a new batch in every epoch; else one for all, and then the sums of the batches over the epochs are one
    epoch with the noise over sqrt(epochs). `independent`: records draw their batches independently, so that the
    gradients of the others say nothing and are 0; a replaced record is then compared with one of gradient 0. Else the
    records are cut into batches of equal size, all others have the gradient -C, and the record C or -C: every sum is
    -b C, and one of them 2 C more.
    """
    if relation == "replace-one" and not independent:
        mu, pair = 2 / multiplier, "constant gradients: the record's C against -C; all others' are -C"
    else:
        other = "0" if relation == "replace-one" else "no record's"
        mu, pair = 1 / multiplier, f"constant gradients: the record's C against {other}; all others' are 0"
    times = epochs if fresh else 1
    loss = epoch_loss(mu if fresh else mu * math.sqrt(epochs), batches)
    return LowerBound("exact-composition", ALL, pair, partial(loss.attained, times))


def linear_epochs(batches: int, epochs: int, multiplier: float, relation: Relation) -> LowerBound:
    """The last iterate after whole epochs: linear losses add up, and the record is in `epochs` of the batches.

    Which ones they are does not matter to the sum.
    """
    return linear_cyclic(epochs, multiplier, batches * epochs, 2.0 if relation == "replace-one" else 1.0)
