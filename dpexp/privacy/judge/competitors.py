"""The tightest analysis of dpexp at a setting: what a bound would have to beat."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.composition import composition
from dpexp.privacy.judge.kinds import Kind, stated
from dpexp.privacy.judge.setting import Assumes, Setting
from dpexp.privacy.mechanisms.clipped_noisy_sgd import ClippedNoisySgd
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd


def analyses(s: Setting, assumes: Assumes) -> list[Analysis]:
    """Every analysis of a run with these assumptions, refused ones included."""
    if assumes.released == "all-iterates" or not (assumes.bounded or assumes.strongly_convex):
        return composition(s.q, s.multiplier, s.steps, assumes.sampling, assumes.relation)  # type: ignore[arg-type]
    shared: dict[str, Any] = {
        "n": s.n,
        "batch_size": s.batch_size,
        "step_size": s.step_size,
        "steps": s.steps,
        "sampling": assumes.sampling,
        "neighboring_relation": assumes.relation,
        "diameter": s.diameter,
    }
    if assumes.convex and assumes.smooth:
        convex = NoisySgd(
            **shared,
            noise_std=s.noise_std,
            lipschitz=s.lipschitz,
            smoothness=s.smoothness,
            strong_convexity=s.strong_convexity if assumes.strongly_convex else 0.0,
        )
        return convex.analyses()
    return ClippedNoisySgd(**shared, clip=s.lipschitz, noise_std=s.parameter_noise_std).analyses()


@lru_cache(64)
def tightest(s: Setting, assumes: Assumes, kind: Kind, at: float) -> dict[str, Any] | None:
    """The smallest value of a valid analysis of the same release (or of all iterates), with its name."""
    found: list[tuple[float, Analysis]] = []
    for a in analyses(s, assumes):
        if not a.valid or (a.released == "last-iterate" and assumes.released != "last-iterate"):
            continue
        value = stated(a, kind, at)
        if math.isfinite(value):
            found.append((value, a))
    if not found:
        return None
    value, best = min(found, key=lambda pair: pair[0])
    return {"analysis": best.name, "source": best.source, "value": value}
