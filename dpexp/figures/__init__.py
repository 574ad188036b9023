"""FIGURES and THEORY: the registries of figures, one file a figure or family."""

from __future__ import annotations

from dpexp.figures import theory, trajectories
from dpexp.figures.figure import Figure, write
from dpexp.figures.figure1 import FIGURE1
from dpexp.figures.hidden_state import HIDDEN_STATE_FIGURE
from dpexp.figures.langevin_region import LANGEVIN_REGION
from dpexp.figures.last_iterate import NOISY_SGD_FIGURE1
from dpexp.figures.momentum_epochs import MOMENTUM_EPOCHS
from dpexp.figures.momentum_noise import MOMENTUM_SIZES
from dpexp.figures.momentum_runs import MOMENTUM_PRESCRIBED, MOMENTUM_TUNED
from dpexp.figures.privacy_analyses import PRIVACY_ANALYSES
from dpexp.figures.rates import RATES
from dpexp.figures.sweeps import SWEEPS

FIGURES: dict[str, Figure] = {
    "figure1": FIGURE1,
    **{plan.name: trajectories.figure(plan) for plan in trajectories.plans()},
    "rates": RATES,
    "sweeps": SWEEPS,
    "noisy_sgd_figure1": NOISY_SGD_FIGURE1,
    "momentum_epochs": MOMENTUM_EPOCHS,
    "momentum_sizes": MOMENTUM_SIZES,
    "momentum_prescribed": MOMENTUM_PRESCRIBED,
    "momentum_tuned": MOMENTUM_TUNED,
    "dp_sgld_region": LANGEVIN_REGION,
    "hidden_state_figure": HIDDEN_STATE_FIGURE,
    "privacy_analyses": PRIVACY_ANALYSES,
}
THEORY: dict[str, Figure] = {plan.name: theory.figure(plan) for plan in trajectories.plans()}
"""figures that can be drawn with theory laid over them, by the name of the plain figure"""

__all__ = ["FIGURES", "THEORY", "Figure", "write"]
