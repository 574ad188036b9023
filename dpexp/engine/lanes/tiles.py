"""Tiles: the products of a few vectors with a few others, held in registers while a loop runs over their coordinates.

A product of small matrices is fast where every number that is loaded is used several times. A tile of 4 records and 5
classes loads 9 vectors for 20 multiplications, and its 20 sums stay in registers. Each intrinsic takes its rows as a
tuple of numbers, so one source serves tiles of any size. All arrays have lanes as their last axis
(`dpexp.engine.lanes.vectors`); every product and sum is fused, and sums run in one fixed order, so that every machine
returns the same bits.
"""

from __future__ import annotations

import math

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dpexp.engine.lanes.vectors import LANES_OF, _aligned, _fused, _pointer, broadcast


def _many(lanes, *tuples):
    """The type of a tuple with one lanes value for each combination of the tuples' elements."""
    # how long they are is part of their types, so that a tile of another size is another compilation
    return types.UniTuple(lanes, math.prod(map(len, tuples)))


@intrinsic
def no_sums(typingctx, array, first, second):
    """Zeros for each pair of an element of `first` and one of `second`, of the array's kind of lanes."""
    lanes = LANES_OF[array.dtype]
    many = _many(lanes, first, second)

    def codegen(context, builder, signature, args):
        zero = ir.Constant(lanes.vector, [0.0] * lanes.count)
        return context.make_tuple(builder, many, [zero] * len(many))

    return many(array, first, second), codegen


@intrinsic
def rows_at(typingctx, array, rows, column):
    """The lanes array[row, column] of each of the rows."""
    lanes = LANES_OF[array.dtype]
    many = _many(lanes, rows)

    def codegen(context, builder, signature, args):
        kind, array, place = signature.args
        rows = [
            builder.load(
                _pointer(context, builder, kind, args[0], (row, args[2]), (array.dtype, place), lanes),
                align=_aligned(lanes),
            )
            for row in cgutils.unpack_tuple(builder, args[1])
        ]
        return context.make_tuple(builder, many, rows)

    return many(array, rows, column), codegen


@intrinsic
def keep_rows(typingctx, array, rows, column, values):
    """Write each of the values to array[row, column] of its row."""
    lanes = LANES_OF[array.dtype]

    def codegen(context, builder, signature, args):
        kind, array, place, _ = signature.args
        for row, value in zip(
            cgutils.unpack_tuple(builder, args[1]), cgutils.unpack_tuple(builder, args[3]), strict=True
        ):
            where = _pointer(context, builder, kind, args[0], (row, args[2]), (array.dtype, place), lanes)
            builder.store(value, where, align=_aligned(lanes))
        return context.get_dummy_value()

    return types.none(array, rows, column, values), codegen


def _element(context, builder, array_type, array, i, j):
    """Address of the number array[i, j] of a C-contiguous array with two axes."""
    ary = context.make_array(array_type)(context, builder, array)
    width = cgutils.unpack_tuple(builder, ary.shape, 2)[1]
    return builder.gep(ary.data, [builder.add(builder.mul(i, width), j)])


@intrinsic
def spread_at(typingctx, array, first, second):
    """The number array[i, j] in every lane, for each pair of an element i of `first` and j of `second`."""
    lanes = LANES_OF[array.dtype]
    many = _many(lanes, first, second)

    def codegen(context, builder, signature, args):
        rows, columns = (cgutils.unpack_tuple(builder, a) for a in args[1:])
        # one load and one broadcast for each, of a number that lies alone among others
        place = [_element(context, builder, signature.args[0], args[0], i, j) for i in rows for j in columns]
        return context.make_tuple(builder, many, [broadcast(builder, builder.load(p), lanes) for p in place])

    return many(array, first, second), codegen


@intrinsic
def outer(typingctx, sums, first, second):
    """sums + a b for each pair of an element a of `first` and b of `second`, in the order of `no_sums`."""
    lanes = first.dtype

    def codegen(context, builder, signature, args):
        fused = _fused(builder, lanes)
        old, first, second = (cgutils.unpack_tuple(builder, a) for a in args)
        # a loaded vector stays in its register for all its products
        pairs = [(a, b) for a in first for b in second]
        new = [fused(a, b, s) for s, (a, b) in zip(old, pairs, strict=True)]
        return context.make_tuple(builder, signature.return_type, new)

    return sums(sums, first, second), codegen


@intrinsic
def weighted(typingctx, sums, factors, values):
    """Each of the sums plus the values times its factors, one after the other; `factors` as `spread_at` gives them."""
    lanes = values.dtype

    def codegen(context, builder, signature, args):
        fused = _fused(builder, lanes)
        sums, weights, terms = (cgutils.unpack_tuple(builder, a) for a in args)
        # one term after the other: the order of a sum is the same on every machine
        for k, own in enumerate(sums):
            for weight, term in zip(weights[k * len(terms) : (k + 1) * len(terms)], terms, strict=True):
                own = fused(weight, term, own)
            sums[k] = own
        return context.make_tuple(builder, signature.return_type, sums)

    return sums(sums, factors, values), codegen


def _neighbours(builder, a, b, count):
    """Sums of `count` pairs of neighbours: those of a, then those of b."""
    even, odd = ([ir.IntType(32)(k) for k in range(start, 2 * count, 2)] for start in (0, 1))
    kind = ir.VectorType(ir.IntType(32), count)
    return builder.fadd(*(builder.shuffle_vector(a, b, ir.Constant(kind, mask)) for mask in (even, odd)))


@intrinsic
def keep_totals(typingctx, array, first, place, sums):
    """Write the total of the lanes of each sum to array[i, place + k], for i of `first` and the k-th of its sums.

    Each i has four sums (`no_sums` with four elements in `second`).
    """
    lanes = sums.dtype

    def codegen(context, builder, signature, args):
        sums = cgutils.unpack_tuple(builder, args[3])
        for n, i in enumerate(cgutils.unpack_tuple(builder, args[1])):
            a, b, c, d = sums[4 * n : 4 * n + 4]
            count = lanes.count
            # Neighbours are added, then neighbours of these sums, and so on: 15 instructions for four totals in place
            # of 8 for each. Here a quarter of the lanes is left for each of a, b, c, d.
            total = _neighbours(builder, _neighbours(builder, a, b, count), _neighbours(builder, c, d, count), count)
            while count > 4:
                count //= 2
                total = _neighbours(builder, total, total, count)
            where = _element(context, builder, signature.args[0], args[0], i, args[2])
            builder.store(total, builder.bitcast(where, total.type.as_pointer()), align=_aligned(lanes))
        return context.get_dummy_value()

    return types.none(array, first, place, sums), codegen
