"""Speed of a private softmax step beside numpy with BLAS, and beside Opacus where that is installed.

    python -m benchmarks.softmax

50,000 records, 10 classes, Poisson batches of 250 or 256, clipping and noise, one thread, float32 in all programs.
numpy gathers a batch and takes two matrix products of it, for each setting. The C++ loop (`benchmarks/twins`) goes
through the records of a batch one by one, for one setting. Opacus is used as documented:
PrivacyEngine.make_private with its own Poisson loader. Programs take turns on the same work, and a ratio is that of
each turn. Settings of one pass share batches and noise.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import time
import warnings

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402

from benchmarks import twin  # noqa: E402
from benchmarks.turns import HEAD, columns  # noqa: E402
from dpexp.engine.softmax import softmax_loop as softmax  # noqa: E402
from dpexp.engine.softmax.batches import poisson  # noqa: E402

N, P, CLASSES, BATCH, CLIP, MULTIPLIER, STEP, REGULARISER = 50_000, 512, 10, 256, 1.0, 1.33, 0.5, 1e-4
BESIDE_NUMPY = ((257, 1), (257, 8), (513, 1), (513, 8))
"""features with the bias, and settings that share their batches"""


def records(p: int = P) -> tuple[np.ndarray, np.ndarray]:
    """Features [n, p] with unit rows and labels [n]."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, p), dtype=np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True), rng.integers(0, CLASSES, N)


def ours(features: np.ndarray, labels: np.ndarray, steps: int, seed: int, settings: int = 1) -> float:
    """Seconds a step of dpexp, of all settings together; the bias is an entry of every record."""
    rng = np.random.default_rng(seed)
    sizes = np.full(steps, STEP)
    begin = time.perf_counter()
    scale = softmax.gradient_noise_scale(sizes, MULTIPLIER, CLIP, BATCH)
    run = softmax.SoftmaxRun(np.zeros((CLASSES, features.shape[1]), np.float32), sizes, REGULARISER, CLIP, scale)
    batches, noise = poisson(N, BATCH, rng), softmax.gaussian(rng)
    softmax.train(features, labels, [run] * settings, batches, batch_size=BATCH, noise=noise, checkpoints=[steps])
    return (time.perf_counter() - begin) / steps


def with_numpy(features: np.ndarray, labels: np.ndarray, steps: int, seed: int, settings: int) -> float:
    """Seconds a step of the same in numpy: the batch is gathered once, and every setting takes two products of it."""
    rng = np.random.default_rng(seed)
    weights = [np.zeros((CLASSES, features.shape[1]), np.float32) for _ in range(settings)]
    scale = np.float32(STEP * MULTIPLIER * CLIP / BATCH)
    norms, batches = softmax.record_norms(features), poisson(N, BATCH, rng)
    begin = time.perf_counter()
    for _ in range(steps):
        index = next(batches)
        x, y, lengths = features[index], labels[index], norms[index]
        noise = rng.standard_normal(weights[0].shape, dtype=np.float32)
        for w in weights:
            slopes = x @ w.T
            slopes -= slopes.max(axis=1, keepdims=True)
            np.exp(slopes, out=slopes)
            slopes /= slopes.sum(axis=1, keepdims=True)
            slopes[np.arange(len(y)), y] -= 1
            slopes *= np.minimum(1, CLIP / (np.sqrt(np.square(slopes).sum(axis=1)) * lengths + 1e-6))[:, None]
            w -= np.float32(STEP / BATCH) * (slopes.T @ x) + np.float32(STEP * REGULARISER) * w - scale * noise
    return (time.perf_counter() - begin) / steps


def beside_the_twin(turns: int, steps: int) -> None:
    """Print microseconds a step of dpexp and of the C++ loop, and the ratio."""
    if twin.program("softmax") is None:
        print("no C++ compiler is installed: the C++ loop is left out")
        return
    print("the same, one setting, beside a C++ loop: us a step")
    print(f"{'features':>10}{'dpexp':>10}{'C++':>10}{HEAD}")
    for p in sorted({p for p, _ in BESIDE_NUMPY}):
        features, labels = records(p)
        ours(features, labels, 20, 0)
        pairs = [
            (1e6 * ours(features, labels, steps, turn), *twin.measured("softmax", N, p, CLASSES, BATCH, steps))
            for turn in range(turns)
        ]
        print(f"{p:>10}{columns(pairs, 0)}")


def beside_numpy(turns: int, steps: int) -> None:
    """Print microseconds a step of both and the ratio, for each number of features and settings."""
    print(
        f"softmax regression, n = {N}, {CLASSES} classes, batch {BATCH}, float32, one thread: us a step of all settings"
    )
    print(f"{'features':>10}{'settings':>10}{'dpexp':>10}{'numpy':>10}{HEAD}")
    for p, settings in BESIDE_NUMPY:
        features, labels = records(p)
        ours(features, labels, 20, 0, settings)
        pairs = [
            (ours(features, labels, steps, turn, settings), with_numpy(features, labels, steps, turn, settings))
            for turn in range(turns)
        ]
        print(f"{p:>10}{settings:>10}{columns([(1e6 * a, 1e6 * b) for a, b in pairs], 0)}")


class Opacus:
    """A linear layer made private, its loader drawing Poisson batches."""

    def __init__(self, features: np.ndarray, labels: np.ndarray) -> None:
        import torch
        from opacus import PrivacyEngine

        torch.set_num_threads(1)
        self.torch = torch
        data = torch.utils.data.TensorDataset(torch.from_numpy(features), torch.from_numpy(labels))
        layer = torch.nn.Linear(P, CLASSES)
        sgd = torch.optim.SGD(layer.parameters(), lr=STEP, weight_decay=REGULARISER)
        self.model, self.optimizer, self.loader = PrivacyEngine().make_private(
            module=layer,
            optimizer=sgd,
            data_loader=torch.utils.data.DataLoader(data, batch_size=BATCH),
            noise_multiplier=MULTIPLIER,
            max_grad_norm=CLIP,
        )

    def seconds(self, steps: int) -> float:
        """Seconds a step of the usual training loop."""
        loss, done = self.torch.nn.CrossEntropyLoss(), 0
        begin = time.perf_counter()
        while done < steps:
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss(self.model(x), y).backward()
                self.optimizer.step()
                done += 1
                if done == steps:
                    break
        return (time.perf_counter() - begin) / done


def main() -> int:
    """Print microseconds a step of every program and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=500, help="steps of a turn")
    arguments = parser.parse_args()
    beside_numpy(arguments.turns, arguments.steps)
    beside_the_twin(arguments.turns, arguments.steps)
    if not all(importlib.util.find_spec(name) for name in ("torch", "opacus")):
        print("torch and opacus are not installed (extra [vision]): Opacus is left out", file=sys.stderr)
        return 0
    warnings.filterwarnings("ignore")
    features, labels = records()
    with_bias = np.hstack([features, np.ones((N, 1), np.float32)])
    other = Opacus(features, labels)
    ours(with_bias, labels, 20, 0), other.seconds(20)
    pairs = [
        (ours(with_bias, labels, arguments.steps, turn), other.seconds(arguments.steps))
        for turn in range(arguments.turns)
    ]
    mine, theirs = (1e6 * statistics.median(pair[k] for pair in pairs) for k in (0, 1))
    ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
    print(f"softmax regression, n = {N}, p = {P}, {CLASSES} classes, batch {BATCH}, float32, one thread: us a step")
    print(f"{'dpexp':>10}{'Opacus':>12}{'ratio':>10}\n{mine:>10.0f}{theirs:>12.0f}{ratio:>10.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
