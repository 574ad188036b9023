"""`fashion`: Fashion-MNIST as features of a network trained on ImageNet, 60000 + 10000 records of 256 numbers.

The image example in place of the CIFAR-10 and chest X-ray experiments of `dp-sgld`; its accuracies are not
comparable with theirs. Private: the Fashion-MNIST images. Public: the network, the projection and the rounding.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dpexp.core.errors import DataError
from dpexp.data.dataset import Dataset, load_shipped

FILE = Path(__file__).parent / "files" / "fashion.npz"
SHA256 = "1b87f6d1d9c1b61aba1e0be08c4bea16743974b13faff7f74e99a472f3d1488d"
"""of the records, which outside a clone are a package of their own (`tools/fashion`): most of the wheel's size"""
DIMENSIONS = 256
STEP = 1 / 3  # coordinates are rounded to (k + 1/2) STEP, k = -8 .. 7: four bits each
PUBLISHED_TEST = 10_000
CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
LICENCE = "images: MIT (Zalando SE, 2017); network weights: Apache-2.0"
NOTE = (
    "Fashion-MNIST (the published 60000 + 10000) through EfficientNet-lite0 trained on ImageNet, 64 pixels; each "
    "record centred on its own mean, scaled to norm 1, projected on 256 fixed random directions, rounded to 4 bits. "
    "Every step sees one record alone and uses no statistic of the data: no privacy is spent. Rebuilt by "
    "python -m tools.rebuild_fashion."
)


def unpack(packed: np.ndarray) -> np.ndarray:
    """Coordinates [n, 256] float32 at the middle of their intervals."""
    parts = np.stack([packed >> 4, packed & 15], axis=2).reshape(len(packed), -1)
    return (parts.astype(np.float32) - np.float32(7.5)) * np.float32(STEP)


def file() -> Path:
    """Where the records lie. Raises DataError where they are not installed."""
    package = None if FILE.is_file() else find_spec("dpexp_fashion")
    if package and package.origin:
        return Path(package.origin).with_name(FILE.name)
    if not FILE.is_file():
        raise DataError("the records of fashion are a package of their own", "run: pip install 'dpexp[fashion]'")
    return FILE


def read() -> Dataset:
    """All 70000 records, the published test part last. Raises DataError where they are not installed."""
    with load_shipped(file(), SHA256) as stored:
        features, labels = unpack(stored["features"]), stored["labels"].astype(np.int64)
    return Dataset("fashion", features, labels, CLASSES)
