"""The C interface of the kernels through ctypes, and device memory through torch."""
import ctypes

import numpy as np
import torch

DTYPES = ("f32", "f16", "bf16")
FORMATS = ("nvfp4", "mxfp4", "mxfp8")
GROUP = {"nvfp4": 16, "mxfp4": 32, "mxfp8": 32}
BITS = {"nvfp4": 4, "mxfp4": 4, "mxfp8": 8}
NONE, AMAX, MULTIPLIER = 0, 1, 2
NK, KN = 0, 1
# What outputs are filled with before a call, so that an element nobody wrote shows.
POISON = 0xA5

_STORAGE = {"f32": np.float32, "f16": np.uint16, "bf16": np.uint16}


class GlobalScale(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("form", ctypes.c_int32)]


class Matmul(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("m", "n", "k", "batch", "x", "weight", "scale", "y")]


class Image(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("capability", "scope", "conversions")]


def up(array):
    """A device copy of a numpy array, as bytes."""
    array = np.ascontiguousarray(array)
    return torch.from_numpy(array.reshape(-1).view(np.uint8).copy()).cuda()


def blank(size):
    """Poisoned device bytes. Never empty, so that it always has an address."""
    return torch.full((max(size, 16),), POISON, dtype=torch.uint8, device="cuda")


def down(tensor, dtype, shape):
    dtype = np.dtype(dtype)
    count = int(np.prod(shape)) * dtype.itemsize
    return tensor[:count].cpu().numpy().view(dtype).reshape(shape)


def storage(dtype):
    return np.dtype(_STORAGE[dtype])


class Kernels:
    """Each method takes and returns numpy arrays; f16 and bf16 are uint16 bit patterns."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.blockgate_status_name.restype = ctypes.c_char_p
        self.lib.blockgate_tiled_scale_bytes.restype = ctypes.c_int64
        self.lib.blockgate_tiled_scale_bytes.argtypes = [ctypes.c_int64, ctypes.c_int64]

    def status(self, name, *arguments):
        """Calls `name` on torch's stream; the status by name."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        converted = [self._argument(a) for a in arguments]
        return self.lib.blockgate_status_name(getattr(self.lib, name)(*converted, stream)).decode()

    def call(self, name, *arguments):
        status = self.status(name, *arguments)
        if status != "BLOCKGATE_OK":
            raise RuntimeError(f"{name}: {status}, CUDA error {self.lib.blockgate_last_cuda_error()}")

    @staticmethod
    def _argument(value):
        if isinstance(value, torch.Tensor):
            return ctypes.c_void_p(value.data_ptr())
        if isinstance(value, int):
            return ctypes.c_int64(value)
        if value is None:
            return ctypes.c_void_p()
        if isinstance(value, Matmul):
            return ctypes.byref(value)
        return value

    def image(self):
        image = Image()
        status = self.lib.blockgate_quantize_image(ctypes.byref(image))
        if status != 0:
            raise RuntimeError(f"blockgate_quantize_image: {self.lib.blockgate_status_name(status).decode()}")
        return image

    @staticmethod
    def global_scale(value, form):
        return GlobalScale(value.data_ptr() if value is not None else None, form)

    def quantize(self, fmt, dtype, x, amax=None):
        rows, columns = x.shape
        packed = blank(x.size * BITS[fmt] // 8)
        scales = blank(x.size // GROUP[fmt])
        amax = None if amax is None else up(np.float32([amax]))
        self.call("blockgate_quantize", FORMATS.index(fmt), DTYPES.index(dtype), up(x), rows, columns, amax, packed, scales)
        return (down(packed, np.uint32, (rows, columns * BITS[fmt] // 32)),
                down(scales, np.uint8, (rows, columns // GROUP[fmt])))

    def quantize_dequantize(self, fmt, dtype, x, amax=None, in_place=False):
        source = up(x)
        y = source if in_place else blank(source.numel())
        amax = None if amax is None else up(np.float32([amax]))
        self.call("blockgate_quantize_dequantize", FORMATS.index(fmt), DTYPES.index(dtype), source, *x.shape, amax, y)
        return down(y, x.dtype, x.shape)

    def dequantize(self, fmt, dtype, packed, scales, value=None, form=NONE):
        rows, columns = packed.shape[0], packed.shape[1] * 32 // BITS[fmt]
        y = blank(rows * columns * storage(dtype).itemsize)
        value = None if value is None else up(np.float32([value]))
        self.call("blockgate_dequantize", FORMATS.index(fmt), DTYPES.index(dtype), up(packed), up(scales), rows, columns,
                  self.global_scale(value, form), y)
        return down(y, storage(dtype), (rows, columns))

    def affine_dequantize(self, bits, group, dtype, packed, scales, biases):
        rows, columns = packed.shape[0], packed.shape[1] * 32 // bits
        y = blank(rows * columns * storage(dtype).itemsize)
        self.call("blockgate_affine_dequantize", bits, group, DTYPES.index(dtype), up(packed), up(scales), up(biases),
                  rows, columns, y)
        return down(y, storage(dtype), (rows, columns))

    def tile_scales(self, scales):
        rows, columns = scales.shape
        tiled = blank(self.lib.blockgate_tiled_scale_bytes(rows, columns))
        self.call("blockgate_tile_scales", up(scales), rows, columns, tiled)
        return down(tiled, np.uint8, (-(-rows // 128) * 128, -(-columns // 4) * 4))

    def factors(self, x_amax, weight_amax):
        """alpha and beta for one pair; None for no global scale."""
        out = blank(16)
        pair = [None if v is None else up(np.float32([v])) for v in (x_amax, weight_amax)]
        self.call("blockgate_qqmm_factors", *pair, out, out[4:])
        return down(out, np.uint32, (2,))

    def fp_matmul(self, kind, fmt, dtype, x, packed, scales, n, layout=NK, value=None, form=NONE, shape=None):
        """kind is qmv or qmm; x is (m, k), or (batch, m, k) with `shape` given."""
        m, k = x.shape[-2:]
        batch = 1 if x.ndim == 2 else x.shape[0]
        shape = shape or Matmul(m, n, k, batch, m * k, n * k * BITS[fmt] // 32, n * k // GROUP[fmt], m * n)
        y = blank(batch * m * n * storage(dtype).itemsize)
        value = None if value is None else up(np.float32([value]))
        layouts = [layout] if kind == "qmm" else []
        self.call(f"blockgate_fp_{kind}", shape, *layouts, FORMATS.index(fmt), DTYPES.index(dtype), up(x), up(packed),
                  up(scales), self.global_scale(value, form), y)
        return down(y, storage(dtype), (*x.shape[:-1], n))

    def affine_matmul(self, kind, bits, group, dtype, x, packed, scales, biases, n, layout=NK):
        m, k = x.shape[-2:]
        batch = 1 if x.ndim == 2 else x.shape[0]
        shape = Matmul(m, n, k, batch, m * k, n * k * bits // 32, n * k // group, m * n)
        y = blank(batch * m * n * storage(dtype).itemsize)
        layouts = [layout] if kind == "qmm" else []
        self.call(f"blockgate_affine_{kind}", shape, *layouts, bits, group, DTYPES.index(dtype), up(x), up(packed),
                  up(scales), up(biases), y)
        return down(y, storage(dtype), (*x.shape[:-1], n))
