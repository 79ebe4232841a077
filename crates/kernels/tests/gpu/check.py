"""Runs the kernels on the present GPU and compares them with vectors and with f64.

    cmake -S crates/kernels -B build -DBLOCKGATE_CUDA_ARCHITECTURES=90a -DBLOCKGATE_SHARED=ON
    cmake --build build
    python crates/kernels/tests/gpu/check.py --library build/libblockgate_shared.so --vectors FOLDER --list 90a --toolkit 13.0.88 --record run.json

The vectors are safetensors files (MLX's outputs on CPU and
on an NVIDIA GPU, with the model of its CUDA kernels). Needs numpy and torch with CUDA. Exit status: 0 everything
agrees, 1 something differs, 3 there is no GPU, so nothing was checked. What is left out is printed and counted. `--quick` leaves out the sizes beyond 2^31
elements and the timings. `--sanitizer` also keeps the products small, for a run under compute-sanitizer:

    compute-sanitizer --tool memcheck --error-exitcode 7 python check.py --sanitizer ...
"""
import argparse
import hashlib
import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import torch

import abi
import reference as ref
from abi import BITS, FORMATS, GROUP, KN, NK

DTYPES = abi.DTYPES


class Report:
    """One row per case. A case holds if nothing differs, or if the worst error is within its bound."""

    def __init__(self):
        self.cases = []
        self.skipped = {}

    def skip(self, name, reason):
        """A check that is left out: printed once, counted, and kept in the record."""
        if name not in self.skipped:
            print(f"SKIPPED {name}: {reason}", flush=True)
        self.skipped[name] = reason

    def bits(self, name, compared, different):
        self._add({"case": name, "compared": int(compared), "different": int(different), "holds": different == 0 and compared > 0})

    def bound(self, name, compared, ratio):
        self._add({"case": name, "compared": int(compared), "worst_over_bound": round(ratio, 6), "holds": ratio <= 1.0})

    def fact(self, name, found, expected):
        self._add({"case": name, "found": found, "expected": expected, "holds": found == expected})

    def _add(self, case):
        case["holds"] = bool(case["holds"])
        self.cases.append(case)
        if not case["holds"]:
            print("DIFFERS", json.dumps(case), flush=True)


def check_quantize(kernels, vectors, report):
    gpu = ref.load(vectors / "mlx_cuda_sm90.safetensors")
    for dtype in DTYPES:
        for fmt in FORMATS:
            data = ref.load(vectors / f"{fmt}_{dtype}.safetensors")
            for part in ("", "sub_", "special_"):
                if part + "x" not in data:
                    report.skip(f"quantize {fmt} {dtype} {part}", "the vectors have no such part")
                    continue
                x = data[part + "x"]
                packed, scales = kernels.quantize(fmt, dtype, x)
                for name, got, key in (("words", packed, "q"), ("scales", scales, "s")):
                    want = gpu[f"{fmt}_{dtype}_{part}{key}"]
                    report.bits(f"quantize {fmt} {dtype} {part}{name}, MLX on sm_90a", want.size, ref.differing(got, want))
                # The model has the scale byte 0xfe for an infinite group, as the hardware conversion is documented.
                # The kernels write 0xff on every architecture, so those groups are compared with MLX's GPU output only.
                finite = ~np.isinf(ref.widen(x, dtype).reshape(x.shape[0], -1, GROUP[fmt])).any(-1)
                keep = finite if fmt != "nvfp4" else np.ones_like(finite)
                words = packed.reshape(*scales.shape, -1)
                want = data[part + "cuda_q"].reshape(words.shape)
                report.bits(f"quantize {fmt} {dtype} {part}words, model", words[keep].size, ref.differing(words[keep], want[keep]))
                report.bits(f"quantize {fmt} {dtype} {part}scales, model", keep.sum(),
                            ref.differing(scales[keep], data[part + "cuda_s"][keep]))
                values = kernels.dequantize(fmt, dtype, data[part + "cuda_q"], data[part + "cuda_s"])
                report.bits(f"dequantize {fmt} {dtype} {part}", x.size, ref.differing(values, data[part + "cuda_dq"], dtype))
                for in_place in (False, True):
                    round_trip = kernels.quantize_dequantize(fmt, dtype, x, in_place=in_place)
                    values = kernels.dequantize(fmt, dtype, packed, scales)
                    report.bits(f"quantize-dequantize {fmt} {dtype} {part}{'in place' if in_place else 'to a copy'}", x.size,
                                ref.differing(round_trip, values, dtype))
        data = ref.load(vectors / f"nvfp4_global_{dtype}.safetensors")
        for part in ("gA_", "gB_"):
            amax = data[part + "global_scale"][0]
            packed, scales = kernels.quantize("nvfp4", dtype, data["x"], amax)
            for name, got, key in (("words", packed, "q"), ("scales", scales, "s")):
                for source, want in (("model", data[f"{part}cuda_{key}"]),
                                     ("MLX on sm_90a", gpu[f"nvfp4_global_{dtype}_{part}{key}"])):
                    report.bits(f"quantize nvfp4 {dtype} {part}{name}, {source}", want.size, ref.differing(got, want))
            values = kernels.dequantize("nvfp4", dtype, packed, scales, amax, abi.AMAX)
            report.bits(f"dequantize nvfp4 {dtype} {part}", values.size, ref.differing(values, data[part + "cuda_dq"], dtype))
            multiplier = np.float32(amax) / np.float32(2688)
            values = kernels.dequantize("nvfp4", dtype, packed, scales, multiplier, abi.MULTIPLIER)
            report.bits(f"dequantize nvfp4 {dtype} {part}multiplier", values.size, ref.differing(values, data[part + "cuda_dq"], dtype))
            values = kernels.quantize_dequantize("nvfp4", dtype, data["x"], amax)
            report.bits(f"quantize-dequantize nvfp4 {dtype} {part}", values.size, ref.differing(values, data[part + "cuda_qdq"], dtype))


def check_dequantize(kernels, vectors, report):
    data = ref.load(vectors / "dequant_all_scales.safetensors")
    for dtype in DTYPES:
        for fmt in FORMATS:
            values = kernels.dequantize(fmt, dtype, data[f"{fmt}_q"], data[f"{fmt}_s"])
            report.bits(f"dequantize {fmt} {dtype}, every scale byte", values.size,
                        ref.differing(values, data[f"{fmt}_cuda_{dtype}"], dtype))
        if f"nvfp4_g_cuda_{dtype}" in data:
            values = kernels.dequantize("nvfp4", dtype, data["nvfp4_q"], data["nvfp4_s"], data["nvfp4_g_global_scale"][0], abi.AMAX)
            report.bits(f"dequantize nvfp4 {dtype}, every scale byte, global scale", values.size,
                        ref.differing(values, data[f"nvfp4_g_cuda_{dtype}"], dtype))
        else:
            report.skip(f"dequantize nvfp4 {dtype}, every scale byte, global scale", "the vectors have no such part")
        data_affine = ref.load(vectors / f"affine_{dtype}.safetensors")
        for bits in (2, 3, 4, 5, 6, 8):
            for group in (32, 64, 128):
                key = f"b{bits}_g{group}_"
                packed, scales, biases = (data_affine[key + part] for part in "qsb")
                values = kernels.affine_dequantize(bits, group, dtype, packed, scales, biases)
                report.bits(f"dequantize affine {bits} bits, group {group}, {dtype}", values.size,
                            ref.differing(values, data_affine[key + "dq"], dtype))


def check_scales(kernels, vectors, report):
    data = ref.load(vectors / "swizzle.safetensors")
    for name in data:
        if name.startswith("s_"):
            tiled = kernels.tile_scales(data[name])
            report.bits(f"tile scales {name[2:]}", tiled.size, ref.differing(tiled, data["tiled_" + name[2:]]))
    rng = np.random.default_rng(3)
    for shape in ((1, 16), (33, 64), (128, 64), (130, 80), (200, 1040)):
        scales = rng.integers(1, 256, (shape[0], shape[1] // 16), np.uint8)
        rows, columns = scales.shape
        r, c = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        offset = (r // 128 * -(-columns // 4) + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4
        want = np.zeros(-(-rows // 128) * 128 * -(-columns // 4) * 4, np.uint8)
        want[offset] = scales
        report.bits(f"tile scales of {shape[0]} x {shape[1]} nvfp4", want.size, ref.differing(kernels.tile_scales(scales).reshape(-1), want))
    data = ref.load(vectors / "global_scale.safetensors")
    pairs = list(zip(data["alpha_x"], data["alpha_w"]))[:256]
    got = np.array([kernels.factors(*pair) for pair in pairs])
    report.bits("alpha", len(pairs), ref.differing(got[:, 0], data["alpha"].view(np.uint32)[: len(pairs)]))
    report.fact("beta", sorted(set(got[:, 1].tolist())), [0])
    report.fact("factors without global scales", kernels.factors(None, None).tolist(), [0x3F800000, 0])


def random_block(rng, fmt, rows, columns):
    """Any codes, and scales of moderate size, so that f16 results stay finite."""
    packed = rng.integers(0, 2**32, (rows, columns * BITS[fmt] // 32), np.uint32)
    if fmt == "mxfp8":
        codes = packed.view(np.uint8)
        codes[codes & 127 == 127] = 0x38
    low, high = (0x20, 0x40) if fmt == "nvfp4" else (118, 124) if fmt == "mxfp4" else (110, 118)
    return packed, rng.integers(low, high, (rows, columns // GROUP[fmt])).astype(np.uint8)


def activations(rng, dtype, *shape):
    return ref.narrow(rng.standard_normal(shape).astype(np.float32), dtype)


# Ragged on every side: n below 8, k = 16 mod 32, m around the tiles and the four rows of the mat-vec.
SHAPES = [(1, 1, 32), (1, 7, 64), (2, 8, 96), (3, 9, 544), (4, 5, 608), (5, 65, 32), (7, 64, 256), (8, 63, 992), (9, 130, 96),
          (16, 1, 1024), (17, 33, 64), (33, 129, 352), (64, 64, 512), (65, 200, 736), (130, 67, 2048), (1, 4096, 5376), (33, 1000, 5376)]
NVFP4_SHAPES = [(1, 3, 16), (2, 7, 48), (3, 8, 528), (5, 66, 560), (17, 70, 592), (33, 9, 624), (66, 131, 1040)]
KN_SHAPES = [(1, 32, 1), (2, 32, 7), (3, 64, 31), (5, 96, 33), (17, 160, 65), (33, 544, 100), (65, 608, 257), (64, 1024, 512)]


def within(report, name, shapes, largest):
    """The shapes whose product is not too large for this run; the others are reported."""
    for m, n, k in shapes:
        if m * n * k <= largest:
            yield m, n, k
        else:
            report.skip(f"{name} {m}x{n}x{k}", f"more than {largest} products, too slow under a sanitizer")


def check_block_matmul(kernels, report, largest):
    rng = np.random.default_rng(11)
    for dtype in DTYPES:
        for fmt in FORMATS:
            shapes = SHAPES + (NVFP4_SHAPES if fmt == "nvfp4" else [])
            worst = {}
            for m, n, k in within(report, f"matmul {fmt} {dtype} nk", shapes, largest):
                x = activations(rng, dtype, m, k)
                packed, scales = random_block(rng, fmt, n, k)
                weight, wide = ref.block_weight(fmt, packed, scales), ref.widen(x, dtype)
                forms = [(None, abi.NONE, 1.0)]
                if fmt == "nvfp4":
                    amax = np.float32(1.7)
                    multiplier = np.float32(amax) / np.float32(2688)
                    forms += [(amax, abi.AMAX, float(multiplier)), (multiplier, abi.MULTIPLIER, float(multiplier))]
                for value, form, factor in forms:
                    for kind in ("qmv", "qmm"):
                        if kind == "qmv" and m > 17:
                            report.skip(f"qmv {fmt} {dtype} {m}x{n}x{k}", "mat-vecs are for few rows; qmm has this shape")
                            continue
                        y = kernels.fp_matmul(kind, fmt, dtype, x, packed, scales, n, NK, value, form)
                        again = kernels.fp_matmul(kind, fmt, dtype, x, packed, scales, n, NK, value, form)
                        if ref.differing(y, again):
                            report.bits(f"{kind} {fmt} {dtype} {m}x{n}x{k} twice", y.size, ref.differing(y, again))
                        compared, ratio = worst.get((kind, form), (0, 0.0))
                        worst[kind, form] = compared + y.size, max(ratio, ref.worst(y, wide, weight, dtype, factor))
            for (kind, form), (compared, ratio) in worst.items():
                report.bound(f"{kind} {fmt} {dtype} nk, global scale form {form}", compared, ratio)
            total, ratio = 0, 0.0
            shapes = KN_SHAPES + ([(3, 16, 5), (5, 48, 17), (65, 528, 40)] if fmt == "nvfp4" else [])
            for m, n, k in within(report, f"matmul {fmt} {dtype} kn", shapes, largest):
                x = activations(rng, dtype, m, k)
                packed, scales = random_block(rng, fmt, k, n)
                y = kernels.fp_matmul("qmm", fmt, dtype, x, packed, scales, n, KN)
                total += y.size
                ratio = max(ratio, ref.worst(y, ref.widen(x, dtype), ref.block_weight(fmt, packed, scales).T, dtype))
            report.bound(f"qmm {fmt} {dtype} kn", total, ratio)


def random_affine(rng, bits, group, dtype, rows, columns):
    packed = rng.integers(0, 2**32, (rows, columns * bits // 32), np.uint32)
    shape = rows, columns // group
    scales = ref.narrow(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape) / 2**bits, dtype)
    return packed, scales, ref.narrow(rng.uniform(-0.6, 0.6, shape), dtype)


def check_affine_matmul(kernels, report, largest):
    rng = np.random.default_rng(12)
    for dtype in DTYPES:
        for bits in (2, 3, 4, 5, 6, 8):
            for group in (32, 64, 128):
                results = {"qmv nk": (0, 0.0), "qmm nk": (0, 0.0), "qmm kn": (0, 0.0)}
                shapes = ((1, 1, 1), (1, 7, 3), (2, 8, 2), (5, 9, 1), (9, 66, 5), (33, 130, 3), (65, 63, 7))
                name = f"matmul affine {bits} bits, group {group}, {dtype}, k in groups,"
                for m, n, k in within(report, name, shapes, largest // group):
                    x = activations(rng, dtype, m, k * group)
                    weight = random_affine(rng, bits, group, dtype, n, k * group)
                    exact = ref.affine_weight(bits, group, dtype, *weight)
                    for kind in ("qmv", "qmm"):
                        y = kernels.affine_matmul(kind, bits, group, dtype, x, *weight, n)
                        compared, ratio = results[kind + " nk"]
                        results[kind + " nk"] = compared + y.size, max(ratio, ref.worst(y, ref.widen(x, dtype), exact, dtype))
                    # The other orientation: n becomes k, which then need not be a multiple of anything.
                    x = activations(rng, dtype, m, n)
                    y = kernels.affine_matmul("qmm", bits, group, dtype, x, *weight, k * group, KN)
                    compared, ratio = results["qmm kn"]
                    results["qmm kn"] = compared + y.size, max(ratio, ref.worst(y, ref.widen(x, dtype), exact.T, dtype))
                for kind, (compared, ratio) in results.items():
                    report.bound(f"{kind} affine {bits} bits, group {group}, {dtype}", compared, ratio)


def check_batches(kernels, report):
    rng = np.random.default_rng(13)
    m, n, k, batch = 3, 37, 96, 5
    for kind in ("qmv", "qmm"):
        x = activations(rng, "bf16", batch, m, k)
        parts = [random_block(rng, "mxfp4", n, k) for _ in range(batch)]
        packed, scales = (np.stack(p) for p in zip(*parts))
        alone = np.stack([kernels.fp_matmul(kind, "mxfp4", "bf16", x[b], *parts[b], n) for b in range(batch)])
        together = kernels.fp_matmul(kind, "mxfp4", "bf16", x, packed, scales, n)
        report.bits(f"{kind} of a batch", alone.size, ref.differing(alone, together))
        shared = abi.Matmul(m, n, k, batch, m * k, 0, 0, m * n)
        alone = np.stack([kernels.fp_matmul(kind, "mxfp4", "bf16", x[b], *parts[0], n) for b in range(batch)])
        together = kernels.fp_matmul(kind, "mxfp4", "bf16", x, *parts[0], n, shape=shared)
        report.bits(f"{kind} of a batch that shares its weight", alone.size, ref.differing(alone, together))
    weight = np.stack([np.stack(random_affine(rng, 4, 32, "f16", n, k)[:1])[0] for _ in range(batch)])
    scales = np.stack([random_affine(rng, 4, 32, "f16", n, k)[1] for _ in range(batch)])
    biases = np.stack([random_affine(rng, 4, 32, "f16", n, k)[2] for _ in range(batch)])
    x = activations(rng, "f16", batch, m, k)
    for kind in ("qmv", "qmm"):
        alone = np.stack([kernels.affine_matmul(kind, 4, 32, "f16", x[b], weight[b], scales[b], biases[b], n) for b in range(batch)])
        together = kernels.affine_matmul(kind, 4, 32, "f16", x, weight, scales, biases, n)
        report.bits(f"{kind} of an affine batch", alone.size, ref.differing(alone, together))


def check_known_values(kernels, report):
    """Blocks whose right answer is known by hand."""
    def quantize(fmt, values):
        packed, scales = kernels.quantize(fmt, "f32", np.float32([values]))
        return packed.view(np.uint8)[0].tobytes().hex(), scales[0].tobytes().hex()

    report.fact("mxfp8 scale rounds up", quantize("mxfp8", [4.8046875, 4.00390625] + [0] * 30), ("7a78" + "00" * 30, "79"))
    report.fact("mxfp4 scale rounds up", quantize("mxfp4", [7, 1] * 16), ("16" * 16, "80"))
    codes = ref.E2M1.astype(np.float32).tolist()
    codes[8] = -0.0
    report.fact("all E2M1 codes, nvfp4", quantize("nvfp4", codes), ("1032547698badcfe", "38"))
    report.fact("all E2M1 codes, mxfp4", quantize("mxfp4", codes * 2), ("1032547698badcfe" * 2, "7f"))
    report.fact("just above the smallest midpoint", quantize("mxfp4", [6, 0.25000006, 0.25] + [0] * 29), ("17" + "00" * 15, "7f"))
    report.fact("amax in f32", quantize("mxfp8", [448.001] + [0] * 31)[1], "80")
    report.fact("nvfp4 group of zeros", quantize("nvfp4", [0] * 16), ("77" * 8, "00"))
    report.fact("nibble order", kernels.dequantize("nvfp4", "f32", np.uint32([[0x17, 0]]), np.uint8([[0x38]]))[0, :2].tolist(), [6.0, 0.5])
    smallest = kernels.dequantize("mxfp8", "f32", np.full((1, 8), 0x38383838, np.uint32), np.uint8([[0]]))
    report.fact("E8M0 byte 0", sorted(set(smallest.view(np.uint32)[0].tolist())), [0x00400000])
    # A mat-vec with few outputs, every code 1.0 and every scale 1.
    for n in range(1, 10):
        for kind in ("qmv", "qmm"):
            y = kernels.fp_matmul(kind, "mxfp4", "f32", np.ones((1, 512), np.float32), np.full((n, 64), 0x22222222, np.uint32),
                                  np.full((n, 16), 127, np.uint8), n)
            report.fact(f"{kind} with {n} outputs", sorted(set(y[0].tolist())), [512.0])
    # A global scale must count for one row as for two.
    packed, scales = kernels.quantize("nvfp4", "f32", np.float32([[12] + [1] * 15]), 12.0)
    report.fact("nvfp4 block under a global scale", (packed.view(np.uint8).tobytes().hex(), scales.tobytes().hex()), ("17" + "11" * 7, "7e"))
    # f32(12 / 2688) is not exact, so the sum of 6 * 448 and 15 times 0.5 * 448 is not quite 27 either.
    want = float(np.float32(6048) * (np.float32(12) / np.float32(2688)))
    for kind in ("qmv", "qmm"):
        rows = [kernels.fp_matmul(kind, "nvfp4", "f32", np.ones((m, 16), np.float32), packed, scales, 1, NK, 12.0, abi.AMAX) for m in (1, 2)]
        report.fact(f"{kind} applies the global scale for every m", sorted({float(v) for y in rows for v in y.ravel()}), [want])


def check_control(kernels, report):
    rng = np.random.default_rng(4)
    a, b = (rng.integers(0, 0x60, (rows, 32), np.uint8) for rows in (16, 8))
    d = abi.blank(16 * 8 * 4)
    kernels.lib.blockgate_control_product(*(kernels._argument(v) for v in (abi.up(a), abi.up(b), d)), None)
    exact = ref.E4M3[a] @ ref.E4M3[b].T
    error = np.abs(abi.down(d, np.float32, (16, 8)) - exact).max()
    report.bound("control product", exact.size, float(error / (np.abs(exact).max() * 2.0**-18)))


def check_statuses(kernels, report):
    bytes_ = abi.blank(4096)
    none = kernels.global_scale(None, abi.NONE)
    amax = kernels.global_scale(bytes_, abi.AMAX)
    shape = abi.Matmul(1, 8, 32, 1, 0, 0, 0, 0)
    rows = [
        ("stochastic on this image", "STOCHASTIC_UNAVAILABLE", "blockgate_quantize_stochastic", 0, 0, bytes_, 1, 16, None, 1, 2, bytes_, bytes_),
        ("stochastic mxfp8", "UNSUPPORTED_FORMAT", "blockgate_quantize_stochastic", 2, 0, bytes_, 1, 32, None, 1, 2, bytes_, bytes_),
        ("unknown format", "INVALID_ARGUMENT", "blockgate_quantize", 3, 0, bytes_, 1, 32, None, bytes_, bytes_),
        ("unknown dtype", "INVALID_ARGUMENT", "blockgate_quantize", 0, 3, bytes_, 1, 32, None, bytes_, bytes_),
        ("k no multiple of the group", "INVALID_SHAPE", "blockgate_quantize", 1, 0, bytes_, 1, 48, None, bytes_, bytes_),
        ("negative rows", "INVALID_SHAPE", "blockgate_quantize", 1, 0, bytes_, -1, 32, None, bytes_, bytes_),
        ("more than can be counted", "TOO_LARGE", "blockgate_quantize", 1, 0, bytes_, 2**62, 32, None, bytes_, bytes_),
        ("more blocks than a grid has", "TOO_LARGE", "blockgate_quantize", 1, 0, bytes_, 2**50, 32, None, bytes_, bytes_),
        ("misaligned x", "MISALIGNED", "blockgate_quantize", 0, 0, bytes_[4:], 1, 16, None, bytes_, bytes_),
        ("null x", "INVALID_ARGUMENT", "blockgate_quantize", 0, 0, None, 1, 16, None, bytes_, bytes_),
        ("null scales", "INVALID_ARGUMENT", "blockgate_quantize", 0, 0, bytes_, 1, 16, None, bytes_, None),
        ("no rows", "OK", "blockgate_quantize", 0, 0, None, 0, 16, None, None, None),
        ("global scale for mxfp4", "INVALID_GLOBAL_SCALE", "blockgate_quantize", 1, 0, bytes_, 1, 32, bytes_, bytes_, bytes_),
        ("global scale for mxfp8 weights", "INVALID_GLOBAL_SCALE", "blockgate_dequantize", 2, 0, bytes_, bytes_, 1, 32, amax, bytes_),
        ("seven bits", "UNSUPPORTED_FORMAT", "blockgate_affine_dequantize", 7, 32, 0, bytes_, bytes_, bytes_, 1, 32, bytes_),
        ("group 48", "UNSUPPORTED_FORMAT", "blockgate_affine_dequantize", 4, 48, 0, bytes_, bytes_, bytes_, 1, 96, bytes_),
        ("one amax of two", "INVALID_GLOBAL_SCALE", "blockgate_qqmm_factors", bytes_, None, bytes_, bytes_),
        ("unknown layout", "INVALID_ARGUMENT", "blockgate_fp_qmm", shape, 2, 0, 0, bytes_, bytes_, bytes_, none, bytes_),
        ("empty sum", "INVALID_SHAPE", "blockgate_fp_qmv", abi.Matmul(1, 8, 0, 1, 0, 0, 0, 0), 0, 0, bytes_, bytes_, bytes_, none, bytes_),
        ("batch that overwrites itself", "INVALID_SHAPE", "blockgate_fp_qmv", abi.Matmul(1, 8, 32, 2, 32, 32, 8, 0), 1, 0, bytes_, bytes_, bytes_, none, bytes_),
        ("batch that splits a group", "MISALIGNED", "blockgate_fp_qmv", abi.Matmul(1, 8, 32, 2, 32, 3, 8, 8), 1, 0, bytes_, bytes_, bytes_, none, bytes_),
    ]
    for name, want, *call in rows:
        report.fact(name, kernels.status(*call), "BLOCKGATE_" + want)


def check_large(kernels, report):
    """Offsets beyond 2^31 elements: the far end must equal a small run of the same rows."""
    columns, period = 32768, 64
    rows = 2**31 // columns + period
    x = torch.randn(period, columns, device="cuda").to(torch.bfloat16)
    big = x.repeat(rows // period, 1)
    packed, scales = (torch.full((rows * columns // d,), abi.POISON, dtype=torch.uint8, device="cuda") for d in (2, 16))
    kernels.call("blockgate_quantize", 0, 2, big, rows, columns, None, packed, scales)
    small = kernels.quantize("nvfp4", "bf16", x.view(torch.uint16).cpu().numpy())
    for name, got, want in (("words", packed, small[0]), ("scales", scales, small[1])):
        want = abi.up(want)
        report.bits(f"quantize of {big.numel()} elements, {name}", got.numel(), int((got.view(-1, want.numel()) != want).sum()))
    y = torch.full_like(big, -1.0)
    kernels.call("blockgate_dequantize", 0, 2, packed, scales, rows, columns, kernels.global_scale(None, abi.NONE), y)
    want = y[:period].clone()
    report.bits(f"dequantize of {big.numel()} elements", y.numel(), int((y.view(-1, period, columns) != want).sum()))
    del big, packed, scales, y

    rows, columns = 2**21 + 128, 1024
    scales = torch.randint(0, 256, (rows, columns), dtype=torch.uint8, device="cuda")
    tiled = torch.full((rows * columns,), abi.POISON, dtype=torch.uint8, device="cuda")
    kernels.call("blockgate_tile_scales", scales, rows, columns, tiled)
    want = scales.view(rows // 128, 4, 32, columns // 4, 4).permute(0, 3, 2, 1, 4).reshape(-1)
    report.bits(f"tile scales of {rows * columns} bytes", tiled.numel(), int((tiled != want).sum()))
    del scales, tiled, want

    m, n, k, period = 32768 + 64, 65536 + 64, 32, 64
    rng = np.random.default_rng(5)
    weight, scale = random_block(rng, "mxfp4", period, k)
    x = activations(rng, "bf16", period, k)
    small = abi.up(kernels.fp_matmul("qmm", "mxfp4", "bf16", x, weight, scale, period)).view(torch.int16).view(period, period)
    y = torch.full((m * n * 2,), abi.POISON, dtype=torch.uint8, device="cuda")
    kernels.call("blockgate_fp_qmm", abi.Matmul(m, n, k, 1, 0, 0, 0, 0), NK, 1, 2, abi.up(np.tile(x, (m // period, 1))),
                 abi.up(np.tile(weight, (n // period, 1))), abi.up(np.tile(scale, (n // period, 1))),
                 kernels.global_scale(None, abi.NONE), y)
    y = y.view(torch.int16).view(m // period, period, n // period, period)
    report.bits(f"qmm with {m * n} outputs", y.numel(), sum(int((part != small[:, None, :]).sum()) for part in y))


def timings(kernels):
    """Microseconds, median of 20 after 3, on weights of 21504 x 5376 and bf16 activations."""
    n, k = 21504, 5376
    rng = np.random.default_rng(6)
    x = torch.randn(n, k, device="cuda").to(torch.bfloat16)
    none = kernels.global_scale(None, abi.NONE)
    rows = {}

    def measure(name, *call):
        times = []
        for _ in range(23):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            kernels.call(*call)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1000)
        rows[name] = round(float(np.median(times[3:])), 1)

    y = torch.empty_like(x)
    out = torch.empty(512, n, device="cuda", dtype=torch.bfloat16)
    for i, fmt in enumerate(FORMATS):
        packed, scales = abi.blank(n * k * BITS[fmt] // 8), abi.blank(n * k // GROUP[fmt])
        measure(f"quantize {fmt}", "blockgate_quantize", i, 2, x, n, k, None, packed, scales)
        measure(f"dequantize {fmt}", "blockgate_dequantize", i, 2, packed, scales, n, k, none, y)
        for m in (1, 4, 8):
            measure(f"qmv {fmt} m={m}", "blockgate_fp_qmv", abi.Matmul(m, n, k, 1, 0, 0, 0, 0), i, 2, x, packed, scales, none, out)
        for m in (16, 128, 512):
            measure(f"qmm {fmt} m={m}", "blockgate_fp_qmm", abi.Matmul(m, n, k, 1, 0, 0, 0, 0), NK, i, 2, x, packed, scales, none, out)
    weight = [abi.up(part) for part in random_affine(rng, 4, 64, "bf16", n, k)]
    measure("dequantize affine 4 bits, group 64", "blockgate_affine_dequantize", 4, 64, 2, *weight, n, k, y)
    for m in (1, 4):
        measure(f"qmv affine4 g64 m={m}", "blockgate_affine_qmv", abi.Matmul(m, n, k, 1, 0, 0, 0, 0), 4, 64, 2, x, *weight, out)
    for m in (16, 128, 512):
        measure(f"qmm affine4 g64 m={m}", "blockgate_affine_qmm", abi.Matmul(m, n, k, 1, 0, 0, 0, 0), NK, 4, 64, 2, x, *weight, out)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--vectors", type=pathlib.Path, required=True)
    parser.add_argument("--list", required=True, help="architecture list that the library was compiled for")
    parser.add_argument("--toolkit", required=True, help="version of the compiler that built the library")
    parser.add_argument("--record", type=pathlib.Path, help="where to write the JSON record")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sanitizer", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no GPU: nothing was checked")
        return 3
    kernels, report = abi.Kernels(str(options.library.resolve())), Report()
    image = kernels.image()
    check_statuses(kernels, report)
    check_known_values(kernels, report)
    check_quantize(kernels, options.vectors, report)
    check_dequantize(kernels, options.vectors, report)
    check_scales(kernels, options.vectors, report)
    # Under racecheck every shared-memory access is slow, so its products end where all edges have been met.
    largest = 200_000 if options.sanitizer else 2**40
    check_block_matmul(kernels, report, largest)
    check_affine_matmul(kernels, report, largest)
    check_batches(kernels, report)
    check_control(kernels, report)
    if options.quick or options.sanitizer:
        report.skip("sizes beyond 2^31 elements, and timings", "left out by --quick and --sanitizer")
    else:
        check_large(kernels, report)
    inputs = [options.library, *sorted(options.vectors.glob("*.safetensors"))]
    failed = [case for case in report.cases if not case["holds"]]
    record = {
        "schema": "blockgate.kernels-run/1",
        "device": torch.cuda.get_device_name(),
        "capability": ".".join(map(str, torch.cuda.get_device_capability())),
        "driver": driver(),
        "toolkit": options.toolkit,
        "compiled_list": options.list,
        "image": {"capability": image.capability, "scope": ("plain", "family", "specific")[image.scope],
                  "conversions": [name for bit, name in enumerate(("e2m1", "e2m1-stochastic", "e4m3")) if image.conversions >> bit & 1]},
        "mode": "sanitizer" if options.sanitizer else "quick" if options.quick else "full",
        "hardware_e2m1_conversion": "run" if image.conversions & 1 else "not exercised",
        "inputs": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in inputs},
        "cases_run": len(report.cases),
        "cases_failed": len(failed),
        "skipped": report.skipped,
        "cases": report.cases,
        "microseconds": {} if options.quick or options.sanitizer else timings(kernels),
    }
    if options.record:
        publish(options.record, lines(record))
    print(json.dumps({k: record[k] for k in ("device", "driver", "image", "cases_run", "cases_failed", "microseconds")}, indent=1))
    print(f"{len(report.cases) - len(failed)} hold, {len(failed)} differ, {len(report.skipped)} skipped")
    return 1 if failed else 0


def publish(path, text):
    """Writes the file whole or not at all: a temporary name in the same folder, fsync, rename."""
    with tempfile.NamedTemporaryFile("w", dir=path.resolve().parent, prefix=".tmp", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def lines(record):
    """The record as JSON with one case per line."""
    rest = {key: value for key, value in record.items() if key != "cases"}
    cases = ",\n  ".join(json.dumps(case) for case in record["cases"])
    return json.dumps(rest, indent=1)[:-2] + ',\n "cases": [\n  ' + cases + "\n ]\n}\n"


def driver():
    path = pathlib.Path("/proc/driver/nvidia/version")
    if path.exists():
        return path.read_text().splitlines()[0].strip()
    import subprocess

    return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
