"""Every analysis of one noisy SGD as a function of the number of steps, fast enough for hundreds of steps.

The same bounds as `mechanisms.noisy_sgd` states, with what does not depend on T computed once: one-step divergences on
a fixed grid of orders and noise shares (any order and share is valid, so a curve is at most a little looser), and the
hybrid bound at few T, since a bound that uses the last R steps holds for every larger T.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dpexp.privacy.accounting.loss_distributions import StepLoss, step_loss
from dpexp.privacy.analyses.analysis import eps_of_delta
from dpexp.privacy.analyses.composition import random_step
from dpexp.privacy.analyses.hidden_state import last_iterate_delta
from dpexp.privacy.analyses.last_iterate import STEP
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd

GRID_OF_ORDERS = 1 + np.geomspace(5e-3, 300, 90)
SHARES = 1 / (1 + np.exp(-np.linspace(-5, 5, 21)))
HYBRID_EVERY = 3
"""the hybrid bound is computed at every third of the steps, until it no longer falls"""


def over_steps(mechanism: NoisySgd, steps: np.ndarray, delta: float) -> dict[str, np.ndarray]:
    """Epsilon at delta of every analysis, by name, at the increasing `steps` [K]; "exact-walk" is a lower bound.

    Raises ValueError unless the losses are convex, the set is bounded, batches are of fixed size and one record is
    replaced.
    """
    first = mechanism.model_copy(update={"steps": int(steps[0])})
    needed = {"iteration-symmetrised", "hybrid", "contraction"}
    if not needed <= {a.name for a in first.analyses() if a.valid} or first.sampling != "fixed-size":
        raise ValueError(
            "needs convex smooth losses on a bounded set, batches of fixed size, and replace-one neighbours"
        )
    q, multiplier, width = mechanism.q, mechanism.multiplier / 2, mechanism.width
    t = np.asarray(steps, dtype=np.float64)
    found = {}
    for kind in ("symmetrised", "mixture", "literal"):
        found[f"iteration-{kind}"] = _iteration(kind, q, multiplier, width, t, delta)
    per_step = np.array([STEP["symmetrised"](float(a), q, multiplier) for a in GRID_OF_ORDERS])
    found["renyi-composition"] = _least_eps(t[:, None] * per_step, delta)
    loss = step_loss(*random_step(q, mechanism.multiplier, mechanism.sampling, mechanism.neighboring_relation))
    found["pld-composition"] = _composed(loss, steps, delta)
    reach = width + 2 * mechanism.batch_size / mechanism.multiplier
    found["contraction"] = np.array(
        [eps_of_delta(partial(last_iterate_delta, reach=reach, q=q, steps=n), delta, 1e-6) for n in steps]
    )
    composed = found["pld-composition"]
    found["hybrid"] = np.minimum(_hybrid(mechanism, steps, composed, delta), composed)
    found["exact-walk"] = _exact(mechanism, steps, delta)
    return found


def _iteration(kind: str, q: float, multiplier: float, width: float, t: np.ndarray, delta: float) -> np.ndarray:
    """(3.6) over orders [A], shares [F] and steps [K]: cost R + spread / R at its best whole R <= T."""
    cost = np.array(
        [[STEP[kind](float(a), q, multiplier * float(np.sqrt(1 - f))) for f in SHARES] for a in GRID_OF_ORDERS]
    )
    spread = GRID_OF_ORDERS[:, None] * width**2 / (2 * SHARES)
    ideal = np.sqrt(spread / cost)
    divergence = np.full((len(t), len(GRID_OF_ORDERS)), np.inf)
    for rounded in (np.floor(ideal), np.ceil(ideal)):
        r = np.clip(rounded, 1, t[:, None, None])
        divergence = np.minimum(divergence, (cost * r + spread / r).min(axis=2))
    return _least_eps(divergence, delta)


def _least_eps(divergence: np.ndarray, delta: float) -> np.ndarray:
    """The improved conversion at the best order; divergences [K, A] to epsilons [K]."""
    rest = np.log1p(-1 / GRID_OF_ORDERS) - np.log(delta * GRID_OF_ORDERS) / (GRID_OF_ORDERS - 1)
    return np.maximum(0.0, (divergence + rest).min(axis=1))


def _composed(loss: StepLoss, steps: np.ndarray, delta: float) -> np.ndarray:
    return np.array([loss.eps(int(n), delta) for n in steps])


def _hybrid(mechanism: NoisySgd, steps: np.ndarray, composed: np.ndarray, delta: float) -> np.ndarray:
    """The hybrid bound at some of the steps, carried on to all larger ones; inf where it is no better than composition.

    Only a value below composition comes from a contraction, and only such a value holds for more steps.
    """
    values, before = np.full(len(steps), np.inf), np.inf
    for k in range(HYBRID_EVERY, len(steps), HYBRID_EVERY):
        here = mechanism.model_copy(update={"steps": int(steps[k])})
        (bound,) = (a.eps(delta) for a in here.analyses() if a.name == "hybrid")
        if bound < composed[k] * (1 - 1e-6):
            values[k:] = np.minimum(values[k:], bound)
            if bound == before:
                break
            before = bound
    return values


def _exact(mechanism: NoisySgd, steps: np.ndarray, delta: float) -> np.ndarray:
    values = np.zeros(len(steps))
    for k, n in enumerate(steps):
        bounds = mechanism.model_copy(update={"steps": int(n)}).lower_bounds()
        values[k] = bounds[0].eps(delta) if bounds else np.nan
    return values
