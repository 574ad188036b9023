"""How the last iterate's divergence depends on theta in the private regime of noisy SGD, in one dimension.

Without the record the place of the last iterate has a stationary law on the set; u is the place over the width. A record of
slope -L or +L tilts it: in the limit of steps that are small beside the width its density is multiplied by e^(+-theta u),
theta = 2 L D / (n eta sigma^2). The divergence of order a of the two tilted laws goes to

    {log E e^((2 a - 1) theta u) + (a - 1) log E e^(-theta u) - a log E e^(theta u)} / (a - 1),

which is 2 a theta^2 Var(u) for small theta: the exponent is 2 whatever the others' losses, and these enter by Var(u), 1/12
where they are flat. Theorem 3.1 has 2 a theta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from dpexp.core.gauss_legendre import gauss_legendre
from dpexp.privacy.analyses.last_iterate import last_iterate
from dpexp.privacy.attained.walk import Law, Walk, renyi
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing
from dpexp.reporting.row import near

WIDTH, STEPS = 100.0, 10**7
"""of the set, in noise units of a step; many mixing times, 2 / pi^2 times its square"""
AT_THE_WALL = 2.0
"""log of the stationary density in the middle over the one at a wall, where the others' losses are not flat"""
POWERS = {"flat": 0, "quadratic": 2, "cubic": 3}
THETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
ORDERS = (2.0, 8.0)
DRAWN = 8.0


def exact(shape: str, theta: float, order: float) -> float:
    """The divergence of the exact laws after `STEPS` steps that all hold the record."""
    return renyi(*_laws(shape, theta), order)


@cache
def _laws(shape: str, theta: float, steps: int = STEPS) -> tuple[Law, Law]:
    """Of the record's two slopes."""
    walks = (Walk(WIDTH / 2, ((1.0, _pushed(POWERS[shape], sign * theta / (2 * WIDTH))),), (0.0,)) for sign in (1, -1))
    one, other = (Law(walk, steps) for walk in walks)
    return one, other


def _pushed(power: int, drift: float) -> Callable[[np.ndarray], np.ndarray]:
    """One step of the mean: the others' loss is |y|^power, with density e^(-AT_THE_WALL |2 y / width|^power)."""
    half = WIDTH / 2
    return lambda y: y + drift - AT_THE_WALL * power / (2 * half) * np.sign(y) * (np.abs(y) / half) ** max(power - 1, 0)


def limit(shape: str, theta: float, order: float) -> float:
    """The divergence of the tilted stationary laws."""
    x, w = gauss_legendre(64)
    places, power = np.concatenate([x - 1, x + 1]) / 4, POWERS[shape]  # either half of the set
    # on either half of the set by itself, since the loss has a kink in the middle
    density = np.tile(w, 2) * np.exp(-AT_THE_WALL * np.abs(2 * places) ** power)

    def log_mean(tilt: float) -> float:
        return math.log(float(density @ np.exp(tilt * places)) / float(density.sum()))

    total = log_mean((2 * order - 1) * theta) + (order - 1) * log_mean(-theta) - order * log_mean(theta)
    return total / (order - 1)


@cache
def compared() -> dict[tuple[str, float, float], tuple[float, float]]:
    """Exact and limit, by shape, theta and order."""
    keys = [(shape, theta, order) for shape in POWERS for theta in THETAS for order in ORDERS]
    return {key: (exact(*key), limit(*key)) for key in keys}


def ratios() -> dict[str, tuple[float, float]]:
    """1, and the exact divergence over the limit."""
    return {
        f"{shape}, theta = {theta:g}, order {order:g}": (1.0, found / wanted)
        for (shape, theta, order), (found, wanted) in compared().items()
    }


def draw(results: Path) -> Drawing:
    """The divergence of order 8 against theta: the bound, exact laws, and the limit."""
    import pandas as pd

    canvas, (axes,) = style.panels(6.2, 4.3)
    bounds = [last_iterate(DRAWN, 1.0, WIDTH / theta, WIDTH, STEPS, "symmetrised").rdp for theta in THETAS]
    axes.plot(THETAS, bounds, color="#555555", linestyle="--", label="Theorem 3.1, evaluated")
    fine, records = np.geomspace(THETAS[0], THETAS[-1], 60), []
    for shape, colour in zip(POWERS, ("#2b6cb8", "#2a9d6f", "#a50f4c"), strict=True):
        found = [compared()[shape, theta, DRAWN][0] for theta in THETAS]
        axes.plot(THETAS, found, "o", color=colour, markersize=4, label=f"exact, other losses {shape}")
        axes.plot(fine, [limit(shape, theta, DRAWN) for theta in fine], color=colour, linewidth=1.2)
        limits = [limit(shape, theta, DRAWN) for theta in THETAS]
        columns = {"losses": shape, "theta": THETAS, "bound": bounds, "exact": found, "limit": limits}
        records.append(pd.DataFrame(columns))
    words = "Renyi divergence of order 8 of the last iterate"
    axes.set(xlabel=r"$\theta = 2 L D / (n \eta \sigma^2)$", ylabel=words)
    axes.legend(frameon=False)
    return Drawing(canvas, pd.concat(records))


FIGURES = {"private_regime": (draw, ())}

CHECKS = {
    "answers/private-regime/law": near(
        ratios, 0.06, "exact over the limit",
        uncertainty="exact laws; the limit is of steps small beside the width, here 1 / 100",
    ),
}  # fmt: skip
