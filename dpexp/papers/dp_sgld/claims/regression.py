"""Section 5.1 of `dp-sgld`: smoothness of regularised logistic regression, by its Hessians."""

from __future__ import annotations

import numpy as np

from dpexp.reporting.row import above, row
from dpexp.theory.dp_sgld.softmax import smoothness_full

CLASSES, RECORDS, WIDTH, LAMBDA = 3, 12, 2, 0.01


def features(seed: int) -> np.ndarray:
    """Records [n, p], normal, the first of them three times as long."""
    x = np.random.default_rng(seed).standard_normal((RECORDS, WIDTH))
    x[0] *= 3
    return x


def record_hessian(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Second derivative of -log softmax(W x)_y by the logits and the features, without the regulariser, [C p, C p]."""
    logits = weights @ x
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))


def between_two(x: np.ndarray) -> np.ndarray:
    """Weights for which the record lies halfway between two classes and far from the third."""
    weights = np.zeros((CLASSES, WIDTH))
    weights[2] = -60 * x / float(x @ x)
    return weights


def of_a_record() -> dict[str, float]:
    """The printed beta over the largest curvature of one record's loss, where it is halfway between two classes."""
    ratios = {}
    for seed in range(3):
        x = features(seed)
        longest = x[np.argmax((x * x).sum(axis=1))]
        top = float(np.linalg.eigvalsh(record_hessian(between_two(longest), longest))[-1]) + LAMBDA
        ratios[f"data {seed}"] = smoothness_full(x, LAMBDA) / top
    return ratios


def of_the_mean() -> dict[str, float]:
    """The same for the mean of all losses, over random weights and those that put a record between two classes."""
    ratios = {}
    for seed in range(3):
        x, rng = features(seed), np.random.default_rng(seed)
        tried = [rng.standard_normal((CLASSES, WIDTH)) * size for size in (0.0, 0.3, 3.0) for _ in range(5)]
        top = max(
            float(np.linalg.eigvalsh(np.mean([record_hessian(w, one) for one in x], axis=0))[-1])
            for w in (*tried, *(between_two(one) for one in x))
        )
        ratios[f"data {seed}"] = smoothness_full(x, LAMBDA) / (top + LAMBDA)
    return ratios


def sign() -> dict[str, float]:
    """The least curvature of the printed loss log softmax(W x)_y + lambda |W|^2 at W = 0, over lambda."""
    return {"as printed": (2 * LAMBDA - float(np.linalg.eigvalsh(_at_zero())[-1])) / LAMBDA}


def with_minus(least: float) -> str:
    found = float(np.linalg.eigvalsh(_at_zero())[0]) + 2 * LAMBDA
    return f"with the minus sign the least curvature is {found:.3g}, which is 2 lambda"


def _at_zero() -> np.ndarray:
    return record_hessian(np.zeros((CLASSES, WIDTH)), features(0)[0])


CLAIMS = (
    row(
        "dp-sgld/lemma-smoothness", "Section 5.1, lemma",
        "The loss of every record is beta-smooth, with beta = lambda_max(sum x x^T / n) / 2 + lambda.",
        "upper",
        above(of_a_record, "the loss of every record is beta-smooth", "longest record of 12", "Hessian: rounding", "beta / curvature"),
        "one larger curvature contradicts it", "false",
        "it is the constant of the mean loss, as the proof shows; the theorems need that of every record, lambda_max(x x^T) / 2 + lambda",
        quote="strongly convex and ... β-smooth, with ... β = 1/2 λ",
        false_if="The loss of some record has a larger curvature.",
    ),
    row(
        "dp-sgld/lemma-smoothness/mean", "Section 5.1, lemma",
        "Corrects the lemma: with the regulariser lambda/2 |W|^2, beta is a smoothness constant of the mean loss.",
        "upper",
        above(of_the_mean, "the mean loss is beta-smooth", "", "largest curvature found", "beta / curvature"),
        "one larger curvature contradicts it", "holds as a bound",
        "softmax probabilities give at most 1/2",
        source="ours", false_if="The mean loss has a larger curvature somewhere.",
    ),
    row(
        "dp-sgld/section-5-1/sign", "Section 5.1, the loss",
        "The printed loss, log softmax(W x)_y + lambda |W|^2, is lambda-strongly convex.",
        "value",
        above(sign, "a loss of which lambda |W|^2 makes every curvature at least lambda", f"lambda = {LAMBDA:g}", "Hessian: rounding",
              "least curvature / lambda", with_minus, "reproduced", "misprint"),
        "a negative curvature contradicts it", "misprint",
        "the minus sign is missing, and lambda |W|^2 gives 2 lambda where the proof has lambda",
        quote="The loss with regularization writes ℓ(𝐖,𝐱) = log(𝝈(𝐖𝐱))_y + λ|𝐖|_2^2",
        false_if="The printed loss has a curvature below 0.",
    ),
)  # fmt: skip
