"""Lanes of float32 and products in tiles: the arithmetic of single numbers in the stated order, to the last bit."""

import numpy as np
import pytest
from numba import njit

from dpexp.engine.lanes import elementwise, tiles
from dpexp.engine.lanes.vectormath import exp_single
from dpexp.engine.lanes.vectors import LANES, SINGLES, load, store

RNG = np.random.default_rng(11)


def fused(a, b, c):
    """a b + c rounded once: in float64 the product of two float32 has no error."""
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


def test_arithmetic_of_singles_is_ieee():
    a, b = RNG.standard_normal((2, 1, SINGLES)).astype(np.float32)

    @njit
    def several(out, a, b):
        x, y = load(a, (0,)), load(b, (0,))
        store(out, (0,), x + y)
        store(out, (1,), x - 2.5 * y)
        store(out, (2,), elementwise.where(x > y, x / y, elementwise.sqrt(x * x)))
        store(out, (3,), elementwise.maximum(x, y))

    out = np.empty((4, SINGLES), np.float32)
    several(out, a, b)
    half = np.float32(2.5)
    for got, expected in zip(
        out, (a + b, a - half * b, np.where(a > b, a / b, np.sqrt(a * a)), np.maximum(a, b)), strict=True
    ):
        np.testing.assert_array_equal(got, expected[0])


def test_the_exponential_of_singles():
    x = np.linspace(-87, 88, 160_000, dtype=np.float32).reshape(-1, SINGLES)
    x = np.concatenate([x, np.resize(np.float32([-1e9, -np.inf, np.nan, 0, -88, -1e-8]), (1, SINGLES))])

    @njit
    def all_of(out, x):
        for i in range(len(x)):
            store(out, (i,), exp_single(load(x, (i,))))

    out = np.empty_like(x)
    all_of(out, x)
    exact = np.exp(np.clip(x, -87, 88).astype(np.float64))
    relative = np.abs(out - exact) / exact
    assert np.nanmax(relative) < 1.5 * np.finfo(np.float32).eps
    assert np.array_equal(np.isnan(out), np.isnan(x))
    assert out[-1, 3] == 1


@pytest.mark.parametrize(("dtype", "lanes"), [(np.float32, SINGLES), (np.float64, LANES)])
@pytest.mark.parametrize("classes", [(0, 1, 2, 3, 4), (2, 4), (3,)])
def test_tiles_are_products_in_the_stated_order(dtype, lanes, classes):
    weights, records = (RNG.standard_normal((rows, 3, lanes)).astype(dtype) for rows in (5, 4))
    ks = (0, 1, 2, 3)

    @njit
    def scores(out, weights, records):
        sums = tiles.no_sums(weights, classes, ks)
        for v in range(weights.shape[1]):
            sums = tiles.outer(sums, tiles.rows_at(weights, classes, v), tiles.rows_at(records, ks, v))
        tiles.keep_totals(out, classes, ks[0], sums)

    @njit
    def added(total, slopes, records):
        factors = tiles.spread_at(slopes, classes, ks)
        for v in range(total.shape[1]):
            kept = tiles.weighted(tiles.rows_at(total, classes, v), factors, tiles.rows_at(records, ks, v))
            tiles.keep_rows(total, classes, v, kept)

    out = np.zeros((5, lanes), dtype)
    scores(out, weights, records)
    total = weights.copy()
    added(total, out, records)
    if dtype == np.float64:
        literal = np.einsum("cvl,kvl->ck", weights, records)
        np.testing.assert_allclose(out[list(classes), :4], literal[list(classes)], rtol=1e-13, atol=1e-13)
        moved = weights + np.einsum("ck,kvl->cvl", out[:, :4], records)
        np.testing.assert_allclose(total, moved, rtol=1e-13, atol=1e-13)
        return
    for c in classes:
        for k in ks:
            parts = np.zeros(lanes, dtype)
            for v in range(3):
                parts = np.array([fused(*z) for z in zip(weights[c, v], records[k, v], parts, strict=True)], dtype)
            while len(parts) > 1:
                parts = parts[::2] + parts[1::2]
            assert out[c, k] == parts[0]
        for v, lane in np.ndindex(3, lanes):
            value = weights[c, v, lane]
            for k in ks:
                value = fused(out[c, k], records[k, v, lane], value)
            assert total[c, v, lane] == value
    others = [c for c in range(5) if c not in classes]
    assert not out[others].any()
    assert np.array_equal(total[others], weights[others])
