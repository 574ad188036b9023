"""Second derivatives of the loss of one record, entry by entry: what sums of them are compared with."""

import numpy as np


def hessians(model, theta, x, y):
    """[..., p, p] of records x [..., d + 1], y [...] at one theta [p]."""
    t, w = x @ theta[: model.d + 1], model.problem.weight(x)
    tt, ts, ss = model.curvature(t, y, model.scale_of(theta), model.constants)
    found = np.zeros((*np.shape(y), model.p, model.p))
    q = model.d + 1
    found[..., :q, :q] = (w * tt)[..., None, None] * x[..., :, None] * x[..., None, :]
    if model.has_scale:
        found[..., :q, q] = found[..., q, :q] = (w * ts)[..., None] * x
        found[..., q, q] = w * ss
    return found
