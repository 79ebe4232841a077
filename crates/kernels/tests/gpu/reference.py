"""Decoders and bounds in numpy, written from the format definitions and independent of the kernels' code."""
import json
import struct

import numpy as np

_NUMPY = {"F32": np.float32, "F16": np.uint16, "BF16": np.uint16, "U8": np.uint8, "U32": np.uint32}
E2M1 = np.float64([0, 0.5, 1, 1.5, 2, 3, 4, 6])
E2M1 = np.concatenate([E2M1, -E2M1])


def load(path):
    """A safetensors file; f16 and bf16 as uint16 bit patterns."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[8 + length + begin : 8 + length + end], _NUMPY[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def _e4m3():
    table = np.empty(256)
    for code in range(256):
        exponent, mantissa = code >> 3 & 15, code & 7
        value = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
        table[code] = np.nan if code & 127 == 127 else (-value if code & 128 else value)
    return table


E4M3 = _e4m3()
E8M0 = np.concatenate([2.0 ** (np.arange(255) - 127.0), [np.nan]])


def widen(bits, dtype):
    """Bit patterns to f64."""
    if dtype == "f32":
        return bits.astype(np.float64)
    if dtype == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def narrow(values, dtype):
    """f32 values to bit patterns, round to nearest even."""
    values = np.asarray(values, np.float32)
    if dtype == "f32":
        return values
    if dtype == "f16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16)
    bits = values.view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), rounded)


def differing(a, b, dtype=None):
    """How many elements differ in bits; any NaN equals any NaN where `dtype` names a float type."""
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    different = np.ascontiguousarray(a).view(unsigned) != np.ascontiguousarray(b).view(unsigned)
    if dtype is not None:
        different &= ~(np.isnan(widen(a, dtype)) & np.isnan(widen(b, dtype)))
    return int(different.sum())


def unpack(packed, bits):
    """Codes of a (rows, words) array of little-endian bit streams."""
    stream = np.unpackbits(np.ascontiguousarray(packed).view(np.uint8).reshape(packed.shape[0], -1), axis=1, bitorder="little")
    return (stream.reshape(packed.shape[0], -1, bits) * (1 << np.arange(bits))).sum(-1)


def block_weight(fmt, packed, scales):
    """f64 values of a block-format matrix, without a global scale."""
    bits, group = (8, 32) if fmt == "mxfp8" else (4, 16 if fmt == "nvfp4" else 32)
    elements = (E4M3 if fmt == "mxfp8" else E2M1)[unpack(packed, bits)]
    return elements * np.repeat((E4M3 if fmt == "nvfp4" else E8M0)[scales], group, axis=1)


def affine_weight(bits, group, dtype, packed, scales, biases):
    """f64 values of an affine matrix: two roundings to `dtype`."""
    codes = unpack(packed, bits).astype(np.float32)
    scale = np.repeat(widen(scales, dtype), group, axis=1).astype(np.float32)
    bias = np.repeat(widen(biases, dtype), group, axis=1).astype(np.float32)
    product = widen(narrow(codes * scale, dtype), dtype).astype(np.float32)
    return widen(narrow(product + bias, dtype), dtype)


def half_ulp(values, dtype):
    """Half the distance between neighbours of `dtype` around f64 values."""
    mantissa, lowest = {"f32": (24, -126), "f16": (11, -14), "bf16": (8, -126)}[dtype]
    exponent = np.maximum(np.frexp(np.abs(values))[1] - 1, lowest)
    return np.ldexp(1.0, exponent - mantissa)


def worst(y, x, weight, dtype, multiplier=1.0):
    """Largest |y - y64| over its bound 2 k 2^-23 |multiplier| sum |x w| + half an ulp; weight is (n, k)."""
    exact = multiplier * (x @ weight.T)
    bound = 2 * x.shape[-1] * 2.0**-23 * abs(multiplier) * (np.abs(x) @ np.abs(weight).T)
    bound = bound + half_ulp(np.abs(exact) + bound, dtype)
    error = np.abs(widen(y, dtype) - exact)
    ratio = error / bound
    return float("inf") if np.isnan(ratio).any() else float(ratio.max())
