"""Literal, slow transcriptions of the bounds and recursions of `ldp-sgd`, one loop after the other."""

import math

import numpy as np


def squared_errors(n, eta, alpha, m, second, fourth, delta0):
    """[(d_k, q_k) for k = 0..n]: bounds on the second and fourth moments of |theta_k - theta*|."""
    d, q, out = delta0, delta0**2, [(delta0, delta0**2)]
    for k in range(1, n + 1):
        step = eta * k**-alpha
        q = max(0, 1 - 4 * m * step) * q + 8 * step**2 * second * d + 3 * step**4 * fourth
        d = max(0, 1 - 2 * m * step) * d + step**2 * second
        out.append((d, q))
    return out


def completed_theorem4(n, eta, alpha, m, second, fourth, delta0, hessian_lipschitz, trace):
    """Summation by parts over k = 1..n of (theta_k - theta_{k+1}) / eta_{k+1}, term by term."""
    moments = squared_errors(n + 1, eta, alpha, m, second, fourth, delta0)

    def step(k):
        return eta * k**-alpha

    total = math.sqrt(moments[1][0]) / step(2) + math.sqrt(moments[n + 1][0]) / step(n + 1)
    for k in range(2, n + 1):
        total += math.sqrt(moments[k][0]) * (1 / step(k + 1) - 1 / step(k))
    remainder = sum(math.sqrt(moments[k][1]) for k in range(1, n + 1))
    return (math.sqrt(trace / n) + (total + hessian_lipschitz / 2 * remainder) / (m * n)) ** 2


def printed_theorem4(n, eta, alpha, m, M, s2, delta0, c1, trace):
    """Theorem 4 of `ldp-sgd` as it is printed, term by term, with C_{3,0} = C_{4,0} = 0: without B, and what multiplies B."""

    def psi(beta, t):
        return math.log(t) if beta == 0 else (t**beta - 1) / beta

    without = [
        trace / n,
        4 * alpha**2 * s2 / (m**2 * n**2 * eta) * psi(alpha - 1, n),
        s2 / (m**2 * n ** (2 - alpha) * eta),
        delta0 / (m * n**2 * eta**2),
        delta0 / (m * n ** (2 * (1 - alpha)) * eta**2),
        delta0 * 4 * M**2 / (m * n**2),
        s2 / (m * n ** (2 * (1 - alpha))) * psi(1 - 2 * alpha, n),
        4 * M**2 * eta * s2 / (m**2 * n**2) * psi(1 - alpha, n),
        s2 / (m * n),
        c1 / (4 * m * n**2) * delta0**2,
    ]
    first = (4 * alpha**2 / (m * n**2 * eta**2) + 4 * M**2 / (m * n**2)) * (delta0 + eta**2 * s2)
    return sum(without), first + 4 * M**2 * eta * s2 / (m**2 * n**2) * delta0**2


def last_iterate(n, eta, alpha, second, delta0):
    """The double sum over tails, before its order is exchanged."""
    T = n + 1
    squares = [0.0] + [(eta * t**-alpha) ** 2 * second for t in range(1, T + 1)]
    double = sum(sum(squares[T - k : T + 1]) / (k * (k + 1)) for k in range(1, T))
    return ((delta0 + sum(squares)) / (2 * T) + double / 2) / (eta * T**-alpha)


def averaged_gap(n, eta, alpha, second, delta0):
    """The completed Theorem 6, sum by sum."""
    squares = sum(k ** (-2 * alpha) for k in range(1, n + 1))
    steps = sum(k**-alpha for k in range(2, n + 2))
    return (n + 1) ** alpha / (2 * eta * n) * (delta0 + eta**2 * second * squares) + eta / (2 * n) * second * steps


def second_moments(n, eta, alpha, hessian, covariance, start_error):
    """E|e_n|^2 and E|mean of e_1..e_n|^2 of the linear iteration, by propagating full matrices."""
    p = len(hessian)
    second = np.outer(start_error, start_error)  # E e e'
    cross, total = np.zeros((p, p)), np.zeros((p, p))  # E T e', E T T'
    for k in range(1, n + 1):
        step = eta * k**-alpha
        a = np.eye(p) - step * hessian
        second = a @ second @ a.T + step**2 * covariance
        moved = cross @ a.T
        total = total + moved + moved.T + second
        cross = moved + second
    return np.trace(second), np.trace(total) / n**2
