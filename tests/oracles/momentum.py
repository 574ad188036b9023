"""Literal, slow transcriptions of Algorithms 1 and 2 of `momentum`: node values are kept by (start, end), noise included."""

import math

import numpy as np


def algorithm1(gradient, start, items, zeta, cover, alpha, eta, normalised=True):
    """Every m_hat_t from the nodes of COMPOSE(1, t), each summed from its steps; iterates [T + 1, d] and estimates."""
    beta, w, path, estimates, g = 1 - alpha, start.copy(), [start.copy()], [], {}
    for t, item in enumerate(items, start=1):
        g[t] = gradient(w, item)
        m_hat = np.zeros(len(w))
        for y, z in cover(1, t):
            node = alpha * sum(beta ** (z - i) * g[i] for i in range(y, z + 1)) + zeta[y, z]
            m_hat = m_hat + beta ** (t - z) * node
        w = w - eta * m_hat / (np.linalg.norm(m_hat) if normalised else 1.0)
        path.append(w)
        estimates.append(m_hat)
    return np.array(path), np.array(estimates)


def algorithm2(gradient, start, items, n, zeta, cover, alpha, gamma, eta):
    """The corrected pseudo-code, any order: nodes of G, D and r hold their values plus zeta[stream][y, z] (times alpha)."""
    beta, w, path, estimates = 1 - alpha, start.copy(), [start.copy()], []
    anchors, plain, moved, left, tree_g, tree_d, tree_r = {}, {}, {}, {}, {}, {}, {}
    window, total = {}, {}

    def over(tree, a, b):
        return sum(beta ** (b - z) * tree[y, z] for y, z in cover(a, b))

    def node(values, y, z):
        return sum(beta ** (z - i) * values[i] for i in range(y, z + 1))

    for t, item in enumerate(items, start=1):
        q, r = (t - 1) // n, (t - 1) % n + 1
        if r == 1:
            anchors[q] = w.copy()
        plain[t] = gradient(anchors[q], item)
        moved[t] = plain[t] - gradient(anchors[q - 1], item) if q else np.zeros(len(w))
        left[t] = gradient(w, item) - plain[t]
        k = 0
        while t % 2**k == 0:
            y = t - 2**k + 1
            tree_r[y, t] = node(left, y, t) + zeta["r"].get((y, t), 0.0)
            if 2**k <= n:
                tree_g[y, t] = node(plain, y, t) + zeta["G"][y, t]
                if y > n:
                    tree_d[y, t] = node(moved, y, t) + zeta["D"][y, t]
            k += 1
        if q == 0:
            total[t] = over(tree_g, 1, t)
        else:
            window[t] = over(tree_g, t - n + 1, t)
            if q >= 2:
                window[t] = (1 - gamma) * (window[t - n] + over(tree_d, t - n + 1, t)) + gamma * window[t]
            total[t] = beta**n * total[t - n] + window[t]
        m_hat = alpha * (total[t] + over(tree_r, 1, t))
        w = w - eta * m_hat / np.linalg.norm(m_hat)
        path.append(w)
        estimates.append(m_hat)
    return np.array(path), np.array(estimates)


def ending(t, longest=math.inf):
    """Nodes that end at t, shortest first."""
    k = 0
    while t % 2**k == 0 and 2**k <= longest:
        yield t - 2**k + 1, t
        k += 1
