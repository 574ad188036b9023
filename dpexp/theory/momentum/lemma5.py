"""Lemma 5 of `momentum`: normalised steps along any directions find a small gradient if the directions err little.

Both functions bound the mean over t = 1..T of |grad F(w_t)| for w_{t+1} = w_t - eta m_t / |m_t|, where `error` is the
mean over t of |m_t - grad F(w_t)| and `gap` is F(w_1) - F(w_{T+1}). They hold on every path, not only in expectation.
"""

from __future__ import annotations


def lemma5_printed(gap: float, error: float, eta: float, steps: int, L: float) -> float:
    """3 gap / (2 eta T) + 3 L eta / 4 + 3 error, as printed. Raises ValueError unless eta > 0 and steps >= 1."""
    return 1.5 * lemma5_sharp(gap, error, eta, steps, L)


def lemma5_sharp(gap: float, error: float, eta: float, steps: int, L: float) -> float:
    """gap / (eta T) + L eta / 2 + 2 error: the printed constants divided by 3/2.

    From F(w_{t+1}) <= F(w_t) - eta <grad, m> / |m| + L eta^2 / 2 and, for any two vectors, <grad, m> / |m|
    = |m| - <m - grad, m> / |m| >= |m| - |m - grad| >= |grad| - 2 |m - grad|. Raises ValueError unless eta > 0 and
    steps >= 1.
    """
    if eta <= 0 or steps < 1:
        raise ValueError(f"eta={eta}, steps={steps}: need eta > 0 and at least one step")
    return gap / (eta * steps) + L * eta / 2 + 2 * error
