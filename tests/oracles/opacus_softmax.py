"""Steps of Opacus on softmax regression: python -m tests.oracles.opacus_softmax records tests/data/opacus_softmax.npz."""

from pathlib import Path

import numpy as np

FILE = Path(__file__).parent.parent / "data" / "opacus_softmax.npz"
STEP, CLIP, REGULARISER, SEED = 0.5, 0.3, 0.01, 11


def run(features, labels, batches, start, multiplier):
    """Opacus on torch.nn.Linear: weights [classes, p] with the bias last after all steps, and the noise it added.

    The noise is that of the SUM of clipped gradients, [K, classes, p].
    """
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    classes, p = start.shape
    layer = torch.nn.Linear(p - 1, classes)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(start[:, :-1]))
        layer.bias.copy_(torch.from_numpy(start[:, -1]))
    model = GradSampleModule(layer)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=STEP, weight_decay=REGULARISER),
        noise_multiplier=multiplier,
        max_grad_norm=CLIP,
        expected_batch_size=batches.shape[1],
        generator=torch.Generator().manual_seed(SEED),
    )
    same = torch.Generator().manual_seed(SEED)
    x, y = torch.from_numpy(features[:, :-1].copy()), torch.from_numpy(labels)
    noise = np.zeros((len(batches), classes, p), np.float32)
    for k, index in enumerate(batches):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[index]), y[index]).backward()
        optimizer.step()
        if multiplier:
            noise[k, :, :-1] = torch.normal(0.0, multiplier * CLIP, layer.weight.shape, generator=same).numpy()
            noise[k, :, -1] = torch.normal(0.0, multiplier * CLIP, layer.bias.shape, generator=same).numpy()
    with torch.no_grad():
        return np.column_stack([layer.weight.numpy(), layer.bias.numpy()]), noise


def inputs():
    """300 records of 12 numbers and a bias entry 1, 4 classes, 50 batches of 32."""
    rng = np.random.default_rng(7)
    features = np.ones((300, 13), np.float32)
    features[:, :-1] = rng.standard_normal((300, 12))
    labels = rng.integers(0, 4, 300)
    batches = np.array([rng.choice(300, 32, replace=False) for _ in range(50)])
    return features, labels, batches, (0.3 * rng.standard_normal((4, 13))).astype(np.float32)


if __name__ == "__main__":
    features, labels, batches, start = inputs()
    plain, _ = run(features, labels, batches, start, 0.0)
    noisy, noise = run(features, labels, batches, start, 1.1)
    np.savez_compressed(
        FILE, features=features, labels=labels, batches=batches, start=start, plain=plain, noisy=noisy, noise=noise
    )
    print(FILE)
