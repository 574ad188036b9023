"""Lanes: eight replicates side by side, or sixteen numbers of half the size, as one value inside compiled code.

`Real` holds 8 float64, `Bits` 8 uint64, `Mask` 8 truth values, `Single` 16 float32 and `SingleMask` 16 truth values.
Each is one LLVM vector, so that arithmetic written like scalar mathematics is one vector instruction an operation.
Arithmetic is strict IEEE (no contraction or reassociation but where the source has it): the numbers depend neither
on how wide the machine's vectors are, nor on the lane in which a replicate lives.

Scalars mix with lanes and are broadcast. Arrays of lanes are C-contiguous arrays whose last axis has the length of one;
`lanes_empty` makes one that begins where a cache line does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.extending import intrinsic, overload

from dpexp.engine.lanes import elementwise

LANES = 8
"""replicates in a lane group"""
SINGLES = 16
"""float32 numbers in as many bytes"""
VECTOR_BYTES = 64
"""of one value of 8 float64 or 16 float32, and of a cache line"""


def lanes_empty(*shape: int) -> np.ndarray:
    """Uninitialised float64 [*shape, 8]. numpy's arrays begin at multiples of 16 bytes, so that a value of lanes spans
    two cache lines: loops of messages took up to 1.7 times as long."""
    count = math.prod(shape) * LANES
    # one vector more than is needed, so that one of its first eight numbers begins a cache line
    room = np.empty(count + LANES)
    skipped = -room.__array_interface__["data"][0] % VECTOR_BYTES // 8
    return room[skipped : skipped + count].reshape(*shape, LANES)


def lanes_zeros(*shape: int) -> np.ndarray:
    """Zeros [*shape, 8]."""
    zeros = lanes_empty(*shape)
    zeros.fill(0.0)
    return zeros


class LaneType(types.Type):
    """A numba type whose values are LLVM vectors of `count` elements."""

    def __init__(self, name: str, element: ir.Type, count: int = LANES) -> None:
        self.vector = ir.VectorType(element, count)
        self.count = count
        super().__init__(name=f"Lanes({name}, {count})")


Real = LaneType("float64", ir.DoubleType())
Bits = LaneType("uint64", ir.IntType(64))
Mask = LaneType("bool", ir.IntType(1))
Single = LaneType("float32", ir.FloatType(), SINGLES)
SingleMask = LaneType("bool", ir.IntType(1), SINGLES)
SCALARS = {Real: types.float64, Bits: types.uint64, Single: types.float32}
"""lanes of numbers -> the type of one of them"""
LANES_OF = {scalar: lanes for lanes, scalar in SCALARS.items()}


@register_default(LaneType)
class LaneModel(models.PrimitiveModel):
    """Lanes are passed and returned as the vector itself."""

    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, fe_type.vector)


def broadcast(builder, scalar, want=Real):
    """The scalar in every lane of `want`."""
    # into lane 0 first; the shuffle then takes that lane for every one
    vector = ir.VectorType(scalar.type, want.count)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), want.count), [ir.IntType(32)(0)] * want.count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _as_lanes(context, builder, value, have, want):
    """A value of type `have` (lanes or a scalar) as lanes of type `want`."""
    if isinstance(have, LaneType):
        return value
    return broadcast(builder, context.cast(builder, value, have, SCALARS[want]), want)


def _is_number(t: types.Type) -> bool:
    return isinstance(t, types.Number | types.Literal) and not isinstance(t, types.Boolean)


def _operand(a: types.Type, b: types.Type) -> LaneType | None:
    """The lane type on which a binary operation of a and b acts; None where neither is lanes or they do not mix."""
    # two kinds of lanes do not mix, and masks take part in no arithmetic
    lanes = {t for t in (a, b) if isinstance(t, LaneType)}
    if len(lanes) != 1 or not lanes <= SCALARS.keys():
        return None
    return lanes.pop() if all(isinstance(t, LaneType) or _is_number(t) for t in (a, b)) else None


def _define_binary(function: Any, emit: Callable[..., Any], operand: LaneType, result: LaneType | None = None) -> None:
    """Give `function` a meaning on lanes: `emit` builds the instruction, `operand` is the lane type it takes."""

    @intrinsic
    def instruction(typingctx, a, b):
        t = _operand(a, b)

        def codegen(context, builder, signature, args):
            x, y = (_as_lanes(context, builder, v, s, t) for v, s in zip(args, signature.args, strict=True))
            return emit(builder, x, y)

        return (result or t)(a, b), codegen

    @overload(function)
    def on_lanes(a, b):
        if _operand(a, b) is operand:
            return lambda a, b: instruction(a, b)


def _select_by(comparison: str) -> Callable[..., Any]:
    # an ordered comparison with NaN is false, so the second operand is taken there, as of numbers below
    return lambda b, x, y: b.select(b.fcmp_ordered(comparison, x, y), x, y)


_OF_REALS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}
_OF_BITS = {"add": "add", "sub": "sub", "xor": "xor", "and_": "and_", "or_": "or_", "lshift": "shl", "rshift": "lshr"}
"""Python's operators, by their names in `operator`, and LLVM's instructions"""
for _kind, _truth in [(Real, Mask), (Single, SingleMask)]:
    _define_binary(elementwise.minimum, _select_by("<"), _kind)
    _define_binary(elementwise.maximum, _select_by(">"), _kind)
    for _name, _symbol in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        _define_binary(getattr(operator, _name), lambda b, x, y, s=_symbol: b.fcmp_ordered(s, x, y), _kind, _truth)
for _kind, _instructions in [(Real, _OF_REALS), (Single, _OF_REALS), (Bits, _OF_BITS)]:
    for _name, _instruction in _instructions.items():
        _define_binary(getattr(operator, _name), getattr(ir.IRBuilder, _instruction), _kind)
_define_binary(operator.ne, lambda b, x, y: b.icmp_unsigned("!=", x, y), Bits, Mask)


_WIDTHS = {Real: f"v{LANES}f64", Single: f"v{SINGLES}f32"}
"""what LLVM's functions of such vectors end with"""


def _define_unary(function: Any, emit: Callable[..., Any], *operands: LaneType) -> None:
    """The same for functions of one value."""

    @intrinsic
    def instruction(typingctx, a):
        return a(a), lambda context, builder, signature, args: emit(builder, args[0], a)

    @overload(function)
    def on_lanes(a):
        if a in operands:
            return lambda a: instruction(a)


def _of_llvm(builder: Any, name: str, kind: LaneType, *values: Any) -> Any:
    """LLVM's function of that name, of so many lanes of one kind."""
    signature = ir.FunctionType(kind.vector, [kind.vector] * len(values))
    function = cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.{_WIDTHS[kind]}")
    return builder.call(function, values)


_define_unary(operator.neg, lambda builder, x, kind: builder.fneg(x), Real)
_define_unary(elementwise.sqrt, lambda builder, x, kind: _of_llvm(builder, "sqrt", kind, x), Real, Single)


@intrinsic
def times_power(typingctx, value, shifted):
    """value 2^k of float32 lanes, where `shifted` is 1.5 2^23 + k: its low bits are k, which move to the exponent."""

    def codegen(context, builder, signature, args):
        bits = ir.VectorType(ir.IntType(32), SINGLES)
        k = builder.shl(builder.bitcast(args[1], bits), ir.Constant(bits, [23] * SINGLES))
        # the bits of 1.0, with k added to the exponent
        power = builder.add(k, ir.Constant(bits, [0x3F800000] * SINGLES))
        return builder.fmul(args[0], builder.bitcast(power, Single.vector))

    return Single(value, shifted), codegen


@intrinsic
def _select(typingctx, condition, a, b):
    t = _operand(a, b) or (Real if condition is Mask else Single)

    def codegen(context, builder, signature, args):
        x, y = (_as_lanes(context, builder, v, s, t) for v, s in zip(args[1:], signature.args[1:], strict=True))
        return builder.select(args[0], x, y)

    return t(condition, a, b), codegen


@intrinsic
def in_any(typingctx, condition):
    """Whether a condition holds in any lane: one truth value, by which to leave out what no lane needs."""

    def codegen(context, builder, signature, args):
        # a mask is eight bits side by side, which are one integer too
        together = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", together, ir.IntType(LANES)(0))

    return types.boolean(Mask), codegen


@overload(elementwise.where)
def _where(condition, a, b):
    if condition in (Mask, SingleMask) or (condition is types.boolean and _operand(a, b) is not None):
        return lambda condition, a, b: _select(condition, a, b)
    if condition is types.boolean and _is_number(a) and _is_number(b):
        return lambda condition, a, b: a if condition else b


@overload(elementwise.minimum)
def _least_of_numbers(a, b):
    if _is_number(a) and _is_number(b):
        return lambda a, b: a if a < b else b


@overload(elementwise.maximum)
def _largest_of_numbers(a, b):
    if _is_number(a) and _is_number(b):
        return lambda a, b: a if a > b else b


def _same_bits(have: LaneType, want: LaneType) -> Any:
    @intrinsic
    def same_bits(typingctx, a):
        return want(have), lambda context, builder, signature, args: builder.bitcast(args[0], want.vector)

    return same_bits


bits_of, real_of = _same_bits(Real, Bits), _same_bits(Bits, Real)
"""the 64 bits of every real; the reals whose 64 bits these are"""


def _fused(builder, kind=Real):
    """The instruction a b + c, rounded once."""
    return lambda a, b, c: _of_llvm(builder, "fma", kind, a, b, c)


def _coefficients(context, builder, signature, args):
    """The numbers of a tuple, which is the second argument, as lanes like the first."""
    x, numbers = signature.args
    pairs = zip(cgutils.unpack_tuple(builder, args[1]), numbers.types, strict=True)
    return [_as_lanes(context, builder, c, t, x) for c, t in pairs]


@intrinsic
def fused(typingctx, a, b, c):
    """a b + c of lanes of reals or numbers, rounded once on every machine."""

    def codegen(context, builder, signature, args):
        lanes = (_as_lanes(context, builder, v, t, Real) for v, t in zip(args, signature.args, strict=True))
        return _fused(builder)(*lanes)

    return Real(a, b, c), codegen


@intrinsic
def polynomial(typingctx, x, coefficients):
    """c[0] + c[1] x + ... + c[m] x^m of lanes x, for a tuple c of m + 1 >= 2 numbers, by Horner's rule.

    Each multiplication and addition is fused, that is rounded once, on every machine.
    """

    def codegen(context, builder, signature, args):
        # from the highest coefficient down
        *lower, value = _coefficients(context, builder, signature, args)
        for c in reversed(lower):
            value = _fused(builder, x)(value, args[0], c)
        return value

    return x(x, coefficients), codegen


@intrinsic
def wide_polynomial(typingctx, x, coefficients):
    """`polynomial` of degree 3 or more as four polynomials in x^4, which a processor adds up at the same time.

    Where little else can be done meanwhile that takes less than half the time of Horner's rule, for five more
    operations. Sums are fused.
    """

    def codegen(context, builder, signature, args):
        fused, c = _fused(builder, x), _coefficients(context, builder, signature, args)
        square = builder.fmul(args[0], args[0])
        fourth = builder.fmul(square, square)
        parts = [c[k::4] for k in range(4)]
        values = [part[-1] for part in parts]
        for place in range(2, len(parts[0]) + 1):
            # term by term of all four in turn, from the highest: no addition waits for the one before it
            for k, part in enumerate(parts):
                if place <= len(part):
                    values[k] = fused(values[k], fourth, part[-place])
        # with p_k = c[k] + c[k + 4] x^4 + ..., the values, it is (p_0 + x p_1) + x^2 (p_2 + x p_3)
        low, high = (fused(args[0], values[k + 1], values[k]) for k in (0, 2))
        return fused(square, high, low)

    return x(x, coefficients), codegen


@intrinsic
def chebyshev(typingctx, x, coefficients):
    """c[0] + c[1] T_1(x) + ... + c[m] T_m(x) of lanes |x| <= 1, for a tuple c, by Clenshaw's rule, fused."""

    def codegen(context, builder, signature, args):
        fused, (first, *others) = _fused(builder), _coefficients(context, builder, signature, args)
        # b_k = c_k + 2 x b_{k+1} - b_{k+2} from k = m down; what is left is c_0 + x b_1 - b_2
        twice = builder.fadd(args[0], args[0])
        b1 = b2 = ir.Constant(Real.vector, [0.0] * LANES)
        for c in reversed(others):
            b1, b2 = fused(twice, b1, builder.fsub(c, b2)), b1
        return fused(args[0], b1, builder.fsub(first, b2))

    return Real(x, coefficients), codegen


@intrinsic
def _spread(typingctx, a):
    def codegen(context, builder, signature, args):
        return broadcast(builder, context.cast(builder, args[0], signature.args[0], types.float64))

    return Real(a), codegen


reals: Any = _spread
"""reals(a): the number a in every lane"""


@intrinsic
def _first(typingctx, a):
    return SCALARS[a](a), lambda context, builder, signature, args: builder.extract_element(args[0], ir.IntType(32)(0))


def also_of_numbers(function):
    """Let a function of lanes take a number too, as it takes that number in every lane: the bits are the same."""

    @overload(function)
    def of_number(a):
        if _is_number(a):
            # in lanes even of one number: a scalar function of its own could round otherwise
            return lambda a: _first(function(reals(a)))


also_of_numbers(elementwise.sqrt)


def _pointer(context, builder, array_type, array, indices, index_types, want):
    """Address of the elements array[i, j, ...] of a C-contiguous array, as a pointer to lanes."""
    ary = context.make_array(array_type)(context, builder, array)
    intp = context.get_value_type(types.intp)
    shape = cgutils.unpack_tuple(builder, ary.shape, array_type.ndim)
    # row by row: (i n_1 + j) n_2 + k and so on, counted in whole lanes
    offset = intp(0)
    for axis, (index, t) in enumerate(zip(indices, index_types, strict=True)):
        offset = builder.add(builder.mul(offset, shape[axis]), context.cast(builder, index, t, types.intp))
    place = builder.gep(ary.data, [builder.mul(offset, intp(want.count))])
    return builder.bitcast(place, want.vector.as_pointer())


def _aligned(want: LaneType) -> int:
    """Bytes at whose multiples lanes lie for certain: those of one number."""
    return VECTOR_BYTES // want.count


_INPUTS, _STATE = "dpexp inputs", "dpexp state"
"""LLVM's names for the memory that `read` reads, and `load_state`"""


def _scopes(builder, names):
    """These names, as an instruction refers to them."""
    domain = builder.module.add_metadata(["dpexp"])
    return builder.module.add_metadata([builder.module.add_metadata([name, domain]) for name in names])


def _at(context, builder, signature, args, want):
    """Address of the lanes of an array at an index, the first two arguments."""
    array_type, index_types, *_ = signature.args
    indices = cgutils.unpack_tuple(builder, args[1])
    return _pointer(context, builder, array_type, args[0], indices, tuple(index_types), want)


def _loading(*memory: str) -> Any:
    """A load from memory of these names."""

    @intrinsic
    def access(typingctx, array, index):
        want = LANES_OF[array.dtype]

        def codegen(context, builder, signature, args):
            instruction = builder.load(_at(context, builder, signature, args, want), align=_aligned(want))
            # a load with these names and a store that is outside of them may change places
            if memory:
                instruction.set_metadata("alias.scope", _scopes(builder, memory))
            return instruction

        return want(array, index), codegen

    return access


def _storing(*outside: str) -> Any:
    """A store that touches no memory of these names."""

    @intrinsic
    def access(typingctx, array, index, value):
        want = LANES_OF[array.dtype]

        def codegen(context, builder, signature, args):
            pointer = _at(context, builder, signature, args, want)
            lanes = _as_lanes(context, builder, args[2], signature.args[2], want)
            instruction = builder.store(lanes, pointer, align=_aligned(want))
            if outside:
                instruction.set_metadata("noalias", _scopes(builder, outside))
            return context.get_dummy_value()

        return types.none(array, index, value), codegen

    return access


load = _loading()
"""load(array, index): the lanes array[index] of a C-contiguous array whose last axis is lanes; index is a tuple."""
store = _storing()
"""store(array, index, value): write lanes, or a number in every lane, to array[index]."""
read = _loading(_INPUTS)
"""`load` from an array that no `write` or `add` of the same loop touches: the compiler keeps values in registers."""
write = _storing(_INPUTS)
"""`store` to an array from which no `read` of the same loop reads."""
load_state = _loading(_STATE)
"""`load` from an array that a `write` of the same loop may touch, but no `add`."""
_store_sum = _storing(_INPUTS, _STATE)


@njit(nogil=True, forceinline=True)
def add(array, index, value):
    """array[index] += value, for an array from which no `read` or `load_state` of the same loop reads."""
    _store_sum(array, index, load(array, index) + value)
