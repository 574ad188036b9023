"""What follows from the proofs of `momentum` beside its theorems: ranges of the printed multipliers, Theorem 6 from Lemma 5."""

import math


def theorem4_largest_eps(delta: float) -> float:
    """Largest eps for which the printed sigma follows: 8 (1 - 1 / sqrt 2) log(1 / delta), about 2.34 log(1 / delta)."""
    return 8 * (1 - math.sqrt(1 / 2)) * math.log(1 / delta)


def theorem4_printed_hypothesis(eps: float, delta: float) -> bool:
    """delta >= exp(-eps), as printed. It is reversed: it admits only eps beyond log(1 / delta), where it can fail."""
    return eps >= math.log(1 / delta)


def theorem8_largest_eps(delta: float) -> float:
    """Largest eps for which the printed sigma follows: (32 / 3) (1 - sqrt(3 / 8)) log(1 / delta), about 4.13 times it.

    With c = 3 eps^2 / (16 log(1 / delta)), from c / 2 + sqrt(2 c log(1 / delta)) <= eps.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta}: need 0 < delta < 1")
    return 32 / 3 * (1 - math.sqrt(3 / 8)) * -math.log(delta)


def theorem6_rebuilt(
    N: int, steps: float, alpha: float, eta: float, gap: float, G: float, L: float, noise: float
) -> tuple[float, float, float, float, float, float]:
    """The terms of the same bound rebuilt from Lemma 5 as printed; their sum is the bound.

    gap 1.5 gap / (eta T), curvature .75 L eta, noise 3 E |m_hat - m| (`noise`, mean over t), sampling 3 sqrt(alpha) G,
    drift 3 L (eta N + eta / alpha), start 3 G / (alpha T). Any alpha, eta and T. Raises ValueError for arguments that
    are not positive.
    """
    if min(N, steps, alpha, eta) <= 0:
        raise ValueError(f"N={N}, steps={steps}, alpha={alpha}, eta={eta} must be positive")
    return (
        1.5 * gap / (eta * steps),
        0.75 * L * eta,
        3 * noise,
        3 * math.sqrt(alpha) * G,
        3 * L * (eta * N + eta / alpha),
        3 * G / (alpha * steps),
    )
